"""Reading predictions, attributes and weights for a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fairlevel.arrays import Array, Index
from fairlevel.data.sensitive import LARGEST, encode_sensitive, refuse_shuffled
from fairlevel.exceptions import InvalidInput, InvalidType


@dataclass(frozen=True)
class EvaluationRows:
    """One prediction with its attributes and weights; prediction and row_weight (row,), sensitive (row, attribute)
    with one name per attribute.
    """

    prediction: Array
    sensitive: Array
    row_weight: Array
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.prediction)

    def take(self, rows: Index) -> EvaluationRows:
        """Some of the rows."""
        return EvaluationRows(self.prediction[rows], self.sensitive[rows], self.row_weight[rows], self.names)


def read_rows(y_pred: Any, sensitive_features: Any, sample_weight: Any = None) -> EvaluationRows:
    """Validate and align what a metric was given."""
    prediction = read_vector("y_pred", y_pred)
    if len(prediction) < 2:
        raise InvalidInput(
            f"y_pred has {len(prediction)} row; at least 2 rows are needed to see how predictions vary with A."
        )
    refuse_shuffled(y_pred, sensitive_features)
    sensitive = encode_sensitive(sensitive_features)
    if len(sensitive) != len(prediction):
        raise InvalidInput(
            f"y_pred has {len(prediction)} rows but sensitive_features has {len(sensitive)}; pass the same rows in "
            "the same order."
        )
    if sample_weight is None:
        return EvaluationRows(prediction, sensitive.values, np.ones(len(prediction)), sensitive.names)
    weight = read_vector("sample_weight", sample_weight)
    if len(weight) != len(prediction):
        raise InvalidInput(
            f"sample_weight has {len(weight)} rows but y_pred has {len(prediction)}; one weight per row is needed."
        )
    if (weight < 0).any() or not weight.any():
        raise InvalidInput(
            f"sample_weight holds {(weight < 0).sum()} negative values; weights ≥ 0 are needed, not all of them zero."
        )
    used = weight > 0
    if used.sum() < 2:
        raise InvalidInput(f"sample_weight is positive on {used.sum()} row; at least 2 such rows are needed.")
    return EvaluationRows(prediction[used], sensitive.values[used], weight[used] / weight.max(), sensitive.names)


def read_seed(random_state: Any) -> int:
    """A seed from an int, a RandomState or None, as scikit-learn reads them."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise InvalidInput(f"random_state={random_state!r} was given; an integer ≥ 0 or None is needed.") from None


def read_vector(name: str, values: Any) -> Array:
    """A finite one-dimensional array of numbers; a single column is read as a vector."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(
            f"{name} holds values that are not numbers ({error}); convert it with .astype(float)."
        ) from None
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise InvalidInput(f"{name} has shape {vector.shape}; one number per row is needed, such as model.predict(X).")
    bad = int((~np.isfinite(vector)).sum())
    if name == "y_pred" and not bad and np.abs(vector).max(initial=0) > LARGEST:
        raise InvalidInput(f"{name} holds values beyond ±{LARGEST:g}; rescale them, such as y_pred / 1e100.")
    if bad:
        raise InvalidInput(
            f"{name} holds {bad} missing or infinite values; drop those rows, also from sensitive_features."
        )
    return vector
