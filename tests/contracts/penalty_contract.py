"""What every penalty must do, as checks of (penalty, what is known about it)."""

import numpy as np
import pytest
import torch

from fairlevel.arrays import NumPyBackend
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import UnknownName
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.penalties import NoPenalty
from fairlevel.predictors import Configurations
from fairlevel.training.engine import train
from fairlevel.training.rows import AllRows, TrainingRows
from tests.contracts.sanity import measure
from tests.drawn_rows import TENSORS, TENSORS_OF_32_BITS, gaussian

ROWS = 60


def prepared_case(penalty, case):
    """Five predictions, three standardised attributes, the plan of rows, and what the penalty makes of them."""
    f, a = gaussian(ROWS, 3, 5)
    a = case.attributes((a - a.mean(0)) / a.std(0))
    rows = penalty.rows.assign(30, ROWS)
    return f, a, rows, penalty.prepare(Attributes(a), rows, {}, seed=0).to(TENSORS)


def grid_equals_single_predictions(penalty, case):
    f, _, _, prepared = prepared_case(penalty, case)
    together = penalty.step(f, prepared, penalty.init(prepared, 5, {}))
    for config in range(5):
        alone = penalty.step(f[config : config + 1], prepared, penalty.init(prepared, 1, {}))
        torch.testing.assert_close(together.gradient[config], alone.gradient[0], rtol=1e-9, atol=1e-13)
        torch.testing.assert_close(together.value[config], alone.value[0], rtol=1e-9, atol=1e-13)


def order_of_rows_does_not_matter(penalty, case):
    f, a, rows, prepared = prepared_case(penalty, case)
    order = np.r_[np.random.default_rng(0).permutation(30), 30 + np.random.default_rng(1).permutation(30)]
    shuffled = penalty.prepare(Attributes(a[order]), rows, {}, seed=0).to(TENSORS)
    here = penalty.step(f, prepared, penalty.init(prepared, 5, {}))
    there = penalty.step(f[:, order], shuffled, penalty.init(shuffled, 5, {}))
    torch.testing.assert_close(here.gradient[:, order], there.gradient, rtol=1e-6, atol=1e-10)


def following_the_gradient_lowers_the_disparity(penalty, case):
    """A few steps against the gradient lower the value, measured afresh, by at least a twentieth."""
    f, a = gaussian(300, 1, 3)
    f, a = f.float(), case.attributes((a - a.mean(0)) / a.std(0))
    prepared = penalty.prepare(Attributes(a), penalty.rows.assign(150, 300), {}, seed=0).to(TENSORS_OF_32_BITS)
    state = penalty.init(prepared, 3, {})
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
    a = case.attributes((a - a.mean(0)) / a.std(0))
    f = 0.4 * f
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 40)
    prepared = penalty.prepare(Attributes(a, row_weight=weight), penalty.rows.assign(20, 40), {}, 0).to(TENSORS)
    state = penalty.init(prepared, 2, {})
    step = penalty.step(f, prepared, state)
    leaf = f.clone().requires_grad_()
    value = case.objective(leaf, torch.from_numpy(a), torch.from_numpy(weight), penalty, state, step.state)
    (exact,) = torch.autograd.grad(value.sum(), leaf)
    torch.testing.assert_close(step.gradient, exact, rtol=1e-6, atol=1e-9)
    if case.value_is_objective:
        torch.testing.assert_close(step.value, value.detach(), rtol=1e-8, atol=1e-12)


def constant_predictions_are_left_alone(penalty, case):
    _, _, _, prepared = prepared_case(penalty, case)
    prepared = prepared.to(TENSORS_OF_32_BITS)
    flat = torch.full((2, ROWS), 1.7)
    state = penalty.init(prepared, 2, {})
    for _ in range(case.settles):
        step = penalty.step(flat, prepared, state)
        state = step.state
    assert step.value.abs().max() < 1e-3
    assert step.gradient.abs().max() < 0.1 / 30  # a disparity of 1 moves a fitting row by about 2 / 30


def weight_zero_is_plain_training_on_the_same_rows(penalty, case):
    _, a, _, _ = prepared_case(penalty, case)
    random = np.random.default_rng(0)
    x, y = random.standard_normal((ROWS, 4)), random.standard_normal(ROWS)
    rows = AllRows(TrainingRows(x, y, Attributes(a), rows_in=30))
    settings = {"predictor": MLP(hidden=(8,)), "optimizer": GradientDescent(0.1, steps=20), "seed": 1}
    ours = train(rows, Configurations.of([0.0], 0.1), penalty=penalty, **settings)
    plain = train(rows, Configurations.of([0.0], 0.1), penalty=NoPenalty(rows=penalty.rows), **settings)
    assert np.array_equal(ours.members.predict(x), plain.members.predict(x))


def settings_vary_by_configuration_and_unknown_ones_are_refused(penalty, case):
    f, a, rows, _ = prepared_case(penalty, case)
    for name in penalty.tunable:
        values = np.array([0.1, 0.2, 0.5, 1.0, 2.0])
        prepared = penalty.prepare(Attributes(a), rows, {name: values}, seed=0).to(TENSORS)
        together = penalty.step(f, prepared, penalty.init(prepared, 5, {name: values}))
        alone = penalty.step(f[3:4], prepared, penalty.init(prepared, 1, {name: values[3:4]}))
        torch.testing.assert_close(together.gradient[3], alone.gradient[0], rtol=1e-9, atol=1e-13)
    training = AllRows(TrainingRows(a, f[0].numpy(), Attributes(a), rows_in=30))
    with pytest.raises(UnknownName, match="bandwith"):
        train(
            training,
            Configurations.of([1.0], 0.1, bandwith=1.0),
            penalty=penalty,
            predictor=MLP(),
            optimizer=GradientDescent(steps=1),
        )


def a_column_that_does_not_vary_changes_nothing_else(penalty, case):
    """What a split may leave of a rare attribute: standardised, it is zero on all training rows."""
    f, a, rows, _ = prepared_case(penalty, case)
    a = np.c_[a[:, :2], np.zeros(ROWS)]
    prepared = penalty.prepare(Attributes(a), rows, {}, seed=0).to(TENSORS)
    step = penalty.step(f, prepared, penalty.init(prepared, 5, {}))
    assert torch.isfinite(step.gradient).all()
    assert torch.isfinite(step.value).all()


def numpy_arrays_give_what_tensors_give(penalty, case):
    """A booster hands over its predictions as NumPy arrays, in 32 bits."""
    f, a, rows, _ = prepared_case(penalty, case)
    results = []
    for backend, predictions in ((TENSORS_OF_32_BITS, f.float()), (NumPyBackend(), f.float().numpy())):
        prepared = penalty.prepare(Attributes(a), rows, {}, seed=0).to(backend)
        step = penalty.step(predictions, prepared, penalty.init(prepared, 5, {}))
        along = penalty.along(predictions, step.value, prepared, step.state)
        held_out = penalty.value(predictions, prepared, step.state)
        results.append([step.value, step.gradient, held_out, *([] if along is None else [along.curvature])])
    assert all(isinstance(values, np.ndarray) and values.dtype == np.float32 for values in results[1])
    for tensor, array in zip(*results, strict=True):
        np.testing.assert_allclose(array, tensor.numpy(), rtol=2e-4, atol=1e-6)


def held_out_value_changes_no_state(penalty, case):
    f, _, _, prepared = prepared_case(penalty, case)
    state = penalty.step(f, prepared, penalty.init(prepared, 5, {})).state
    first, second = (penalty.value(f, prepared, state) for _ in range(2))
    assert torch.equal(first, second)
    assert first.shape == (5,)


def row_of_the_sanity_matrix(penalty, case):
    found = measure(case.measured_by or penalty, case.rounds, case.attributes, case.rows)
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
    settings_vary_by_configuration_and_unknown_ones_are_refused,
    a_column_that_does_not_vary_changes_nothing_else,
    numpy_arrays_give_what_tensors_give,
    held_out_value_changes_no_state,
    row_of_the_sanity_matrix,
]
