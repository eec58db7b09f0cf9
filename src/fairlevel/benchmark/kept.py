"""The rows of a study in one compact file that grows part by part, and that a repository can hold."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from fairlevel.benchmark.rows import COLUMNS, KEY, tidy
from fairlevel.benchmark.store import Key, in_order, read_rows
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import InvalidInput

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
