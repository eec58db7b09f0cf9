r"""Whether DPVar has changed between two audits of independent rows.

With both estimates and the limits of their intervals, which hold near zero, the difference has the limits (Zou and
Donner, 2008)

.. math:: \hat D - \sqrt{(\hat\psi_1 - l_1)^2 + (u_0 - \hat\psi_0)^2}, \qquad
          \hat D + \sqrt{(u_1 - \hat\psi_1)^2 + (\hat\psi_0 - l_0)^2} .
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

from fairlevel.metrics.interval import DPVarInterval
from fairlevel.report.numbers import number


@dataclass(frozen=True)
class Drift:
    """DPVar then and now, and now − then with its interval, for rows that are independent."""

    then: DPVarInterval
    now: DPVarInterval

    @property
    def difference(self) -> float:
        return self.now.estimate - self.then.estimate

    @property
    def low(self) -> float:
        return self.difference - hypot(_below(self.now), _above(self.then))

    @property
    def high(self) -> float:
        return self.difference + hypot(_above(self.now), _below(self.then))

    @property
    def found(self) -> bool:
        """Whether the rows show a change."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """The finding in one sentence."""
        was = f"DPVar was {number(self.then.estimate)} and is {number(self.now.estimate)}"
        interval = (
            f"difference {number(self.difference)}, {self.now.level:.0%} interval {number(self.low)} to "
            f"{number(self.high)}, independent rows"
        )
        if not self.found:
            return f"{was}; the rows show no change ({interval})."
        return f"{was}; it has {'risen' if self.low > 0 else 'fallen'} ({interval})."


def _below(interval: DPVarInterval) -> float:
    """How far the interval reaches below the estimate, which may be below zero."""
    return max(interval.estimate, 0.0) - interval.low


def _above(interval: DPVarInterval) -> float:
    return interval.high - max(interval.estimate, 0.0)
