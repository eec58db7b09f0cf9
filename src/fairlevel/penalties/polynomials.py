"""Hermite polynomials of predictions and of attributes, scaled so that they are orthonormal for a standard normal."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, sqrt

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array

MOST_FUNCTIONS = 200
"""Products of polynomials of A. Their number grows like attributes^degree, so the degree is lowered until there are no
more than this; degree 1 is always kept."""


def hermite(u: Tensor, degree: int) -> Tensor:
    """h_0 … h_d with h_{k+1} = (u h_k − √k h_{k−1}) / √(k+1) and h_k' = √k h_{k−1}: (…) -> (…, degree + 1)."""
    found = [torch.ones_like(u), u]
    for k in range(1, degree):
        found.append((u * found[k] - sqrt(k) * found[k - 1]) / sqrt(k + 1))
    return torch.stack(found[: degree + 1], dim=-1)


def lowered(attributes: int, degree: int) -> int:
    """The largest degree ≤ ``degree`` for which the attributes have at most 200 products of powers."""
    while degree > 1 and comb(attributes + degree, degree) - 1 > MOST_FUNCTIONS:
        degree -= 1
    return degree


def products(values: Array, degree: int) -> Array:
    """All products of polynomials of the attributes of total degree 1 … ``degree``, lowered where they are too many:
    (row, attribute) -> (row, function).
    """
    attributes = values.shape[1]
    degree = lowered(attributes, degree)
    single = hermite(torch.from_numpy(values), degree).numpy()
    columns = [np.empty((len(values), 0))]
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(attributes), total):
            powers = [(column, chosen.count(column)) for column in sorted(set(chosen))]
            columns.append(np.prod([single[:, column, power] for column, power in powers], axis=0)[:, None])
    return np.hstack(columns)
