"""Side figures of an audit with many profiles, against functions that are all written out."""

import numpy as np
import pandas as pd
import pytest

from fairlevel.auditing import worst_profiles as worst
from fairlevel.auditing.dependence import maximal_correlation
from fairlevel.auditing.pairings import Pairings
from fairlevel.conditional_mean import GroupMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions
from fairlevel.metrics.inputs import EvaluationRows
from tests.conditional_mean.cells.discrete_rows import CASES, ROWS, by_profile, few_profiles, numbers, sparse_profiles

PROFILES = {"penalised": sparse_profiles(), "free": few_profiles(), "within": sparse_profiles()}
ROWS_OF = {
    "discrete": lambda: Attributes(sparse_profiles()),
    "some rows none": lambda: Attributes(sparse_profiles(), row_weight=by_profile((0.0, 1.0), sparse_profiles())),
    "two weights": lambda: Attributes(sparse_profiles(), row_weight=by_profile((0.7, 1.9), sparse_profiles())),
    "free": CASES["free"],
    "free, empty cells": CASES["free, empty cells"],
}


@pytest.mark.parametrize("name", ROWS_OF)
def test_maximal_correlation_is_canonical_correlation(name):
    rows = ROWS_OF[name]()
    f = np.random.default_rng(5).standard_normal(ROWS) + rows.values[:, 0] / 4
    pairings = Pairings.of(f, rows.counts, 3, 0)
    smoother = GroupMean().prepare(rows)
    assert smoother.fit.sets
    weight = smoother.row_weight.numpy()
    root = np.sqrt(weight)[:, None]
    basis = (smoother.fit_basis * smoother.shrinkage(1e-3).sqrt()).numpy()[:, 1:] * root
    for found, order in zip(maximal_correlation(pairings, rows, 0), pairings.order, strict=True):
        powers = np.column_stack([pairings.prediction[order].numpy() ** degree for degree in (1, 2, 3)])
        orthonormal, _ = np.linalg.qr(root * (powers - weight @ powers))
        assert float(found) == pytest.approx(np.linalg.norm(orthonormal.T @ basis, ord=2), rel=1e-9)


@pytest.fixture(params=PROFILES)
def rows(request):
    a = PROFILES[request.param]
    f = np.random.default_rng(7).standard_normal(ROWS) + (a[:, 0] - a[:, 1]) / 4
    factors = numbers() if request.param == "within" else None
    return EvaluationRows(f, a, np.ones(ROWS), ("a", "b", "c"), factors)


def test_errors_of_worst_profiles_are_those_of_all_functions(rows, monkeypatch):
    """The draws differ, their covariance does not."""
    frame = pd.DataFrame(rows.sensitive, columns=["a", "b", "c"])
    found = worst.worst_profiles(rows, frame, 0)
    monkeypatch.setattr(Basis, "signed", property(lambda self: SignedFunctions.of_columns(self.written_out)))
    expected = worst.worst_profiles(rows, frame, 0)
    pd.testing.assert_frame_equal(found[["a", "b", "c", "difference"]], expected[["a", "b", "c", "difference"]])
    half, half_expected = ((each["high"] - each["low"]) / 2 for each in (found, expected))
    ratio = (half / half_expected).to_numpy()
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)  # one quantile of 2000 draws for all
    assert ratio[0] == pytest.approx(1, abs=0.03)
