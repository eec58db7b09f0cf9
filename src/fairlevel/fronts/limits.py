"""Budgets as a user gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlevel.exceptions import InvalidInput, InvalidType


def read_limit(name: str, most: Any) -> float:
    """The limit of the budget ``name``, "max_dpvar" (above 0) or "max_share" (above 0, at most 1); anything else is
    refused.
    """
    if not isinstance(most, int | float | np.number):
        raise InvalidType(f"{name}={most!r} was given; a number is needed, such as {name}=0.05.")
    if isinstance(most, bool) or not most > 0 or (name == "max_share" and most > 1):
        limit = "above 0 and at most 1" if name == "max_share" else "above 0"
        raise InvalidInput(f"{name}={most} was given; a number {limit} is needed, such as {name}=0.05.")
    return float(most)
