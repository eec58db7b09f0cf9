"""Parquet files of any size as a fixed list of parts, each read on its own, batch by batch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

PART_ROWS = 250_000  # rows per part at least, so that its sums are small beside the rows
MOST_PARTS = 512
_BUFFER = 2**20  # bytes of a column that are read at a time: a row group may be larger than the memory

NUMBER, DATE, TRUTH, CATEGORY, NOTHING = "number", "date", "truth", "category", "nothing"


@dataclass(frozen=True)
class Piece:
    """Consecutive row groups of one file, and the columns that its folders name."""

    path: str
    filesystem: Any
    groups: tuple[int, ...]
    keys: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Part:
    """Pieces that are read together; ``start`` is the number of its first row among all rows."""

    pieces: tuple[Piece, ...]
    start: int
    rows: int

    def batches(self, columns: Sequence[str], size: int) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """(number of the first row, values by column), in order."""
        start = self.start
        for piece in self.pieces:
            keys = dict(piece.keys)
            with piece.filesystem.open_input_file(piece.path) as handle:
                file = pa.parquet.ParquetFile(handle, buffer_size=_BUFFER, pre_buffer=False)
                stored = [name for name in columns if name not in keys]
                for batch in file.iter_batches(size, list(piece.groups), columns=stored, use_threads=False):
                    rows = batch.num_rows
                    values = {name: batch.column(batch.schema.get_field_index(name)) for name in stored}
                    fixed = {name: pa.array([keys[name]] * rows) for name in columns if name in keys}
                    yield start, values | fixed
                    start += rows
        pa.default_memory_pool().release_unused()  # pages that were unpacked, twice their size in all


@dataclass(frozen=True)
class ParquetRows:
    """All rows of some files. ``kinds`` says what each column holds; ``identity`` changes when a file does."""

    parts: tuple[Part, ...]
    rows: int
    kinds: Mapping[str, str]
    identity: str

    def require(self, names: Sequence[str]) -> None:
        """Raise an error where a column is missing or cannot be used."""
        for name in names:
            if name not in self.kinds:
                raise UnknownName("column of the Parquet files", name, list(self.kinds))
            if self.kinds[name].startswith("other"):
                raise InvalidType(
                    f"Column {name!r} holds values of type {self.kinds[name].removeprefix('other ')}; numbers, dates, "
                    "truths or text are needed."
                )


def is_stored(source: Any) -> bool:
    """Whether this names Parquet files: a dataset of pyarrow, a path, or a list of paths."""
    if isinstance(source, Path | str | pa.dataset.Dataset):
        return True
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(each, Path | str) for each in source)


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


def open_parquet(source: Any) -> ParquetRows:
    """The files of a dataset, a path, a folder, a pattern or a list of paths, in the order of their names."""
    if not isinstance(source, pa.dataset.Dataset):
        paths = parquet_paths(source)
        try:
            source = pa.dataset.dataset(paths, format="parquet", partitioning="hive")
        except (OSError, pa.ArrowException) as error:
            raise InvalidInput(f"{paths[0]!r} cannot be read: {' '.join(str(error).split())}.") from None
    if not isinstance(source, pa.dataset.FileSystemDataset) or not isinstance(
        source.format, pa.dataset.ParquetFileFormat
    ):
        raise InvalidType(
            "A pyarrow dataset of Parquet files is needed, such as pyarrow.dataset.dataset('folder'); write other rows "
            "to Parquet first."
        )
    if (getattr(source, "_scan_options", None) or {}).get("filter") is not None:
        raise InvalidType("The dataset has a filter, which is not applied here; write the filtered rows to Parquet.")
    pieces: list[tuple[Piece, int]] = []
    kinds: dict[str, str] = {}
    digest = hashlib.sha256()
    for fragment in sorted(source.get_fragments(), key=lambda each: str(each.path)):
        try:
            metadata, schema = fragment.metadata, fragment.physical_schema
        except (OSError, pa.ArrowException) as error:
            raise InvalidInput(f"{fragment.path!r} cannot be read: {' '.join(str(error).split())}.") from None
        keys = tuple(pa.dataset.get_partition_keys(fragment.partition_expression).items())
        own = {field.name: _kind(field.type) for field in schema}
        own |= {name: _kind(pa.array([value]).type) for name, value in keys}
        kinds = own if not pieces else _merged(kinds, own, fragment.path)
        pieces += [
            (Piece(fragment.path, fragment.filesystem, (group.id,), keys), group.num_rows)
            for group in fragment.row_groups
            if group.num_rows
        ]
        info = fragment.filesystem.get_file_info(fragment.path)
        digest.update(repr((fragment.path, info.size, info.mtime_ns, metadata.num_rows)).encode())
    rows = sum(count for _, count in pieces)
    if rows < 2:
        raise InvalidInput(f"The Parquet files have {rows} rows; at least 2 are needed.")
    return ParquetRows(_joined(pieces, max(PART_ROWS, -(-rows // MOST_PARTS))), rows, kinds, digest.hexdigest())


def _joined(pieces: Sequence[tuple[Piece, int]], least: int) -> tuple[Part, ...]:
    """Consecutive row groups, of one file or of several, joined until a part has ``least`` rows."""
    parts, own, start, rows = [], list[Piece](), 0, 0
    for number, (piece, count) in enumerate(pieces):
        if own and own[-1].path == piece.path:
            own[-1] = Piece(piece.path, piece.filesystem, (*own[-1].groups, *piece.groups), piece.keys)
        else:
            own.append(piece)
        rows += count
        if rows >= least or number == len(pieces) - 1:
            parts.append(Part(tuple(own), start, rows))
            own, start, rows = [], start + rows, 0
    return tuple(parts)


def _merged(known: Mapping[str, str], own: Mapping[str, str], path: str) -> dict[str, str]:
    """Columns that all files have; a column that holds different things is an error."""
    merged = {}
    for name, kind in known.items():
        here = own.get(name)
        if here is None:
            continue
        if NOTHING not in (kind, here) and kind != here:
            raise InvalidType(f"Column {name!r} holds {kind} values in some files but {here} values in {path!r}.")
        merged[name] = here if kind == NOTHING else kind
    return merged


def _kind(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return NUMBER
    if types.is_date(kind) or types.is_timestamp(kind):
        return DATE
    if types.is_boolean(kind):
        return TRUTH
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return CATEGORY
    return NOTHING if types.is_null(kind) else f"other {kind}"
