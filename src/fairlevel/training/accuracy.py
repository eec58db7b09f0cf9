"""The accuracy term of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Push(NamedTuple):
    """Shapes: loss (config,), gradient (config, row), zero on rows that carry no accuracy."""

    loss: Tensor
    gradient: Tensor


@dataclass(frozen=True)
class SquaredError:
    r"""Weighted mean squared error, Σ w_i (f_i − y_i)², with Σw = 1 over the rows that carry accuracy."""

    def gradient(self, prediction: Tensor, target: Tensor, rows: slice, row_weight: Tensor) -> Push:
        """Shapes: prediction (config, row), target (row,), row_weight (accuracy row,)."""
        residual = prediction[:, rows] - target[rows]
        weighted = residual * row_weight
        gradient = torch.zeros_like(prediction)
        gradient[:, rows] = 2 * weighted
        return Push((residual * weighted).sum(dim=-1), gradient)

    def value(self, prediction: Tensor, target: Tensor, row_weight: Tensor) -> Tensor:
        """Shapes: prediction (config, row), target (row,) -> (config,)."""
        return ((prediction - target).square() * row_weight).sum(dim=-1)
