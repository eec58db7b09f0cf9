"""From a table to trained candidates: split, scale, train.

Every fit of an estimator goes through one of the last three functions, with a weight or a budget. A study uses the same
:class:`Scaling`. Scalers are fitted on all rows of
the fit, early-stopping rows included. Predictors get features as given, and the scaler of features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.candidates.protocol import CandidateRows, Recipe, Report, TrainingSetup, portion
from fairlevel.candidates.stopping import Split, best_setup, best_steps, split_rows
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors, attributes_within
from fairlevel.data.encoder import Encoding, TableEncoder
from fairlevel.data.scaling import Scaler
from fairlevel.data.table import Table
from fairlevel.fronts.combiners import without_small_proportions
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

    def rows(self, table: Table, index: Index) -> TrainingRows:
        """Some rows of a table, features as given. All candidates that train on them share what is computed from the
        attributes.
        """
        attributes = None
        weights = (table.row_weight, table.attribute_weight)
        weight, counted = (None if of_all is None else of_all[index] for of_all in weights)
        if table.sensitive is not None and self.attributes is not None:
            values = self.attributes.transform(table.sensitive.values[index])
            attributes = Attributes(values, row_weight=counted)
            if self.factors is not None and table.factors is not None:
                attributes = self.factors.attributes(values, table.factors[index], counted)
            groups = table.splits.groups
            attributes = replace(attributes, groups=None if groups is None else groups[index])
            attributes = with_learnt(attributes, table.y[index], LEARNT_WITH)
        return TrainingRows(table.x[index], self.y.transform(table.y[index]), attributes, weight)


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

    @property
    def encoder(self) -> TableEncoder | None:
        """What turns tables into what the candidates read, where an encoder was asked for."""
        return None if self.encoding is None else self.encoding.encoder

    def predict(self, x: Array) -> Array:
        """Rows of a table, (row, column) -> (candidate, row), in units of y; NaN for diverged candidates."""
        features = x if self.encoding is None else self.encoding.transform(x)
        return self.y_scaler.inverse(self.candidates.predict(features))

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

    def rows(self, training: Index, held_out: Index | None = None) -> CandidateRows:
        """Rows to train on, and held-out rows, if any."""
        rows = self.scaling.rows(self.table, training)
        return CandidateRows(
            AllRows(rows, x_scaler=self.scaling.x),
            None if held_out is None else self.scaling.rows(self.table, held_out),
            categorical=self.table.categorical,
            gaps=self.table.gaps,
            y_scaler=self.scaling.y,
        )

    def fitted(self, candidates: CandidateSet) -> FittedCandidates:
        """Candidates that were trained on its rows."""
        return FittedCandidates(candidates, self.scaling.y, self.encoding)


def fitted_on_all_rows(
    table: Table, recipe: Recipe, steps: Mapping[CandidateKey, int] | None, report: Report
) -> FittedCandidates:
    """All rows train, each candidate for its own number of steps; for all steps where there are no such numbers."""
    scaled = ScaledTable.of(table)
    shuffled = np.random.default_rng(recipe.setup.seed).permutation(len(table))
    return scaled.fitted(recipe.train(replace(scaled.rows(shuffled), steps=steps), report))


def fitted_with_held_out(table: Table, recipe: Recipe, fraction: float, report: Report) -> FittedCandidates:
    """A share of the rows is held out and decides for each candidate when its training ends; the other rows train."""
    scaled = ScaledTable.of(table)
    rows = scaled.rows(*split_rows(table.splits, fraction, recipe.setup.seed))
    return scaled.fitted(recipe.train(rows, report))


def refitted(
    table: Table, recipe: Recipe, splits: Sequence[Split], setups: Sequence[TrainingSetup], report: Report
) -> FittedCandidates:
    """Trainings on splits decide, then all rows train for as many steps as were best. Among several setups, the one
    with the best held-out score is taken.
    """
    scaled, trainings = ScaledTable.of(table), len(splits) * len(setups) + 1
    reports = (portion(report, number, trainings) for number in range(trainings))
    recipes = [replace(recipe, setup=setup) for setup in setups]
    by_split = []
    for split in splits:
        rows = scaled.rows(*split)
        by_split.append([of_setup.train(rows, next(reports)) for of_setup in recipes])
    by_setup = list(zip(*by_split, strict=True))
    best = best_setup(by_setup)
    return fitted_on_all_rows(table, recipes[best], best_steps(by_setup[best]), next(reports))
