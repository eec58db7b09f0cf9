"""Probabilities against what happened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from fairlevel.metrics.reliability import Reliability
from fairlevel.report.charts.axes import Axis, Frame
from fairlevel.report.charts.svg import layers, line, tag
from fairlevel.report.numbers import percent
from fairlevel.report.page import Chart, Series, TableBlock

_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def reliability_chart(
    found: Reliability, label: str, names: Sequence[str] = (), choices: Sequence[Reliability] = (), first: int = 0
) -> Chart:
    """Bins as circles, larger where there are more rows; on the diagonal, probabilities mean what they say."""
    whole = Axis(0.0, 1.0, _TICKS, percent=True)
    frame = Frame(whole, whole, height=330)
    diagonal = tag("path", d=line(frame.x(np.array([0, 1])), frame.y(np.array([0, 1]))), class_="overall")
    style = "before" if choices else "after"
    alt = f"Reliability of probabilities. {label}: off by {percent(found.error)} on average"
    svg = frame.drawing(
        diagonal,
        *_bins(frame, found, style),
        layers([_bins(frame, each, "after") for each in choices], first) if choices else "",
        alt=alt,
    )
    columns = {label: found} | dict(zip(names, choices, strict=True))
    rows = pd.DataFrame(
        [
            {"model": name, "predicted": percent(p), "happened": percent(y), "share of rows": percent(s)}
            for name, each in columns.items()
            for p, y, s in zip(each.probability, each.frequency, each.share, strict=True)
        ]
    )
    return Chart(
        "Reliability: do probabilities mean what they say?",
        svg,
        across="mean probability in a bin",
        up="how often it happened",
        legend=(Series(style, label), *((Series("after", "chosen model"),) if choices else ())),
        note="Ten bins of equal width. On the dotted line, probabilities and frequencies are the same.",
        table=TableBlock.of(rows, "Probabilities and frequencies"),
    )


def _bins(frame: Frame, found: Reliability, style: str) -> list[Markup]:
    x, y = frame.x(found.probability), frame.y(found.frequency)
    marks = [
        tag(
            "circle",
            tag("title", f"predicted {percent(p)}, happened {percent(f)}, {percent(share)} of rows"),
            cx=a,
            cy=b,
            r=float(3 + 12 * np.sqrt(share)),
            class_=f"bin {style}",
        )
        for a, b, p, f, share in zip(x, y, found.probability, found.frequency, found.share, strict=True)
    ]
    return [tag("path", d=line(x, y), class_=f"curve {style}"), *marks]
