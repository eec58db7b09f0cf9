"""Gradient-boosted trees: LightGBM grown on the gradient of the whole objective, one line search per tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import lightgbm as lgb
import numpy as np

from fairlevel.arrays import AnyArray, Array, Flags, NumPyBackend
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import InvalidInput
from fairlevel.members.boosters import BoosterMembers, FittedTrees
from fairlevel.predictors.protocol import Configurations, Curvature, Learner, LearnerFactory, Predictor, Tiling
from fairlevel.threads import workers
from fairlevel.trees.lightgbm_text import LightGBMText

SIZES = ((15, 20), (15, 60), (31, 10))  # leaves, and fewest rows in a leaf; the first is the usual one
FEW_COLUMNS = 11  # up to here every tree may use all features
SMALL = 1_000_000  # numbers in a table for which more than one thread per booster costs more than it saves
BINNED_ROWS = 50_000  # drawn at random to place the edges of bins: 200 per bin and more; sorting all rows takes longest


@dataclass(frozen=True)
class Boosting(Predictor):
    r"""f = Σ_t η s_t T_t. Tree T_t is grown by LightGBM on the gradient of loss + weight · penalty in the predictions.
    The step s_t ∈ [0, 1] minimises that objective along the tree's predictions on the training rows.

    Missing values and categories are read as they are: no imputation and no indicator columns are needed.

    Parameters
    ----------
    leaves : most leaves of a tree. None: where one model is trained at a weight, on more than 1500 rows, with
        ``validation_fraction="auto"``, held-out rows choose 15 leaves of at least 20 rows, 15 of 60 or 31 of 10, the
        first unless another lowers their score by more than 2 %; elsewhere 15
    learning_rate : η
    rounds : trees; fewer where held-out rows stop training early
    rows_in_leaf : fewest training rows in a leaf, whatever their weights; None: chosen with ``leaves``, elsewhere 20
    l2 : ridge on the values of the leaves, in rows: weights that sum to more rows make it weaker, but weights below 1
        count as rows
    features : share of the features that each tree may use; None stands for all of up to 11, and half of more
    bins : most bins of a feature
    categorical : numbers of the columns that hold categories, as whole numbers ≥ 0; the estimators fill it in for
        columns of text and of pandas' type ``category``
    monotone : for each feature 1 (predictions may only rise along it), -1 (only fall) or 0; empty for no constraint
    """

    leaves: int | None = None
    learning_rate: float = 0.05
    rounds: int = 2000
    rows_in_leaf: int | None = None
    l2: float = 1.0
    features: float | None = None
    bins: int = 255
    categorical: tuple[int, ...] = ()
    monotone: tuple[int, ...] = ()

    name: ClassVar[str] = "boosting"
    native: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, least in (("leaves", 2), ("rounds", 1), ("rows_in_leaf", 1), ("bins", 2)):
            value = getattr(self, name)
            if value is None and name in ("leaves", "rows_in_leaf"):
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise InvalidInput(f"{name}={value!r} was given; a whole number ≥ {least} is needed.")
        for name, share in (("learning_rate", self.learning_rate), ("features", self.features)):
            if share is None and name == "features":
                continue
            if share is None or not 0 < share <= 1:
                raise InvalidInput(f"{name}={share!r} was given; a number above 0 and at most 1 is needed.")
        if not 0 <= self.l2 < np.inf:
            raise InvalidInput(f"l2={self.l2!r} was given; a finite number ≥ 0 is needed.")
        if not set(self.monotone) <= {-1, 0, 1}:
            raise InvalidInput(f"monotone={self.monotone!r} was given; one of -1, 0 and 1 is needed for each feature.")

    def choices(self) -> tuple[Boosting, ...]:
        """Itself in each size that may be chosen, the usual one first; only itself where ``leaves`` are given."""
        if self.leaves is not None:
            return (self,)
        sizes = [replace(self, leaves=leaves, rows_in_leaf=self.rows_in_leaf or rows) for leaves, rows in SIZES]
        return tuple(dict.fromkeys(sizes))

    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> BoosterFactory:
        if self.monotone and len(self.monotone) != x.shape[1]:
            raise InvalidInput(
                f"monotone has {len(self.monotone)} entries for {x.shape[1]} features; give one for each."
            )
        constrained = [column for column in self.categorical if self.monotone and self.monotone[column]]
        if constrained:
            raise InvalidInput(
                f"monotone is {self.monotone[constrained[0]]} for column {constrained[0]}, which holds categories; "
                "these have no order: give 0 there."
            )
        return BoosterFactory(self, seed, x.size < SMALL)

    def parameters(self, columns: int, seed: int, threads: int, small: bool) -> dict[str, Any]:
        """LightGBM's names of these settings. Trees are scaled by η s_t here, hence its step size of 1. Its
        deterministic mode makes results independent of the number of threads; it needs to be told in which order
        histograms are filled, and in large tables column after column is faster.
        """
        leaves, rows = SIZES[0]
        share = self.features if self.features is not None else (1.0 if columns <= FEW_COLUMNS else 0.5)
        given = {
            "objective": "none",
            "learning_rate": 1.0,
            "num_leaves": int(self.leaves or leaves),
            "min_data_in_leaf": int(self.rows_in_leaf or rows),
            "min_sum_hessian_in_leaf": 1e-3,
            "lambda_l2": float(self.l2),
            "feature_fraction": share,
            "max_bin": int(self.bins),
            "bin_construct_sample_cnt": BINNED_ROWS,
            "feature_pre_filter": False,
            "seed": seed % 2**31,
            "deterministic": True,
            "force_row_wise": small,
            "force_col_wise": not small,
            "num_threads": threads,
            "verbosity": -1,
        }
        if self.monotone:
            given["monotone_constraints"] = list(map(int, self.monotone))
        return given


@dataclass(frozen=True)
class BoosterFactory(LearnerFactory):
    """Rows are binned once, for all boosters of a grid: the training rows first, then rows to evaluate on."""

    settings: Boosting
    seed: int
    small: bool
    _rows: list[tuple[Array, lgb.Dataset]] = field(default_factory=list)
    backend: NumPyBackend = NumPyBackend()

    patience: ClassVar[int] = 8
    grows: ClassVar[bool] = True

    def steps(self, optimizer: Any) -> int:
        return int(self.settings.rounds)

    def inputs(self, x: Array) -> Array:
        values = np.ascontiguousarray(x, dtype=np.float64)
        reference = self._rows[0][1] if self._rows else None
        parameters = self.settings.parameters(x.shape[1], self.seed, workers(), self.small)
        categorical: Any = list(self.settings.categorical) or "auto"
        binned = lgb.Dataset(
            values, reference=reference, categorical_feature=categorical, params=parameters, free_raw_data=True
        )
        self._rows.append((values, binned.construct()))
        return values

    def tiling(self, rows: int, configs: int) -> Tiling:
        """Small tables: boosters side by side, one thread each. Large ones: one booster after another, all threads."""
        return Tiling(-(-configs // workers()), threads=workers()) if self.small else Tiling(1)

    def learner(self, configurations: Configurations, optimizer: Any) -> BoosterLearner:
        threads = 1 if self.small else workers()
        parameters = self.settings.parameters(self._rows[0][0].shape[1], self.seed, threads, self.small)
        inputs, binned = zip(*self._rows, strict=True)
        boosters = [GrowingBooster(parameters, binned) for _ in range(len(configurations))]
        return BoosterLearner(boosters, self.settings.learning_rate, inputs)


class GrowingBooster:
    """One booster of LightGBM, with sets of binned rows, of which the first one trains. LightGBM keeps the sums of its
    unscaled trees on all rows; what a tree predicts is the difference of two of them, so that no row is ever passed
    through a tree. ``features`` counts the features, ``growing`` says whether more trees are wanted and possible.
    """

    def __init__(self, parameters: dict[str, Any], rows: Sequence[lgb.Dataset]) -> None:
        training, *others = rows
        self.features = training.num_feature()
        self.growing = any(training.feature_num_bin(number) > 1 for number in range(self.features))
        self._booster = lgb.Booster(parameters, training) if self.growing else None
        for number, binned in enumerate(others):
            if self._booster is not None:
                self._booster.add_valid(binned, str(number))
        self._sums: list[Array] = [np.zeros(each.num_data()) for each in rows]

    def grow(self, gradients: Array, hessians: Array, added: Sequence[Array]) -> bool:
        """Write what one more tree adds, unscaled, to each set of rows into ``added``, (row,) each; False where none
        can be grown. ``gradients`` and ``hessians`` are first and second derivatives of the objective on the training
        rows, (row,).
        """
        if self._booster is None or self._booster.update(fobj=lambda scores, data: (gradients, hessians)):
            self.growing = False
            return False
        sets = iter(zip(self._sums, added, strict=True))

        def collect(scores: Array, data: lgb.Dataset) -> tuple[str, float, bool]:
            before, difference = next(sets)
            np.subtract(scores, before, out=difference, casting="same_kind")
            before[:] = scores
            return "", 0.0, False

        self._booster.eval_train(collect)
        self._booster.eval_valid(collect)
        return True

    def scaled(self, steps: Sequence[float]) -> FittedTrees:
        """The first trees, each times its step; without any, the constant 0."""
        text = LightGBMText.constant(self.features)
        if self._booster is not None and steps:
            text = LightGBMText.read(self._booster.model_to_string()).first(len(steps))
        values = [step * own for step, own in zip(steps or [0.0], text.leaf_values, strict=True)]
        return FittedTrees(text.with_leaf_values(values).write())


class BoosterLearner(Learner):
    """Boosters in training, one per configuration. Shapes: inputs of each set of rows (row, feature); predictions
    (config, row).
    """

    def __init__(self, boosters: Sequence[GrowingBooster], learning_rate: float, inputs: Sequence[Array]) -> None:
        self._boosters, self._rate, self._inputs = boosters, learning_rate, inputs
        self._predictions: list[AnyArray] = [np.zeros((len(boosters), len(x)), dtype=np.float32) for x in inputs]
        self._steps: list[list[float]] = [[] for _ in boosters]
        self._kept_counts = [0] * len(boosters)
        self._kept = [prediction.copy() for prediction in self._predictions]

    def predict(self, inputs: Array) -> AnyArray:
        return next(f for known, f in zip(self._inputs, self._predictions, strict=True) if known is inputs)

    def follow(self, gradient: AnyArray, curvature: Curvature) -> None:
        scale = curvature.row_count / 2  # a squared loss then has second derivatives of about 1, as LightGBM's own
        gradients, hessians = gradient * scale, curvature.of_rows() * scale
        trees = [np.zeros_like(prediction) for prediction in self._predictions]
        grown = [
            number
            for number, booster in enumerate(self._boosters)
            if booster.growing and booster.grow(gradients[number], hessians[number], [tree[number] for tree in trees])
        ]
        if not grown:
            return
        steps = curvature.step_along(trees[0], self._rate)
        for number in grown:
            self._steps[number].append(float(steps[number]))
        for prediction, tree in zip(self._predictions, trees, strict=True):
            tree *= steps[:, None]
            prediction += tree

    def snapshot(self, which: Flags) -> None:
        for number in np.flatnonzero(which).tolist():
            self._kept_counts[number] = len(self._steps[number])
            for kept, prediction in zip(self._kept, self._predictions, strict=True):
                kept[number] = prediction[number]

    def finish(self, which: Flags) -> None:
        for number in np.flatnonzero(which).tolist():
            self._boosters[number].growing = False

    def restore(self) -> None:
        self._predictions = self._kept
        self._steps = [steps[:count] for steps, count in zip(self._steps, self._kept_counts, strict=True)]

    def model(self) -> BoosterMembers:
        trained = list(zip(self._boosters, self._steps, strict=True))
        trees = tuple(booster.scaled(steps) for booster, steps in trained)
        return BoosterMembers(trees, tuple(range(len(trained))), tuple(max(1, len(steps)) for _, steps in trained))
