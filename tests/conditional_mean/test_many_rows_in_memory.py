"""A smoother factored from moments is the one factored from all rows."""

import numpy as np
import pytest
import torch

from fairlevel import ClosedFBO, RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean import blockwise, tuning
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.many_rows import ManyRows
from fairlevel.penalties import fbo_closed
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((900, 3))
F = np.sin(A[:, 0]) + A[:, 1] + RANDOM.standard_normal(900)
WEIGHT = RANDOM.uniform(0.5, 2, 900)


@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean(features=40)], ids=lambda each: each.name)
@pytest.mark.parametrize("given", [None, A[:, 2:]], ids=["alone", "within a factor"])
def test_the_same_smoother_and_ridge(mean, given, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 128)
    rows = Attributes(A[:, :2], given, WEIGHT)
    blocks = ManyRows.factored(mean, rows, 0, np.float64)
    whole = mean.prepare(rows, seed=0)
    expected = whole.trimmed(1e-3, 1e-2)
    found = blocks.trimmed(1e-3, 1e-2)
    prediction = torch.from_numpy(F).unsqueeze(0)
    assert found.fit_basis.shape == expected.fit_basis.shape
    torch.testing.assert_close(found.apply(prediction, 1e-3), expected.apply(prediction, 1e-3), rtol=1e-7, atol=1e-8)
    assert blocks.choose_ridge(F) == float(whole.choose_ridge(prediction))


@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean()], ids=lambda each: each.name)
@pytest.mark.parametrize("ridge", [1e-7, 1e-3])
def test_in_32_bits_it_is_the_same_to_their_precision(mean, ridge, monkeypatch):
    """The smallest ridge of the grid and more functions than three attributes need: the least favourable case."""
    monkeypatch.setattr(blockwise, "BLOCK", 128)
    rows = Attributes(A, row_weight=WEIGHT)
    blocks = ManyRows.of(mean, rows, 0)
    assert blocks is ManyRows.of(mean, rows, 0)  # factored once
    expected, found = mean.prepare(rows, seed=0).trimmed(ridge, 1e-2), blocks.trimmed(ridge, 1e-2)
    assert found.fit_basis.dtype == torch.float32
    assert found.fit_basis.data_ptr() == blocks.basis.data_ptr()  # not copied
    assert found.fit_basis.shape == expected.fit_basis.shape
    prediction = torch.from_numpy(F).unsqueeze(0)
    coefficients = found.to(torch.float64).coefficients(prediction)
    orthonormal = found.fit_basis.double().T @ (found.row_weight.unsqueeze(1) * found.fit_basis.double())
    torch.testing.assert_close(orthonormal, torch.eye(len(orthonormal)).double(), rtol=0, atol=1e-5)
    smoothed = (coefficients * expected.shrinkage(ridge)) @ found.fit_basis.double().T
    torch.testing.assert_close(smoothed, expected.apply(prediction, ridge), rtol=0, atol=1e-5)
    assert blocks.choose_ridge(F) == float(mean.prepare(rows, seed=0).choose_ridge(prediction))


def test_closed_form_fbo_of_many_rows_is_the_same_penalty(monkeypatch):
    rows = Attributes(A, row_weight=WEIGHT)
    prediction = torch.from_numpy(F).float().unsqueeze(0)
    steps = []
    for many in (10_000, 100):
        monkeypatch.setattr(fbo_closed, "MANY_ROWS", many)
        monkeypatch.setattr(tuning, "MANY_ROWS", many)
        penalty = ClosedFBO().tuned(rows, F, 0)
        prepared = penalty.prepare(rows, ALL_TRAINING_ROWS.assign(0, 900), {}, 0).to(torch.float32)
        steps.append((penalty.ridge, *penalty.step(prediction, prepared, penalty.init(prepared, 1, {}))[:2]))
    (ridge, value, gradient), (other_ridge, other_value, other_gradient) = steps
    assert ridge == other_ridge
    torch.testing.assert_close(value, other_value, rtol=1e-5, atol=0)
    torch.testing.assert_close(gradient, other_gradient, rtol=1e-4, atol=1e-8)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 128)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(ManyRows.of(RandomFeaturesMean(), Attributes(A, row_weight=WEIGHT), 0))
    finally:
        torch.set_num_threads(before)
    one, three = found
    assert torch.equal(one.basis, three.basis)
    assert torch.equal(one.smoother.moments, three.smoother.moments)
