"""What a chart shows of each choice. The page shows the layers of the chosen one and hides the others."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fairlevel.report.charts.svg import group


def layers(drawn: Sequence[Sequence[object]], first: int) -> Markup:
    """One group per choice, in order; the page opens with ``first``."""
    return Markup("").join(
        group(parts, class_="layer on" if number == first else "layer", data_option=number)
        for number, parts in enumerate(drawn)
    )
