"""Elements of SVG as text. Values are escaped, because names come from data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup, escape

from fairlevel.arrays import Array


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """One element; ``class_`` stands for class, an underscore for a hyphen, and None leaves an attribute out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(shown(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>")


def shown(value: object) -> str:
    """A coordinate to a tenth of a unit, anything else as text."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float | np.floating) else str(value)


def line(x: Array, y: Array) -> str:
    """A path through points, (point,), (point,); it is broken where a value is missing."""
    parts, pen = [], "M"
    for across, down in zip(x, y, strict=True):
        if not np.isfinite(across + down):
            pen = "M"
            continue
        parts.append(f"{pen}{shown(float(across))} {shown(float(down))}")
        pen = "L"
    return "".join(parts)


def area(x: Array, low: Array, high: Array) -> str:
    """A closed path around a band, all (point,); points without a value are left out."""
    known = np.isfinite(low + high)
    if not known.any():
        return ""
    across = np.concatenate([x[known], x[known][::-1]])
    return line(across, np.concatenate([high[known], low[known][::-1]])) + "Z"


def group(children: Iterable[object], **attributes: object) -> Markup:
    """Elements together."""
    return tag("g", *children, **attributes)


def layers(drawn: Sequence[Sequence[object]], first: int) -> Markup:
    """What a chart shows of each choice, one group per choice, in order. The page shows the group of the chosen one and
    hides the others; it opens with ``first``.
    """
    return Markup("").join(
        group(parts, class_="layer on" if number == first else "layer", data_option=number)
        for number, parts in enumerate(drawn)
    )
