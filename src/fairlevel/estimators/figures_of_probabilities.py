"""Figures of the probabilities of more than two classes, which are divided by their sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlevel.arrays import Array
from fairlevel.candidates.fitting import attributes_of
from fairlevel.data.table import Table
from fairlevel.estimators.fitted_model import FittedModel, MeasuredRows
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.models.model import from_scores


def figures_of_probabilities(fitted: Sequence[FittedModel], table: Table) -> list[FittedModel]:
    """Models of one class each, with the figures of the probabilities that they give together, on the rows that their
    own figures were measured on. ``table.y`` holds the number of each row's class.
    """
    measured = [each.measured for each in fitted if each.measured is not None]
    rows = table.rows(measured[0].numbers)
    probabilities = _probabilities(measured)
    truth = rows.y[:, None] == np.arange(len(fitted))
    brier = rows.weight @ (probabilities - truth) ** 2
    dpvar = [None] * len(fitted) if rows.sensitive is None else _dpvar(probabilities, rows)
    return [
        replace(each, mse=float(error), dpvar=disparity)
        for each, error, disparity in zip(fitted, brier, dpvar, strict=True)
    ]


def _probabilities(measured: Sequence[MeasuredRows]) -> Array:
    """(row, class)."""
    return from_scores(np.stack([each.predictions for each in measured], axis=1))


def _dpvar(probabilities: Array, rows: Table) -> list[float | None]:
    """Of each class by itself, on the rows whose attributes are known."""
    attributes = attributes_of(rows if rows.known is None else rows.rows(rows.known_rows))
    return [float(dpvar_of_many(each[None], attributes)[0]) for each in probabilities[rows.known_rows].T]
