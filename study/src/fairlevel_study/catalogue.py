"""The tables of the study, one entry each in catalogue.toml, and the suites (named groups of tables)."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fairlevel.exceptions import UnknownName

SUITES: dict[str, str] = {
    "quick": "six small tables, minutes on a laptop",
    "folder60": "sixty tables of a data folder with at least 300 rows and 4 features",
    "real": "twelve tables whose sensitive columns are people's, named in the catalogue",
    "openml60": "sixty tables with OpenML ids; needs a network but no folder",
    "all": "every table of the source",
}


@dataclass(frozen=True)
class Entry:
    """One table: its short name (slug), title and target, and where to find it on OpenML. ``sensitive`` are the columns
    that are sensitive in the suite ``real``, and ``why`` says why.
    """

    slug: str
    title: str
    target: str | None = None
    openml_id: int | None = None
    openml_target: str = "default-target"
    openml_drop: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    notes: str = ""
    sensitive: tuple[str, ...] = ()
    why: str = ""


@cache
def catalogue() -> dict[str, Entry]:
    """Every known table by its slug."""
    text = files("fairlevel_study").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {slug: _entry(slug, values) for slug, values in tomllib.loads(text).items()}


def suite(name: str, available: Sequence[str]) -> tuple[str, ...]:
    """The slugs of a suite; ``all`` stands for every available table."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    if name == "all":
        return tuple(sorted(available))
    return tuple(slug for slug, entry in catalogue().items() if name in entry.suites)


def _entry(slug: str, values: dict[str, object]) -> Entry:
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Entry(slug, **(values | lists))  # type: ignore[arg-type]
