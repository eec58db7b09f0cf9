"""Rows that belong together, and rows that stand for several people."""

import numpy as np
import pytest
import torch

from fairlevel import GroupMean, MLPMean, RandomFeaturesMean, RidgeMean, SplineMean, compare, dpvar, dpvar_interval
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import attributes_within
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.metrics.leave_group_out import leave_groups_out_dpvar, left_out
from fairlevel.metrics.row_groups import RowGroups
from fairlevel.metrics.units import IndependentUnits
from fairlevel.networks.optimizers import Adam

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


def test_residuals_of_a_group_are_those_of_a_fit_without_it():
    groups = np.arange(ROWS) // np.array([3, 7])[(np.arange(ROWS) > 200).astype(int)]
    smoother = RidgeMean().prepare(Attributes(A[:, None]))
    found = left_out(
        torch.from_numpy(F) - smoother.apply(torch.from_numpy(F), 0.0),
        smoother,
        smoother.shrinkage(0.0),
        RowGroups.of(groups),
        1.0,
        0.0,
    )
    design = np.column_stack([np.ones(ROWS), A])
    for group in np.unique(groups)[::20]:
        own = groups == group
        coefficients, *_ = np.linalg.lstsq(design[~own], F[~own], rcond=None)
        np.testing.assert_allclose(found.numpy()[own], F[own] - design[own] @ coefficients, rtol=1e-9)


def test_estimate_with_groups_is_unbiased_where_rows_alone_are_not():
    """Noise shared by the rows of a group: 300 draws of 40 groups of 10 rows whose A is the same."""
    random = np.random.default_rng(2)
    number = np.repeat(np.arange(40), 10)
    attributes = np.repeat(random.standard_normal((40, 4)), 10, axis=0)
    smoother, groups = RidgeMean().prepare(Attributes(attributes)), RowGroups.of(number)
    noise = random.standard_normal((300, 40))[:, number] + random.standard_normal((300, 400))
    ridge = torch.zeros(300, dtype=torch.float64)
    found = leave_groups_out_dpvar(torch.from_numpy(noise), smoother, ridge, groups).estimate.numpy()
    assert abs(found.mean()) < 3 * found.std() / np.sqrt(300)
    rows = leave_groups_out_dpvar(torch.from_numpy(noise), smoother, ridge, RowGroups.of(np.arange(400)))
    assert rows.estimate.mean() > 0.05


SMALL = MLPMean((16, 16), Adam(0.05, steps=250, final_fraction=1.0))


def test_trained_mean_keeps_groups_together():
    number = np.repeat(np.arange(40), 10)
    shared = np.random.default_rng(3).standard_normal((2, 40))[:, number]
    found = dpvar_interval(shared[0] + 0.1 * E, sensitive_features=shared[1], groups=number, regressor=SMALL)
    assert found.low == 0


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


@pytest.mark.parametrize("factors", [False, True])
def test_the_form_of_mixtures_is_the_estimate_that_leaves_groups_out(factors):
    random = np.random.default_rng(0)
    a, given, groups = random.standard_normal((90, 1)), random.standard_normal((90, 1)), np.arange(90) // 4
    predictions = torch.from_numpy(random.standard_normal((3, 90)) + a[:, 0])
    smoother = SplineMean().prepare(attributes_within(a, given if factors else None, None, groups))
    units = IndependentUnits(RowGroups.of(groups))
    matrix = units.leave_out_matrix(predictions, smoother, 0.05).numpy()
    for proportions in random.dirichlet(np.ones(3), 3):
        mixture = torch.from_numpy(proportions @ predictions.numpy())[None]
        alone = units.leave_out(mixture, smoother, torch.tensor([0.05], dtype=torch.float64)).estimate
        assert float(proportions @ matrix @ proportions) == pytest.approx(float(alone), rel=1e-9)
