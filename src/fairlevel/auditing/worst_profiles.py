"""Where on A the average prediction is furthest from the mean."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.metrics.choice import candidates_for, chosen_for
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
    attributes, prediction = rows.attributes(seed), rows.prediction
    weight = attributes.weight
    centred = prediction - weight @ prediction
    scale = float(np.sqrt(weight @ centred**2))
    columns = [*map(str, frame.columns), "difference", "low", "high"]
    if scale <= 1e-12 * float(np.abs(prediction).max()):
        return pd.DataFrame(columns=columns)
    standardised = centred / scale
    debiased = chosen_for(standardised, candidates_for(attributes, seed)).debiased
    smoother, units = debiased.smoother, debiased.units
    if not smoother.functions.count:
        return pd.DataFrame(columns=columns)
    # the noise of ĥ, and chance in the mean (or the average of rows with the same factors) that it is compared with
    fitted, noise = debiased.fitted(standardised[None])[0], debiased.noise(standardised[None])[0]
    random = np.random.default_rng(seed)
    picked = np.sort(random.choice(len(rows), min(_PROFILES, len(rows)), replace=False))
    functions = smoother.functions.written_out()
    loading = functions[picked] * (1 - (1 - debiased.shrinkage) ** _PASSES)
    of_units = units.sums(functions * (weight * noise)[:, None])
    of_mean = units.sums(smoother.nuisance * (weight * fitted)[:, None])
    errors = loading @ of_units.T - smoother.nuisance[picked] @ of_mean.T  # (profile, unit)
    error = np.maximum(np.sqrt(np.square(errors).sum(axis=1)), 1e-300)
    # the largest of standardised errors is drawn from their covariance
    covariance = errors @ errors.T / (error[:, None] * error)
    moments, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(moments, 0, None))
    largest = np.abs(root @ random.standard_normal((len(root), _DRAWS))).max(axis=0)
    half = np.quantile(largest, _CONFIDENCE) * error * scale
    difference = loading @ smoother.coefficients(standardised[None])[0] * scale
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
