"""Smoothers as dense matrices, from their features by least squares: the truth of these tests."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from fairlevel.conditional_mean.protocol import indicators


class Design(NamedTuple):
    """Columns of all features, those that are penalised last, at the fitted rows and at others; how many belong to the
    nuisance functions, and how many are free with these.
    """

    fit: np.ndarray
    at: np.ndarray
    nuisance: int
    free: int

    @classmethod
    def of(cls, mean, fit, at=None):
        makes = mean.joint_map(fit, 0)

        def columns(rows):
            free, penalised, level, levels, given = makes(rows)
            free = free if level is None else np.hstack([indicators(level, levels), free])
            nuisance = np.hstack([np.ones((len(rows), 1)), np.empty((len(rows), 0)) if given is None else given])
            return np.hstack([nuisance, free, penalised]), nuisance.shape[1], nuisance.shape[1] + free.shape[1]

        here, nuisance, free = columns(fit)
        return cls(here, here if at is None else columns(at)[0], nuisance, free)

    @property
    def unpenalised_nuisance(self):
        """The nuisance functions alone."""
        columns = self.fit[:, : self.nuisance]
        return Design(columns, columns, self.nuisance, self.nuisance)

    def smoother(self, weight, ridge, at_fit=True):
        """S with h = S f: (row, fit row)."""
        return (self.fit if at_fit else self.at) @ coefficients(self.fit, self.free, weight, ridge)


def coefficients(columns, free, weight, ridge):
    """Of least squares with a ridge on the columns after the free ones: (column, row)."""
    penalised = columns.shape[1] - free
    stacked = np.vstack([np.sqrt(weight)[:, None] * columns, np.zeros((penalised, columns.shape[1]))])
    stacked[len(columns) :, free:] = ridge**0.5 * np.eye(penalised)
    right = np.zeros((len(stacked), len(columns)))
    np.fill_diagonal(right, np.sqrt(weight))
    return lstsq(stacked, right, cond=1e-12, lapack_driver="gelsy")[0]


def left_out(design, weight, ridge, prediction, unit):
    """f_u − ĥ_{−u} from fits without each unit, (row,): rows of the unit weigh nothing."""
    found = np.empty(len(prediction))
    for label in np.unique(unit):
        own = unit == label
        fitted = design.smoother(np.where(own, 0.0, weight), ridge) @ prediction
        found[own] = prediction[own] - fitted[own]
    return found
