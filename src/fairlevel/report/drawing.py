"""Drawings as SVG, made of text, and axes: from values to places on a drawing, and the ticks between.

No script, sharp at any size, and coloured by the page, so that they are right on dark pages and on paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from fairlevel.arrays import Array
from fairlevel.report.numbers import decimal, number

_LETTER = 9.6  # width of a letter of a tick label on a narrow screen, where letters are largest
_TOP, _RIGHT = 12.0, 26.0


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """One element; names from data are escaped. ``class_`` stands for class, an underscore for a hyphen, and None
    leaves an attribute out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_shown(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>")


def _shown(value: object) -> str:
    """A coordinate to a tenth of a unit, anything else as text."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float | np.floating) else str(value)


def line(x: Array, y: Array) -> str:
    """A path through points, (point,), (point,); it is broken where a value is missing."""
    parts, pen = [], "M"
    for across, down in zip(x, y, strict=True):
        known = np.isfinite(across + down)
        if known:
            parts.append(f"{pen}{_shown(float(across))} {_shown(float(down))}")
        pen = "L" if known else "M"
    return "".join(parts)


def area(x: Array, low: Array, high: Array) -> str:
    """A closed path around a band, all (point,); points without a value are left out."""
    known = np.isfinite(low + high)
    if not known.any():
        return ""
    across = np.concatenate([x[known], x[known][::-1]])
    return line(across, np.concatenate([high[known], low[known][::-1]])) + "Z"


def layers(drawn: Sequence[Sequence[object]], first: int) -> Markup:
    """What a chart shows of each choice, in order. The page shows the layer of the chosen one and hides the others; it
    opens with ``first``.
    """
    return Markup("").join(
        tag("g", *parts, class_="layer on" if number == first else "layer", data_option=number)
        for number, parts in enumerate(drawn)
    )


@dataclass(frozen=True)
class Axis:
    """A range of values with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    percent: bool = False

    @classmethod
    def over(cls, low: float, high: float, count: int = 5, pad: float = 0.04) -> Axis:
        """From a little below ``low`` to a little above ``high``, with about ``count`` ticks at round values."""
        size = max(abs(low), abs(high))
        if not high - low > 1e-9 * size:  # ticks between would be the same number
            middle, half = (low + high) / 2, max(size, 1e-12) * 0.05
            low, high = middle - half, middle + half
        low, high = low - pad * (high - low), high + pad * (high - low)
        step = _round_step((high - low) / count)
        ticks = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        return cls(float(low), float(high), tuple(ticks.tolist()))

    @classmethod
    def from_zero(cls, high: float) -> Axis:
        """From 0 to a little above ``high``."""
        axis = cls.over(0.0, high if high > 0 else 1.0)
        return cls(0.0, axis.high, tuple(tick for tick in axis.ticks if tick >= 0))

    def label(self, tick: float) -> str:
        """A tick as text, with as many decimals as its neighbours need."""
        if self.percent:
            return f"{round(100 * tick, 6):g} %"
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else abs(tick) or 1.0
        size = max(abs(self.low), abs(self.high))
        if size >= 1e9 or size < 1e-4:
            return number(tick, 2)
        return decimal(tick, max(0, -int(np.floor(np.log10(step) + 1e-9))), size)

    def places(self, values: Array | float, start: float, end: float) -> Array:
        """Where values lie between the places of both ends."""
        share: Array = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)
        return start + share * (end - start)


def _round_step(size: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least ``size``."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= size * (1 - 1e-9)))


@dataclass(frozen=True)
class Frame:
    """The area of a drawing between two axes; ``across`` is None where categories stand side by side. The page scales
    the width to the space it has.
    """

    across: Axis | None
    up: Axis
    width: float = 560.0
    height: float = 300.0
    bottom: float = 26.0

    @property
    def left(self) -> float:
        return 14.0 + _LETTER * max((len(self.up.label(tick)) for tick in self.up.ticks), default=1)

    @property
    def right(self) -> float:
        return self.width - _RIGHT

    @property
    def base(self) -> float:
        """Where the lower end of the upward axis is."""
        return self.height - self.bottom

    def x(self, values: Array | float) -> Array:
        """Places from left to right."""
        assert self.across is not None
        return self.across.places(values, self.left, self.right)

    def y(self, values: Array | float) -> Array:
        """Places from the top down."""
        return self.up.places(values, self.base, _TOP)

    def inside(self, *children: object) -> Markup:
        """Elements that end at the edges of the area."""
        width, height = self.right - self.left, self.base - _TOP
        box = {"x": self.left, "y": _TOP, "width": width, "height": height}
        return tag("svg", *children, **box, viewBox=f"{self.left:g} {_TOP:g} {width:g} {height:g}")

    def drawing(self, *children: object, alt: str, scale: str | None = None) -> Markup:
        """The whole drawing, axes first, as an image with a text alternative. With a ``scale``, the page reads values
        of curves under the pointer.
        """
        box = f"0 0 {self.width:g} {self.height:g}"
        return tag("svg", self._grid(), *children, viewBox=box, role="img", aria_label=alt, data_scale=scale)

    @property
    def scale(self) -> str | None:
        """Places and values of the ends of both axes, left, right, bottom, top."""
        if self.across is None:
            return None
        places = (self.left, self.right, self.base, _TOP)
        values = (self.across.low, self.across.high, self.up.low, self.up.high)
        return " ".join(f"{number:.8g}" for number in (*places, *values))

    def _grid(self) -> Markup:
        """Lines and labels of the ticks."""
        parts = []
        for tick in self.up.ticks:
            at = float(self.y(tick))
            parts.append(tag("line", x1=self.left, x2=self.right, y1=at, y2=at))
            parts.append(tag("text", self.up.label(tick), x=self.left - 8, y=at, dy=".35em", class_="end"))
        if self.across is not None:
            for tick in self.across.ticks:
                at = float(self.x(tick))
                parts.append(tag("line", x1=at, x2=at, y1=_TOP, y2=self.base))
                parts.append(tag("text", self.across.label(tick), x=at, y=self.base + 8, dy=".8em", class_="middle"))
        return tag("g", *parts, class_="grid")
