"""Reads of stored rows, part by part: somewhere, in any order, added up in the order of the parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from safetensors import safe_open
from safetensors.torch import save_file

from fairlevel.arrays import Array
from fairlevel.auditing.stored_rows import StoredRows
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import BLOCK
from fairlevel.data.parquet_parts import Part
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import InvalidInput
from fairlevel.executors import Executor, Failure
from fairlevel.metrics.row_terms import Sums
from fairlevel.metrics.streamed import add
from fairlevel.threads import map_on_single_threads

Found = TypeVar("Found")
SECONDS_BETWEEN_WRITES = 10.0


def in_order(executor: Executor, tasks: Sequence[Callable[[], Found]]) -> Iterator[Found]:
    """The answers of tasks in the order of the tasks."""
    early: dict[int, Any] = {}
    wanted = 0
    for number, answer in executor.run(tasks):
        if isinstance(answer, Failure):
            raise InvalidInput(answer.message)
        early[number] = answer
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1


def sums_of_part(measure: Callable[[Attributes, Array], Sums], rows: StoredRows, part: Part) -> Sums | None:
    """Sums over the rows of a part that count, block by block; None where there are none."""

    def of_batch(numbered: tuple[int, Mapping[str, Any]]) -> Sums | None:
        attributes, quantities = rows.read(numbered[1])
        return measure(attributes, quantities) if len(attributes) else None

    total: Sums | None = None
    for sums in map_on_single_threads(of_batch, part.batches(rows.roles.names, BLOCK)):
        if sums is not None:
            total = sums if total is None else add(total, sums)
    return total


@dataclass
class State:
    """Sums so far, in a file that is replaced whole, so that a run that was killed can go on. ``key`` names the rows
    and the plan that the sums belong to; a file of others is not used. Without a path nothing is written.
    """

    path: Path | None
    key: str
    _written: float = field(default_factory=time.monotonic)

    def load(self, read: str) -> tuple[int, Sums | None]:
        """How many parts of this read are summed, and their sums."""
        if self.path is None or not self.path.is_file():
            return 0, None
        try:
            with safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
                if metadata.get("key") != self.key or f"parts of {read}" not in metadata:
                    return 0, None
                names = [name for name in file.keys() if name.startswith(f"{read}/")]  # noqa: SIM118
                sums = {name.removeprefix(f"{read}/"): file.get_tensor(name) for name in names}
                return int(metadata[f"parts of {read}"]), sums or None
        except Exception:  # whatever is wrong with it, its sums can be computed again
            raise InvalidInput(
                f"{str(self.path)!r} is no state of an audit; delete it, or choose another name."
            ) from None

    def save(self, reads: Mapping[str, tuple[int, Sums | None]], now: bool = False) -> None:
        """Write the sums of all reads so far, if the last time is long ago or it must be ``now``."""
        if self.path is None or not (now or time.monotonic() - self._written > SECONDS_BETWEEN_WRITES):
            return
        tensors = {
            f"{read}/{name}": each.contiguous()
            for read, (_, sums) in reads.items()
            for name, each in (sums or {}).items()
        }
        metadata = {"key": self.key} | {f"parts of {read}": str(parts) for read, (parts, _) in reads.items()}
        write_whole(self.path, lambda partial: save_file(tensors, partial, metadata))
        self._written = time.monotonic()

    def remove(self) -> None:
        """At the end of a run."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def summed(
    read: str,
    measure: Callable[[Attributes, Array], Sums],
    rows: StoredRows,
    parts: Sequence[Part],
    executor: Executor,
    state: State,
    earlier: Mapping[str, tuple[int, Sums | None]],
    done: Callable[[int, int], None],
) -> Sums:
    """Sums of a read over all parts, from where an earlier run stopped."""
    count, total = state.load(read)
    tasks = [partial(sums_of_part, measure, rows, part) for part in parts[count:]]
    for sums in in_order(executor, tasks):
        total = sums if total is None else total if sums is None else add(total, sums)
        count += 1
        state.save({**earlier, read: (count, total)}, now=count == len(parts))
        done(count, len(parts))
    if total is None:
        raise InvalidInput("No row has all sensitive values and a weight above 0; such rows are needed.")
    return total
