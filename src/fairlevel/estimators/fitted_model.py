"""What a fit gives: a model and its figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.encoder import TableEncoder
from fairlevel.models.model import Model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class FittedModel:
    """A model with its figures in units of y². ``encoder`` turns tables into what the model reads, where one was asked
    for. After a fit with a budget there is no single weight, number of steps or trace, but a ``mixture`` of candidates:
    family, setting, weight and proportion, one row per candidate in use, and the ``proportions`` of all, (candidate,).
    """

    model: Model
    mse: float
    dpvar: float | None
    weight: float | None = None
    steps: int | None = None
    trace: pd.DataFrame | None = None
    encoder: TableEncoder | None = None
    mixture: pd.DataFrame | None = None
    proportions: Array = field(default_factory=lambda: np.ones(1))


@dataclass(frozen=True)
class JudgedModel:
    """A fitted model, the numbers of the rows of its table that its figures are measured on, and the predictions there,
    each (row,).
    """

    fitted: FittedModel
    numbers: Index
    predictions: Array
