"""How far average predictions of profiles are apart, as ranges on one line per model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairlevel.arrays import Array
from fairlevel.report.charts.axes import Axis, Frame
from fairlevel.report.charts.svg import layers, tag
from fairlevel.report.numbers import number
from fairlevel.report.page import Chart, Series, TableBlock

PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


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
