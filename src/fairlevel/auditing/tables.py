"""Tables of an audit: which attributes carry the disparity, the worst profiles, and predictions by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.conditional_mean import GroupMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.groups import few_categories
from fairlevel.conditional_mean.smoother import factor
from fairlevel.data.columns import MISSING, text_of
from fairlevel.data.numbers import LARGEST
from fairlevel.data.sensitive import GivenColumn
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.choice import choices_for, suitable_means
from fairlevel.metrics.debiased import Debiased
from fairlevel.metrics.interval import StandardisedPredictions
from fairlevel.metrics.profile import quantiles
from fairlevel.metrics.units import Units

EACH_SIDE = 3
"""Profiles above the mean, and below it."""
_PROFILES, _DRAWS = 500, 2000
_CONFIDENCE = 0.95
_PASSES = 8  # of smoothing what smoothing has left: a penalty flattens the extremes, and no interval allows for that
MOST_GROUPS = 12
QUANTILES = 5


def attribute_shares(
    prediction: Array, attributes: Attributes, columns: Sequence[GivenColumn], seed: int
) -> pd.DataFrame:
    """For each column as it was given: ``alone``, the share of Var f that a curve, or averages of groups, along this
    attribute explains, and ``lost``, by how much the share of all attributes falls where this one is held at its mean,
    with the same functions and the same ridge. Indicators of one column count as one.

    Attributes that carry the same information have large shares alone and lose little; for one that matters only
    together with others it is the reverse.
    """
    names = [column.name for column in columns]
    standardised = StandardisedPredictions.of(prediction[None], attributes.counts).values
    if not len(standardised):
        return pd.DataFrame({"attribute": names, "alone": 0.0, "lost": 0.0})

    def share(debiased: Debiased) -> float:
        return float(np.clip(debiased.estimates(standardised)[0], 0, 1))

    values, units = attributes.values, Units.of(attributes)
    general = suitable_means(values)[-1]
    (chosen,) = choices_for(attributes, standardised, seed, general)
    functions, whole = general.joint_map(attributes, seed), share(chosen.debiased)
    alone, lost = [], []
    for column in columns:
        numbers = list(column.places)
        only = replace(attributes, values=values[:, numbers])
        curve = GroupMean() if few_categories(only.values).all() else SplineMean()
        (choice,) = choices_for(only, standardised, seed, curve)
        alone.append(share(choice.debiased))
        held = replace(attributes, values=values.copy())
        held.values[:, numbers] = attributes.weight @ only.values
        if isinstance(general, GroupMean):  # averages over all categories are other functions
            functions = general.joint_map(held, seed)
        lost.append(max(0.0, whole - share(Debiased(factor(functions, held), chosen.debiased.ridge, units))))
    shares = pd.DataFrame({"attribute": names, "alone": alone, "lost": lost})
    return shares.sort_values("alone", ascending=False, ignore_index=True)


def worst_profiles(prediction: Array, attributes: Attributes, frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    r"""Up to three profiles above and three below the mean: their attributes, ``difference`` from the mean (from the
    average of rows with the same factors, where factors are given), ``low`` and ``high``. ``frame`` holds the
    attributes as they were given.

    Profiles are rows of the table, sampled where they are many, with differences :math:`\hat h(a) - \bar f`, where
    :math:`\hat h = (I - (I - S)^8) f` is smoothed with the penalty of the DPVar estimate, and so is what each pass has
    left. Those are listed of which the interval is furthest from 0, not near each other. The intervals hold for all
    sampled profiles at once, since the worst ones are picked by looking: their half-width is the quantile of the
    largest of all standardised errors, with errors drawn from the covariance of the coefficients (a multiplier
    bootstrap).
    """
    nothing = pd.DataFrame(columns=[*map(str, frame.columns), "difference", "low", "high"])
    predictions = StandardisedPredictions.of(prediction[None], attributes.counts)
    if not len(predictions.values):
        return nothing
    standardised, scale, weight = predictions.values, float(np.sqrt(predictions.variance[0])), attributes.weight
    debiased = choices_for(attributes, standardised, seed)[0].debiased
    smoother, units = debiased.smoother, debiased.units
    if not smoother.functions.count:
        return nothing
    # the noise of ĥ, and chance in the mean (or the average of rows with the same factors) that it is compared with
    fitted, noise = debiased.fitted(standardised)[0], debiased.noise(standardised)[0]
    random = np.random.default_rng(seed)
    picked = np.sort(random.choice(len(frame), min(_PROFILES, len(frame)), replace=False))
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
    difference = loading @ smoother.coefficients(standardised)[0] * scale
    profiles = attributes.values[picked]
    spread = profiles.std(axis=0)
    worst = _furthest(difference, half, profiles / np.where(spread > 0, spread, 1.0))
    table = frame.iloc[picked[worst]].reset_index(drop=True).rename(columns=str)
    figures = pd.DataFrame({"difference": difference, "low": difference - half, "high": difference + half})
    return pd.concat([table, figures.iloc[worst].reset_index(drop=True)], axis=1)


def _furthest(difference: Array, half: Array, profiles: Array) -> list[int]:
    """Profiles whose intervals reach furthest from 0 on either side, half a standard deviation apart."""
    chosen: list[int] = []
    for side in (1, -1):
        of_side: list[int] = []
        for position in np.argsort(-(side * difference - half), kind="stable"):
            if len(of_side) == EACH_SIDE or side * difference[position] <= 0:
                break
            near = (np.abs(profiles[of_side] - profiles[position]) < 0.5).all(axis=1)
            if not near.any():
                of_side.append(int(position))
        chosen += of_side
    return chosen


def group_table(groups: Any, prediction: Array, row_weight: Array, target: Array | None = None) -> pd.DataFrame:
    """Number of rows; mean, standard deviation, 10 % and 90 % quantiles of the prediction, all weighted; and the mean
    of y and the mean squared error where y is known, for each category of a column. Numbers of many values are cut into
    fifths.
    """
    labels = _labels(pd.Series(groups).reset_index(drop=True))
    frame = pd.DataFrame({"group": labels, "f": prediction, "w": row_weight})
    if target is not None:
        frame["y"] = target
    rows = []
    for name, part in frame.groupby("group", sort=True, observed=True):
        weight = part["w"].to_numpy() / part["w"].sum()
        predictions = part["f"].to_numpy()
        mean = float(weight @ predictions)
        _, low, *_, high, _ = quantiles(predictions[None], 11, None if np.ptp(weight) == 0 else weight)[0]
        row: dict[str, object] = {"group": str(name), "rows": len(part), "mean": mean}
        row |= {"sd": float(np.sqrt(weight @ (predictions - mean) ** 2)), "10 %": float(low), "90 %": float(high)}
        if target is not None:
            truth = part["y"].to_numpy()
            row |= {"mean of y": float(weight @ truth), "MSE": float(weight @ (predictions - truth) ** 2)}
        rows.append(row)
    return pd.DataFrame(rows)


def read_groups(by: Any) -> pd.Series:
    """The column that rows are grouped by: text, or numbers with gaps."""
    values = np.asarray(by, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidInput(f"by has shape {values.shape}; one column is needed, such as table['region'].")
    column = pd.Series(values).infer_objects()
    if column.dtype.kind == "c":
        raise InvalidInput("by holds complex numbers; pass real numbers, or groups as text.")
    huge = int((column.abs() > LARGEST).sum()) if column.dtype.kind == "f" else 0
    if huge:
        raise InvalidInput(f"by holds {huge:,} numbers beyond ±{LARGEST:g}; pass smaller ones, or groups as text.")
    return column


def is_grouping(column: pd.Series) -> bool:
    """Whether a column has few enough categories for a table of its own."""
    first = column.iloc[:1000]  # most columns of numbers are known by their first rows
    return bool(first.nunique() <= MOST_GROUPS and column.nunique() <= MOST_GROUPS)


def _labels(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > MOST_GROUPS:
        return _fifths(column)
    known = column.notna()
    texts = column.astype(object).map(text_of).where(known, MISSING)
    values = dict(zip(texts[known], column[known], strict=True))  # one per text: 1, 1.0 and True are equal numbers
    numbers = [text for text, value in values.items() if isinstance(value, int | float | np.number)]
    words = sorted(values.keys() - set(numbers), key=lambda text: str(values[text]))
    names = [*sorted(numbers, key=values.__getitem__), *words, MISSING]
    return pd.Series(pd.Categorical(texts, categories=list(dict.fromkeys(names)), ordered=True))


def _fifths(column: pd.Series) -> pd.Series:
    """Ranges between quantiles, as text in order; a value where two meet belongs to the lower one."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    ends = np.unique(np.nanquantile(values, np.linspace(0, 1, QUANTILES + 1)))
    names = [f"{low} to {high}" for low, high in pairwise(_apart(ends))]
    number = np.where(np.isnan(values), len(names), np.searchsorted(ends[1:-1], values))
    names.append(MISSING)
    return pd.Series(pd.Categorical(np.array(names)[number], categories=names, ordered=True))


def _apart(numbers: Array) -> list[str]:
    """Different numbers as text, with as few digits as tell them apart, three at least."""
    tried = ([f"{number:.{digits}g}" for number in numbers] for digits in range(3, 17))
    most = [f"{number:.17g}" for number in numbers]
    return next((texts for texts in tried if len(set(texts)) == len(texts)), most)
