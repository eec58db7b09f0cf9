"""What a page holds: sections of text, pictures and tables."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A chart as SVG or PNG, with words for those who do not see it."""

    title: str
    alt: str
    svg: str = ""
    png: str = ""

    kind: ClassVar[str] = "picture"

    @classmethod
    def vector(cls, figure: Figure, title: str, alt: str) -> Picture:
        """Sharp at any size; for charts of few marks."""
        text = StringIO()
        figure.savefig(text, format="svg")
        content = text.getvalue()
        return cls(title, alt, svg=content[content.index("<svg") :])

    @classmethod
    def raster(cls, figure: Figure, title: str, alt: str) -> Picture:
        """Small even with many marks."""
        content = BytesIO()
        figure.savefig(content, format="png", dpi=110)
        return cls(title, alt, png=b64encode(content.getvalue()).decode())


@dataclass(frozen=True)
class TableBlock:
    """Numbers as text, one string a cell; the first column names the row."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    kind: ClassVar[str] = "table"

    @classmethod
    def of(cls, table: pd.DataFrame, title: str, caption: str = "", digits: int = 3) -> TableBlock:
        """A frame with its numbers rounded; missing ones are dashes."""
        rows = tuple(tuple(_cell(value, digits) for value in row) for row in table.itertuples(index=False))
        return cls(title, tuple(map(str, table.columns)), rows, caption)


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs and blocks."""

    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Picture | TableBlock, ...] = ()


@dataclass(frozen=True)
class Page:
    """A title, a sentence on what it is, and sections."""

    title: str
    summary: str
    sections: tuple[Section, ...]


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        if value != value:
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{1 if abs(value) >= 100 else digits}f}"
    return str(value)
