"""What a fit gives: a model and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlevel.arrays import Array, Index
from fairlevel.data.encoder import TableEncoder
from fairlevel.models.model import Model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MeasuredRows:
    """What the figures of a model are measured on: numbers of rows of its table, (row,), and the predictions there,
    (row,); after a fit with a budget, by candidates that were trained without these rows.
    """

    numbers: Index
    predictions: Array


@dataclass(frozen=True)
class FittedModel:
    """A model with its figures in units of y². After a fit with a budget there is no single weight, number of steps or
    trace, but a ``mixture``, see :class:`fairlevel.estimators.path_fit.ChosenModel`. ``encoder`` turns tables into what
    the model reads, where one was asked for.
    """

    model: Model
    mse: float
    dpvar: float | None
    weight: float | None = None
    steps: int | None = None
    trace: pd.DataFrame | None = None
    encoder: TableEncoder | None = None
    mixture: pd.DataFrame | None = None
    measured: MeasuredRows | None = None
