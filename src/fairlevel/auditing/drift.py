r"""Whether DPVar has changed between two sets of rows, from sums alone.

Both are measured with the same functions of A and the same ridge. The rows are taken for independent samples: sums do
not say which rows belong to the same people. With both estimates and the limits of their intervals, which hold near
zero, the difference has the limits (Zou and Donner, 2008)

.. math:: \hat D - \sqrt{(\hat\psi_1 - l_1)^2 + (u_0 - \hat\psi_0)^2}, \qquad
          \hat D + \sqrt{(u_1 - \hat\psi_1)^2 + (\hat\psi_0 - l_0)^2} .
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from fairlevel.metrics.evidence import Evidence
from fairlevel.metrics.interval import DPVarInterval, interval_of, limits
from fairlevel.report.numbers import number


@dataclass(frozen=True)
class Drift:
    """DPVar of one prediction then and now, and the interval of now − then."""

    prediction: str
    then: DPVarInterval
    now: DPVarInterval
    difference: float
    low: float
    high: float
    level: float = 0.95

    @classmethod
    def of(cls, prediction: str, then: Evidence, now: Evidence, confidence: float = 0.95) -> Drift:
        """From the sums of two independent sets of rows."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        before, after = (_reach(each, z) for each in (then, now))
        difference = now.estimate * now.variance - then.estimate * then.variance
        return cls(
            prediction,
            interval_of(then, confidence),
            interval_of(now, confidence),
            difference,
            difference - float((after[0] ** 2 + before[1] ** 2) ** 0.5),
            difference + float((after[1] ** 2 + before[0] ** 2) ** 0.5),
            confidence,
        )

    @property
    def found(self) -> bool:
        """Whether the rows show a change."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """The finding in one sentence."""
        was = f"DPVar of {self.prediction} was {number(self.then.estimate)} and is {number(self.now.estimate)}"
        interval = (
            f"difference {number(self.difference)}, {self.level:.0%} interval {number(self.low)} to "
            f"{number(self.high)}, independent rows"
        )
        if not self.found:
            return f"{was}; the rows show no change ({interval})."
        return f"{was}; it has {'risen' if self.low > 0 else 'fallen'} ({interval})."


def _reach(evidence: Evidence, z: float) -> tuple[float, float]:
    """How far the interval reaches below and above the estimate, in the user's units."""
    if evidence.variance == 0:
        return 0.0, 0.0
    low, high = limits(evidence, z)
    estimate = max(evidence.estimate, 0.0)
    return (estimate - low) * evidence.variance, (high - estimate) * evidence.variance
