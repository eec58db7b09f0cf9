"""What long work is doing now, in plain words, for whoever shows it: nothing is shown unless someone listens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Listener = Callable[[str, float | None], None]
"""Called with the name of the present stage, and the share of it that is done where that is known."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def stage(words: str) -> None:
    """Say which stage begins; how long it takes is not known."""
    listener = _listener.get()
    if listener is not None:
        listener(words, None)


def share_of(words: str) -> Callable[[float], None]:
    """Say which stage begins; returns a function that says which share of it is done, from any thread."""
    listener = _listener.get()
    if listener is None:
        return lambda share: None
    listener(words, 0.0)
    return lambda share: listener(words, share)


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
    """Show the stages of the work inside as bars on the terminal, if that is ``wanted`` and there is one. Inside work
    that is shown already, they join its bars. Bars are drawn on the ``console``, by default on standard error. What is
    printed meanwhile must go through the same console, or it would cut into the bars.
    """
    terminal = sys.stderr.isatty() if console is None else console.is_terminal
    if not wanted or _listener.get() is not None or not terminal:
        yield
        return
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
