"""Figures of matplotlib as part of a page, readable on light and on dark."""

from __future__ import annotations

import re
from html import escape
from io import StringIO

import matplotlib.pyplot as plt
from cycler import cycler

INK = "#010203"  # stands for the text colour of the page
COLOURS = ("#1a9988", "#d9702b", "#8577d9", "#8a8f98")

STYLE = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "font.size": 10,
    "svg.hashsalt": "fairlevel",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
"""Of the whole build, set once."""


def picture(caption: str, alt: str) -> str:
    """The current figure as HTML; it is closed. ``alt`` says what is to be seen to those who cannot see it."""
    figure = plt.gcf()
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    plt.close(figure)
    svg = text.getvalue().partition("<svg")[2].partition(">")[2].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="\w+_\d+"', "<g", svg)  # names that every figure would use again
    width, height = figure.get_size_inches() * 72
    size = f'viewBox="0 0 {width:g} {height:g}" style="max-width:{width * 1.4:.0f}px"'
    head = f'<svg {size} role="img" aria-label="{escape(alt)}">'
    return f"<figure>{head}{svg}<figcaption>{escape(caption)}</figcaption></figure>"
