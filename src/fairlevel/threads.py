"""How many threads work: cores of this process, and tasks of many small products, each on one thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Item = TypeVar("Item")
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


@contextmanager
def numpy_on_one_thread() -> Iterator[None]:
    """NumPy's products use one thread inside, where tasks on several threads make them; PyTorch's number stays."""
    from threadpoolctl import threadpool_limits  # audits need neither it nor scikit-learn

    threads = torch.get_num_threads()
    with threadpool_limits(1, user_api="blas"):
        torch.set_num_threads(threads)  # some builds of PyTorch share their number with the library that was limited
        yield


def map_on_single_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The function of each item, in order; as many items at a time as PyTorch has threads, each on one of them. Items
    are asked for here and a few ahead, so that they may be read from a file of any size meanwhile.
    """
    threads = torch.get_num_threads()
    if threads == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1))
    try:
        started = deque[Future[Result]]()
        for item in items:
            started.append(pool.submit(function, item))
            if len(started) > 2 * threads:
                yield started.popleft().result()
        while started:
            yield started.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # for threads that start from now on


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
