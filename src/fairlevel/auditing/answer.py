"""The answer of an audit: figures, a plot and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairlevel.auditing.findings import Findings
from fairlevel.auditing.flags import Flag, beyond_the_interval, find_flags, question_flags
from fairlevel.auditing.page import audit_page
from fairlevel.auditing.questions import Question
from fairlevel.auditing.side_figures import SideFigures
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.interval import DPVarInterval
from fairlevel.report.render import write_page

if TYPE_CHECKING:
    from fairlevel.plots.mean_profile import MeanProfileDisplay

METHOD = (
    "DPVar is the variance of the average prediction across profiles, without the upward bias of a plain estimate; ± "
    "is its square root, in units of the prediction. Intervals cover the truth in 95 % of tables, p comes from a "
    "multiplier bootstrap."
)


@dataclass(frozen=True)
class Audit(Findings):
    """The answer of :func:`audit`: the figures of :class:`Findings`, a plot and a page."""

    @classmethod
    def of(
        cls,
        interval: DPVarInterval,
        figures: SideFigures,
        questions: tuple[Question, ...],
        *,
        overall: DPVarInterval | None = None,
        more_flags: tuple[Flag, ...] = (),
        **others: Any,
    ) -> Audit:
        """From the headline, the figures beside it and the answers to questions, with the flags that follow from them;
        ``others`` are further fields of :class:`Findings`.
        """
        plug_in, floor = figures.paper
        rough = beyond_the_interval(interval, figures.near)
        return cls(
            interval=interval,
            plug_in=plug_in,
            floor=floor,
            attributes=figures.attributes,
            profiles=figures.profiles,
            measures=figures.measures,
            flags=(
                *rough,
                *find_flags(interval, overall or interval, plug_in, figures.measures),
                *question_flags(questions),
                *more_flags,
            ),
            questions=questions,
            worst=figures.worst,
            near=figures.near if rough else None,
            overall=overall,
            **others,
        )

    def plot(self, attribute: str | None = None, ax: Any = None) -> MeanProfileDisplay:
        """The average prediction along one attribute; by default the one along which it moves most."""
        from fairlevel.plots.mean_profile import MeanProfileDisplay  # Matplotlib loads where it is used

        if attribute is None:
            attribute = max(self.profiles, key=lambda name: float(np.ptp(self.profiles[name].mean)))
        if attribute not in self.profiles:
            raise InvalidInput(f"{attribute!r} has no profile; there are {', '.join(self.profiles)}.")
        return MeanProfileDisplay({"prediction": self.profiles[attribute]}, attribute).plot(ax=ax)

    def to_html(self, path: str | Path) -> None:
        """Write the audit as one self-contained page."""
        write_page(audit_page(self), Path(path))
