"""The interface of executors, and how a task ends."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd
import torch

from fairlevel.exceptions import FairLevelError

Task = Callable[[], pd.DataFrame]
"""A function without arguments that returns rows and can be pickled."""


@dataclass(frozen=True)
class Failure:
    """A task that ended without rows: one sentence for an expected error, the traceback for any other."""

    message: str


class Executor(Protocol):
    """Runs tasks somewhere; if a worker is lost, its tasks are run again."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, pd.DataFrame | Failure]]:
        """Yield (number of the task, its rows or its failure) in the order in which tasks finish."""


def call(task: Task) -> pd.DataFrame | Failure:
    """Run a task on one thread, so that its numbers do not depend on the number of cores; errors become failures."""
    torch.set_num_threads(1)
    try:
        return task()
    except FairLevelError as error:
        return Failure(str(error))
    except Exception:
        return Failure(traceback.format_exc())
