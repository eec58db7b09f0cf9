"""Copy a Parquet file into memory-mapped matrices, for tables that do not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def parquet_memmaps(
    file: str | Path,
    folder: str | Path,
    *,
    target: str,
    sensitive: Sequence[str],
    features: Sequence[str] | None = None,
) -> tuple[Matrix, Matrix, Matrix]:
    """Copy X, y and A of a Parquet file into ``folder`` and return them as read-only memory maps of float32, for fits
    with ``batch_size``.

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
    try:
        maps = {
            name: np.lib.format.open_memmap(paths[name], "w+", np.float32, (rows, len(columns)))
            for name, columns in parts.items()
        }
        start = 0
        for batch in source.iter_batches(columns=[*chosen, target, *sensitive]):
            frame = batch.to_pandas()
            for name, columns in parts.items():
                try:
                    maps[name][start : start + len(frame)] = frame[columns].to_numpy(dtype=np.float32)
                except (TypeError, ValueError) as error:
                    raise InvalidType(f"{str(file)!r} has columns that are not numbers: {error}.") from None
            start += len(frame)
        for each in maps.values():
            each.flush()
    except BaseException:
        for path in paths.values():
            path.unlink(missing_ok=True)
        raise
    x, y, a = (np.load(path, mmap_mode="r") for path in paths.values())
    return x, y[:, 0], a
