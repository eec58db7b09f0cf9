"""The parts of a page. A new kind of block is one class here and the macro of its name in ``blocks.html.j2``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd
from markupsafe import Markup

from fairlevel.report.numbers import decimal, number
from fairlevel.report.provenance import Provenance


@dataclass(frozen=True)
class TableBlock:
    """A table as text, one string per cell; the first column names the row."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    @classmethod
    def of(cls, table: pd.DataFrame, title: str, caption: str = "", digits: int = 3) -> TableBlock:
        """A table from a frame: numbers have some significant digits, missing ones become dashes."""
        rows = tuple(tuple(_cell(value, digits) for value in row) for row in table.itertuples(index=False))
        return cls(title, tuple(map(str, table.columns)), rows, caption)

    @property
    def words(self) -> tuple[bool, ...]:
        """Whether each column holds words, which are aligned to the left."""
        return tuple(any(row[column][:1].isalpha() for row in self.rows) for column in range(len(self.header)))


@dataclass(frozen=True)
class Series:
    """An entry of a legend: the class that gives marks their colour, and its name."""

    style: str
    label: str


@dataclass(frozen=True)
class Chart:
    """A drawing with its title, the names of its axes, its legend, and the numbers behind it."""

    title: str
    svg: Markup
    across: str = ""
    up: str = ""
    legend: tuple[Series, ...] = ()
    note: str = ""
    table: TableBlock | None = None


@dataclass(frozen=True)
class Charts:
    """Charts side by side where the page is wide enough, with one legend for all if they share it."""

    charts: tuple[Chart, ...]
    title: str = ""
    text: str = ""
    legend: tuple[Series, ...] = ()


@dataclass(frozen=True)
class Folded:
    """What is behind a line to click on; if it is to be ``printed``, it is unfolded on paper."""

    title: str
    blocks: tuple[Charts | TableBlock, ...]
    printed: bool = False


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """One figure in large letters, what it is, and what to compare it with."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Tiles:
    """The figures to see first."""

    tiles: tuple[Tile, ...]


Block = TableBlock | Chart | Charts | Folded | Code | Notes | Tiles


@dataclass(frozen=True)
class Option:
    """One choice of a chooser: its name in addresses, its name in words, and what is shown beside the chart."""

    key: str
    heading: str
    spoken: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Chooser:
    """A chart whose marks are the options, in the same order, a slider over them, and blocks with layers that follow
    the choice. ``ends`` name the first and the last option, ``shortcuts`` are options with a name of their own, the
    ``hint`` says how to choose.
    """

    label: str
    chart: Chart
    options: tuple[Option, ...]
    first: int
    ends: tuple[str, str]
    shortcuts: tuple[tuple[str, int], ...] = ()
    follow: tuple[Block, ...] = ()
    hint: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs and blocks."""

    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Block | Chooser, ...] = ()


@dataclass(frozen=True)
class Headline:
    """What was decided, in a word and a colour, with the number that decided it."""

    tone: Literal["good", "bad", "notice"]
    word: str
    sentence: str

    @property
    def sign(self) -> str:
        """The same without colour."""
        return {"good": "✓", "bad": "✗", "notice": "!"}[self.tone]


@dataclass(frozen=True)
class Page:
    """A title, headlines, a summary in plain words, sections, and where the figures come from."""

    title: str
    summary: str
    sections: tuple[Section, ...]
    headlines: tuple[Headline, ...] = ()
    tiles: Tiles | None = None
    provenance: Provenance | None = None


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return number(value, digits)
    return decimal(value, 0) if isinstance(value, int) and not isinstance(value, bool) else str(value)
