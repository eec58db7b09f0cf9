"""From a budget on DPVar to the weight that meets it on rows that did not train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairlevel.exceptions import InvalidInput, InvalidType, MissingSensitiveFeatures

COARSE = (0.0, *np.logspace(-1.5, 2.5, 11).tolist())
_FINE = 6  # weights tried between the last that fails and the first that meets the budget

Disparity = Callable[[Sequence[float]], list[float]]
"""Weights -> held-out DPVar or share of the model trained with each; infinite where training diverged."""


@dataclass(frozen=True)
class Budget:
    """The largest DPVar (units of y²) or share of the prediction's variance that is allowed."""

    name: str
    most: float

    @classmethod
    def read(cls, weight: object, max_dpvar: float | None, max_share: float | None) -> Budget | None:
        """The budget that was given, or None; a budget excludes a weight and another budget."""
        given = {
            name: most for name, most in {"max_dpvar": max_dpvar, "max_share": max_share}.items() if most is not None
        }
        if not given:
            return None
        if weight != "auto" or len(given) > 1:
            said = {"weight": weight} | given if weight != "auto" else given
            raise InvalidInput(
                f"{' and '.join(f'{name}={value}' for name, value in said.items())} were given together; set one of "
                "them: "
                "a weight fixes the trade-off, a budget searches for it."
            )
        ((name, most),) = given.items()
        if not isinstance(most, int | float | np.number):
            raise InvalidType(f"{name}={most!r} was given; a number is needed, such as {name}=0.05.")
        if not most > 0 or (name == "max_share" and most > 1):
            limit = "between 0 and 1" if name == "max_share" else "above 0"
            raise InvalidInput(f"{name}={most} was given; a number {limit} is needed, such as {name}=0.05.")
        return cls(name, float(most))

    def weight(self, disparity: Disparity) -> float:
        """The smallest weight whose held-out disparity is within the budget, by a coarse and a fine grid of weights."""
        below, above = self._bracket(COARSE, disparity(COARSE))
        if above == 0:
            return 0.0
        fine = np.geomspace(max(below, COARSE[1] / 10), above, _FINE + 1)[:-1].tolist()
        return self._bracket([*fine, above], [*disparity(fine), self.most])[1]

    def _bracket(self, weights: Sequence[float], found: Sequence[float]) -> tuple[float, float]:
        """The last weight that misses the budget below the first that meets it."""
        meeting = [number for number, value in enumerate(found) if value <= self.most]
        if not meeting:
            best = int(np.argmin(found))
            raise InvalidInput(
                f"{self.name}={self.most:g} is out of reach: the smallest value met on held-out rows is "
                f"{found[best]:.3g} "
                f"(weight {weights[best]:.3g}); allow at least that much, or use another predictor or penalty."
            )
        first = meeting[0]
        return (weights[first - 1] if first else 0.0), weights[first]


def require_sensitive(budget: Budget, has_sensitive: bool) -> None:
    """A budget is about attributes that must be there."""
    if not has_sensitive:
        raise MissingSensitiveFeatures(
            f"{budget.name}={budget.most:g} asks for fairness, but fit got no sensitive_features. "
            "Pass fit(X, y, sensitive_features=A)."
        )
