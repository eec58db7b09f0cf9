"""Copy a Parquet file into memory-mapped matrices, for tables that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.preprocessing import StandardScaler

from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float32] | np.dtype[np.float64]]

_COARSE = 1e-4  # steps of 32-bit numbers above this share of a column's standard deviation lose what it says


def parquet_memmaps(
    file: str | Path,
    folder: str | Path,
    *,
    target: str,
    sensitive: Sequence[str],
    features: Sequence[str] | None = None,
) -> tuple[Matrix, Matrix, Matrix]:
    """Copy X, y and A of a Parquet file into ``folder`` and return them as read-only memory maps, for fits with
    ``batch_size``. Numbers are stored in 32 bits; a matrix with a column far from zero, of which 32 bits would keep too
    few digits, in 64 bits. The file is read twice.

    Parameters
    ----------
    file : Parquet file with numeric columns
    folder : folder for x.npy, y.npy and a.npy; must not hold these files yet
    target, sensitive : names of columns
    features : names of the columns to predict from; None for all other columns
    """
    source, folder = pq.ParquetFile(file), Path(folder)
    known = source.schema_arrow.names
    for name in (target, *sensitive, *(features or ())):
        if name not in known:
            raise UnknownName("column", name, known)
    chosen = list(features) if features is not None else [n for n in known if n != target and n not in sensitive]
    rows = source.metadata.num_rows
    parts = {"x": chosen, "y": [target], "a": list(sensitive)}
    paths = {name: folder / f"{name}.npy" for name in parts}
    taken = [path.name for path in paths.values() if path.exists()]
    if taken:
        raise InvalidInput(f"{str(folder)!r} already holds {', '.join(taken)}; choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {name: _kind(columns, file) for name, columns in parts.items()}
    try:
        maps = {
            name: np.lib.format.open_memmap(paths[name], "w+", kinds[name], (rows, len(columns)))
            for name, columns in parts.items()
        }
        start = 0
        for frame in _frames(file, [*chosen, target, *sensitive]):
            for name, columns in parts.items():
                maps[name][start : start + len(frame)] = frame[columns].to_numpy(dtype=kinds[name])
            start += len(frame)
        for each in maps.values():
            each.flush()
    except BaseException:
        for path in paths.values():
            path.unlink(missing_ok=True)
        raise
    x, y, a = (np.load(path, mmap_mode="r") for path in paths.values())
    return x, y[:, 0], a


def _frames(file: str | Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The columns as 64-bit numbers, some rows at a time."""
    for batch in pq.ParquetFile(file).iter_batches(columns=list(columns)):
        try:
            yield batch.to_pandas().astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidType(f"{str(file)!r} has columns that are not numbers: {error}.") from None


def _kind(columns: Sequence[str], file: str | Path) -> type[np.float32] | type[np.float64]:
    """32 bits, or 64 bits where a column varies little beside its size or leaves the range of 32 bits."""
    largest, moments = np.zeros(len(columns)), StandardScaler()
    for frame in _frames(file, columns):
        values = frame[list(columns)].to_numpy()
        largest = np.fmax(largest, np.nanmax(np.abs(values), axis=0, initial=0.0))
        moments.partial_fit(values)
    spread = np.sqrt(moments.var_) if len(columns) else largest
    small, huge = np.finfo(np.float32).tiny / _COARSE, np.finfo(np.float32).max * _COARSE
    coarse = (np.finfo(np.float32).eps * largest > _COARSE * spread) | (spread < small) | (largest > huge)
    return np.float64 if (coarse & (spread > 0)).any() else np.float32
