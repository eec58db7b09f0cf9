"""The former name of :meth:`fairlevel.penalties.protocol.Penalty.tuned`."""

from __future__ import annotations

import warnings

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties import Penalty


def with_chosen_mean(penalty: Penalty, attributes: Attributes, target: Array, seed: int) -> Penalty:
    """``penalty.tuned(attributes, target, seed)``, with a warning."""
    warnings.warn(
        "with_chosen_mean(penalty, ...) is penalty.tuned(...) and will be removed in the next minor version.",
        FutureWarning,
        stacklevel=2,
    )
    return penalty.tuned(attributes, target, seed)
