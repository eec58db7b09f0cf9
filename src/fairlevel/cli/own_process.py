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

import typer
from rich.console import Console

from fairlevel.exceptions import InvalidInput

LEAST_SECONDS = 60.0
BYTES_PER_SECOND = 100_000  # of both files; LightGBM, XGBoost and CatBoost are a hundred times faster
SECONDS_TO_TIDY_UP = 2.0

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
    process = os.fork()
    if process == 0:
        _limit = limit
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # of an error one sentence is said; libraries print past Python
        return
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    except BaseException:  # such as an interruption, of which a busy library does not hear
        os.kill(process, signal.SIGINT)
        time.sleep(SECONDS_TO_TIDY_UP)
        os.kill(process, signal.SIGKILL)
        raise
    if code >= 0:
        raise typer.Exit(code)
    Console(stderr=True).show_cursor()  # which progress had hidden
    what = f"it ended the process of {library} with signal {-code} ({signal.Signals(-code).name})"
    if code == -signal.SIGALRM:
        what = f"{library} was still busy with it after {limit:.0f} seconds"
    raise InvalidInput(
        f"{model.name!r} cannot be used: {what}. The file is damaged or no model of {library}, or this machine is "
        "too small for it; --most-rows reads fewer rows."
    )


@contextmanager
def limited() -> Iterator[None]:
    """The process ends by an alarm, whatever library is at work, when the work inside takes longer than the limit."""
    if _limit:
        signal.setitimer(signal.ITIMER_REAL, _limit)
    yield
    if _limit:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
