"""Results on disk: one Parquet file per finished task, never half-written."""

from __future__ import annotations

import json
import shutil
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

_LISTS = {"datasets": str, "seeds": int, "methods": str}
"""What a plan lists, beside the names of its protocol and source."""


@dataclass(frozen=True)
class Store:
    """A folder with ``run.json`` (schema, protocol, source, planned tasks) and ``rows/dataset=…/seed=…/method=…``."""

    folder: Path

    @property
    def rows_folder(self) -> Path:
        return self.folder / "rows"

    @property
    def plan_file(self) -> Path:
        return self.folder / "run.json"

    def plan(self) -> dict[str, Any]:
        """The content of run.json; an error for a folder that holds no results, or results of another schema."""
        if not self.plan_file.is_file():
            raise InvalidInput(f"{str(self.folder)!r} holds no results: it has no {self.plan_file.name}.")
        try:
            plan: dict[str, Any] = json.loads(self.plan_file.read_text(encoding="utf-8"))
            schema = plan.get("schema")
        except (ValueError, RecursionError, AttributeError) as error:
            raise InvalidInput(f"{str(self.plan_file)!r} cannot be read ({error}); choose another --out.") from None
        if schema != SCHEMA:
            raise InvalidInput(
                f"{str(self.folder)!r} holds results of schema {schema}, this version writes {SCHEMA} into run.json; "
                "choose another --out, or the version that wrote them."
            )
        usable = {name: isinstance(plan.get(name), str) for name in ("protocol", "source")} | {
            name: isinstance(plan.get(name), list) and all(isinstance(entry, kind) for entry in plan[name])
            for name, kind in _LISTS.items()
        }
        if not all(usable.values()):
            wrong = ", ".join(name for name, good in usable.items() if not good)
            raise InvalidInput(f"{str(self.plan_file)!r} has no usable {wrong}; choose another --out.")
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
            with open(self.folder / ".lock", "a+", encoding="utf-8") as lock:  # not run.json, which is replaced
                try:
                    _lock(lock)
                except BlockingIOError:
                    raise InvalidInput(
                        f"Another run writes into {str(self.folder)!r}; wait until it ends, or choose another --out."
                    ) from None
                if self.plan_file.exists():
                    wanted = self._merged(wanted)
                elif self.rows_folder.exists() and any(self.rows_folder.iterdir()):
                    raise InvalidInput(
                        f"{str(self.folder)!r} has rows but no {self.plan_file.name}; choose another --out."
                    )
                for incomplete in self.rows_folder.glob("*/*/*/.rows.parquet.*"):
                    shutil.rmtree(incomplete, ignore_errors=True)
                text = json.dumps(wanted, indent=2)
                write_whole(self.plan_file, lambda partial: partial.write_text(text, encoding="utf-8"))
                yield
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
        """Write the rows of a task; it counts as finished only when the file is complete."""
        path, columns = self.path(key), tidy(rows).drop(columns=list(KEY))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, lambda partial: columns.to_parquet(partial, index=False))
        except OSError as error:
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
            parts = pyarrow.dataset.dataset(files, partitioning=hive, partition_base_dir=str(self.rows_folder))
            table = parts.to_table().to_pandas()
        except (pa.ArrowInvalid, OSError) as error:
            raise InvalidInput(f"A file of results is damaged: {error}. Delete it and run the study again.") from None
        return in_order(table)

    def _merged(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The tasks planned before and those wanted now; an error if protocol or source differ."""
        known = self.plan()
        for name in ("protocol", "source"):
            if known[name] != wanted[name]:
                raise InvalidInput(
                    f"{str(self.folder)!r} holds results of {name} {known[name]!r}, not {wanted[name]!r}; nothing was "
                    "changed. Choose another --out."
                )
        return wanted | {name: list(dict.fromkeys([*known[name], *wanted[name]])) for name in _LISTS}


def _lock(handle: IO[str]) -> None:
    """Lock the file until it is closed; BlockingIOError if another process holds the lock. Windows has no such lock."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
