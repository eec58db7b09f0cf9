"""What an executor is, and how a task ends."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd
import torch

from fairlevel.exceptions import FairLevelError

Task = Callable[[], pd.DataFrame]
"""Something that can be pickled and called."""


@dataclass(frozen=True)
class Failure:
    """A task that ended without rows: one sentence, or the whole story where nobody foresaw it."""

    message: str


class Executor(Protocol):
    """Runs tasks somewhere; the loss of a worker costs the tasks it was running, not the run."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, pd.DataFrame | Failure]]:
        """(number of the task, its rows or why there are none) in the order in which they finish."""


def call(task: Task) -> pd.DataFrame | Failure:
    """Run a task on one thread, so that its numbers do not depend on the machine's cores; an error is an outcome."""
    torch.set_num_threads(1)
    try:
        return task()
    except FairLevelError as error:
        return Failure(str(error))
    except Exception:
        return Failure(traceback.format_exc())
