"""The columns of results, and files that hold them; a row is one trained model, or one mixture of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import InvalidInput

SCHEMA = 2
"""Version of the columns; a run cannot go on in a folder of another version."""

SINCE: dict[str, float | str] = {"memory": float("nan"), "commit": ""}
"""Columns that files of schema 1 lack, with what stands for them."""

KEY = ("dataset", "seed", "method")
"""The columns that identify a task."""

Key = tuple[str, int, str]
"""(dataset, seed, method)."""

SHOWN = 3  # columns that an error names

COLUMNS: dict[str, str] = {
    "dataset": "str",
    "seed": "int64",
    "method": "str",
    "combiner": "str",  # best: one model; stacked: a mixture
    "family": "str",  # the penalty or path that trained the model
    "setting": "int64",  # number of the method's setting; -1 for mixtures
    "weight": "float64",  # of the penalty
    "learning_rate": "float64",
    "status": "str",  # finished or diverged
    "zeta": "float64",  # for mixtures: the weight of DPVar that determined the shares
    "networks": "int64",  # number of models in a mixture
    "mse_val": "float64",
    "dpvar_val": "float64",  # the paper's diagnostic; missing for mixtures
    "selected": "bool",  # on VAL, for some weight ζ of DPVar (all mixtures are); only these rows have values on TEST
    "mse_test": "float64",
    "dpvar_test": "float64",  # the paper's diagnostic
    "dpvar_debiased_test": "float64",
    "variance_test": "float64",
    "dpvar_true": "float64",  # simulated; only for the synthetic design
    "dpvar_true_se": "float64",
    "source": "str",
    "rows": "int64",
    "features": "int64",
    "attributes": "int64",
    "sensitive": "str",  # names of the columns that became A
    "copies": "int64",  # number of features that are (nearly) copies of an attribute
    "protocol": "str",
    "version": "str",
    "commit": "str",  # of the code that made the row, + where files had been changed; empty if unknown
    "device": "str",
    "seconds": "float64",  # of the whole task
    "memory": "float64",  # largest memory of the task on a GPU, in MiB; missing on a CPU
}


def tidy(rows: pd.DataFrame) -> pd.DataFrame:
    """All columns in the right order and type; missing values become NaN, or −1, 1 and 0 in columns of integers."""
    defaults = {"setting": -1, "networks": 1, "copies": 0}
    filled = rows.assign(**{name: value for name, value in SINCE.items() if name not in rows})
    filled = filled.reindex(columns=list(COLUMNS))
    for name, value in defaults.items():
        filled[name] = filled[name].fillna(value)
    return filled.astype(COLUMNS)


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows sorted by dataset, seed and method; the rows of a task keep their order."""
    return rows[list(COLUMNS)].sort_values(list(KEY), kind="stable", ignore_index=True)


def read_rows(path: Path) -> pd.DataFrame:
    """Rows of results from one Parquet file."""
    try:
        rows = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read as Parquet ({error}).") from None
    missing = [name for name in COLUMNS if name not in rows and name not in SINCE]
    if missing:
        more = f" and {len(missing) - SHOWN} more columns" if len(missing) > SHOWN else ""
        raise InvalidInput(
            f"{str(path)!r} holds no rows of a study: it lacks {', '.join(missing[:SHOWN])}{more}; the file "
            "rows.parquet of a report is needed, or one that `fairlevel-study keep` wrote."
        )
    return in_order(tidy(rows))


TASK = [*KEY, "protocol"]
"""The columns that identify a task among those of several protocols."""

_FLOATS = [name for name, kind in COLUMNS.items() if kind == "float64"]


def kept_rows(path: Path) -> pd.DataFrame:
    """Rows of the file; none where there is no file yet."""
    return read_rows(path) if path.exists() else tidy(pd.DataFrame({name: [] for name in COLUMNS}))


def kept_tasks(path: Path, protocol: str) -> set[Key]:
    """The tasks of a protocol whose rows are in the file."""
    rows = kept_rows(path)
    own = rows.loc[rows["protocol"] == protocol, list(KEY)].drop_duplicates()
    return {(str(dataset), int(seed), str(method)) for dataset, seed, method in own.itertuples(index=False)}


def keep_rows(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Add rows to the file, in place of those of the same tasks; returns all. Figures have seven digits."""
    if path.suffix != ".parquet":
        raise InvalidInput(f"{str(path)!r} was given; the name of a Parquet file is needed, such as study.parquet.")
    old = kept_rows(path)
    replaced = pd.MultiIndex.from_frame(old[TASK]).isin(pd.MultiIndex.from_frame(rows[TASK]))
    complete = in_order(pd.concat([old[~replaced], tidy(rows)], ignore_index=True))
    small = complete.astype(dict.fromkeys(_FLOATS, "float32"))
    table = pa.Table.from_pandas(small, preserve_index=False)
    words = [name for name in COLUMNS if name not in _FLOATS]

    def write(partial: Path) -> None:
        pyarrow.parquet.write_table(
            table,
            partial,
            compression="zstd",
            compression_level=12,
            use_dictionary=words,
            use_byte_stream_split=_FLOATS,
        )

    write_whole(path, write)
    return complete
