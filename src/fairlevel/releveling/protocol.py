"""A model that exists, as re-levelling sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import Disparity
from fairlevel.corrections.columns import Columns
from fairlevel.releveling.responses import Response

UNNAMED: tuple[Any, Any] = (0, 1)
"""The classes of a model that knows no names for them."""


@dataclass(frozen=True)
class Change:
    """What becomes of the total of a model: ``kept`` · total + ``intercept`` + Σ over families of Φ u. Shapes:
    coefficients u (column,), by the name of the family of columns.
    """

    kept: float
    intercept: float
    coefficients: Mapping[str, Array]

    @property
    def nothing(self) -> bool:
        """Whether the model stays as it is."""
        return self.kept == 1 and self.intercept == 0 and not any(u.any() for u in self.coefficients.values())


class ExistingModel(Protocol):
    """A fitted model on the rows given. Shapes: total, prediction (row,)."""

    @property
    def kind(self) -> str:
        """What it is, in words for a report."""

    @property
    def classes(self) -> tuple[Any, Any] | None:
        """Both classes of a classifier, in its order; None for numbers."""

    @property
    def response(self) -> Response:
        """How a total becomes a prediction."""

    @property
    def total(self) -> Array:
        """What columns are added to, (row,): the prediction of a regressor, the log-odds of most classifiers."""

    @property
    def prediction(self) -> Array:
        """f0, (row,): a number, or the probability of the second class."""

    @property
    def seen(self) -> bool:
        """Whether these are certainly the rows that it was trained on."""

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> Mapping[str, Family]:
        """Columns that may be added to it, at all rows. Where columns are found by training, ``rows`` train them, and
        ``disparity`` is that of the model on those rows. ``target`` is y of those rows, where it is known and the model
        has not seen it.
        """

    def changed(self, change: Change, families: Mapping[str, Family]) -> Any:
        """The model after a change; a model of the same type where that is possible."""


@dataclass(frozen=True)
class Family:
    """Columns, the ridges ρ with which they are used, and what is needed to compute the columns for other rows.

    ``start``, (row,), is added to the total before any of the columns; it then counts as one more column, the last.
    """

    columns: Columns
    ridges: tuple[float, ...]
    about: Any = None
    start: Array | None = None
