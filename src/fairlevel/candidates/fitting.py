"""From a table to trained candidates: split, scale, train.

Every fit of an estimator goes through here, with a weight or a budget; when training ends is said in
:mod:`fairlevel.candidates.stopping`. A study uses the same :class:`Scaling`. Scalers are fitted on all rows of
the fit, early-stopping rows included. Predictors get features as given, and the scaler of features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors, attributes_within
from fairlevel.data.encoder import Encoding
from fairlevel.data.scaling import Scaler
from fairlevel.data.splitting import Splitting
from fairlevel.data.table import Table
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.stacking import without_small_proportions
from fairlevel.members.protocol import Rescalable
from fairlevel.metrics.evaluator import with_learnt
from fairlevel.models.model import Model
from fairlevel.training.rows import AllRows, TrainingRows

LEARNT_WITH = 0
"""Seed of the folds of functions of A that are learnt from y: all candidates share these functions."""


@dataclass(frozen=True)
class Scaling:
    """Scalers of x, y and attributes, and the functions of legitimate factors."""

    x: Scaler
    y: Scaler
    attributes: Scaler | None
    factors: LegitimateFactors | None = None

    @classmethod
    def of(cls, table: Table, clip: float = np.inf) -> Scaling:
        """Fitted on all rows of a table; x and attributes are clipped at ± ``clip``. Features with gaps are left as
        they are: only predictors that need no scaling read them.
        """
        weight, of_attributes = table.row_weight, table.attribute_weight
        attributes = None if table.sensitive is None else Scaler.fit(table.sensitive.values, of_attributes, clip)
        x = Scaler.identity(table.x.shape[1]) if table.gaps else Scaler.fit(table.x, weight, clip)
        factors = None if table.factors is None else LegitimateFactors.of(table.factors, of_attributes)
        return cls(x, Scaler.fit(table.y, weight), attributes, factors)

    def rows(self, table: Table, index: Index, rows_in: int = 0) -> TrainingRows:
        """Some rows of a table, features as given; the first ``rows_in`` are IN: penalties that split rows fit the
        conditional mean on them and carry accuracy on the others (OUT). All candidates that train on them share what is
        computed from the attributes.
        """
        attributes = None
        weight, counted = (None if own is None else own[index] for own in (table.row_weight, table.attribute_weight))
        if table.sensitive is not None and self.attributes is not None:
            values = self.attributes.transform(table.sensitive.values[index])
            attributes = Attributes(values, row_weight=counted)
            if self.factors is not None and table.factors is not None:
                attributes = self.factors.attributes(values, table.factors[index], counted)
            groups = table.splits.groups
            attributes = replace(attributes, groups=None if groups is None else groups[index])
            attributes = with_learnt(attributes, table.y[index], LEARNT_WITH)
        return TrainingRows(table.x[index], self.y.transform(table.y[index]), attributes, rows_in, weight)


def attributes_of(table: Table) -> Attributes:
    """The attributes of a table that must have some, as metrics read them; within legitimate factors where there are
    some.
    """
    weight = table.attribute_weight
    return attributes_within(table.attributes, table.factors, weight, table.splits.groups)


@dataclass(frozen=True)
class FittedCandidates:
    """Trained candidates, diverged ones included, the scaler of y, and how columns were encoded."""

    candidates: CandidateSet
    y_scaler: Scaler
    encoding: Encoding | None = None

    def features(self, x: Array) -> Array:
        """What predictors see of rows of a table: (row, column) -> (row, feature)."""
        return x if self.encoding is None else self.encoding.transform(x)

    def predict(self, x: Array) -> Array:
        """(row, column) -> (candidate, row), in units of y; NaN for diverged candidates."""
        return self.y_scaler.inverse(self.candidates.predict(self.features(x)))

    def model(self, proportions: Array) -> Model:
        """A mixture as one model; proportions (usable candidate,), of which those below 0.001 are dropped."""
        groups, of_members = self.candidates.mixture(without_small_proportions(proportions))
        if len(of_members) == 1 and isinstance(groups[0], Rescalable):
            return Model((groups[0].in_units(self.y_scaler),), of_members, Scaler(np.asarray(0.0), np.asarray(1.0)))
        return Model(groups, of_members, self.y_scaler)


@dataclass(frozen=True)
class ScaledTable:
    """A table as predictors read it: encoded, with its scalers."""

    table: Table
    encoding: Encoding | None
    scaling: Scaling

    @classmethod
    def of(cls, table: Table) -> ScaledTable:
        encoded, encoding = table.encoded()
        return cls(encoded, encoding, Scaling.of(encoded))

    @property
    def splits(self) -> Splitting:
        """Which of its rows may be held out together."""
        return self.table.splits

    def rows(self, kept: Index, held: Index | None = None) -> CandidateRows:
        """Rows to train on, of which the first half are IN, and held-out rows, if any."""
        training = AllRows(self.scaling.rows(self.table, kept, rows_in=len(kept) // 2), x_scaler=self.scaling.x)
        return CandidateRows(
            training,
            None if held is None else self.scaling.rows(self.table, held),
            categorical=self.table.categorical,
            gaps=self.table.gaps,
            y_scaler=self.scaling.y,
        )

    def fitted(self, candidates: CandidateSet) -> FittedCandidates:
        """Candidates that were trained on its rows."""
        return FittedCandidates(candidates, self.scaling.y, self.encoding)


def fitted_on_all_rows(
    table: Table,
    source: CandidateSource,
    setup: TrainingSetup,
    limits: Limits,
    steps: Mapping[CandidateKey, int] | None,
    report: Report,
) -> FittedCandidates:
    """All rows train, each candidate for its own number of steps; for all steps where there are no such numbers."""
    scaled = ScaledTable.of(table)
    every = shuffled_rows(scaled.splits, setup.seed)
    return scaled.fitted(source.train(replace(scaled.rows(every), steps=steps), setup, limits, report))


def shuffled_rows(splits: Splitting, seed: int) -> Index:
    """All row numbers in random order."""
    return np.random.default_rng(seed).permutation(len(splits))


def split_rows(splits: Splitting, fraction: float, seed: int) -> tuple[Index, Index]:
    """Row numbers to train on, shuffled, and those held out for early stopping."""
    if isinstance(fraction, str) or not 0 < fraction < 1:
        raise InvalidInput(
            f"validation_fraction={fraction} was given; a number between 0 and 1 is needed, such as 0.2, or None."
        )
    return splits.split_off(fraction, seed)
