"""The charts of both pages. Where there are models to choose from, the chosen one is drawn above the last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairlevel.arrays import Array
from fairlevel.metrics.profile import MeanProfile
from fairlevel.metrics.reliability import Reliability
from fairlevel.report.drawing import Axis, Frame, area, layers, line, tag
from fairlevel.report.numbers import number, percent
from fairlevel.report.page import Block, Chart, Charts, Folded, Series, TableBlock

MOST_BARS = 16
SHOWN_AT_ONCE = 6
"""Attributes; the others are behind a line to click on."""
_POINTS = 41  # of a curve
_LETTERS = 12  # of a category's name
_PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)

Item = TypeVar("Item")


@dataclass(frozen=True)
class Models:
    """What the last model is called, and the names of all to choose from, none where there is one; the page opens with
    ``first``.
    """

    label: str
    names: Sequence[str] = ()
    first: int = 0

    def marks(self, draw: Callable[[Item, str], list[Markup]], items: Sequence[Item]) -> list[Markup]:
        """Of one item per model."""
        if not self.names:
            return draw(items[-1], "after")
        return [*draw(items[-1], "before"), layers([draw(item, "after") for item in items], self.first)]

    @property
    def legend(self) -> tuple[Series, ...]:
        return (Series("before", self.label), Series("after", "chosen model")) if self.names else ()

    def by_name(self, items: Sequence[Item]) -> dict[str, Item]:
        """The last item and all that can be chosen."""
        return {self.label: items[-1]} | (dict(zip(self.names, items, strict=True)) if self.names else {})


def front_drawing(points: pd.DataFrame, knee: int, first: int, alt: str) -> Markup:
    """Models with columns disparity, low, high, error, name: disparity to the right, error upwards; the knee has a
    ring, the chosen model a diamond.
    """
    error = Axis.over(float(points["error"].min()), float(points["error"].max()), pad=0.1)
    reach = max(float(points["disparity"].max()), float(points["high"].max()))
    frame = Frame(Axis.from_zero(reach), error, height=330)
    x, low, high = (frame.x(points[name].to_numpy()) for name in ("disparity", "low", "high"))
    y, marks, chosen = frame.y(points["error"].to_numpy()), [], []
    for k, name in enumerate(points["name"]):
        interval = tag("line", x1=low[k], x2=high[k], y1=y[k], y2=y[k], class_="interval")
        dots = tag("circle", cx=x[k], cy=y[k], r=6), tag("circle", cx=x[k], cy=y[k], r=16, class_="target")
        marks.append(tag("g", tag("title", name), interval, *dots, class_="mark", data_option=k))
        side, anchor = (-13, "end") if x[k] > 0.7 * frame.width else (13, "start")
        diamond = tag("path", d=f"M{x[k]:.1f} {y[k] - 11:.1f}l11 11l-11 11l-11 -11Z", class_="chosen")
        word = tag("text", "chosen", x=x[k] + side, y=y[k] - 14, class_=f"{anchor} strong chosen-name")
        chosen.append((diamond, word))
    ring = tag("circle", cx=x[knee], cy=y[knee], r=11, class_="knee")
    knee_name = tag("text", "knee", x=x[knee] - 12, y=y[knee] + 14, dy=".5em", class_="end strong")
    curve = tag("path", d=line(x, y), class_="curve")
    return frame.drawing(curve, *marks, layers(chosen, first), ring, knee_name, alt=alt)


def range_chart(title: str, quantiles: Array, models: Models) -> Chart:
    """The middle 90 % and the middle half of E[f | A] over rows; quantiles at evenly spaced probabilities from 0 to 1,
    (model, quantile).
    """
    given = np.linspace(0, 1, quantiles.shape[1])
    shown = np.stack([np.interp(_PROBABILITIES, given, of_model) for of_model in quantiles])
    frame = Frame(Axis.over(float(shown.min()), float(shown.max())), Axis(0, 2, ()), height=130)

    def draw(of_model: Array, style: str) -> list[Markup]:
        x, y = frame.x(of_model).tolist(), float(frame.y(1.5 if style == "before" else 0.5))
        text = tag("title", f"{number(of_model[0], 3)} to {number(of_model[-1], 3)}")
        return [
            tag("line", text, x1=x[0], x2=x[4], y1=y, y2=y, class_=f"thin {style}"),
            tag("line", text, x1=x[1], x2=x[3], y1=y, y2=y, class_=f"thick {style}"),
            tag("circle", cx=x[2], cy=y, r=5, class_="median"),
        ]

    alt = f"{title}. {models.label}: {number(shown[-1, 0], 3)} to {number(shown[-1, -1], 3)}"
    table = pd.DataFrame(shown, columns=[f"{round(100 * probability)} %" for probability in _PROBABILITIES])
    table.insert(0, "model", list(models.names))
    return Chart(
        title,
        frame.drawing(*models.marks(draw, list(shown)), alt=alt),
        across="average prediction for rows with the same attributes",
        legend=models.legend,
        note="The thin line spans nine of ten rows, the thick one the middle half. Narrower is more level.",
        table=TableBlock.of(table, "Average prediction of rows with the same attributes", "by share of rows"),
    )


def reliability_chart(reliabilities: Sequence[Reliability], models: Models) -> Chart:
    """Probabilities against what happened. Bins are circles, larger where there are more rows; on the diagonal,
    probabilities mean what they say.
    """
    whole = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), percent=True)
    frame = Frame(whole, whole, height=330)

    def draw(of_model: Reliability, style: str) -> list[Markup]:
        x, y = frame.x(of_model.probability), frame.y(of_model.frequency)
        bins = zip(x, y, of_model.probability, of_model.frequency, of_model.share, strict=True)
        marks = [tag("path", d=line(x, y), class_=f"curve {style}")]
        for a, b, p, f, share in bins:
            text = tag("title", f"predicted {percent(p)}, happened {percent(f)}, {percent(share)} of rows")
            marks.append(tag("circle", text, cx=a, cy=b, r=float(3 + 12 * np.sqrt(share)), class_=f"bin {style}"))
        return marks

    ends = np.array([0.0, 1.0])
    diagonal = tag("path", d=line(frame.x(ends), frame.y(ends)), class_="overall")
    alt = f"Reliability of probabilities. {models.label}: off by {percent(reliabilities[-1].error)} on average"
    rows = tuple(
        (name, percent(p), percent(y), percent(share))
        for name, of_model in models.by_name(reliabilities).items()
        for p, y, share in zip(of_model.probability, of_model.frequency, of_model.share, strict=True)
    )
    return Chart(
        "Reliability: do probabilities mean what they say?",
        frame.drawing(diagonal, *models.marks(draw, reliabilities), alt=alt),
        across="mean probability in a bin",
        up="how often it happened",
        legend=models.legend,
        note="Ten bins of equal width. On the dotted line, probabilities and frequencies are the same.",
        table=TableBlock("Probabilities and frequencies", ("model", "predicted", "happened", "share of rows"), rows),
    )


def attribute_charts(profiles: Mapping[str, Sequence[MeanProfile]], models: Models, text: str) -> tuple[Block, ...]:
    """The average prediction along each attribute, one profile per model; first the attributes along which that of the
    last model moves most.
    """
    if not profiles:
        return ()
    up = shared_axis([profile for along in profiles.values() for profile in along])
    order = sorted(profiles, key=lambda name: -float(np.ptp(profiles[name][-1].mean)))
    charts = tuple(profile_chart(name, profiles[name], up, models) for name in order)
    more = charts[SHOWN_AT_ONCE:]
    title = f"Show {len(more)} more attributes, along which the average prediction moves less"
    first = Charts(charts[:SHOWN_AT_ONCE], "Average prediction along each attribute", text)
    return (first, Folded(title, (Charts(more),), printed=True)) if more else (first,)


def shared_axis(profiles: Sequence[MeanProfile]) -> Axis:
    """One range of averages for all charts of a page; a band that is wider ends at the edge."""
    bars = [profile for profile in profiles if profile.levels]
    low = min(float(end.min()) for end in (*(p.mean for p in profiles), *(p.low for p in bars)))
    high = max(float(end.max()) for end in (*(p.mean for p in profiles), *(p.high for p in bars)))
    return Axis.over(low, high, pad=0.08)


def profile_chart(attribute: str, profiles: Sequence[MeanProfile], up: Axis, models: Models) -> Chart:
    """Curves with bands, or bars with intervals where there are categories."""
    last = profiles[-1]
    names = last.levels[:MOST_BARS]
    short = [name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…" for name in names]
    level = sum(len(name) + 2 for name in short) <= 44  # so that they fit side by side
    if names:
        frame, labels = Frame(None, up, height=300, bottom=26 if level else 96), []
        draw = partial(_bars, frame, 2 if models.names else 1)
        for k, (name, text) in enumerate(zip(names, short, strict=True)):
            x, y = frame.left + (frame.right - frame.left) / len(names) * (k + 0.5), frame.base + 8
            turned = {} if level else {"transform": f"rotate(-40 {x:.1f} {y:.1f})"}
            style = "middle" if level else "end"
            labels.append(tag("text", tag("title", name), text, x=x, y=y, dy=".8em", class_=style, **turned))
        below = [tag("g", *labels, class_="grid")]
    else:
        frame = Frame(Axis.over(float(last.at[0]), float(last.at[-1]), pad=0), up, height=260)
        draw, below = partial(_curve, frame), []
    overall = float(frame.y(last.overall))
    mean = tag("line", x1=frame.left, x2=frame.right, y1=overall, y2=overall, class_="overall")
    moves = f"from {number(last.mean.min(), 3)} to {number(last.mean.max(), 3)}"
    alt = f"Average prediction along {attribute}. {models.label}: {moves}"
    svg = frame.drawing(frame.inside(mean, *models.marks(draw, profiles)), *below, alt=alt, scale=frame.scale)
    note = f"The first {MOST_BARS} of {len(last.levels)} categories; all are in the numbers."
    table = _profile_table(attribute, models.by_name(profiles))
    return Chart(attribute, svg, legend=models.legend, note=note * (len(names) < len(last.levels)), table=table)


def _curve(frame: Frame, profile: MeanProfile, style: str) -> list[Markup]:
    step = max(1, (len(profile.at) - 1) // (_POINTS - 1))
    x, y = frame.x(profile.at[::step]), frame.y(profile.mean[::step])
    band = area(x, frame.y(profile.low[::step]), frame.y(profile.high[::step]))
    return [tag("path", d=band, class_=f"band {style}"), tag("path", d=line(x, y), class_=f"curve {style}")]


def _bars(frame: Frame, side_by_side: int, profile: MeanProfile, style: str) -> list[Markup]:
    """Bars start at the average of all rows, whiskers are intervals; of two side by side, the chosen one is second."""
    names, base, parts = profile.levels[:MOST_BARS], float(frame.y(profile.overall)), []
    slot = (frame.right - frame.left) / len(names)
    width = 0.72 * slot / side_by_side
    for k, name in enumerate(names):
        values = profile.mean[k], profile.low[k], profile.high[k]
        mean, low, high = (number(value, 3) for value in values)
        top, end, start = frame.y(np.array(values)).tolist()
        left = frame.left + slot * (k + 0.14) + width * (side_by_side == 2 and style == "after")
        box = {"x": left, "width": max(width - 1, 1.0), "y": min(top, base), "height": max(abs(top - base), 1.0)}
        parts.append(tag("rect", tag("title", f"{name}: {mean} ({low} to {high})"), **box, class_=f"bar {style}"))
        parts.append(tag("line", x1=left + width / 2, x2=left + width / 2, y1=end, y2=start, class_="whisker"))
    return parts


def _profile_table(attribute: str, profiles: Mapping[str, MeanProfile]) -> TableBlock:
    last = next(iter(profiles.values()))
    step = 1 if last.levels else max(1, (len(last.at) - 1) // 8)
    columns = {attribute: last.levels or last.at[::step]} | {name: p.mean[::step] for name, p in profiles.items()}
    if len(profiles) == 1:
        columns = {attribute: columns[attribute], "average": last.mean[::step]}
        columns |= {"95 % from": last.low[::step], "to": last.high[::step]}
    caption = "bands and whiskers are 95 % intervals"
    return TableBlock.of(pd.DataFrame(columns), f"Average prediction along {attribute}", caption)
