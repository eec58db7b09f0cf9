"""What a mean of few rows, or groups, knows of its own error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairlevel.arrays import Array, Index


class JackknifeError(NamedTuple):
    """How to read the jackknife variance of the weighted mean of each category: what it is too large by, and its
    degrees of freedom, both (category,).
    """

    factor: Array
    freedom: Array

    @classmethod
    def of(cls, share: Array, place: Index, categories: int) -> JackknifeError:
        r"""From the share of each unit in the weight of its category, (unit,), and the category of each, (unit,).

        With shares v the variance is :math:`f^\top A f`, :math:`A = (1 - \mathbf 1 v^\top)^\top \operatorname{diag}(q)
        (1 - \mathbf 1 v^\top)`, :math:`q_u = v_u^2 / (1 - v_u)^2`; the factor is :math:`\operatorname{tr} A / \sum
        v^2`, and the degrees of freedom :math:`(\operatorname{tr} A)^2 / \operatorname{tr} A^2` (Bell & McCaffrey,
        Survey Methodology 2002). With k equal shares these are k / (k − 1) and k − 1; of a single unit 1 and 0.
        """
        alone = share > 1 - 1e-9
        q = np.where(alone, 0.0, (share / np.where(alone, 1.0, 1 - share)) ** 2)

        def total(values: Array) -> Array:
            return np.bincount(place, values, categories).astype(np.float64)

        squares, first, second = total(share**2), total(q * share), total(q * share**2)
        every = total(q)
        trace = every * (1 + squares) - 2 * first
        crossed = squares**2 * every**2 + 2 * every * second - 4 * squares * every * first + 2 * first**2
        of_square = total(q**2 * (1 - 4 * share)) + 2 * squares * total(q**2) + crossed
        known = trace > 0
        divisor = np.where(known, of_square, 1.0)
        factor = np.where(known, trace / np.where(squares > 0, squares, 1.0), 1.0)
        return cls(factor, np.where(known, trace**2 / divisor, 0.0))
