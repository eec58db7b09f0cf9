"""Models by disparity and error, and how far average predictions of profiles are apart, on one line per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairlevel.arrays import Array
from fairlevel.report.charts.axes import Axis, Frame
from fairlevel.report.charts.svg import group, layers, line, tag
from fairlevel.report.numbers import number
from fairlevel.report.page import Chart, Series, TableBlock

PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


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
    chosen = []
    for across, up in zip(x.tolist(), y.tolist(), strict=True):
        side, anchor = (-13, "end") if across > 0.7 * frame.width else (13, "start")
        diamond = tag("path", d=f"M{across:.1f} {up - 11:.1f}l11 11l-11 11l-11 -11Z", class_="chosen")
        name = tag("text", "chosen", x=across + side, y=up - 14, class_=f"{anchor} strong chosen-name")
        chosen.append((diamond, name))
    curve = tag("path", d=line(x, y), class_="curve")
    return frame.drawing(curve, *marks, layers(chosen, first), *ring, alt=alt)


def range_chart(title: str, quantiles: Array, label: str, names: Sequence[str], first: int, across: str) -> Chart:
    """The middle 90 % and the middle half of E[f | A] over rows, of the last model and of each choice; quantiles at
    evenly spaced probabilities from 0 to 1, (model, quantile).
    """
    given = np.linspace(0, 1, quantiles.shape[1])
    shown = np.stack([np.interp(PROBABILITIES, given, each) for each in quantiles])
    frame = Frame(Axis.over(float(shown.min()), float(shown.max())), Axis(0, 2, ()), height=130)
    before = _range(frame, shown[-1], 1.5, "before")
    after = [_range(frame, each, 0.5, "after") for each in shown]
    alt = f"{title}. {label}: {number(shown[-1, 0], 3)} to {number(shown[-1, -1], 3)}"
    table = pd.DataFrame(shown, columns=[f"{round(100 * probability)} %" for probability in PROBABILITIES])
    table.insert(0, "model", list(names))
    return Chart(
        title,
        frame.drawing(*before, layers(after, first), alt=alt),
        across=across,
        legend=(Series("before", label), Series("after", "chosen model")),
        note="The thin line spans nine of ten rows, the thick one the middle half. Narrower is more level.",
        table=TableBlock.of(table, "Average prediction of rows with the same attributes", "by share of rows"),
    )


def _range(frame: Frame, quantiles: Array, at: float, style: str) -> list[Markup]:
    x, y = frame.x(quantiles).tolist(), float(frame.y(at))
    text = f"{number(quantiles[0], 3)} to {number(quantiles[-1], 3)}"
    return [
        tag("line", tag("title", text), x1=x[0], x2=x[4], y1=y, y2=y, class_=f"thin {style}"),
        tag("line", tag("title", text), x1=x[1], x2=x[3], y1=y, y2=y, class_=f"thick {style}"),
        tag("circle", cx=x[2], cy=y, r=5, class_="median"),
    ]
