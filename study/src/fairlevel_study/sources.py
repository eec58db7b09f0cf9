"""Where tables come from: a folder with a manifest, or OpenML."""

from __future__ import annotations

import os
import urllib.error
import warnings
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from http.client import IncompleteRead
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

from fairlevel.exceptions import FairLevelError, InvalidInput, UnknownName
from fairlevel_study.catalogue import catalogue

MANIFEST = "MANIFEST.csv"
FOLDER_VARIABLE = "FAIRLEVEL_DATA_DIR"
_NEEDED = ("slug", "target", "sha256")
_SLUG = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"  # a name of a file, never a path


class DownloadFailed(FairLevelError, OSError):
    """A table could not be downloaded, or its content is not what OpenML describes."""


@dataclass(frozen=True)
class RawTable:
    """A table before encoding: features of any kind, and a numeric target, (row,), without missing values."""

    slug: str
    features: pd.DataFrame
    target: pd.Series

    @classmethod
    def of(cls, slug: str, frame: pd.DataFrame, target: str) -> RawTable:
        """Separate the target from the features; rows without a target are dropped."""
        if target not in frame:
            few = ", ".join(map(str, frame.columns[:8])) + (
                f" and {frame.shape[1] - 8} more" if frame.shape[1] > 8 else ""
            )
            raise InvalidInput(f"{slug} has no column {target!r}, which should be its target; it has {few}.")
        values = pd.to_numeric(frame[target], errors="coerce").astype(np.float64)
        usable = np.isfinite(values.to_numpy())
        if not usable.any():
            raise InvalidInput(f"The target {target!r} of {slug} holds no numbers.")
        kept = frame.loc[usable].reset_index(drop=True)
        return cls(slug, kept.drop(columns=target), values[usable].reset_index(drop=True))


@dataclass(frozen=True)
class FolderSource:
    """A folder with one Parquet file per slug and a MANIFEST.csv with columns slug, target and sha256."""

    folder: Path

    name = "folder"

    @cached_property
    def manifest(self) -> pd.DataFrame:
        """One row per table, indexed by slug."""
        path = self.folder / MANIFEST
        if not path.is_file():
            raise InvalidInput(
                f"{str(self.folder)!r} is not a data folder: it has no {MANIFEST}. Pass --data-dir FOLDER, set "
                f"{FOLDER_VARIABLE}, or leave both out to use OpenML."
            )
        try:
            table = pd.read_csv(path, dtype={"slug": str, "target": str, "sha256": str}, index_col=False)
        except (ValueError, OSError) as error:
            reason = " ".join(str(error).split())
            raise InvalidInput(f"{str(path)!r} cannot be read ({reason}); copy it again.") from None
        missing = [name for name in _NEEDED if name not in table]
        slugs = table.get("slug", pd.Series(dtype=str))
        paths, twice = slugs[~slugs.str.fullmatch(_SLUG).eq(True)], slugs[slugs.duplicated()]
        if missing:
            wrong = f"lacks {' and '.join(missing)}; columns {', '.join(_NEEDED)} are needed"
        elif table[list(_NEEDED)].isna().to_numpy().any():
            wrong = f"has empty cells; every row needs {', '.join(_NEEDED)}"
        elif len(paths):
            letters = "letters, digits, '_', '-' and '.', such as 'wine', and does not start with a dot"
            wrong = f"names a table {paths.iloc[0]!r}; a slug is made of {letters}"
        elif len(twice):
            wrong = f"names the table {twice.iloc[0]!r} twice; remove one of the rows"
        else:
            return table.set_index("slug")
        raise InvalidInput(f"{str(path)!r} {wrong}.")

    @property
    def slugs(self) -> tuple[str, ...]:
        return tuple(self.manifest.index)

    def load(self, slug: str) -> RawTable:
        if slug not in self.manifest.index:
            raise UnknownName("table", slug, self.slugs)
        path = self.folder / f"{slug}.parquet"
        if not path.is_file():
            raise InvalidInput(f"{str(path)!r} does not exist, though {MANIFEST} names it; copy it there again.")
        content = path.read_bytes()
        if sha256(content).hexdigest() != self.manifest.loc[slug, "sha256"]:
            raise InvalidInput(
                f"{str(path)!r} is not the file that {MANIFEST} describes (sha256 differs); copy it again."
            )
        try:
            frame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{str(path)!r} cannot be read as Parquet ({error}); copy it again.") from None
        return RawTable.of(slug, frame, str(self.manifest.loc[slug, "target"]))


@dataclass(frozen=True)
class OpenMLSource:
    """Tables of the catalogue, downloaded from OpenML by scikit-learn's client, which checks and caches them."""

    cache: Path | None = None  # a folder; None for scikit-learn's default
    retries: int = 3  # after a network error
    delay: float = 1.0  # seconds in between

    name = "openml"

    @property
    def slugs(self) -> tuple[str, ...]:
        return tuple(slug for slug, entry in catalogue().items() if entry.openml_id is not None)

    def load(self, slug: str) -> RawTable:
        if slug not in self.slugs:
            raise UnknownName("table with an OpenML id", slug, self.slugs)
        entry = catalogue()[slug]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # notes on retries and versions; failures are raised below
                table = fetch_openml(
                    data_id=entry.openml_id,
                    target_column=entry.openml_target,
                    data_home=None if self.cache is None else str(self.cache),
                    as_frame=True,
                    parser="auto",
                    n_retries=self.retries,
                    delay=self.delay,
                )
        except (urllib.error.URLError, TimeoutError, IncompleteRead, EOFError, OSError) as error:
            raise DownloadFailed(
                f"{slug} (OpenML {entry.openml_id}) could not be fetched: {error}; try again, or set "
                f"{FOLDER_VARIABLE} to a folder that holds {slug}.parquet and {MANIFEST}."
            ) from error
        except ValueError as error:
            raise DownloadFailed(
                f"{slug} (OpenML {entry.openml_id}) does not match its description on OpenML: {error}; try again."
            ) from error
        frame = table.frame.drop(columns=list(entry.openml_drop), errors="ignore")
        return RawTable.of(slug, frame, table.target.name)


Source = FolderSource | OpenMLSource
"""Where tables can be loaded from. Its name is stored with results: tables of one slug may differ between sources."""


def resolve_source(data_dir: Path | None = None) -> Source:
    """The given folder, else the folder in FAIRLEVEL_DATA_DIR, else OpenML."""
    folder = data_dir or os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return OpenMLSource()
    source = FolderSource(Path(folder).resolve())
    _ = source.manifest
    return source
