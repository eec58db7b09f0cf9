"""Smoothers of penalties: the same mean as elsewhere, in 64 and in 32 bits, and its held-out covariance."""

import numpy as np
import pytest

from fairlevel import ClosedFBO, GroupMean, RandomFeaturesMean, SplineMean
from fairlevel.arrays import NumPyBackend
from fairlevel.conditional_mean import smoother as module
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties.smoothing import PenaltySmoother
from tests.conditional_mean.dense import Design, left_out

RANDOM = np.random.default_rng(0)
A = np.column_stack([RANDOM.standard_normal((150, 2)), RANDOM.integers(0, 6, 150)])
F, WEIGHT = np.sin(A[:, 0]) + RANDOM.standard_normal((2, 150)), RANDOM.uniform(0.5, 2, 150)
CASES = {
    "splines": (SplineMean(), Attributes(A[:, :2], row_weight=WEIGHT)),
    "levels": (GroupMean(), Attributes(A[:, 2:], row_weight=WEIGHT)),
    "within a factor": (RandomFeaturesMean(features=30), Attributes(A[:, :1], A[:, 1:2], WEIGHT)),
}
RIDGES = (0.02, 0.3)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_the_smoother(name, ridge):
    mean, rows = CASES[name]
    smoother = mean.prepare(rows)
    found = PenaltySmoother.of(smoother, ridge)
    np.testing.assert_allclose(found.apply(F), smoother.apply(F, ridge), atol=1e-10)
    np.testing.assert_allclose(found.beyond_nuisance(F), smoother.beyond_nuisance(F), atol=1e-12)
    single = found.to(NumPyBackend()).apply(F.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, smoother.apply(F, ridge), atol=1e-4)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("name", CASES)
def test_held_out_covariance_is_that_of_refits(name, ridge):
    mean, rows = CASES[name]
    found = PenaltySmoother.of(mean.prepare(rows), ridge).leave_out_covariance(F)
    design = Design.of(mean, rows)
    onto = design.unpenalised_nuisance.smoother(rows.weight, 0.0)
    for f, value in zip(F, found.tolist(), strict=True):
        centred, alone = f - onto @ f, left_out(design, rows.weight, ridge, f, np.arange(150))
        assert value == pytest.approx(rows.weight @ (centred * (centred - alone)), rel=1e-6)


def test_held_out_covariance_is_centred_at_zero_without_disparity():
    a, f = RANDOM.standard_normal((150, 3)), RANDOM.standard_normal((4000, 150))
    smoother = PenaltySmoother.of(RandomFeaturesMean().prepare(Attributes(a)), 0.05)
    values = smoother.leave_out_covariance(f)
    assert float(values.mean()) == pytest.approx(0, abs=4 * float(values.std()) / 4000**0.5 + 1 / 150)
    fitted = smoother.apply(f)
    assert float(((fitted - fitted.mean(axis=1, keepdims=True)) * f).mean()) > 0.02  # what it corrects


def test_closed_form_fbo_of_many_rows_is_the_same_penalty(monkeypatch):
    a, weight = RANDOM.standard_normal((900, 3)), RANDOM.uniform(0.5, 2, 900)
    target = np.sin(a[:, 0]) + RANDOM.standard_normal(900)
    prediction, steps = target.astype(np.float32)[None], []
    for many in (10_000, 100):
        monkeypatch.setattr(module, "MANY_ROWS", many)
        rows = Attributes(a, row_weight=weight)
        penalty = ClosedFBO().tuned(rows, target, 0)
        prepared = penalty.prepare(rows, seed=0).to(NumPyBackend())
        steps.append((penalty.ridge, *penalty.step(prediction, prepared, None)[:2]))
    (ridge, value, gradient), (other_ridge, other_value, other_gradient) = steps
    assert ridge == other_ridge
    np.testing.assert_allclose(value, other_value, rtol=1e-4, atol=0)
    np.testing.assert_allclose(gradient, other_gradient, rtol=1e-3, atol=1e-7)
