"""A budget on DPVar, as the user gives it."""

from __future__ import annotations

from dataclasses import dataclass

from fairlevel.exceptions import InvalidInput, MissingSensitiveFeatures
from fairlevel.fronts.limits import read_limit


@dataclass(frozen=True)
class Budget:
    """The largest DPVar (units of y²) or share of the prediction's variance that is allowed."""

    name: str
    limit: float

    @classmethod
    def read(cls, weight: object, max_dpvar: float | None, max_share: float | None) -> Budget | None:
        """The budget that was given, or None; a budget excludes a weight and another budget."""
        given = {
            name: limit for name, limit in {"max_dpvar": max_dpvar, "max_share": max_share}.items() if limit is not None
        }
        if not given:
            return None
        if weight != "auto" or len(given) > 1:
            said = {"weight": weight} | given if weight != "auto" else given
            raise InvalidInput(
                f"{' and '.join(f'{name}={value}' for name, value in said.items())} were given together; set one of "
                "them: a weight fixes the trade-off, a budget searches for it."
            )
        ((name, limit),) = given.items()
        return cls(name, read_limit(name, limit))


def require_sensitive(budget: Budget, has_sensitive: bool) -> None:
    """A budget is about attributes that must be there."""
    if not has_sensitive:
        raise MissingSensitiveFeatures(
            f"{budget.name}={budget.limit:g} asks for fairness, but fit got no sensitive_features. "
            "Pass fit(X, y, sensitive_features=A)."
        )
