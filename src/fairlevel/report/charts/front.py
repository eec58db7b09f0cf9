"""Models by disparity and error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from fairlevel.arrays import Array
from fairlevel.report.charts.axes import Axis, Frame
from fairlevel.report.charts.svg import group, layers, line, tag


@dataclass(frozen=True)
class FrontPoints:
    """Models of a front: disparity with its interval, and error, each (model,), and their names."""

    disparity: Array
    low: Array
    high: Array
    error: Array
    names: Sequence[str]


def front_drawing(points: FrontPoints, knee: int, first: int, alt: str) -> Markup:
    """Disparity to the right, error upwards; the knee has a ring, the chosen model a diamond."""
    reach = float(np.nanmax(np.concatenate([points.disparity, points.high])))
    error = Axis.over(float(points.error.min()), float(points.error.max()), pad=0.1)
    frame = Frame(Axis.from_zero(reach), error, height=330)
    x, y = frame.x(points.disparity), frame.y(points.error)
    low, high = frame.x(points.low), frame.x(points.high)
    marks = [
        group(
            [
                tag("title", name),
                tag("line", x1=low[k], x2=high[k], y1=y[k], y2=y[k], class_="interval"),
                tag("circle", cx=x[k], cy=y[k], r=6),
                tag("circle", cx=x[k], cy=y[k], r=16, class_="target"),
            ],
            class_="mark",
            data_option=k,
        )
        for k, name in enumerate(points.names)
    ]
    ring = [
        tag("circle", cx=x[knee], cy=y[knee], r=11, class_="knee"),
        tag("text", "knee", x=x[knee] - 12, y=y[knee] + 14, dy=".5em", class_="end strong"),
    ]
    chosen = [
        (
            tag("path", d=f"M{a:.1f} {b - 11:.1f}l11 11l-11 11l-11 -11Z", class_="chosen"),
            tag(
                "text",
                "chosen",
                x=a + (-13 if a > 0.7 * frame.width else 13),
                y=b - 14,
                class_=f"{'end' if a > 0.7 * frame.width else 'start'} strong chosen-name",
            ),
        )
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    curve = tag("path", d=line(x, y), class_="curve")
    return frame.drawing(curve, *marks, layers(chosen, first), *ring, alt=alt)
