"""How many threads work, how they wait, and tasks of many small products, each on one thread.

Where PyTorch has been imported, its number of threads is that of the tasks.

A thread of LightGBM or PyTorch that has done its part waits for the others, and keeps its core busy meanwhile. Where
other work shares the cores, the thread that it waits for may not get one: a fit then takes many times its work. A
library reads the environment when it is loaded; how its threads wait cannot be changed later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from threading import Barrier, local
from typing import Any, TypeVar

from fairlevel.exceptions import InvalidInput

Item = TypeVar("Item")
Result = TypeVar("Result")

POLICY = "OMP_WAIT_POLICY"
_first_process = os.getpid()
_here = local()  # of this thread: ``workers`` of its fit, and ``shared``, whether it works on a task of another one


@contextmanager
def waiting_asleep() -> Iterator[None]:
    """Threads of libraries that are loaded, and of processes that are started inside, sleep while they wait, unless the
    user has said how they wait. The environment is then put back.
    """
    if POLICY in os.environ:
        yield
        return
    os.environ[POLICY] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop(POLICY, None)


def cores() -> int:
    """Cores that this process may use: not more than the limit of a container, whose system shows all of them."""
    from joblib import cpu_count  # where work begins

    return int(cpu_count())


def forked() -> bool:
    """Whether this process was forked from the one that imported this file, and has lost the threads of OpenMP: the
    first parallel loop of LightGBM or PyTorch would wait for them for ever.
    """
    return os.getpid() != _first_process


def _torch() -> Any:
    """PyTorch, where it has been imported, and not only in part, as by another thread that is still at it."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "set_num_threads") else None


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """The number of threads that work, PyTorch's among them where it has been imported. None leaves it as it is; -1
    stands for all cores, -2 for all but one, as in scikit-learn.
    """
    before = getattr(_here, "workers", None)
    threads = None if _torch() is None else _torch().get_num_threads()
    if n_jobs is None:
        _here.workers = min(workers(), cores())
    elif not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InvalidInput(
            f"n_jobs={n_jobs!r} was given; a whole number of threads is needed, -1 for all cores, or None."
        )
    else:
        _here.workers = int(n_jobs) if n_jobs > 0 else max(cores() + 1 + int(n_jobs), 1)
    use_as_many_threads()
    try:
        yield
    finally:
        _here.workers = before
        if _torch() is not None:
            _torch().set_num_threads(threads or workers())


def use_as_many_threads() -> None:
    """PyTorch, where it has been imported, uses as many threads as work in this thread's fit, if there is one, and one
    in a forked process.
    """
    if _torch() is not None and (forked() or getattr(_here, "workers", None)):
        _torch().set_num_threads(workers())


def workers() -> int:
    """How many tasks may work at a time, each on one thread: as was asked for, or all cores. In a task, and in a forked
    process, one.
    """
    if is_shared() or forked():
        return 1
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    by_default = int(asked) if asked.isdecimal() and int(asked) else None
    return getattr(_here, "workers", None) or (_torch().get_num_threads() if _torch() else by_default or cores())


def is_shared() -> bool:
    """Whether this thread works for another one, on a task that would wait for itself if it was divided again."""
    return getattr(_here, "shared", False)


def _one_thread_here() -> None:
    _here.shared = True
    if _torch() is not None:
        _torch().get_num_threads()  # asked first, PyTorch takes over the number of the process, which it would do later
        _torch().set_num_threads(1)


def single_threads(count: int) -> ThreadPoolExecutor:
    """So many threads of this process, each with one PyTorch thread. They wait for work until the process ends."""
    return _single_threads(os.getpid(), count, _torch() is not None)


@cache
def _single_threads(process: int, count: int, with_torch: bool) -> ThreadPoolExecutor:
    """A forked process has none of its parent's threads, and starts its own. No thread ever ends: one that is ending
    while another forks holds a lock of MKL's, for which the child would wait for ever. Threads from before PyTorch was
    imported do not know its number, so that others work then.
    """
    threads = _torch().get_num_threads() if with_torch else None
    pool = ThreadPoolExecutor(count, initializer=_one_thread_here)
    all_started = Barrier(count)
    list(pool.map(lambda _: all_started.wait(), range(count)))
    if with_torch:
        _torch().set_num_threads(threads)  # for threads that start from now on; this one's number did not change
    return pool


def finish(running: Iterable[Future[Any]]) -> None:
    """Cancel what has not begun, and wait for the rest."""
    wait([task for task in running if not task.cancel()])


def on_single_threads(*tasks: Callable[[], Result]) -> list[Result]:
    """The results of all tasks, which run in parallel, each on a single thread."""
    return list(map_on_single_threads(lambda task: task(), tasks))


def map_on_single_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The function of each item, in order; as many items at a time as there are workers, each on one thread: libraries
    divide every small product among all threads, and waking them costs more than they save.
    """
    threads = workers()
    return map(function, items) if threads == 1 else single_threads(threads).map(function, items)


@cache
def _libraries() -> Any:
    """The libraries that have threads of their own; looking for them again would take 3 ms."""
    from threadpoolctl import ThreadpoolController  # audits need neither it nor scikit-learn

    return ThreadpoolController()


@contextmanager
def numpy_on_one_thread() -> Iterator[None]:
    """NumPy's products use one thread inside, where tasks on several threads make them; PyTorch's number stays."""
    threads = None if _torch() is None else _torch().get_num_threads()
    with _libraries().limit(limits=1, user_api="blas"):
        if threads is not None and _torch().get_num_threads() != threads:  # some builds share their number with BLAS
            _torch().set_num_threads(threads)
        yield
