"""The average prediction along one attribute: curves with bands, or bars with intervals where there are categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairlevel.metrics.profile import MeanProfile
from fairlevel.report.charts.axes import Axis, Frame
from fairlevel.report.charts.svg import area, group, layers, line, tag
from fairlevel.report.numbers import number
from fairlevel.report.page import Chart, Charts, Series, TableBlock

MOST_BARS = 16
_POINTS = 41  # of a curve
_LETTERS = 12  # of a category's name


def shared_axis(profiles: Sequence[MeanProfile]) -> Axis:
    """One range of averages for all charts of a page; a band that is wider ends at the edge."""
    low, high = min(float(each.mean.min()) for each in profiles), max(float(each.mean.max()) for each in profiles)
    bars = [each for each in profiles if each.levels]
    low = min([low, *(float(each.low.min()) for each in bars)])
    high = max([high, *(float(each.high.max()) for each in bars)])
    return Axis.over(low, high, pad=0.08)


def profile_chart(
    attribute: str,
    profile: MeanProfile,
    up: Axis,
    label: str,
    names: Sequence[str] = (),
    choices: Sequence[MeanProfile] = (),
    first: int = 0,
) -> Chart:
    """``profile``, and one layer per choice, named by ``names``, drawn above it."""
    style = "before" if choices else "after"
    draw = _bars if profile.levels else _curve
    if profile.levels:
        frame = Frame(None, up, height=300, bottom=26 if _flat(profile) else 96)
    else:
        frame = Frame(Axis.over(float(profile.at[0]), float(profile.at[-1]), pad=0), up, height=260)
    moves = f"from {number(profile.mean.min(), 3)} to {number(profile.mean.max(), 3)}"
    parts = draw(frame, profile, style, 0, 2 if choices else 1)
    if choices:
        parts.append(layers([draw(frame, chosen, "after", 1, 2) for chosen in choices], first))
    overall = float(frame.y(profile.overall))
    mean = tag("line", x1=frame.left, x2=frame.right, y1=overall, y2=overall, class_="overall")
    svg = frame.drawing(
        frame.inside(mean, *parts),
        *(_labels(frame, profile) if profile.levels else ()),
        alt=f"Average prediction along {attribute}. {label}: {moves}",
        scale=frame.scale,
    )
    hidden = max(0, len(profile.levels) - MOST_BARS)
    note = f"The first {MOST_BARS} of {len(profile.levels)} categories; all are in the numbers." if hidden else ""
    legend = (Series(style, label), Series("after", "chosen model")) if choices else ()
    columns = {label: profile} | dict(zip(names, choices, strict=True))
    return Chart(attribute, svg, legend=legend, note=note, table=_table(attribute, columns))


def _flat(profile: MeanProfile) -> bool:
    """Whether the names of the categories fit side by side."""
    shown = profile.levels[:MOST_BARS]
    return sum(min(len(name), _LETTERS) + 2 for name in shown) <= 44


def _curve(frame: Frame, profile: MeanProfile, style: str, place: int, places: int) -> list[Markup]:
    step = max(1, (len(profile.at) - 1) // (_POINTS - 1))
    x, y = frame.x(profile.at[::step]), frame.y(profile.mean[::step])
    band = area(x, frame.y(profile.low[::step]), frame.y(profile.high[::step]))
    return [tag("path", d=band, class_=f"band {style}"), tag("path", d=line(x, y), class_=f"curve {style}")]


def _bars(frame: Frame, profile: MeanProfile, style: str, place: int, places: int) -> list[Markup]:
    """Bars start at the average of all rows, whiskers are intervals."""
    slot, width = _slot(frame, profile), 0.72 * _slot(frame, profile) / places
    base = float(frame.y(profile.overall))
    parts = []
    for k, name in enumerate(profile.levels[:MOST_BARS]):
        values = profile.mean[k], profile.low[k], profile.high[k]
        mean, low, high = (number(value, 3) for value in values)
        top, bottom_of_whisker, top_of_whisker = frame.y(np.array(values)).tolist()
        left = frame.left + slot * (k + 0.14) + width * place
        box = {"x": left, "width": max(width - 1, 1.0), "y": min(top, base), "height": max(abs(top - base), 1.0)}
        parts.append(tag("rect", tag("title", f"{name}: {mean} ({low} to {high})"), **box, class_=f"bar {style}"))
        middle, ends = left + width / 2, {"y1": bottom_of_whisker, "y2": top_of_whisker}
        parts.append(tag("line", x1=middle, x2=middle, **ends, class_="whisker"))
    return parts


def _slot(frame: Frame, profile: MeanProfile) -> float:
    return (frame.right - frame.left) / min(len(profile.levels), MOST_BARS)


def _labels(frame: Frame, profile: MeanProfile) -> list[Markup]:
    slot, parts = _slot(frame, profile), []
    for k, name in enumerate(profile.levels[:MOST_BARS]):
        x, y = frame.left + slot * (k + 0.5), frame.base + 8
        short = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
        turned = None if _flat(profile) else f"rotate(-40 {x:.1f} {y:.1f})"
        style = "middle" if turned is None else "end"
        parts.append(tag("text", tag("title", name), short, x=x, y=y, dy=".8em", class_=style, transform=turned))
    return [group(parts, class_="grid")]


def _table(attribute: str, columns: dict[str, MeanProfile]) -> TableBlock:
    first = next(iter(columns.values()))
    step = 1 if first.levels else max(1, (len(first.at) - 1) // 8)
    frame = pd.DataFrame({attribute: first.levels or first.at[::step]})
    if len(columns) == 1:
        frame["average"], frame["95 % from"], frame["to"] = first.mean[::step], first.low[::step], first.high[::step]
    else:
        frame = frame.assign(**{name: profile.mean[::step] for name, profile in columns.items()})
    return TableBlock.of(frame, f"Average prediction along {attribute}", "bands and whiskers are 95 % intervals")


def spread_of(profile: MeanProfile) -> float:
    """How far apart the averages of a profile are."""
    return float(np.ptp(profile.mean))


def charts_of_attributes(charts: tuple[Chart, ...], shown: int, text: str) -> Charts:
    """Profiles along all attributes; those after the first ``shown`` are behind a line to click on."""
    more = charts[shown:]
    line_to_click = f"Show {len(more)} more attributes, along which the average prediction moves less" if more else ""
    return Charts(charts[:shown], more, line_to_click, "Average prediction along each attribute", text)
