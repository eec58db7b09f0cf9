"""Charts of several methods of a study: a colour per method, the same in every chart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairlevel.arrays import Array
from fairlevel.report.drawing import Axis, Frame, area, line, tag
from fairlevel.report.numbers import percent
from fairlevel.report.page import Chart, Series

COLOURS = 10
_PANEL = {"width": 400.0, "height": 260.0}


def method_legend(labels: Mapping[str, str]) -> tuple[Series, ...]:
    """One entry per method, in order."""
    return tuple(Series(_style(number), label) for number, label in enumerate(labels.values()))


def wins_chart(title: str, shares: pd.DataFrame, labels: Mapping[str, str], alt: str) -> Chart:
    """Share of datasets won, one line per method, with an interval for each budget; columns budget, method, share, low,
    high.
    """
    budgets = list(shares["budget"].unique())
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    frame = Frame(
        Axis(0.0, 1.0, ticks, percent=True), Axis(0.0, len(labels), ()), width=640, height=40 + 48 * len(labels)
    )
    known = shares.dropna(subset="share").set_index(["method", "budget"])
    parts = []
    for position, (method, label) in enumerate(labels.items()):
        top = len(labels) - position
        parts.append(tag("text", label, x=frame.left + 4, y=float(frame.y(top)), dy="1.1em", class_="strong"))
        for number, budget in enumerate(budgets):
            if (method, budget) in known.index:
                at = top - 0.58 - 0.42 * number / len(budgets)  # below the label, also in the letters of phones
                parts.append(_share_won(frame, label, budget, known.loc[(method, budget)], at, _style(number)))
    legend = tuple(Series(_style(number), str(budget).capitalize()) for number, budget in enumerate(budgets))
    return Chart(title, frame.drawing(*parts, alt=alt), across="share of datasets won", legend=legend)


def _share_won(frame: Frame, label: str, budget: str, row: pd.Series, at: float, style: str) -> Markup:
    """A point with its interval on the line of a method."""
    share, low, high = (float(row[name]) for name in ("share", "low", "high"))
    y, (x, start, end) = float(frame.y(at)), frame.x(np.array([share, low, high])).tolist()
    name = tag("title", f"{label}, {budget}: {percent(share, 0)} ({percent(low, 0)} to {percent(high, 0)})")
    interval = tag("path", d=line(np.array([start, end]), np.array([y, y])), class_="curve")
    return tag("g", name, interval, tag("circle", cx=x, cy=y, r=4), class_=style)


def front_panel(title: str, points: pd.DataFrame, labels: Mapping[str, str]) -> Chart:
    """The fronts of several methods on one dataset; columns method, mse, dpvar."""
    frame = _panel_frame(points["dpvar"].to_numpy(), points["mse"].to_numpy())
    parts = []
    for number, method in enumerate(labels):
        front = points[points["method"] == method].sort_values("dpvar")
        if front.empty:
            continue
        x, y = frame.x(front["dpvar"].to_numpy()), frame.y(front["mse"].to_numpy())
        dots = [tag("circle", cx=a, cy=b, r=3) for a, b in zip(x, y, strict=True)]
        name = tag("title", labels[method])
        parts.append(tag("g", name, tag("path", d=line(x, y), class_="curve"), *dots, class_=_style(number)))
    alt = f"Test error against DPVar on {title}, one curve per method"
    return Chart(title, frame.drawing(*parts, alt=alt), across="DPVar", up="mean squared error")


def band_panel(title: str, bands: pd.DataFrame, labels: Mapping[str, str]) -> Chart:
    """The smallest error within each budget on one dataset: median and middle half over seeds; columns method, budget,
    median, low, high.
    """
    known = bands.dropna(subset="median")
    frame = _panel_frame(known["budget"].to_numpy(), known[["low", "high"]].to_numpy().reshape(-1))
    parts = []
    for number, method in enumerate(labels):
        bands = known[known["method"] == method]
        if bands.empty:
            continue
        x, median, low, high = _steps(*(bands[name].to_numpy() for name in ("budget", "median", "low", "high")))
        band = tag("path", d=area(frame.x(x), frame.y(low), frame.y(high)), class_="band")
        curve = tag("path", d=line(frame.x(x), frame.y(median)), class_="curve")
        parts.append(tag("g", tag("title", labels[method]), band, curve, class_=_style(number)))
    alt = f"Smallest test error within each budget on {title}, one curve per method"
    return Chart(title, frame.drawing(*parts, alt=alt), across="budget on DPVar", up="mean squared error")


def _steps(x: Array, *values: Array) -> tuple[Array, ...]:
    """Stairs: (point,) arrays, with points only where a step begins or ends."""
    changes = np.flatnonzero(np.any([np.diff(value) != 0 for value in values], axis=0)) + 1
    starts = np.concatenate([[0], changes])
    ends = np.concatenate([changes, [len(x) - 1]])
    stairs = np.stack([x[starts], x[ends]], axis=1).reshape(-1)
    return stairs, *(np.repeat(value[starts], 2) for value in values)


def _panel_frame(across: Array, up: Array) -> Frame:
    low = min(0.0, float(across.min()))
    axis = Axis.over(low, float(across.max()), count=4)
    return Frame(
        Axis(low, axis.high, tuple(tick for tick in axis.ticks if tick >= low)),
        Axis.over(float(up.min()), float(up.max()), count=4),
        **_PANEL,
    )


def _style(number: int) -> str:
    return f"c{number % COLOURS}" + (" dashed" if number >= COLOURS else "")
