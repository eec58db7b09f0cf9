"""What every penalty must do, as checks of (penalty, what is known about it)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fairlevel.arrays import NumPyBackend
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.penalties import NoPenalty, Penalty
from fairlevel.penalties.protocol import Nothing
from fairlevel.predictors import Configurations
from fairlevel.training.rows import AllRows, TrainingRows
from tests.contracts.sanity import measure
from tests.drawn_rows import TENSORS, TENSORS_OF_32_BITS, gaussian
from tests.trained import train

ROWS = 60


def prepared_case(penalty):
    """Five predictions, three standardised attributes, and what the penalty makes of them."""
    f, a = gaussian(ROWS, 3, 5)
    a = (a - a.mean(0)) / a.std(0)
    return f, a, penalty.prepare(Attributes(a), seed=0).to(TENSORS)


def grid_equals_single_predictions(penalty, case):
    f, _, prepared = prepared_case(penalty)
    together = penalty.step(f, prepared, None)
    for config in range(5):
        alone = penalty.step(f[config : config + 1], prepared, None)
        torch.testing.assert_close(together.gradient[config], alone.gradient[0], rtol=1e-9, atol=1e-13)
        torch.testing.assert_close(together.value[config], alone.value[0], rtol=1e-9, atol=1e-13)


def order_of_rows_does_not_matter(penalty, case):
    f, a, prepared = prepared_case(penalty)
    order = np.r_[np.random.default_rng(0).permutation(30), 30 + np.random.default_rng(1).permutation(30)]
    shuffled = penalty.prepare(Attributes(a[order]), seed=0).to(TENSORS)
    here = penalty.step(f, prepared, None)
    there = penalty.step(f[:, order], shuffled, None)
    torch.testing.assert_close(here.gradient[:, order], there.gradient, rtol=1e-6, atol=1e-10)


def following_the_gradient_lowers_the_disparity(penalty, case):
    """A few steps against the gradient lower the value, measured afresh, by at least a twentieth."""
    f, a = gaussian(300, 1, 3)
    f, a = f.float(), (a - a.mean(0)) / a.std(0)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS_OF_32_BITS)
    state = None
    for _ in range(30):
        before = penalty.step(f, prepared, state)
        state = before.state
    for _ in range(10):
        step = penalty.step(f, prepared, state)
        f, state = f - 0.05 * step.gradient / step.gradient.abs().amax(dim=1, keepdim=True), step.state
    for _ in range(30):
        after = penalty.step(f, prepared, state)
        state = after.state
    assert (after.value < 0.95 * before.value).all()


def gradient_is_that_of_the_stated_objective(penalty, case):
    """float64, against autograd of the dense, independent formula."""
    f, a = gaussian(40, 3, 2, seed=3)
    a = (a - a.mean(0)) / a.std(0)
    f = 0.4 * f
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 40)
    prepared = penalty.prepare(Attributes(a, row_weight=weight), seed=0).to(TENSORS)
    state = None
    step = penalty.step(f, prepared, state)
    leaf = f.clone().requires_grad_()
    value = case.objective(leaf, torch.from_numpy(a), torch.from_numpy(weight), penalty, state, step.state)
    (exact,) = torch.autograd.grad(value.sum(), leaf)
    torch.testing.assert_close(step.gradient, exact, rtol=1e-6, atol=1e-9)
    if case.value_is_objective:
        torch.testing.assert_close(step.value, value.detach(), rtol=1e-8, atol=1e-12)


def constant_predictions_are_left_alone(penalty, case):
    _, _, prepared = prepared_case(penalty)
    prepared = prepared.to(TENSORS_OF_32_BITS)
    flat = torch.full((2, ROWS), 1.7)
    state = None
    for _ in range(case.settles):
        step = penalty.step(flat, prepared, state)
        state = step.state
    assert step.value.abs().max() < 1e-3
    assert step.gradient.abs().max() < 0.1 / 30  # a disparity of 1 moves a fitting row by about 2 / 30


@dataclass(frozen=True)
class SameRows(Nothing):
    """The rows that carry accuracy beside a penalty."""

    of: Any

    @property
    def accuracy(self):
        return self.of.accuracy


@dataclass(frozen=True)
class Without(NoPenalty):
    """No penalty, on the rows that carry accuracy beside one."""

    penalty: Penalty

    def prepare(self, attributes, seed):
        return SameRows(self.penalty.prepare(attributes, seed))


def weight_zero_is_plain_training_on_the_same_rows(penalty, case):
    _, a, _ = prepared_case(penalty)
    random = np.random.default_rng(0)
    x, y = random.standard_normal((ROWS, 4)), random.standard_normal(ROWS)
    rows = AllRows(TrainingRows(x, y, Attributes(a)))
    settings = {"predictor": MLP(hidden=(8,)), "optimizer": GradientDescent(0.1, steps=20), "seed": 1}
    ours, plain = (
        train(rows, Configurations.of([0.0], 0.1), penalty=each, **settings) for each in (penalty, Without(penalty))
    )
    assert np.array_equal(ours.members.predict(x), plain.members.predict(x))


def a_column_that_does_not_vary_changes_nothing_else(penalty, case):
    """What a split may leave of a rare attribute: standardised, it is zero on all training rows."""
    f, a, _ = prepared_case(penalty)
    a = np.c_[a[:, :2], np.zeros(ROWS)]
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    step = penalty.step(f, prepared, None)
    assert torch.isfinite(step.gradient).all()
    assert torch.isfinite(step.value).all()


def numpy_arrays_give_what_tensors_give(penalty, case):
    """A booster hands over its predictions as NumPy arrays, in 32 bits."""
    f, a, _ = prepared_case(penalty)
    results = []
    for backend, predictions in ((TENSORS_OF_32_BITS, f.float()), (NumPyBackend(), f.float().numpy())):
        prepared = penalty.prepare(Attributes(a), seed=0).to(backend)
        step = penalty.step(predictions, prepared, None)
        along = penalty.along(predictions, step, prepared)
        held_out = penalty.value(predictions, prepared, step.state)
        results.append([step.value, step.gradient, held_out, *([] if along is None else [along])])
    assert all(isinstance(values, np.ndarray) and values.dtype == np.float32 for values in results[1])
    for tensor, array in zip(*results, strict=True):
        np.testing.assert_allclose(array, tensor.numpy(), rtol=2e-4, atol=1e-6)


def held_out_value_changes_no_state(penalty, case):
    f, _, prepared = prepared_case(penalty)
    state = penalty.step(f, prepared, None).state
    first, second = (penalty.value(f, prepared, state) for _ in range(2))
    assert torch.equal(first, second)
    assert first.shape == (5,)


def row_of_the_sanity_matrix(penalty, case):
    found = measure(case.measured_by or penalty, case.rounds, case.rows)
    truth = np.asarray(case.truth)
    known = ~np.isnan(truth)
    assert (np.abs(found - truth)[known] <= np.asarray(case.tolerance)[known]).all(), found
    assert (found[~known] > 10 * found[3]).all(), found  # dependent: far above what independence leaves


CHECKS = [
    grid_equals_single_predictions,
    order_of_rows_does_not_matter,
    following_the_gradient_lowers_the_disparity,
    gradient_is_that_of_the_stated_objective,
    constant_predictions_are_left_alone,
    weight_zero_is_plain_training_on_the_same_rows,
    a_column_that_does_not_vary_changes_nothing_else,
    numpy_arrays_give_what_tensors_give,
    held_out_value_changes_no_state,
    row_of_the_sanity_matrix,
]
