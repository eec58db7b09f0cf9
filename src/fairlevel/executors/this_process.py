"""Run tasks one after another, here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from fairlevel.executors.protocol import Answer


@dataclass(frozen=True)
class ThisProcess:
    """One task after another on all threads of this process; an error ends the run, as it would without tasks."""

    def connected(self) -> AbstractContextManager[None]:
        return nullcontext()

    def run(self, tasks: Sequence[Callable[[], Answer]]) -> Iterator[tuple[int, Answer]]:
        yield from ((number, task()) for number, task in enumerate(tasks))
