"""A command that reads files of other libraries, in a process of its own.

Libraries trust the files of their models: a damaged one ends the whole process, or keeps it busy for ever. Reading it
on trial first would not be enough, because what such a file does depends on the memory beside the model, and may be
another thing the second time. So the rest of the command runs in a process that may die, and this one says so.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread

import typer
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from fairlevel.exceptions import InvalidInput

LEAST_SECONDS = 60.0
BYTES_PER_SECOND = 100_000  # of both files; LightGBM, XGBoost and CatBoost are a hundred times faster
_SECONDS_TO_TIDY_UP = 5.0

_limit = 0.0
"""How many seconds limited work may take in such a process."""


def go_on_in_own_process(model: Path, rows: Path, library: str) -> None:
    """Return in a new process, and let this one end as that one ends. The same process goes on where there is no fork
    (Windows), where a fork would lose threads of PyTorch, and where Python's output is redirected.
    """
    global _limit
    if not hasattr(os, "fork") or "torch" in sys.modules or sys.stdout is not sys.__stdout__:
        return
    limit = LEAST_SECONDS + (model.stat().st_size + rows.stat().st_size) / BYTES_PER_SECOND
    print(end="", flush=True)
    with TemporaryFile() as printed:
        hears, keeps = os.pipe()
        process = os.fork()
        if process == 0:
            _limit = limit
            os.close(keeps)
            Thread(target=_end_with_the_other, args=(hears,), daemon=True).start()
            sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
            os.dup2(printed.fileno(), 2)  # what libraries print past Python
            return
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        except BaseException:
            os.close(keeps)
            os.waitpid(process, 0)
            raise
        printed.seek(0)
        words = printed.read().decode(errors="replace")
    if code < 0:
        bar = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), ControlType.SHOW_CURSOR)
        Console(stderr=True).control(bar)  # nobody else takes it off the terminal
        if code == -signal.SIGALRM:
            what = f"{library} was still busy with it after {limit:.0f} seconds"
        else:
            what = f"it ended the process of {library} with signal {-code} ({signal.Signals(-code).name})"
        raise InvalidInput(
            f"{model.name!r} cannot be used: {what}. The file is damaged or no model of {library}, or this machine is "
            "too small for it; --most-rows reads fewer rows."
        )
    if code != 2:  # of an error one sentence is said
        sys.stderr.write(words)
    raise typer.Exit(code)


def _end_with_the_other(hears: int) -> None:
    """The pipe closes when the waiting process is interrupted or killed. Busy libraries do not hear of it."""
    os.read(hears, 1)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_SECONDS_TO_TIDY_UP)
    os._exit(130)


@contextmanager
def limited() -> Iterator[None]:
    """The process ends by an alarm, whatever library is at work, when the work inside takes longer than the limit."""
    if _limit:
        signal.setitimer(signal.ITIMER_REAL, _limit)
    try:
        yield
    finally:
        if _limit:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
