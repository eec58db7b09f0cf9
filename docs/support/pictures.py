"""Figures of matplotlib as small pictures that can be read on white and on black."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from cycler import cycler
from PIL import Image

DOCS = Path(__file__).parents[1]
INK = "#77808a"  # contrast of 4 on white and on the dark of code hosts
STYLE = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=("#1a9988", "#d9702b", "#8577d9", "#8a8f98")),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.dpi": 140,
    "figure.facecolor": "none",
    "font.size": 10,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw without a window, in the look of the pages; figures that are left open are closed."""
    matplotlib.use("Agg")
    with matplotlib.rc_context(STYLE):
        yield
        plt.close("all")


class PictureFolder:
    """Pictures of one page, numbered from 1; the folder is emptied first."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.folder = folder
        self.link = os.path.relpath(DOCS / "pictures" / page.stem, page.parent)
        self.number = 0
        for old in folder.glob("*.png"):
            old.unlink()

    def picture(self, caption: str, alt: str) -> None:
        """Save the current figure and print the Markdown that shows it; ``alt`` says what is to be seen."""
        self.number += 1
        self.folder.mkdir(parents=True, exist_ok=True)
        figure, raw = plt.gcf(), BytesIO()
        figure.savefig(raw, format="png")
        plt.close(figure)
        name = f"{self.number}.png"
        Image.open(raw).quantize(128, method=Image.Quantize.FASTOCTREE).save(self.folder / name, optimize=True)
        print(f"![{alt}]({self.link}/{name})\n\n*{caption}*")
