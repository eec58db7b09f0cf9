"""Sums of squares by cells against those of all functions of the basis."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.cells.cell_products import CellProducts
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions
from fairlevel.metrics.choice import candidates_for
from fairlevel.metrics.no_disparity_test import NoDisparityTest
from tests.conditional_mean.cells.discrete_rows import ALL_CELLS, CASES, ROWS, few_profiles

NO_SETS = ("rows of any weight", "continuous factor, counted rows", "free, few cells")  # too few cells of one weight
RIDGES = torch.tensor([0.0, 1e-3, 0.1], dtype=torch.float64)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Functions of A, the same with sums by cells, and weights q of three forms, which only moments determine."""
    smoother = ALL_CELLS.prepare(CASES[request.param]())
    functions = smoother.fit_basis[:, smoother.nuisance :]
    signed = smoother.fit.beyond(smoother.nuisance).signed
    assert bool(smoother.fit.sets) == (request.param not in NO_SETS)
    q = smoother.shrinkage(RIDGES)[:, smoother.nuisance :]
    return smoother.row_weight, functions, signed, q


def noise(seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(ROWS))


def test_forms_are_those_of_all_functions(case):
    weight, functions, signed, q = case
    weighted = weight * noise()
    expected = (weighted @ functions).square() @ q.T
    found = signed.coefficients(weighted).square() @ signed.weights(q).T
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-14)
    counted = weight > 0
    rows, expected_rows = signed.sums_of_squares(signed.weights(q)), functions.square() @ q.T
    torch.testing.assert_close(rows[counted], expected_rows[counted], rtol=1e-9, atol=1e-9)


def test_their_noise_is_that_of_all_functions(case):
    weight, functions, signed, q = case
    scale = weight * noise(1)
    dense = functions.T @ (scale.square().unsqueeze(1) * functions)
    found, weights = signed.covariance(scale), signed.weights(q)
    torch.testing.assert_close(found.trace_of_square(weights), ((q @ dense.square()) * q).sum(dim=1), rtol=1e-9, atol=0)
    torch.testing.assert_close(weights @ found.diagonal(), q @ dense.diagonal(), rtol=1e-10, atol=0)


def test_draws_have_the_covariance_of_the_functions(case):
    weight, _, signed, q = case
    scale = weight * noise(1)
    count = len(signed.sign)
    every = torch.zeros(ROWS, count, dtype=torch.float64)
    every[:, : signed.columns.shape[1]] = signed.columns
    seen = signed.cells.number >= 0
    place = signed.columns.shape[1] + signed.cells.number[seen]
    every[seen, place] = signed.scale[signed.cells.number[seen]]
    expected = every.T @ (scale.square().unsqueeze(1) * every)
    covariance = signed.covariance(scale)
    root = covariance.in_normals(torch.eye(count, dtype=torch.float64))
    size = float(expected.abs().max())
    torch.testing.assert_close(root @ root.T, expected, rtol=0, atol=1e-10 * size)

    normal = torch.from_numpy(np.random.default_rng(2).standard_normal((600, count)))
    weights = signed.weights(q)
    forms = (normal @ root.T).square() @ weights.T
    torch.testing.assert_close(covariance.drawn_forms(normal, weights), forms, rtol=1e-9, atol=0)


def test_cells_without_noise_are_drawn_as_zero():
    covariance = CoefficientCovariance(
        torch.eye(2).double(),
        torch.zeros(3, 2).double(),
        torch.tensor([1.0, 0.0, 4.0]).double(),
        cell_products=CellProducts.without_sets(torch.zeros(0, 2).double()),
    )
    expected = torch.diag(torch.tensor([1.0, 1.0, 1.0, 0.0, 2.0]).double())
    torch.testing.assert_close(covariance.in_normals(torch.eye(5).double()).abs(), expected)


@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_p_values_differ_by_chance_alone(strength, monkeypatch):
    a = few_profiles()
    f = torch.from_numpy(np.random.default_rng(8).standard_normal(ROWS) + strength * (a[:, 0] == a[:, 1]))
    f = (f - f.mean()) / f.std(correction=0)
    by_cells = NoDisparityTest(candidates_for(f[None], Attributes(a), 0), 0)
    found = by_cells.p_value(f)
    monkeypatch.setattr(Basis, "signed", property(lambda self: SignedFunctions.of_columns(self.written_out)))
    of_functions = NoDisparityTest(by_cells.candidates, 0)
    expected = of_functions.p_value(f)
    assert 0.01 < expected < 0.99
    assert abs(found - expected) < 4 * (2 * expected * (1 - expected) / 4000) ** 0.5
