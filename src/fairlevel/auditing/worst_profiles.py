"""Where on A the average prediction is furthest from the mean."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from fairlevel.arrays import Array
from fairlevel.metrics.choice import candidates_for, choose
from fairlevel.metrics.inputs import EvaluationRows

EACH_SIDE = 3
"""Profiles above the mean, and below it."""
_PROFILES, _DRAWS = 500, 2000
_CONFIDENCE = 0.95
_PASSES = 8  # of smoothing what smoothing has left: a penalty flattens the extremes, and no interval allows for that


def worst_profiles(rows: EvaluationRows, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    r"""Up to three profiles above and three below the mean: their attributes, ``difference`` from the mean (from the
    average of rows with the same factors, where factors are given), ``low`` and ``high``.

    Profiles are rows of the table, sampled where they are many, with differences :math:`\hat h(a) - \bar f`, where
    :math:`\hat h = (I - (I - S)^8) f` is smoothed with the penalty of the DPVar estimate, and so is what each pass has
    left. Those are listed of which the interval is furthest from 0, not near each other. The intervals hold for all
    sampled profiles at once, since the worst ones are picked by looking: their half-width is the quantile of the
    largest of all standardised errors, with errors drawn from the covariance of the coefficients (a multiplier
    bootstrap).
    """
    attributes = rows.attributes(seed)
    weight = torch.from_numpy(attributes.weight)
    centred = torch.from_numpy(rows.prediction) - weight @ torch.from_numpy(rows.prediction)
    scale = float((weight @ centred.square()).sqrt())
    columns = [*map(str, frame.columns), "difference", "low", "high"]
    if scale <= 1e-12 * float(np.abs(rows.prediction).max()):
        return pd.DataFrame(columns=columns)
    standardised = (centred / scale).unsqueeze(0)
    choice = choose(standardised, candidates_for(standardised, attributes, seed), attributes)
    chosen = choice.candidates[int(choice.index)]
    smoother, units, ridge = chosen.smoother, chosen.units, choice.ridge
    del choice, chosen  # functions that were not chosen
    left_out = units.leave_out(standardised, smoother, ridge)
    first, shrinkage = smoother.nuisance, smoother.shrinkage(ridge)[0]
    if first == len(shrinkage):
        return pd.DataFrame(columns=columns)
    # the noise of ĥ, and chance in the mean (or the average of rows with the same factors) that it is compared with
    functions, nuisance = smoother.fit.beyond(first).signed, smoother.nuisance_functions
    of_mean = weight.unsqueeze(1) * (nuisance * left_out.fitted[0].unsqueeze(1))
    covariance = units.covariance_beside(weight * left_out.residual[0], functions, of_mean)
    random = np.random.default_rng(seed)
    picked = np.sort(random.choice(len(rows), min(_PROFILES, len(rows)), replace=False))
    at = torch.from_numpy(picked)
    loading = functions.at(at) * functions.weights(1 - (1 - shrinkage[first:]) ** _PASSES)
    of_columns, of_cells = loading.tensor_split([functions.columns.shape[1]], dim=1)
    errors = covariance.in_normals(torch.cat([of_columns, -nuisance[at], of_cells], dim=1))  # (profile, function)
    error = errors.square().sum(dim=1).sqrt().clamp_min(1e-300)
    draws = torch.from_numpy(random.standard_normal((errors.shape[1], _DRAWS)))
    largest = (errors @ draws).abs_().div_(error.unsqueeze(1)).amax(dim=0)
    half = (torch.quantile(largest, _CONFIDENCE) * error * scale).numpy()
    difference = (loading @ functions.coefficients(standardised * weight)[0]).numpy() * scale
    worst = _furthest(difference, half, _standard(rows.sensitive[picked]))
    table = frame.iloc[picked[worst]].reset_index(drop=True).rename(columns=str)
    figures = pd.DataFrame({"difference": difference, "low": difference - half, "high": difference + half})
    return pd.concat([table, figures.iloc[worst].reset_index(drop=True)], axis=1)


def _furthest(difference: Array, half: Array, standard: Array) -> list[int]:
    """Positions of the profiles whose intervals reach furthest from 0 on either side, none of them near another."""
    chosen: list[int] = []
    for side in (1, -1):
        of_side: list[int] = []
        for position in np.argsort(-(side * difference - half), kind="stable"):
            if len(of_side) == EACH_SIDE or side * difference[position] <= 0:
                break
            near = [np.abs(standard[position] - standard[other]).max() < 0.5 for other in of_side]
            if not any(near):
                of_side.append(int(position))
        chosen += of_side
    return chosen


def _standard(values: Array) -> Array:
    spread = values.std(axis=0)
    standard: Array = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return standard
