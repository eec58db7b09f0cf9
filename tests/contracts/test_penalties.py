"""What every registered penalty must do."""

import pkgutil

import numpy as np
import pytest
import torch

import fairlevel.penalties as package
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import UnknownName
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.penalties import PENALTIES, NoPenalty, resolve_penalty
from fairlevel.predictors import MLP
from fairlevel.training.engine import train
from fairlevel.training.grid import Configurations, Samples
from tests.conftest import gaussian
from tests.contracts.objectives import OBJECTIVES

NAMES = sorted(PENALTIES)
SUPPORT = {"in_batches", "protocol", "none", "trained_mean"}


@pytest.fixture(params=NAMES)
def case(request):
    penalty = PENALTIES[request.param]()
    f, a = gaussian(60, 3, 5)
    a = (a - a.mean(0)) / a.std(0)
    rows = penalty.rows.assign(30, 60)
    prepared = penalty.prepare(Attributes(a), rows, {}, seed=0)
    return penalty, f, a, rows, prepared


def test_every_file_is_registered():
    files = {module.name for module in pkgutil.iter_modules(package.__path__)} - SUPPORT
    assert files == {PENALTIES[name]().__module__.rpartition(".")[2] for name in NAMES}
    assert all(PENALTIES[name]().name == name for name in NAMES)


def test_batched_equals_single(case):
    penalty, f, _, _, prepared = case
    together = penalty.step(f, prepared, penalty.init(prepared, 5, {}))
    for config in range(5):
        alone = penalty.step(f[config : config + 1], prepared, penalty.init(prepared, 1, {}))
        torch.testing.assert_close(together.gradient[config], alone.gradient[0], rtol=1e-9, atol=1e-13)
        torch.testing.assert_close(together.value[config], alone.value[0], rtol=1e-9, atol=1e-13)


def test_order_of_rows_does_not_matter(case):
    penalty, f, a, rows, prepared = case
    order = np.r_[np.random.default_rng(0).permutation(30), 30 + np.random.default_rng(1).permutation(30)]
    shuffled = penalty.prepare(Attributes(a[order]), rows, {}, seed=0)
    here = penalty.step(f, prepared, penalty.init(prepared, 5, {}))
    there = penalty.step(f[:, order], shuffled, penalty.init(shuffled, 5, {}))
    torch.testing.assert_close(here.gradient[:, order], there.gradient, rtol=1e-6, atol=1e-10)


def test_following_the_gradient_lowers_the_disparity(case):
    """A few steps against the gradient lower the value measured afresh, by at least a twentieth."""
    penalty = case[0]
    f, a = gaussian(300, 1, 3)
    prepared = penalty.prepare(Attributes((a - a.mean(0)) / a.std(0)), penalty.rows.assign(150, 300), {}, seed=0)
    state = penalty.init(prepared, 3, {})
    for _ in range(60):
        before = penalty.step(f, prepared, state)
        state = before.state
    for _ in range(10):
        step = penalty.step(f, prepared, state)
        f, state = f - 0.05 * step.gradient / step.gradient.abs().amax(dim=1, keepdim=True), step.state
    for _ in range(60):
        after = penalty.step(f, prepared, state)
        state = after.state
    assert (after.value < 0.95 * before.value).all()


@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_that_of_the_stated_objective(name, monkeypatch):
    """float64, against autograd of a dense, independent version of the formula (tests/contracts/objectives.py)."""
    monkeypatch.setattr("fairlevel.penalties.fbo_closed.NEGLIGIBLE", 0.0)  # all functions of A, as in the formula
    penalty = PENALTIES[name]()
    f, a = gaussian(40, 3, 2, seed=3)
    a = (a - a.mean(0)) / a.std(0)
    f = 0.4 * f
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 40)
    prepared = penalty.prepare(Attributes(a, row_weight=weight), penalty.rows.assign(20, 40), {}, 0)
    state = penalty.init(prepared, 2, {})
    step = penalty.step(f, prepared, state)
    leaf = f.clone().requires_grad_()
    value = OBJECTIVES[name](leaf, torch.from_numpy(a), torch.from_numpy(weight), penalty, state, step.state)
    (exact,) = torch.autograd.grad(value.sum(), leaf)
    torch.testing.assert_close(step.gradient, exact, rtol=1e-6, atol=1e-9)
    if name != "fbo":  # FBO follows a surrogate whose value means nothing
        torch.testing.assert_close(step.value, value.detach(), rtol=1e-8, atol=1e-12)


def test_level_predictions_are_left_alone(case):
    penalty, _, _, _, prepared = case
    flat = torch.full((2, 60), 1.7, dtype=torch.float64)
    state = penalty.init(prepared, 2, {})
    for _ in range(300):
        step = penalty.step(flat, prepared, state)
        state = step.state
    assert step.value.abs().max() < 1e-3
    assert step.gradient.abs().max() < 0.1 / 30  # a disparity of 1 pushes a fitting row by about 2 / 30


def test_weight_zero_is_plain_training_on_the_same_rows(case):
    penalty, _, a, _, _ = case
    random = np.random.default_rng(0)
    samples = Samples(random.standard_normal((60, 4)), random.standard_normal(60), a, rows_in=30)
    settings = {"predictor": MLP(hidden=(8,)), "optimizer": GradientDescent(0.1, steps=20), "seed": 1}
    ours = train(samples, Configurations.of([0.0], 0.1), penalty=penalty, **settings).outcome
    plain = train(samples, Configurations.of([0.0], 0.1), penalty=NoPenalty(rows=penalty.rows), **settings).outcome
    assert torch.equal(ours.parameters, plain.parameters)


def test_settings_vary_by_configuration_and_unknown_ones_are_refused(case):
    penalty, f, a, rows, _ = case
    for name in penalty.tunable:
        values = torch.tensor([0.1, 0.2, 0.5, 1.0, 2.0], dtype=torch.float64)
        prepared = penalty.prepare(Attributes(a), rows, {name: values}, seed=0)
        together = penalty.step(f, prepared, penalty.init(prepared, 5, {name: values}))
        alone = penalty.step(f[3:4], prepared, penalty.init(prepared, 1, {name: values[3:4]}))
        torch.testing.assert_close(together.gradient[3], alone.gradient[0], rtol=1e-9, atol=1e-13)
    samples = Samples(a, f[0].numpy(), a, rows_in=30)
    with pytest.raises(UnknownName, match="bandwith"):
        train(
            samples,
            Configurations.of([1.0], 0.1, bandwith=1.0),
            penalty=penalty,
            predictor=MLP(),
            optimizer=GradientDescent(steps=1),
        )


def test_a_column_that_does_not_vary_changes_nothing_else(case):
    """What a split may leave of a rare attribute: standardised, it is zero on all training rows."""
    penalty, f, a, rows, _ = case
    a = np.c_[a[:, :2], np.zeros(60)]
    prepared = penalty.prepare(Attributes(a), rows, {}, seed=0)
    step = penalty.step(f, prepared, penalty.init(prepared, 5, {}))
    assert torch.isfinite(step.gradient).all()
    assert torch.isfinite(step.value).all()


def test_held_out_value_is_pure(case):
    penalty, f, _, _, prepared = case
    state = penalty.step(f, prepared, penalty.init(prepared, 5, {})).state
    first, second = (penalty.value(f, prepared, state) for _ in range(2))
    assert torch.equal(first, second)
    assert first.shape == (5,)


def test_names_resolve_and_unknown_ones_list_the_known():
    for name in NAMES:
        assert resolve_penalty(name).name == name
    with pytest.raises(
        UnknownName, match=r"Did you mean 'hsic'\? Known: adversarial, fbo, fbo_closed, fbo_root, gdp, hsic,"
    ):
        resolve_penalty("hsci")
