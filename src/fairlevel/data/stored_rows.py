"""Rows that do not fit into memory, in Parquet files or another dataset of pyarrow: a random sample of them, and counts
of all rows, from one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow
from pyarrow import compute, types

from fairlevel.arrays import Flags
from fairlevel.data.columns import MISSING
from fairlevel.data.numbers import LARGEST
from fairlevel.data.sensitive import MOST_CATEGORIES_OF_FACTORS, as_frame, is_number
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

FEW_ROWS = 5  # of a category; what fewer sampled rows say of it is next to nothing
WEIGHT_0 = "weight 0"
_NUMBERS = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
_TEXTS = (types.is_string, types.is_large_string, types.is_dictionary)
_DATES = (types.is_date, types.is_timestamp)
_BATCH = 65_536
# A row group may be larger than the memory: its columns are read a piece at a time.
_PIECEWISE = arrow.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=2**20, pre_buffer=False)


@dataclass(frozen=True)
class Roles:
    """Names of columns by what they are to an audit; ``categories`` hold categories although they look like numbers.

    Rows without a number of an attribute are left out. A prediction, a target or a weight that is missing is an error,
    but with ``lenient`` rows without a target or a weight are left out, too. ``positive`` is the word of the target
    that counts as 1, where it holds two words.
    """

    predictions: tuple[str, ...]
    sensitive: tuple[str, ...]
    given: tuple[str, ...] = ()
    target: str | None = None
    weight: str | None = None
    by: str | None = None
    groups: str | None = None
    categories: tuple[str, ...] = ()
    positive: str | None = None
    lenient: bool = False

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.sensitive, *self.given)))

    @property
    def values(self) -> tuple[str, ...]:
        """Columns of numbers that are no attributes."""
        return tuple(dict.fromkeys((*self.predictions, *filter(None, (self.target, self.weight)))))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys((*self.values, *self.attributes, *filter(None, (self.by, self.groups)))))


@dataclass
class RowSample:
    """A random sample of rows, without those that do not count, and what one pass over all rows has counted.

    Attributes
    ----------
    rows, used : all rows, and those of them that count
    sampled : whether the frame holds a part of the rows only
    left_out : rows that do not count, by the column in which they lack a number, and those of weight 0
    levels : rows by category, for each attribute that holds categories
    frame : the sampled rows that count, in the order of the files
    """

    rows: int
    sampled: bool
    used: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    levels: dict[str, Counter[Any]] = field(default_factory=dict)
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def missing(self) -> dict[str, int]:
        """By column, rows whose category is missing, which is a category of its own."""
        counts = {name: levels[None] + levels[MISSING] for name, levels in self.levels.items()}
        return {name: count for name, count in counts.items() if count}

    @property
    def not_sampled(self) -> dict[str, int]:
        """Rows by category, of categories of which the frame has next to none, though there are more."""
        few: dict[str, int] = {}
        for name, levels in self.levels.items():
            sampled = self.frame[name].value_counts().to_dict() | {None: int(self.frame[name].isna().sum())}
            few |= {
                f"{name} = {MISSING if level is None else level}": count
                for level, count in levels.items()
                if sampled.get(level, 0) < min(FEW_ROWS, count)
            }
        return few


def is_stored(source: Any) -> bool:
    """Whether this names stored rows: a dataset of pyarrow, a path, or a list of paths."""
    if isinstance(source, Path | str | arrow.Dataset):
        return True
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(each, Path | str) for each in source)


def sample_rows(source: Any, roles: Roles, most: int, seed: int) -> RowSample:
    """At most ``most`` rows, each with the same chance, from one pass that also counts. The rows that the frame holds
    depend on the number of all rows and the seed alone.
    """
    dataset = _open_rows(source, roles.names)
    with _in_one_sentence():
        total = dataset.count_rows()
    if total < 2:
        raise InvalidInput(f"The files have {total} rows; at least 2 are needed.")
    columns = _columns(dataset.schema, roles)
    sample = RowSample(total, total > most)
    for name in roles.attributes:
        if name in roles.categories or _is_any(dataset.schema.field(name).type, *_TEXTS, types.is_boolean):
            sample.levels[name] = Counter()
    chance = np.random.default_rng(seed)
    drawn = np.sort(chance.choice(total, most, replace=False)) if sample.sampled else np.arange(total)
    picked, start = [], 0
    for batch in _batches(dataset, columns):
        first, last = np.searchsorted(drawn, [start, start + batch.num_rows])
        positions = drawn[first:last] - start
        start += batch.num_rows
        rows = batch.to_pandas()
        counts = _counts(rows, roles, sample)
        picked.append(batch.take(pa.array(positions[counts[positions]])))
        _add(rows[counts], roles, sample)
    frame = pa.Table.from_batches(picked).to_pandas(ignore_metadata=True)
    sample.frame = frame.astype({name: "category" for name in roles.categories if name in frame})
    if len(frame) < 2:
        raise InvalidInput("Fewer than 2 rows have all sensitive values and a weight above 0; more are needed.")
    if sample.sampled:
        _keep_categories(sample)
    return sample


def texts_of(source: Any, name: str) -> list[str] | None:
    """The different texts in a column, or None where it does not hold text."""
    dataset, texts = _open_rows(source, [name]), set[str]()
    if not _is_any(dataset.schema.field(name).type, *_TEXTS):
        return None
    for batch in _batches(dataset, {name: arrow.field(name).cast(pa.string())}):
        texts |= set(compute.unique(batch.column(name)).to_pylist()) - {None}
    return sorted(texts)


def _open_rows(source: Any, names: Sequence[str]) -> arrow.Dataset:
    """The rows of a dataset, or of a path, a folder, a pattern or a list of paths, in the order of their names. Files
    may store the named columns in different types, as long as one type holds them all.
    """
    if isinstance(source, arrow.Dataset):
        _require(names, source.schema.names)
        return source
    paths = _parquet_paths(source)
    with _in_one_sentence():
        dataset = arrow.dataset(paths, format="parquet", partitioning="hive")
        stored = [fragment.physical_schema for fragment in dataset.get_fragments()]
    in_files = [set(schema.names) for schema in stored]
    in_some_files = set.union(*in_files) - set.intersection(*in_files)
    _require(names, set(dataset.schema.names) - in_some_files)
    try:
        schema = pa.unify_schemas(
            [pa.schema([column for column in each if column.name in names]) for each in (dataset.schema, *stored)],
            promote_options="permissive",
        )
    except pa.ArrowException as error:
        raise InvalidType(f"The files do not agree on a column: {_one_line(error)}.") from None
    return arrow.dataset(paths, schema=schema, format="parquet", partitioning="hive")


def _parquet_paths(source: Any) -> list[str]:
    """Files that a path, a folder, a pattern such as folder/*.parquet, or a list of these stands for; sorted."""
    paths: set[str] = set()
    for given in map(Path, source if isinstance(source, list | tuple) else [source]):
        if given.is_file():
            files = [str(given)]
        else:
            files = list(map(str, given.rglob("*.parquet"))) if given.is_dir() else glob(str(given), recursive=True)
        if not files:
            raise InvalidInput(f"{str(given)!r} holds no Parquet file; name files, a folder, or 'folder/*.parquet'.")
        paths |= set(files)
    return sorted(paths)


def _require(names: Sequence[str], known: Sequence[str] | set[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName("column of the Parquet files", name, known)


def _columns(schema: pa.Schema, roles: Roles) -> dict[str, arrow.Expression]:
    """What is read: predictions, target and weight as 64-bit numbers, others as they are."""
    columns = {name: arrow.field(name) for name in roles.names}
    for name in roles.values:
        if name in roles.attributes:
            raise InvalidInput(f"Column {name!r} is named as an attribute and in another role; a column has one role.")
        kind, column = schema.field(name).type, columns[name]
        if name == roles.target and roles.positive is not None and _is_any(kind, *_TEXTS):
            column = column.cast(pa.string()) == roles.positive
        elif not _is_any(kind, *_NUMBERS):
            raise InvalidInput(f"Column {name!r} holds values of type {kind}; numbers are needed.")
        columns[name] = column.cast(pa.float64())
    for name in roles.attributes:
        kind = schema.field(name).type
        if types.is_decimal(kind):
            columns[name] = columns[name].cast(pa.float64())
        elif not _is_any(kind, *_NUMBERS, *_TEXTS, *_DATES):
            raise InvalidType(
                f"Column {name!r} holds values of type {kind}; numbers, dates, truths or text are needed."
            )
    return columns


def _batches(dataset: arrow.Dataset, columns: dict[str, arrow.Expression]) -> Iterator[pa.RecordBatch]:
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
    with _in_one_sentence():
        yield from scanner.to_batches()
    pa.default_memory_pool().release_unused()  # pages that were unpacked


def _counts(rows: pd.DataFrame, roles: Roles, sample: RowSample) -> Flags:
    """Which rows count, (row,); what the others lack is added to the sample's counts."""
    numeric = [name for name in roles.attributes if name not in sample.levels]
    missing = rows[numeric].isna()
    if roles.lenient:
        for name in filter(None, (roles.weight, roles.target)):
            missing.insert(0, name, ~np.isfinite(rows[name]))
    sample.left_out += Counter({str(name): int(count) for name, count in missing.sum().items()})  # those above zero
    counts: Flags = ~missing.any(axis=1).to_numpy(dtype=bool)
    if roles.weight is None:
        return counts
    weight = rows[roles.weight]
    if not weight[counts].between(0, LARGEST).all():
        raise InvalidInput(
            f"Column {roles.weight!r} holds weights that are missing, infinite or negative; finite weights ≥ 0 are "
            "needed: use 0 for rows that should not count."
        )
    sample.left_out += Counter({WEIGHT_0: int((weight[counts] == 0).sum())})
    counts &= (weight != 0).to_numpy()
    return counts


def _add(rows: pd.DataFrame, roles: Roles, sample: RowSample) -> None:
    """Count rows that count. Numbers that cannot be computed with are refused wherever they are: the sample may not
    have them. Columns of very many values are not counted on: they may hold dates, or text of any kind.
    """
    for name in (*roles.values, *roles.attributes):
        column = rows[name]
        if name in sample.levels:
            if len(sample.levels[name]) <= MOST_CATEGORIES_OF_FACTORS:
                rows_by_level: dict[Any, int] = column.astype(object).value_counts(dropna=False).to_dict()
                for level, count in rows_by_level.items():
                    sample.levels[name][None if pd.isna(level) else level] += count
            continue
        bad = int((~(column.abs() <= LARGEST)).sum()) if column.dtype.kind == "f" else 0
        if bad:
            raise InvalidInput(
                f"Column {name!r} holds {bad} missing, infinite or huge values in one part of the rows; drop those "
                "rows from the files."
            )
    sample.used += len(rows)


def _keep_categories(sample: RowSample) -> None:
    """Text that is dates or numbers has no categories; too many categories are an error."""
    for name, counts in sample.levels.items():
        if is_number(as_frame(sample.frame[[name]])[name].dtype):
            counts.clear()
        elif len(counts) > MOST_CATEGORIES_OF_FACTORS:
            raise InvalidInput(
                f"Column {name!r} has more than {MOST_CATEGORIES_OF_FACTORS} categories; merge categories, or store "
                "numbers as numbers."
            )


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Errors of Arrow, so."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"The rows cannot be read: {_one_line(error)}.") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _is_any(kind: pa.DataType, *tests: Callable[[pa.DataType], bool]) -> bool:
    """Whether a type passes one of the tests."""
    return any(test(kind) for test in tests)
