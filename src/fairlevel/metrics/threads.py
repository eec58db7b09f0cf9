"""Tasks of many small products, each on one thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")


def on_single_threads(*tasks: Callable[[], Result]) -> list[Result]:
    """The results of all tasks, which run in parallel, each on a single PyTorch thread.

    PyTorch divides every small product among all threads, and waking them costs more than they save.
    """
    threads = torch.get_num_threads()
    if threads == 1:
        return [task() for task in tasks]
    try:
        with ThreadPoolExecutor(min(len(tasks), threads), initializer=lambda: torch.set_num_threads(1)) as pool:
            return list(pool.map(lambda task: task(), tasks))
    finally:
        torch.set_num_threads(threads)  # for threads that start from now on; this one's number did not change
