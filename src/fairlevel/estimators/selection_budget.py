"""Budgets on selection rows, the rows that set the proportions of mixtures.

A user's budget, :class:`fairlevel.estimators.budget.Budget`, is about unseen rows. How much may be allowed on selection
rows to keep it is found by :class:`fairlevel.estimators.evaluation.Calibration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.fronts.combiners import CandidateChoice
from fairlevel.fronts.stacking import Mixture


@dataclass(frozen=True)
class SelectionBudget:
    """The largest DPVar on selection rows, in squared standard deviations of y; infinity is no limit. ``name`` is that
    of the user's budget of the same kind.
    """

    limit: float

    name: ClassVar[str] = "max_dpvar"

    def mixture(self, choice: CandidateChoice) -> Mixture:
        """The most accurate mixture within the budget; a budget that is too small is raised to just above the smallest
        reachable value.
        """
        return choice.within(max(self.limit, choice.smallest * (1 + 1e-4) + 1e-12))

    def capped(self, choice: CandidateChoice) -> float:
        """The limit, or what the most accurate mixture has, if that is less: more cannot be used."""
        return min(self.limit, choice.within(np.inf).dpvar)

    def dpvar(self, choice: CandidateChoice) -> float:
        """The DPVar on selection rows that it allows."""
        return self.capped(choice)

    @classmethod
    def grid(cls, choice: CandidateChoice, count: int, largest_dpvar: float = np.inf) -> list[SelectionBudget]:
        """Budgets evenly spaced in √DPVar, from the smallest reachable one (at least 1e-6) to that of the most accurate
        mixture with a DPVar of at most ``largest_dpvar``; the last one is no limit.
        """
        return cls._spaced(choice.smallest, choice.within(max(largest_dpvar, choice.smallest)).dpvar, count)

    @classmethod
    def _spaced(cls, smallest: float, largest: float, count: int) -> list[SelectionBudget]:
        """The last one has no limit: on some folds the most accurate mixture has more disparity than on all rows. A
        limit would then be measured instead of that mixture.
        """
        roots = np.linspace(np.sqrt(min(max(smallest, 1e-6), largest)), np.sqrt(largest), count)
        return [*(cls(float(root) ** 2) for root in roots[:-1]), cls(np.inf)]


@dataclass(frozen=True)
class SelectionShare(SelectionBudget):
    """The same for the largest share, DPVar / Var(f)."""

    name: ClassVar[str] = "max_share"

    def mixture(self, choice: CandidateChoice) -> Mixture:
        return choice.within_share(max(self.limit, choice.smallest_share * (1 + 1e-2) + 1e-9))

    def capped(self, choice: CandidateChoice) -> float:
        return min(self.limit, choice.share(choice.within(np.inf)))

    def dpvar(self, choice: CandidateChoice) -> float:
        return self.mixture(choice).dpvar

    @classmethod
    def grid(cls, choice: CandidateChoice, count: int, largest_dpvar: float = np.inf) -> list[SelectionBudget]:
        """The same, evenly spaced in the root of the share."""
        largest = choice.share(choice.within(max(largest_dpvar, choice.smallest)))
        return cls._spaced(choice.smallest_share, largest, count)
