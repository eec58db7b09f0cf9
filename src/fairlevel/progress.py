"""What long work is doing now, in plain words, for whoever shows it: nothing is shown unless someone listens. The
logger "fairlevel" hears of every stage, at level INFO, and of slow paths, at level WARNING.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Listener = Callable[[str, float | None], None]
"""Called with the name of the present stage, and the share of it that is done where that is known."""

_log = logging.getLogger("fairlevel")
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def stage(words: str) -> None:
    """Say which stage begins; how long it takes is not known."""
    _log.info(words)
    listener = _listener.get()
    if listener is not None:
        listener(words, None)


def share_of(words: str) -> Callable[[float], None]:
    """Say which stage begins; returns a function that says which share of it is done, from any thread."""
    _log.info(words)
    listener = _listener.get()
    if listener is None:
        return lambda share: None
    listener(words, 0.0)
    return lambda share: listener(words, share)


@cache
def say_slower(why: str) -> None:
    """Log, once, why work takes longer than it could."""
    _log.warning(why)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear of all stages of the work inside."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def shown(wanted: bool, console: Console | None = None) -> Iterator[None]:
    """Show the stages of the work inside, if that is ``wanted``: as bars on a terminal, as lines elsewhere. Inside work
    that is shown already, they join it. Bars are drawn on the ``console``, by default on standard error. What is
    printed meanwhile must go through the same console, or it would cut into the bars.
    """
    if not wanted or _listener.get() is not None:
        yield
    elif sys.stderr.isatty() if console is None else console.is_terminal:
        with _bars(console):
            yield
    else:
        with listening(_Lines()):
            yield


class _Lines:
    """Writes a line where a stage begins, and where another quarter of it is done."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def __call__(self, words: str, share: float | None) -> None:
        line = f"{words} …" if not share else f"{words}: {math.floor(4 * share) * 25} %"
        if line not in self._written and not line.endswith(": 0 %"):
            self._written.add(line)
            print(line, file=sys.stderr, flush=True)


@contextmanager
def _bars(console: Console | None) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console or Console(file=sys.stderr), transient=True) as bars:
        known: dict[str, TaskID] = {}

        def finish() -> None:
            for bar in known.values():
                bars.update(bar, total=1.0, completed=1.0)
                bars.stop_task(bar)

        def show(words: str, share: float | None) -> None:
            if words not in known:
                finish()
                known[words] = bars.add_task(words, total=None if share is None else 1.0)
            if share is not None:
                bars.update(known[words], completed=share)

        with listening(show):
            yield
