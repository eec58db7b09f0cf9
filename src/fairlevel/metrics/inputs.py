"""Reading predictions, attributes and weights for a metric."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import attributes_within
from fairlevel.conditional_mean.groups import ROWS_PER_CELL, few_categories
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.numbers import LARGEST, read_weights, refuse_extremes, refuse_lost_digits, refuse_other_kinds
from fairlevel.data.sensitive import GivenColumn, Sensitive, encode_sensitive
from fairlevel.data.splitting import read_groups
from fairlevel.exceptions import FewRowsPerCombination, InvalidInput, InvalidType

MOST_ROWS = 200_000
"""Figures come from so many rows at most, drawn at random."""
_SAME = 1 - 1e-9  # correlation at which two columns hold the same information


@dataclass(frozen=True)
class EvaluationRows:
    """One prediction with its attributes and weights; prediction and row_weight (row,), sensitive (row, attribute)
    with the columns as they were given, legitimate factors (row, factor) and groups (row,) where they were given.
    """

    prediction: Array
    sensitive: Array
    row_weight: Array
    columns: tuple[GivenColumn, ...]
    factors: Array | None = None
    groups: Index | None = None

    def __len__(self) -> int:
        return len(self.prediction)

    def take(self, rows: Index) -> EvaluationRows:
        """Some of the rows."""
        values = {name: column for name, column in vars(self).items() if name != "columns" and column is not None}
        return replace(self, **{name: column[rows] for name, column in values.items()})

    def attributes(self, seed: int) -> Attributes:
        """A, or A within L, with weights and groups."""
        if self.factors is None:
            return Attributes(self.sensitive, row_weight=self.row_weight, groups=self.groups)
        return attributes_within(self.sensitive, self.factors, self.row_weight, self.groups, seed)

    def sample(self, seed: int, most: int | None = None) -> Index:
        """The numbers of all rows that weigh anything, or of ``MOST_ROWS`` or so many of them, drawn at random."""
        counting, most = np.flatnonzero(self.row_weight), MOST_ROWS if most is None else most
        if len(counting) <= most:
            return counting
        return counting[np.sort(np.random.default_rng(seed).choice(len(counting), most, replace=False))]


def read_rows(
    y_pred: Any, sensitive_features: Any, sample_weight: Any = None, given: Any = None, groups: Any = None
) -> EvaluationRows:
    """Validate and align what a metric was given; rows of weight 0 are left out."""
    rows = read_every_row(y_pred, sensitive_features, sample_weight, given, groups)
    return rows if rows.row_weight.all() else rows.take(np.flatnonzero(rows.row_weight))


def read_every_row(
    y_pred: Any, sensitive_features: Any, sample_weight: Any = None, given: Any = None, groups: Any = None
) -> EvaluationRows:
    """The same with rows of weight 0."""
    prediction = read_vector("y_pred", y_pred)
    refuse_extremes("y_pred", prediction)
    if len(prediction) < 2:
        raise InvalidInput(
            f"y_pred has {len(prediction)} row; at least 2 rows are needed to see how predictions vary with A."
        )
    refuse_shuffled(
        y_pred=y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, given=given, groups=groups
    )
    sensitive = encode_sensitive(sensitive_features)
    if len(sensitive) != len(prediction):
        raise InvalidInput(
            f"y_pred has {len(prediction)} rows but sensitive_features has {len(sensitive)}; pass the same rows in "
            "the same order."
        )
    factors = None if given is None else read_factors(given, sensitive)
    labels = None if groups is None else read_groups(groups, len(prediction))
    weight = read_weights(sample_weight, len(prediction))
    weight = np.ones(len(prediction)) if weight is None else weight / weight.max()
    return EvaluationRows(prediction, sensitive.values, weight, sensitive.columns, factors, labels)


def read_factors(given: Any, sensitive: Sensitive) -> Array:
    """Legitimate factors as numbers, (row, factor); a constant, or a copy of a sensitive attribute, is refused."""
    factors = encode_sensitive(given, argument="given")
    if len(factors) != len(sensitive):
        raise InvalidInput(
            f"given has {len(factors)} rows but sensitive_features has {len(sensitive)}; pass the same rows in the "
            "same order."
        )
    for name, size in zip(factors.names, np.ptp(factors.values, axis=0), strict=True):
        if size == 0:
            raise InvalidInput(
                f"given holds a single value in column {name!r}; a factor must vary: drop this column, or leave given "
                "out to compare all rows."
            )
    _warn_of_combinations(factors.values)
    alike = np.maximum(  # correlations of ranks also find copies on another scale, such as a logarithm
        _correlations(sensitive.values, factors.values), _correlations(_ranks(sensitive.values), _ranks(factors.values))
    )
    if (alike > _SAME).any():
        attribute, factor = np.argwhere(alike > _SAME)[0]
        raise InvalidInput(
            f"given column {factors.names[factor]!r} is the same as sensitive column {sensitive.names[attribute]!r}, "
            "or rises and falls with it; nothing of that attribute would be left to measure: drop it from given, or "
            "from sensitive_features."
        )
    return factors.values


def _warn_of_combinations(factors: Array) -> None:
    """Say where combinations of categories get no free average each; (row, factor)."""
    categories = factors[:, few_categories(factors)]
    combinations = int((~pd.DataFrame(categories).duplicated()).sum()) if categories.shape[1] else 0
    if combinations * ROWS_PER_CELL > len(factors):
        warnings.warn(
            f"given has {combinations} combinations of categories on {len(factors)} rows, fewer than {ROWS_PER_CELL} "
            "rows for each; what single columns explain is accounted for, what only combinations explain may count as "
            "disparity: merge categories, or leave a column out.",
            FewRowsPerCombination,
            stacklevel=5,
        )


def _ranks(values: Array) -> Array:
    """The rank of each value in its column, equal values the mean of theirs; (row, k) -> (row, k)."""
    return pd.DataFrame(values).rank().to_numpy()


def _correlations(left: Array, right: Array) -> Array:
    """Absolute correlations of columns, 0 for a constant: (row, k), (row, l) -> (k, l)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.corrcoef(left, right, rowvar=False)[: left.shape[1], left.shape[1] :]
    return np.abs(np.nan_to_num(correlations))


def read_seed(random_state: Any) -> int:
    """A seed from an int, a RandomState or None, as scikit-learn reads them."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    from sklearn.utils import check_random_state  # integers, the usual case, need no scikit-learn

    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise InvalidInput(f"random_state={random_state!r} was given; an integer ≥ 0 or None is needed.") from None


def check_level(level: float) -> None:
    """Raise an error if a confidence level is not between 0 and 1."""
    if not 0 < level < 1:
        raise InvalidInput(f"level={level} was given; a number between 0 and 1 is needed, such as 0.95.")


def read_vector(name: str, values: Any) -> Array:
    """A finite one-dimensional array of numbers; a single column is read as a vector."""
    refuse_other_kinds(name, values)
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(
            f"{name} holds values that are not numbers ({error}); pass numbers, and of two classes 0 and 1, such as "
            f"{name} == 'yes'."
        ) from None
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise InvalidInput(f"{name} has shape {vector.shape}; one number per row is needed, such as model.predict(X).")
    refuse_lost_digits(name, np.asarray(values))
    bad = int((~np.isfinite(vector)).sum())
    if not bad and np.abs(vector).max(initial=0) > LARGEST:
        raise InvalidInput(f"{name} holds values beyond ±{LARGEST:g}; rescale them, such as {name} / 1e100.")
    if bad:
        raise InvalidInput(
            f"{name} holds {bad} missing or infinite values; drop those rows, also from sensitive_features."
        )
    return vector
