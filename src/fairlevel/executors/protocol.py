"""The interface of executors, and how a task ends."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from fairlevel.exceptions import FairLevelError
from fairlevel.threads import use_one_thread

Answer = TypeVar("Answer")
"""What a task returns, such as rows of a study. A task has no arguments and can be pickled."""


@dataclass(frozen=True)
class Failure:
    """A task that ended without an answer: one sentence for an expected error, the traceback for any other."""

    message: str


class Executor(Protocol):
    """Runs tasks somewhere; if a worker is lost, its tasks are run again."""

    def run(self, tasks: Sequence[Callable[[], Answer]]) -> Iterator[tuple[int, Answer | Failure]]:
        """Yield (number of the task, its answer or its failure) in the order in which tasks finish."""


def call(task: Callable[[], Answer]) -> Answer | Failure:
    """Run a task on one thread, so that its numbers do not depend on the number of cores; errors become failures."""
    use_one_thread()
    try:
        return task()
    except FairLevelError as error:
        return Failure(str(error))
    except Exception:
        return Failure(traceback.format_exc())
