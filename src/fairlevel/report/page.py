"""The parts of a page. A new kind of block is one class here and the template that it names."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True)
class TableBlock:
    """A table as text, one string per cell; the first column names the row."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    template: ClassVar[str] = "table.html.j2"

    @classmethod
    def of(cls, table: pd.DataFrame, title: str, caption: str = "", digits: int = 3) -> TableBlock:
        """A table from a frame: numbers are rounded, missing ones become dashes."""
        rows = tuple(tuple(_cell(value, digits) for value in row) for row in table.itertuples(index=False))
        return cls(title, tuple(map(str, table.columns)), rows, caption)


@dataclass(frozen=True)
class Picture:
    """A static chart as SVG or PNG, with a text alternative and the numbers behind it."""

    title: str
    alt: str
    svg: str = ""
    png: str = ""
    table: TableBlock | None = None

    template: ClassVar[str] = "picture.html.j2"

    @classmethod
    def vector(cls, figure: Figure, title: str, alt: str, table: TableBlock | None = None) -> Picture:
        """As SVG: sharp at any size; for charts with few marks."""
        text = StringIO()
        figure.savefig(text, format="svg")
        content = text.getvalue()
        return cls(title, alt, svg=content[content.index("<svg") :], table=table)

    @classmethod
    def raster(cls, figure: Figure, title: str, alt: str, table: TableBlock | None = None) -> Picture:
        """As PNG: a small file even with many marks."""
        content = BytesIO()
        figure.savefig(content, format="png", dpi=110)
        return cls(title, alt, png=b64encode(content.getvalue()).decode(), table=table)


@dataclass(frozen=True)
class Chart:
    """An interactive chart: a Plotly figure as plain values, a text alternative, and the numbers behind it."""

    title: str
    alt: str
    figure: dict[str, Any]
    table: TableBlock

    template: ClassVar[str] = "chart.html.j2"


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    title: str
    lines: tuple[str, ...]

    template: ClassVar[str] = "code.html.j2"


Block = TableBlock | Picture | Chart | Code


@dataclass(frozen=True)
class Option:
    """One choice of a chooser, and what is shown when it is chosen."""

    label: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Chooser:
    """A chart whose marks are the options, in the same order, and a list to choose from with the keyboard."""

    legend: str
    chart: Chart
    options: tuple[Option, ...]
    first: int = 0

    template: ClassVar[str] = "chooser.html.j2"


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs and blocks."""

    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Block | Chooser, ...] = ()


@dataclass(frozen=True)
class Page:
    """A title, a one-sentence summary, and sections."""

    title: str
    summary: str
    sections: tuple[Section, ...]

    @property
    def interactive(self) -> bool:
        """Whether the page has a chart that needs the plotting library."""
        return any(isinstance(block, Chart | Chooser) for section in self.sections for block in section.blocks)


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        if value != value:
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{1 if abs(value) >= 100 else digits}f}"
    return str(value)
