"""The columns of results, and files that hold them; a row is one trained model, or one mixture of them.

A run writes one Parquet file per finished task, never half-written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import CannotWrite, FairLevelError, InvalidInput

SCHEMA = 2  # version of the columns; a run cannot go on in a folder of another version

SINCE: dict[str, float | str] = {"memory": float("nan"), "commit": ""}
"""Columns that files of schema 1 lack, with what stands for them."""

KEY = ("dataset", "seed", "method")  # the columns that identify a task

Key = tuple[str, int, str]  # (dataset, seed, method)

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
        more = f" and {len(missing) - 3} more columns" if len(missing) > 3 else ""
        raise InvalidInput(
            f"{str(path)!r} holds no rows of a study: it lacks {', '.join(missing[:3])}{more}; the file "
            "rows.parquet of a report is needed, or one that `fairlevel-study keep` wrote."
        )
    return in_order(tidy(rows))


TASK = [*KEY, "protocol"]  # the columns that identify a task among those of several protocols

_FLOATS = [name for name, kind in COLUMNS.items() if kind == "float64"]


def kept_rows(path: Path) -> pd.DataFrame:
    """Rows of the file; none where there is no file yet."""
    return read_rows(path) if path.exists() else tidy(pd.DataFrame({name: [] for name in COLUMNS}))


def kept_tasks(path: Path, protocol: str) -> set[Key]:
    """The tasks of a protocol whose rows are in the file."""
    rows = kept_rows(path)
    keys = rows.loc[rows["protocol"] == protocol, list(KEY)].drop_duplicates()
    return {(str(dataset), int(seed), str(method)) for dataset, seed, method in keys.itertuples(index=False)}


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

    packed = {"compression": "zstd", "compression_level": 12}
    columns = {"use_dictionary": words, "use_byte_stream_split": _FLOATS}
    write_whole(path, lambda partial: pyarrow.parquet.write_table(table, partial, **packed, **columns))
    return complete


_LISTS = ("datasets", "seeds", "methods")
"""What a plan lists, beside the names of its protocol and source."""


@dataclass(frozen=True)
class Store:
    """A folder with ``run.json`` (schema, protocol, source, planned tasks) and ``rows/dataset=…/seed=…/method=…``."""

    folder: Path

    @property
    def rows_folder(self) -> Path:
        return self.folder / "rows"

    @property
    def plan_file(self) -> Path:
        return self.folder / "run.json"

    def plan(self) -> dict[str, Any]:
        """The content of run.json; an error for a folder that holds no results, or results of another schema."""
        if not self.plan_file.is_file():
            raise InvalidInput(f"{str(self.folder)!r} holds no results: it has no {self.plan_file.name}.")
        try:
            plan: dict[str, Any] = json.loads(self.plan_file.read_text(encoding="utf-8"))
            schema = plan.get("schema")
        except (ValueError, RecursionError, AttributeError) as error:
            raise InvalidInput(f"{str(self.plan_file)!r} cannot be read ({error}); choose another --out.") from None
        if schema != SCHEMA:
            raise InvalidInput(
                f"{str(self.folder)!r} holds results of schema {schema}, this version writes {SCHEMA} into run.json; "
                "choose another --out, or the version that wrote them."
            )
        kinds = {"protocol": str, "source": str} | dict.fromkeys(_LISTS, list)
        wrong = [name for name, kind in kinds.items() if not isinstance(plan.get(name), kind)]
        if wrong:
            raise InvalidInput(f"{str(self.plan_file)!r} has no usable {', '.join(wrong)}; choose another --out.")
        return plan

    @contextmanager
    def claimed(
        self, protocol: str, source: str, datasets: Sequence[str], seeds: Sequence[int], methods: Sequence[str]
    ) -> Iterator[None]:
        """Open the folder for writing. Only one run at a time may write, and a folder holds results of one protocol and
        one source. Incomplete files of a run that was killed are removed.
        """
        wanted = {"schema": SCHEMA, "protocol": protocol, "source": source}
        wanted |= {"datasets": list(datasets), "seeds": list(seeds), "methods": list(methods)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.folder / ".lock", "a+", encoding="utf-8") as lock:  # not run.json, which is replaced
                try:
                    _lock(lock)
                except BlockingIOError:
                    raise InvalidInput(
                        f"Another run writes into {str(self.folder)!r}; wait until it ends, or choose another --out."
                    ) from None
                if self.plan_file.exists():
                    wanted = self._merged(wanted)
                elif self.rows_folder.exists() and any(self.rows_folder.iterdir()):
                    raise InvalidInput(
                        f"{str(self.folder)!r} has rows but no {self.plan_file.name}; choose another --out."
                    )
                for incomplete in self.rows_folder.glob("*/*/*/.rows.parquet.*"):
                    shutil.rmtree(incomplete, ignore_errors=True)
                text = json.dumps(wanted, indent=2)
                write_whole(self.plan_file, lambda partial: partial.write_text(text, encoding="utf-8"))
                yield
        except OSError as error:
            if isinstance(error, FairLevelError):
                raise
            raise CannotWrite(
                f"{str(self.folder)!r} cannot be written ({error.strerror or error}); choose another --out."
            ) from None

    def path(self, key: Key) -> Path:
        """The file for the rows of a task."""
        parts = [f"{name}={value}" for name, value in zip(KEY, key, strict=True)]
        return self.rows_folder.joinpath(*parts, "rows.parquet")

    def finished(self, key: Key) -> bool:
        """Whether the rows of a task have been written, to their end: that is where Parquet has its table of contents.
        A file that a copy or a disk has cut off is no result.
        """
        try:
            pyarrow.parquet.read_metadata(self.path(key))
        except (pa.ArrowInvalid, OSError):
            return False
        return True

    def write(self, key: Key, rows: pd.DataFrame) -> None:
        """Write the rows of a task; it counts as finished only when the file is complete."""
        path, columns = self.path(key), tidy(rows).drop(columns=list(KEY))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, lambda partial: columns.to_parquet(partial, index=False))
        except OSError as error:
            raise CannotWrite(
                f"The rows of {'/'.join(map(str, key))} cannot be written ({error.strerror or error}); free space in "
                f"{str(self.folder)!r} and run the same command again: finished tasks are kept."
            ) from None

    def read(self) -> pd.DataFrame:
        """All rows, in an order that does not depend on when they were written."""
        self.plan()
        files = sorted(self.rows_folder.glob("*/*/*/rows.parquet"))
        if not files:
            raise InvalidInput(f"{str(self.folder)!r} has no finished task yet.")
        types = pa.schema([("dataset", pa.string()), ("seed", pa.int64()), ("method", pa.string())])
        hive = pyarrow.dataset.partitioning(types, flavor="hive")
        try:
            parts = pyarrow.dataset.dataset(files, partitioning=hive, partition_base_dir=str(self.rows_folder))
            table = parts.to_table().to_pandas()
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidInput(f"A file of results is damaged: {error}. Delete it and run the study again.") from None
        return in_order(table)

    def _merged(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The tasks planned before and those wanted now; an error if protocol or source differ."""
        known = self.plan()
        for name in ("protocol", "source"):
            if known[name] != wanted[name]:
                raise InvalidInput(
                    f"{str(self.folder)!r} holds results of {name} {known[name]!r}, not {wanted[name]!r}; nothing was "
                    "changed. Choose another --out."
                )
        return wanted | {name: list(dict.fromkeys([*known[name], *wanted[name]])) for name in _LISTS}


def _lock(handle: IO[str]) -> None:
    """Lock the file until it is closed; BlockingIOError if another process holds the lock. Windows has no such lock."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
