"""Budgets: the largest DPVar, or share of the variance, that a model may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlevel.exceptions import InvalidInput, InvalidType

DPVAR, SHARE = "max_dpvar", "max_share"


@dataclass(frozen=True)
class Budget:
    """``name`` is "max_dpvar" or "max_share". The limit that a user gives is about unseen rows, in units of y². On the
    rows that set proportions it is in squared standard deviations of y, and infinity is no limit.
    """

    name: str
    limit: float

    @classmethod
    def read(cls, weight: object, max_dpvar: float | None, max_share: float | None) -> Budget | None:
        """The budget that was given, or None; a budget excludes a weight and another budget."""
        limits = {DPVAR: max_dpvar, SHARE: max_share}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        if not given:
            return None
        if weight != "auto" or len(given) > 1:
            settings = {"weight": weight} | given if weight != "auto" else given
            raise InvalidInput(
                f"{' and '.join(f'{name}={value}' for name, value in settings.items())} were given together; set one "
                "of them: a weight fixes the trade-off, a budget searches for it."
            )
        ((name, limit),) = given.items()
        return cls(name, read_limit(name, limit))

    @classmethod
    def required(cls, max_dpvar: float | None, max_share: float | None) -> Budget:
        """The budget of a call of ``best``."""
        budget = cls.read("auto", max_dpvar, max_share)
        if budget is None:
            raise InvalidInput("No budget was given; pass best(max_dpvar=...) or best(max_share=...).")
        return budget


def read_limit(name: str, limit: Any) -> float:
    """The limit of a budget: above 0, and a share is at most 1; anything else is refused."""
    if not isinstance(limit, int | float | np.number):
        raise InvalidType(f"{name}={limit!r} was given; a number is needed, such as {name}=0.05.")
    if isinstance(limit, bool) or not limit > 0 or (name == SHARE and limit > 1):
        range_ = "above 0 and at most 1" if name == SHARE else "above 0"
        raise InvalidInput(f"{name}={limit} was given; a number {range_} is needed, such as {name}=0.05.")
    return float(limit)
