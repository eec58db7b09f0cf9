"""Rows that belong together, and rows that stand for several people."""

import numpy as np
import pytest
import torch

from fairlevel import GroupMean, RandomFeaturesMean, RidgeMean, compare, dpvar, dpvar_interval
from fairlevel.exceptions import InvalidInput, InvalidType

RANDOM = np.random.default_rng(1)
ROWS = 400
A, E = RANDOM.standard_normal((2, ROWS))
F = A + E
WEIGHT = RANDOM.integers(1, 4, ROWS)
COPIES = np.repeat(np.arange(ROWS), WEIGHT)
FIGURES = ("estimate", "low", "high", "share", "share_low", "share_high")


@pytest.mark.parametrize("given", [None, RANDOM.standard_normal(ROWS)], ids=["no factors", "factors"])
@pytest.mark.parametrize(
    ("sensitive", "regressor"),
    [(np.digitize(A, [-1, 0, 1]), GroupMean()), (A, RidgeMean(ridge=0.1)), (A, RidgeMean())],
    ids=["groups", "ridge", "ridge chosen"],
)
def test_weights_are_repeated_rows_that_belong_together(sensitive, regressor, given):
    """Functions of a factor have knots at quantiles of rows, so repeated rows move them a little."""
    again = None if given is None else given[COPIES]
    settings = {"regressor": regressor}
    weighted = dpvar_interval(F, sensitive_features=sensitive, given=given, sample_weight=WEIGHT, **settings)
    repeated = dpvar_interval(F[COPIES], sensitive_features=sensitive[COPIES], given=again, groups=COPIES, **settings)
    tolerance = 1e-9 if given is None else 0.02
    for name in FIGURES:
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=tolerance)
    assert weighted.p_value == pytest.approx(repeated.p_value, abs=0.01)
    estimate = dpvar(None, F, sensitive_features=sensitive, given=given, sample_weight=WEIGHT, **settings)
    assert estimate == pytest.approx(weighted.estimate, rel=1e-12)


def test_default_mean_agrees_on_repeated_rows():
    weighted = dpvar_interval(F, sensitive_features=A, sample_weight=WEIGHT)
    repeated = dpvar_interval(F[COPIES], sensitive_features=A[COPIES], groups=COPIES)
    for name in FIGURES:
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=0.02)
    alone = dpvar_interval(F[COPIES], sensitive_features=A[COPIES])
    assert alone.high - alone.low < 0.8 * (repeated.high - repeated.low)  # copies taken for new evidence


def test_comparison_of_repeated_rows():
    groups, other = np.digitize(A, [-1, 0, 1]), F - 0.2 * A
    weighted = compare(F, other, sensitive_features=groups, sample_weight=WEIGHT)
    repeated = compare(F[COPIES], other[COPIES], sensitive_features=groups[COPIES], groups=COPIES)
    for name in ("difference", "low", "high", "dpvar_a", "dpvar_b"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-9)


def test_the_scale_of_weights_does_not_matter():
    assert dpvar_interval(F, sensitive_features=A, sample_weight=np.full(ROWS, 7.0)).estimate == pytest.approx(
        dpvar_interval(F, sensitive_features=A).estimate, rel=1e-9
    )


def test_groups_of_one_row_are_rows():
    alone, grouped = (dpvar_interval(F, sensitive_features=A, groups=each) for each in (None, np.arange(ROWS)))
    for name in FIGURES:
        assert getattr(alone, name) == pytest.approx(getattr(grouped, name), rel=1e-8)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (np.arange(ROWS - 1), r"shape \(399,\) for 400 rows"),
        (np.zeros(ROWS), "one label for all rows"),
        (np.arange(ROWS).reshape(2, -1), r"shape \(2, 200\) for 400 rows"),
        (np.rec.fromarrays([np.arange(ROWS)] * 2, names=["person", "visit"]), r"such as groups\['person'\]"),
        (torch.arange(ROWS, dtype=torch.float64).requires_grad_(), r"pass groups.detach\(\)"),
        (np.where(np.arange(ROWS) == 3, np.nan, np.arange(ROWS)), "1 missing label"),
    ],
)
def test_groups_that_cannot_be_used(groups, words):
    with pytest.raises((InvalidInput, InvalidType), match=words):
        dpvar_interval(F, sensitive_features=A, groups=groups)


@pytest.mark.parametrize(
    "written",
    [lambda g: g.astype(">i8"), lambda g: g.astype(">f8"), lambda g: g.astype("S3"), lambda g: g[:, None, None]],
)
def test_groups_in_any_layout_are_the_same_groups(written):
    groups = np.arange(ROWS) // 4
    usual, other = (dpvar_interval(F, sensitive_features=A, groups=labels) for labels in (groups, written(groups)))
    assert (other.low, other.high) == (usual.low, usual.high)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.where(np.arange(ROWS) == 3, -1.0, 1.0), "1 negative"),
        (np.where(np.arange(ROWS) == 3, np.nan, 1.0), "1 missing"),
        (np.zeros(ROWS), "zero on all rows"),
    ],
)
def test_weights_that_cannot_be_used(weight, words):
    for call in (dpvar_interval, lambda f, **rest: dpvar(None, f, **rest), lambda f, **rest: compare(f, f, **rest)):
        with pytest.raises(InvalidInput, match=words):
            call(F, sensitive_features=A, sample_weight=weight)


def test_random_features_with_groups_find_what_is_there():
    number = np.repeat(np.arange(100), 4)
    found = dpvar_interval(F, sensitive_features=A, groups=number, regressor=RandomFeaturesMean())
    assert found.low < 1 < found.high
    # the rows are independent, and h is a line: the influence function has the variance 4 ψ Var(r) + 2 ψ²
    expected = 2 * 1.96 * np.sqrt((4 + 2) / ROWS)
    assert 0.9 * expected < found.high - found.low < 1.25 * expected
