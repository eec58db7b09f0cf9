"""Axes: from values to places on the drawing, and the ticks between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from fairlevel.arrays import Array
from fairlevel.report.charts.svg import group, tag
from fairlevel.report.numbers import decimal, number

WIDTH = 560.0
"""The width of a drawing in its own units; the page scales it to the space it has."""
_LETTER = 9.6  # width of a letter of a tick label on a narrow screen, where letters are largest
_TOP, _RIGHT, _BOTTOM = 12.0, 26.0, 26.0


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
        first = np.ceil(low / step - 1e-9)
        ticks = tuple(float(tick * step) for tick in np.arange(first, np.floor(high / step + 1e-9) + 1))
        return cls(float(low), float(high), ticks)

    @classmethod
    def from_zero(cls, high: float) -> Axis:
        """From 0 to a little above ``high``."""
        found = cls.over(0.0, high if high > 0 else 1.0)
        return cls(0.0, found.high, tuple(tick for tick in found.ticks if tick >= 0))

    def label(self, tick: float) -> str:
        """A tick as text, with as many decimals as its neighbours need."""
        if self.percent:
            return f"{round(100 * tick, 6):g} %"
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else abs(tick) or 1.0
        size = max(abs(self.low), abs(self.high))
        if size >= 1e9 or size < 1e-4:
            return number(tick, 2)
        decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        return decimal(tick, decimals, size)

    @property
    def longest(self) -> int:
        """Letters of the longest label."""
        return max((len(self.label(tick)) for tick in self.ticks), default=1)


@dataclass(frozen=True)
class Frame:
    """The area of a drawing between two axes; ``across`` is None where categories stand side by side."""

    across: Axis | None
    up: Axis
    width: float = WIDTH
    height: float = 300.0
    bottom: float = _BOTTOM

    @property
    def left(self) -> float:
        return 14.0 + _LETTER * self.up.longest

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
        share = (np.asarray(values, dtype=np.float64) - self.across.low) / (self.across.high - self.across.low)
        places: Array = self.left + share * (self.right - self.left)
        return places

    def y(self, values: Array | float) -> Array:
        """Places from the top down."""
        share = (np.asarray(values, dtype=np.float64) - self.up.low) / (self.up.high - self.up.low)
        places: Array = self.base - share * (self.base - _TOP)
        return places

    def grid(self) -> Markup:
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
        return group(parts, class_="grid")

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
        return tag("svg", self.grid(), *children, viewBox=box, role="img", aria_label=alt, data_scale=scale)

    @property
    def scale(self) -> str | None:
        """Places and values of the ends of both axes, left, right, bottom, top."""
        if self.across is None:
            return None
        places = (self.left, self.right, self.base, _TOP)
        values = (self.across.low, self.across.high, self.up.low, self.up.high)
        return " ".join(f"{number:.8g}" for number in (*places, *values))


def _round_step(size: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least ``size``."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= size * (1 - 1e-9)))
