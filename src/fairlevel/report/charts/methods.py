"""Charts of several methods of a study: a colour per method, the same in every chart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.report.charts.axes import Axis, Frame
from fairlevel.report.charts.svg import area, group, line, tag
from fairlevel.report.numbers import percent
from fairlevel.report.page import Chart, Series

COLOURS = 10
_PANEL = {"width": 400.0, "height": 260.0}


def method_legend(labels: Mapping[str, str]) -> tuple[Series, ...]:
    """One entry per method, in order."""
    return tuple(Series(_style(number), label) for number, label in enumerate(labels.values()))


def wins_chart(title: str, shares: pd.DataFrame, labels: Mapping[str, str], alt: str) -> Chart:
    """Share of datasets won under each budget as bars, with intervals; columns budget, method, share, low, high."""
    budgets, methods = list(shares["budget"].unique()), list(labels)
    frame = Frame(None, Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), percent=True), width=640, height=270)
    slot = (frame.right - frame.left) / len(budgets)
    width = 0.84 * slot / max(1, len(methods))
    parts = []
    for k, budget in enumerate(budgets):
        own = shares[shares["budget"] == budget].set_index("method")
        middle = frame.left + slot * (k + 0.5)
        parts.append(tag("text", str(budget).capitalize(), x=middle, y=frame.base + 8, dy=".8em", class_="middle"))
        for number, method in enumerate(methods):
            if method not in own.index or not np.isfinite(own.loc[method, "share"]):
                continue
            share, low, high = (float(own.loc[method, name]) for name in ("share", "low", "high"))
            left = frame.left + slot * (k + 0.08) + width * number
            top = float(frame.y(share))
            parts.append(
                tag(
                    "rect",
                    tag("title", f"{labels[method]}: {percent(share, 0)} ({percent(low, 0)} to {percent(high, 0)})"),
                    x=left,
                    width=max(width - 1.5, 1.0),
                    y=top,
                    height=max(frame.base - top, 0.5),
                    class_=f"bar {_style(number)}",
                )
            )
            at = left + width / 2
            parts.append(tag("line", x1=at, x2=at, y1=float(frame.y(low)), y2=float(frame.y(high)), class_="whisker"))
    svg = frame.drawing(group(parts, class_="grid"), alt=alt)
    return Chart(title, svg, across="budget on DPVar", up="share of datasets won", legend=method_legend(labels))


def front_panel(title: str, points: pd.DataFrame, labels: Mapping[str, str]) -> Chart:
    """The fronts of several methods on one dataset; columns method, mse, dpvar."""
    frame = _panel_frame(points["dpvar"].to_numpy(), points["mse"].to_numpy())
    parts = []
    for number, method in enumerate(labels):
        own = points[points["method"] == method].sort_values("dpvar")
        if own.empty:
            continue
        x, y = frame.x(own["dpvar"].to_numpy()), frame.y(own["mse"].to_numpy())
        dots = [tag("circle", cx=a, cy=b, r=3) for a, b in zip(x, y, strict=True)]
        name = tag("title", labels[method])
        parts.append(group([name, tag("path", d=line(x, y), class_="curve"), *dots], class_=_style(number)))
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
        own = known[known["method"] == method]
        if own.empty:
            continue
        x, median, low, high = _steps(*(own[name].to_numpy() for name in ("budget", "median", "low", "high")))
        band = tag("path", d=area(frame.x(x), frame.y(low), frame.y(high)), class_="band")
        curve = tag("path", d=line(frame.x(x), frame.y(median)), class_="curve")
        parts.append(group([tag("title", labels[method]), band, curve], class_=_style(number)))
    alt = f"Smallest test error within each budget on {title}, one curve per method"
    return Chart(title, frame.drawing(*parts, alt=alt), across="budget on DPVar", up="mean squared error")


def _steps(x: Array, *values: Array) -> tuple[Array, ...]:
    """Stairs: (point,) arrays, with points only where a step begins or ends."""
    changes = np.flatnonzero(np.any([np.diff(own) != 0 for own in values], axis=0)) + 1
    starts = np.concatenate([[0], changes])
    ends = np.concatenate([changes, [len(x) - 1]])
    stairs = np.stack([x[starts], x[ends]], axis=1).reshape(-1)
    return stairs, *(np.repeat(own[starts], 2) for own in values)


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
