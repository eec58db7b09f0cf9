"""Standardised predictions, and gradients through the standardising."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from fairlevel.penalties.toolkit import SMALLEST_SD


class Standardised(NamedTuple):
    """u = (f − mean) / sd: value (config, row), sd (config, 1), and whether sd moves with f (config, 1)."""

    value: Tensor
    sd: Tensor
    varies: Tensor


def standardised(prediction: Tensor, row_weight: Tensor) -> Standardised:
    """u; a spread below 0.05 counts as 0.05."""
    centred = prediction - (prediction * row_weight).sum(dim=-1, keepdim=True)
    sd = (centred.square() * row_weight).sum(dim=-1, keepdim=True).sqrt()
    floored = sd.clamp_min(SMALLEST_SD)
    return Standardised(centred / floored, floored, (sd > SMALLEST_SD).to(sd))


def through_standardising(input_gradient: Tensor, of: Standardised, row_weight: Tensor) -> Tensor:
    """∂P/∂f from q = ∂P/∂u: g = (q − w Σq − w u Σqu) / sd, the last term only where sd moves with f; (config, row)."""
    u, sd, varies = of
    along = varies * (input_gradient * u).sum(dim=-1, keepdim=True)
    return (input_gradient - row_weight * (input_gradient.sum(dim=-1, keepdim=True) + u * along)) / sd
