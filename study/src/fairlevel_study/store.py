"""Results on disk: one Parquet file per finished task, never half-written."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import CannotWrite, FairLevelError, InvalidInput
from fairlevel_study.rows import KEY, SCHEMA, Key, in_order, tidy


@dataclass(frozen=True)
class Store:
    """A folder with ``run.json`` (schema, protocol, source, planned tasks) and ``rows/dataset=…/seed=…/method=…``.

    A file is written to ``.partial`` and moved to ``rows`` when it is complete.
    """

    folder: Path

    @property
    def rows_folder(self) -> Path:
        return self.folder / "rows"

    @property
    def plan_file(self) -> Path:
        return self.folder / "run.json"

    @property
    def lock_file(self) -> Path:
        """Held by the run that writes. Not run.json itself, which is replaced as a whole."""
        return self.folder / ".lock"

    @property
    def partial_folder(self) -> Path:
        return self.folder / ".partial"

    def plan(self) -> dict[str, Any]:
        """The content of run.json; an error for a folder that holds no results, or results of another schema."""
        if not self.plan_file.is_file():
            raise InvalidInput(f"{str(self.folder)!r} holds no results: it has no {self.plan_file.name}.")
        try:
            plan: dict[str, Any] = json.loads(self.plan_file.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{str(self.plan_file)!r} cannot be read ({error}); choose another --out.") from None
        if not isinstance(plan, dict):
            raise InvalidInput(f"{str(self.plan_file)!r} is no plan of a run; choose another --out.")
        if plan.get("schema") != SCHEMA:
            raise InvalidInput(
                f"{str(self.folder)!r} holds results of schema {plan.get('schema')}, this version writes {SCHEMA}; "
                "choose another --out, or the version that wrote them."
            )
        wrong = [name for name, entries in _ENTRIES.items() if not _all_of(plan.get(name), entries)]
        if wrong:
            raise InvalidInput(
                f"{str(self.plan_file)!r} has no usable {', '.join(wrong)}; choose another --out, or copy the file "
                "again."
            )
        return plan

    @contextmanager
    def claimed(
        self, protocol: str, source: str, datasets: Sequence[str], seeds: Sequence[int], methods: Sequence[str]
    ) -> Iterator[None]:
        """Open the folder for writing. Only one run at a time may write, and a folder holds results of one protocol and
        one source. Incomplete files of a run that was killed are removed.
        """
        wanted = {"schema": SCHEMA, "protocol": protocol, "source": source}
        wanted |= {"datasets": list(datasets), "seeds": list(seeds), "methods": list(methods)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.lock_file, "a+", encoding="utf-8") as lock:
                try:
                    lock_file(lock)
                except BlockingIOError:
                    raise InvalidInput(
                        f"Another run writes into {str(self.folder)!r}; wait until it ends, or choose another --out."
                    ) from None
                if self.plan_file.exists():
                    wanted = _merged(self.plan(), wanted, self.folder)
                elif self.rows_folder.exists() and any(self.rows_folder.iterdir()):
                    raise InvalidInput(
                        f"{str(self.folder)!r} has rows but no {self.plan_file.name}; choose another --out."
                    )
                shutil.rmtree(self.partial_folder, ignore_errors=True)
                write_whole(self.plan_file, lambda partial: _write_to_disk(partial, json.dumps(wanted, indent=2)))
                try:
                    yield
                finally:
                    shutil.rmtree(self.partial_folder, ignore_errors=True)
        except OSError as error:
            if isinstance(error, FairLevelError):
                raise
            raise CannotWrite(
                f"{str(self.folder)!r} cannot be written ({error.strerror or error}); choose another --out."
            ) from None

    def path(self, key: Key) -> Path:
        """The file for the rows of a task."""
        parts = [f"{name}={value}" for name, value in zip(KEY, key, strict=True)]
        return self.rows_folder.joinpath(*parts, "rows.parquet")

    def finished(self, key: Key) -> bool:
        """Whether the rows of a task have been written, to their end: that is where Parquet has its table of contents.
        A file that a copy or a disk has cut off is no result.
        """
        try:
            pyarrow.parquet.read_metadata(self.path(key))
        except (pa.ArrowInvalid, OSError):
            return False
        return True

    def write(self, key: Key, rows: pd.DataFrame) -> None:
        """Write the rows of a task; it counts as finished only when the file is complete and on disk."""
        path, partial = self.path(key), self.partial_folder / f"{'-'.join(map(str, key))}.parquet"
        try:
            self.partial_folder.mkdir(exist_ok=True)
            tidy(rows).drop(columns=list(KEY)).to_parquet(partial, index=False)
            with open(partial, "rb+") as handle:  # Windows flushes only files that may be written
                os.fsync(handle.fileno())
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise CannotWrite(
                f"The rows of {'/'.join(map(str, key))} cannot be written ({error.strerror or error}); free space in "
                f"{str(self.folder)!r} and run the same command again: finished tasks are kept."
            ) from None

    def read(self) -> pd.DataFrame:
        """All rows, in an order that does not depend on when they were written."""
        self.plan()
        files = sorted(self.rows_folder.glob("*/*/*/rows.parquet"))
        if not files:
            raise InvalidInput(f"{str(self.folder)!r} has no finished task yet.")
        types = pa.schema([("dataset", pa.string()), ("seed", pa.int64()), ("method", pa.string())])
        hive = pyarrow.dataset.partitioning(types, flavor="hive")
        try:
            found = pyarrow.dataset.dataset(files, partitioning=hive, partition_base_dir=str(self.rows_folder))
            table = found.to_table().to_pandas()
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidInput(f"A file of results is damaged: {error}. Delete it and run the study again.") from None
        return in_order(table)


_ENTRIES: dict[str, type | None] = {"protocol": None, "source": None, "datasets": str, "seeds": int, "methods": str}
"""What a plan holds: one text (None), or a list of entries of a type."""


def _all_of(value: object, entries: type | None) -> bool:
    if entries is None:
        return isinstance(value, str)
    return isinstance(value, list) and all(isinstance(entry, entries) for entry in value)


def _write_to_disk(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())


def _merged(known: dict[str, Any], wanted: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tasks planned before and those wanted now; an error if protocol or source differ."""
    for name in ("protocol", "source"):
        if known[name] != wanted[name]:
            raise InvalidInput(
                f"{str(folder)!r} holds results of {name} {known[name]!r}, not {wanted[name]!r}; nothing was changed. "
                "Choose another --out."
            )
    lists = {name: list(dict.fromkeys([*known[name], *wanted[name]])) for name in ("datasets", "seeds", "methods")}
    return wanted | lists


_LOCKED_BYTE = 2**30  # Windows locks single bytes, for readers too: take one far beyond the end of the file


def lock_file(handle: IO[str]) -> None:
    """Lock the file until it is closed; BlockingIOError if another process holds the lock."""
    if sys.platform == "win32":
        import msvcrt

        number = handle.fileno()
        position = os.lseek(number, 0, os.SEEK_CUR)
        os.lseek(number, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "another process holds the lock") from None
        finally:
            os.lseek(number, position, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
