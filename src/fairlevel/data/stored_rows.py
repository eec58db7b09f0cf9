"""Rows that do not fit into memory, in Parquet files or another dataset of pyarrow: a random sample of them, and counts
of all rows, from one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow
from pyarrow import compute

from fairlevel.arrays import Flags
from fairlevel.data.columns import MISSING
from fairlevel.data.learning_table import Gaps
from fairlevel.data.numbers import LARGEST
from fairlevel.data.sensitive import MOST_CATEGORIES_OF_FACTORS, as_frame, is_number
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

FEW_ROWS = 5  # of a category; what fewer sampled rows say of it is next to nothing
WEIGHT_0 = "weight 0"
_BATCH = 65_536
# A row group may be larger than the memory: its columns are read a piece at a time.
_PIECEWISE = arrow.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=2**20, pre_buffer=False)
# How the names of Arrow's types begin:
_NUMBERS = ("int", "uint", "halffloat", "float", "double", "decimal", "bool", "null")
_TEXTS = ("string", "large_string", "dictionary")
_DATES = ("date", "timestamp")


@dataclass(frozen=True)
class Roles:
    """Names of columns by what they are to an audit; ``categories`` hold categories although they look like numbers.

    Rows without a number of an attribute, a target or a weight are left out; a prediction that is missing is an error.
    ``positive`` is the word of the target that counts as 1, where it holds two words.
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
    levels: dict[str, Counter[Any]]
    used: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
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
            sampled = _rows_by_level(self.frame[name])
            few |= {
                f"{name} = {MISSING if level is None else level}": count
                for level, count in levels.items()
                if sampled[level] < min(FEW_ROWS, count)
            }
        return few

    def count(self, rows: pd.DataFrame, roles: Roles) -> Flags:
        """Which of these rows count, (row,). Numbers that cannot be computed with are refused wherever they are: the
        sample may not have them.
        """
        numbers = [name for name in roles.attributes if name not in self.levels]
        gaps = Gaps.of(rows, tuple(filter(None, (roles.target, roles.weight))), numbers)
        self.left_out += Counter(gaps.left_out)
        complete = gaps.complete
        if roles.weight is not None:
            weight = rows.loc[complete, roles.weight]
            if not weight.between(0, LARGEST).all():
                raise InvalidInput(
                    f"Column {roles.weight!r} holds negative or huge weights; weights ≥ 0 are needed: use 0 for rows "
                    "that should not count."
                )
            self.left_out += Counter({WEIGHT_0: int((weight == 0).sum())})
            complete &= rows[roles.weight] != 0
        used = rows[complete]
        for name in (*roles.values, *numbers):
            bad = int((~(used[name].abs() <= LARGEST)).sum()) if used[name].dtype.kind == "f" else 0
            if bad:
                raise InvalidInput(
                    f"Column {name!r} holds {bad} missing, infinite or huge values in one part of the rows; drop those "
                    "rows from the files."
                )
        for name, levels in self.levels.items():
            if len(levels) <= MOST_CATEGORIES_OF_FACTORS:
                levels.update(_rows_by_level(used[name]))
        self.used += len(used)
        return complete.to_numpy(dtype=bool)


def _rows_by_level(column: pd.Series) -> Counter[Any]:
    """Missing cells as None."""
    counts: dict[Any, int] = column.astype(object).value_counts().to_dict()
    return +Counter(counts | {None: int(column.isna().sum())})


def is_stored(source: Any) -> bool:
    """Whether this names stored rows: a dataset of pyarrow, a path, or a list of paths."""
    if isinstance(source, Path | str | arrow.Dataset):
        return True
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(path, Path | str) for path in source)


def sample_rows(source: Any, roles: Roles, most: int, seed: int) -> RowSample:
    """At most ``most`` rows, each with the same chance, from one pass that also counts. The rows that the frame holds
    depend on the number of all rows and the seed alone.
    """
    dataset = _open_rows(source, roles.names)
    with _in_one_sentence():
        total = dataset.count_rows()
    if total < 2:
        raise InvalidInput(f"The files have {total} rows; at least 2 are needed.")
    kinds = {name: str(dataset.schema.field(name).type) for name in roles.names}
    categorical = (
        name for name in roles.attributes if name in roles.categories or kinds[name].startswith((*_TEXTS, "bool"))
    )
    sample = RowSample(total, total > most, {name: Counter() for name in categorical})
    drawn = np.arange(total)
    if sample.sampled:
        drawn = np.sort(np.random.default_rng(seed).choice(total, most, replace=False))
    picked, start = [], 0
    for batch in _batches(dataset, _columns(kinds, roles)):
        first, last = np.searchsorted(drawn, [start, start + batch.num_rows])
        positions = drawn[first:last] - start
        start += batch.num_rows
        counts = sample.count(batch.to_pandas(), roles)
        picked.append(batch.take(pa.array(positions[counts[positions]])))
    frame = pa.Table.from_batches(picked).to_pandas(ignore_metadata=True)
    sample.frame = frame.astype({name: "category" for name in roles.categories if name in frame})
    if len(frame) < 2:
        raise InvalidInput("Fewer than 2 rows have all values that are needed and a weight above 0.")
    sample.levels = {  # others are dates or numbers as text, or text that is no category
        name: levels
        for name, levels in sample.levels.items()
        if len(levels) <= MOST_CATEGORIES_OF_FACTORS and not is_number(as_frame(sample.frame[[name]])[name].dtype)
    }
    return sample


def texts_of(source: Any, name: str) -> list[str] | None:
    """The different texts in a column, or None where it does not hold text."""
    dataset, texts = _open_rows(source, [name]), set[str]()
    if not str(dataset.schema.field(name).type).startswith(_TEXTS):
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
    used = [pa.schema([column for column in schema if column.name in names]) for schema in (dataset.schema, *stored)]
    with _in_one_sentence("The files do not agree on a column"):
        schema = pa.unify_schemas(used, promote_options="permissive")
    return arrow.dataset(paths, schema=schema, format="parquet", partitioning="hive")


def _parquet_paths(source: Any) -> list[str]:
    """Files that a path, a folder, a pattern such as folder/*.parquet, or a list of these stands for; sorted."""
    paths: set[str] = set()
    for given in map(Path, source if isinstance(source, list | tuple) else [source]):
        files = given.rglob("*.parquet") if given.is_dir() else glob(str(given), recursive=True)
        found = {str(given)} if given.is_file() else set(map(str, files))
        if not found:
            raise InvalidInput(f"{str(given)!r} holds no Parquet file; name files, a folder, or 'folder/*.parquet'.")
        paths |= found
    return sorted(paths)


def _require(names: Sequence[str], known: Sequence[str] | set[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName("column of the Parquet files", name, known)


def _columns(kinds: Mapping[str, str], roles: Roles) -> dict[str, arrow.Expression]:
    """What is read: predictions, target and weight as 64-bit numbers, others as they are; ``kinds`` are Arrow's names
    of the types.
    """
    columns = {name: arrow.field(name) for name in roles.names}
    for name in roles.values:
        if name in roles.attributes:
            raise InvalidInput(f"Column {name!r} is named as an attribute and in another role; a column has one role.")
        if name == roles.target and roles.positive is not None and kinds[name].startswith(_TEXTS):
            columns[name] = columns[name].cast(pa.string()) == roles.positive
        elif not kinds[name].startswith(_NUMBERS):
            raise InvalidInput(f"Column {name!r} holds values of type {kinds[name]}; numbers are needed.")
        columns[name] = columns[name].cast(pa.float64())
    for name in roles.attributes:
        if kinds[name].startswith("decimal"):
            columns[name] = columns[name].cast(pa.float64())
        elif kinds[name] == "string_view":
            columns[name] = columns[name].cast(pa.string())  # what sampling takes
        elif kinds[name].startswith("date"):
            columns[name] = columns[name].cast(pa.timestamp("us"))  # read at once, unlike Python's dates
        elif not kinds[name].startswith((*_NUMBERS, *_TEXTS, *_DATES)):
            raise InvalidType(
                f"Column {name!r} holds values of type {kinds[name]}; numbers, dates, truths or text are needed."
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


@contextmanager
def _in_one_sentence(what: str = "The rows cannot be read") -> Iterator[None]:
    """Errors of Arrow, so."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(f"{what}: {' '.join(str(error).split()).rstrip('.')}.") from None
