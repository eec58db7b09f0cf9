"""Functions of cells that are not written out, against those that are."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.smoother import LinearSmoother
from tests.conditional_mean.cells.discrete_rows import ALL_CELLS, CASES, ROWS

RIDGES = torch.tensor([1e-6, 1e-3, 0.1], dtype=torch.float64)


def dense(smoother):
    """The same smoother with all functions as columns."""
    fit, at = Basis(smoother.fit.written_out), Basis(smoother.at.written_out)
    return LinearSmoother(fit, at, smoother.moments, smoother.row_weight, smoother.nuisance)


@pytest.fixture(scope="module", params=CASES)
def both(request):
    rows = CASES[request.param]()
    smoother = ALL_CELLS.prepare(rows)
    at = ALL_CELLS.prepare(rows, rows.take(np.arange(0, ROWS, 3)))
    return smoother, dense(smoother), at, dense(at)


def predictions(count=3):
    return torch.from_numpy(np.random.default_rng(4).standard_normal((count, ROWS)))


def test_smoothed_predictions(both):
    found, expected, found_at, expected_at = both
    torch.testing.assert_close(found.apply(predictions(), RIDGES), expected.apply(predictions(), RIDGES))
    torch.testing.assert_close(found_at.apply(predictions(), RIDGES), expected_at.apply(predictions(), RIDGES))


def test_leverages(both):
    found, expected, *_ = both
    counted = found.row_weight > 0
    diagonal = torch.stack([found.shrinkage(RIDGES), found.shrinkage(RIDGES).square()])
    here, there = found.leverage(diagonal), expected.leverage(diagonal)
    assert here.shape == (2, 3, ROWS)
    torch.testing.assert_close(here[..., counted], there[..., counted], rtol=1e-10, atol=1e-12)


def test_errors_and_ridges(both):
    found, expected, *_ = both
    errors = found.leave_one_out(predictions(), RIDGES, 2.0)
    torch.testing.assert_close(errors, expected.leave_one_out(predictions(), RIDGES, 2.0), rtol=1e-9, atol=0)
    assert torch.equal(found.choose_ridge(predictions()), expected.choose_ridge(predictions()))


def test_a_smoother_without_its_last_functions(both):
    found, expected, *_ = both
    for least in (0.0, 0.3, 0.9, 1.1):
        some, same = found.trimmed(0.003, least), expected.trimmed(0.003, least)
        assert torch.equal(some.moments, same.moments)
        torch.testing.assert_close(some.fit_basis, same.fit_basis, rtol=0, atol=0)


def test_copies_have_all_functions_as_columns(both):
    found, expected, *_ = both
    copy = found.to(torch.float32)
    assert copy.at is copy.fit
    assert torch.equal(copy.fit.columns, expected.fit.columns.float())


def test_functions_side_by_side(both):
    found, expected, *_ = both
    first = found.nuisance
    every = Basis.concatenated((Basis(expected.fit.columns[:, 1:4]), found.fit.beyond(first)))
    together = torch.cat([expected.fit.columns[:, 1:4], expected.fit.columns[:, first:]], dim=1)
    assert every.count == together.shape[1]
    torch.testing.assert_close(every.written_out, together, rtol=0, atol=0)
    q = torch.cat([torch.tensor([0.2, 3.0, 1.0]).double(), found.shrinkage(0.003)[first:]])
    weighted = found.row_weight * predictions()[0]
    form = every.signed.coefficients(weighted).square() @ every.signed.weights(q)
    torch.testing.assert_close(form, (weighted @ together).square() @ q, rtol=1e-10, atol=1e-14)


def test_few_rows_have_all_functions(both):
    found, expected, *_ = both
    signed, at = found.fit.signed, torch.nonzero(found.row_weight > 0).squeeze(1)[::37]
    q = found.shrinkage(RIDGES)
    rows = (signed.at(at) * signed.weights(q).unsqueeze(1)) @ signed.at(at).T
    functions = expected.fit.columns[at]
    torch.testing.assert_close(rows, (functions * q.unsqueeze(1)) @ functions.T, rtol=1e-9, atol=1e-9)
