"""Parquet files, or another dataset of pyarrow, as one table of which a column may be read by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as arrow
from pyarrow import compute, types

from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

NUMBERS = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
TEXTS = (types.is_string, types.is_large_string, types.is_dictionary)
DATES = (types.is_date, types.is_timestamp)
_BATCH = 65_536
# A row group may be larger than the memory: its columns are read a piece at a time.
_PIECEWISE = arrow.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=2**20, pre_buffer=False)


def is_stored(source: Any) -> bool:
    """Whether this names stored rows: a dataset of pyarrow, a path, or a list of paths."""
    if isinstance(source, Path | str | arrow.Dataset):
        return True
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(each, Path | str) for each in source)


def open_rows(source: Any, names: Sequence[str]) -> arrow.Dataset:
    """The rows of a dataset, or of a path, a folder, a pattern or a list of paths, in the order of their names. Files
    may store the named columns in different types, as long as one type holds them all.
    """
    if isinstance(source, arrow.Dataset):
        _require(names, source.schema.names)
        return source
    paths = parquet_paths(source)
    with readable():
        dataset = arrow.dataset(paths, format="parquet", partitioning="hive")
        stored = [fragment.physical_schema for fragment in dataset.get_fragments()]
    inside = {name for schema in stored for name in schema.names}
    everywhere = set(dataset.schema.names) - (inside - set.intersection(*(set(schema.names) for schema in stored)))
    _require(names, everywhere)
    try:
        schema = pa.unify_schemas(
            [pa.schema([field for field in each if field.name in names]) for each in (dataset.schema, *stored)],
            promote_options="permissive",
        )
    except pa.ArrowException as error:
        raise InvalidType(f"The files do not agree on a column: {_one_line(error)}.") from None
    return arrow.dataset(paths, schema=schema, format="parquet", partitioning="hive")


def batches(dataset: arrow.Dataset, columns: dict[str, arrow.Expression]) -> Iterator[pa.RecordBatch]:
    """Some rows at a time, in order, in memory that does not depend on their number."""
    is_parquet = isinstance(getattr(dataset, "format", None), arrow.ParquetFileFormat)
    scanner = dataset.scanner(
        columns,
        batch_size=_BATCH,
        batch_readahead=1,
        fragment_readahead=1,
        fragment_scan_options=_PIECEWISE if is_parquet else None,
        use_threads=False,
    )
    with readable():
        yield from scanner.to_batches()
    pa.default_memory_pool().release_unused()  # pages that were unpacked


def texts_of(source: Any, name: str) -> list[str] | None:
    """The different texts in a column, or None where it does not hold text."""
    dataset, found = open_rows(source, [name]), set[str]()
    if not is_any(dataset.schema.field(name).type, *TEXTS):
        return None
    for batch in batches(dataset, {name: arrow.field(name).cast(pa.string())}):
        found |= set(compute.unique(batch.column(name)).to_pylist()) - {None}
    return sorted(found)


def parquet_paths(source: Any) -> list[str]:
    """Files that a path, a folder, a pattern such as folder/*.parquet, or a list of these stands for; sorted."""
    found: list[str] = []
    for each in source if isinstance(source, list | tuple) else [source]:
        path = Path(each)
        if path.is_dir():
            own = [str(file) for file in path.rglob("*.parquet")]
        else:
            own = [str(path)] if path.is_file() else glob(str(path), recursive=True)
        if not own:
            raise InvalidInput(f"{str(each)!r} holds no Parquet file; name files, a folder, or 'folder/*.parquet'.")
        found += own
    return sorted(set(found))


def _require(names: Sequence[str], known: Sequence[str] | set[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName("column of the Parquet files", name, known)


@contextmanager
def readable() -> Iterator[None]:
    """Errors of Arrow in one sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"The rows cannot be read: {_one_line(error)}.") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def is_any(kind: pa.DataType, *tests: Callable[[pa.DataType], bool]) -> bool:
    """Whether a type passes one of the tests."""
    return any(test(kind) for test in tests)
