"""Rows of long comparisons: one task per table and seed, several at once, written as they come and never made twice."""

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import torch

Row = dict[str, Any]
Key = tuple[Any, ...]


def run_tasks(
    tasks: Iterable[tuple[Key, Callable[[], list[Row]]]], names: tuple[str, ...], out: Path, processes: int
) -> None:
    """Run the tasks whose key the file does not hold; ``names`` are the columns of the key. Tasks are pickled."""
    kept = [pd.read_parquet(out)] if out.exists() else []
    done = {key for frame in kept for key in frame[list(names)].itertuples(index=False, name=None)}
    with ProcessPoolExecutor(processes, get_context("spawn"), _quiet) as pool:
        running = {pool.submit(task): key for key, task in tasks if key not in done}
        for number, future in enumerate(as_completed(running), 1):
            key, found = running[future], future.result()
            kept.append(pd.DataFrame([dict(zip(names, key, strict=True)) | row for row in found]))
            pd.concat(kept, ignore_index=True).to_parquet(out)
            print(f"{number}/{len(running)}", *key, *found[-1:], flush=True)


def _quiet() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
