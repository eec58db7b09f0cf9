"""What a reader of an audit should not overlook."""

from __future__ import annotations

from dataclasses import dataclass

from fairlevel.auditing.dependence import Measure
from fairlevel.metrics.interval import DPVarInterval

SIGNIFICANT = 0.05
NOTICEABLE = 0.02  # of the prediction's variance


@dataclass(frozen=True)
class Flag:
    """A short name for programs and a sentence for readers."""

    name: str
    sentence: str


def find_flags(interval: DPVarInterval, plug_in: float, measures: tuple[Measure, ...]) -> tuple[Flag, ...]:
    """Three common misreadings, where they apply."""
    known = {measure.name: measure for measure in measures}
    no_disparity = interval.p_value > SIGNIFICANT or interval.share_high < NOTICEABLE
    dependent = known["HSIC"].found and known["maximal correlation"].found
    flags = []
    if no_disparity and dependent:
        flags.append(
            Flag(
                "dependent_spread",
                "The average prediction does not differ between profiles, but the spread or shape of predictions does. "
                "DPVar does not measure that: a small DPVar is no proof of full parity.",
            )
        )
    if not no_disparity and interval.share > NOTICEABLE and known["linear R²"].value < interval.share / 2:
        flags.append(
            Flag(
                "curved",
                "Most of the disparity is not a straight line: a linear check (correlation, R²) would miss it.",
            )
        )
    if interval.low == 0 and plug_in > interval.estimate:
        flags.append(
            Flag(
                "plug_in_is_noise",
                f"The plug-in estimate of {plug_in:.3g} is above zero only because it counts its own noise; zero is "
                "within the interval.",
            )
        )
    return tuple(flags)
