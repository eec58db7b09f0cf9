"""What a fit uses where no predictor was named, and whether it reads gaps."""

from __future__ import annotations

from typing import Any

READ_GAPS = ("boosting",)
"""Names of predictors whose class says ``native``; a test compares them: scikit-learn asks for tags of models that
predict, too, and those classes import what trains."""


def network_by_default(solver: Any) -> bool:
    """Whether the predictor is a network, for a path that needs a linear head; else it is boosting."""
    return solver == "spectral" or getattr(solver, "needs_linear_head", False) is True


def reads_gaps(predictor: Any, solver: Any) -> bool:
    """Whether missing values are fine; an unknown name is not, it is refused in ``fit``."""
    if predictor is None:
        return not network_by_default(solver)
    return predictor in READ_GAPS if isinstance(predictor, str) else getattr(predictor, "native", False) is True
