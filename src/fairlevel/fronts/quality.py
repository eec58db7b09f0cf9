"""The quality of a front as one number: hypervolume and regret."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import non_dominated


def hypervolume(points: pd.DataFrame, reference: tuple[float, float]) -> float:
    r"""Area between the front and a reference corner (mse, dpvar); larger is better.

    Points beyond the corner do not count; a negative estimate of DPVar counts as zero.
    """
    worst_mse, worst_dpvar = reference
    if not np.isfinite(reference).all():
        raise InvalidInput(f"reference={reference} was given; two finite numbers (mse, dpvar) are needed.")
    front = non_dominated(points.assign(dpvar=points["dpvar"].clip(lower=0)))
    front = front[(front["mse"] < worst_mse) & (front["dpvar"] < worst_dpvar)]
    edges = np.append(front["dpvar"].to_numpy(), worst_dpvar)
    return float(np.sum(np.diff(edges) * (worst_mse - front["mse"].to_numpy())))


def regret(best: Array, constant_mse: float) -> Array:
    r"""The distance of each method to the best one, as a share of what can be gained over the constant prediction.

    .. math:: \frac{m(\tau) - \min_{methods} m(\tau)}{m_{const} - \min_{methods, \tau} m(\tau)}

    The constant prediction meets every budget, so a method without a model within the budget gets its error. Shapes:
    best (method, budget), NaN where no model is within the budget -> (method, budget).
    """
    reached = np.fmin(np.asarray(best, dtype=np.float64), constant_mse)
    reached = np.where(np.isnan(reached), constant_mse, reached)
    gain = constant_mse - reached.min()
    lost: Array = reached - reached.min(axis=0)
    return lost / gain if gain > 0 else np.zeros_like(lost)
