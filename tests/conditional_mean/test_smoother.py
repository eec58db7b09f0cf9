import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import SplineTransformer, StandardScaler

from fairlevel.conditional_mean import LINEAR_MEANS, GroupMean, RandomFeaturesMean, RidgeMean, SplineMean
from fairlevel.conditional_mean import smoother as module
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import RIDGES
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.debiased import leave_out_errors
from fairlevel.metrics.units import Units
from tests.conditional_mean.dense import Design, left_out
from tests.drawn_rows import gaussian_arrays

MEANS = sorted(LINEAR_MEANS)


def test_ridge_is_scikit_learns_ridge_with_a_free_intercept():
    f, a = gaussian_arrays(60, 3, 2)
    _, there = gaussian_arrays(20, 3, 2, seed=1)
    smoother = RidgeMean().prepare(Attributes(a))
    scaler = StandardScaler().fit(a)
    for ridge in (0.0, 0.01, 1.0):
        peer = Ridge(alpha=max(ridge * 60, 1e-12)).fit(scaler.transform(a), f.T)
        expected = peer.predict(scaler.transform(there)).T
        np.testing.assert_allclose(smoother.predict(f, ridge, Attributes(there)), expected, rtol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_curves_are_scikit_learns_splines_with_lines_beyond_the_knots(scale):
    a = scale * np.random.default_rng(0).standard_t(3, (200, 1))
    features = SplineMean(knots=7).feature_map(a, np.ones(200), 0)
    knots = features.args[0][0].knots[:, None]
    there = np.concatenate([a, knots, scale * np.array([[-50.0], [30.0]])])
    peer = SplineTransformer(knots=knots, extrapolation="linear").fit(a).transform(there)
    roughness = np.diff(np.eye(peer.shape[1]), n=2, axis=0)
    stiffness, directions = np.linalg.eigh(roughness.T @ roughness)
    expected = peer @ (directions[:, 2:] / np.sqrt(stiffness[2:]))
    np.testing.assert_allclose(features(there).penalised, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


WEIGHT = np.linspace(1, 3, 80)
SHARE = WEIGHT / WEIGHT.sum()


@pytest.mark.parametrize("name", MEANS)
def test_means_are_those_of_dense_least_squares(name):
    f, a = gaussian_arrays(80, 3, 2)
    mean, rows = LINEAR_MEANS[name](), Attributes(a, row_weight=WEIGHT)
    smoother, design = mean.prepare(rows), Design.of(mean, rows)
    functions = smoother.functions.columns
    np.testing.assert_allclose(functions.T @ (SHARE[:, None] * functions), np.eye(smoother.functions.count), atol=1e-6)
    np.testing.assert_array_equal(smoother.nuisance, 1)
    for ridge in (1e-3, 0.1):
        s = design.smoother(SHARE, ridge)
        np.testing.assert_allclose(smoother.apply(f, ridge), f @ s.T, rtol=0, atol=1e-7)
        assert smoother.df(ridge) == pytest.approx(np.trace(s), rel=1e-7)


@pytest.mark.parametrize("name", MEANS)
def test_the_ridge_is_the_one_of_generalised_cross_validation(name):
    f, a = gaussian_arrays(80, 2, 3)
    rows, mean = Attributes(a, row_weight=WEIGHT), LINEAR_MEANS[name]()
    smoother, design = mean.prepare(rows), Design.of(mean, rows)
    errors = []
    for ridge in (grid := RIDGES[16:24]):
        s = design.smoother(SHARE, ridge)
        errors.append((f - f @ s.T) ** 2 @ SHARE / (1 - np.trace(s) / smoother.effective_rows) ** 2)
    assert smoother.sensible(grid, 1.0).any()
    errors = np.where(smoother.sensible(grid, 1.0)[:, None], errors, np.inf)
    np.testing.assert_array_equal(smoother.choose_ridge(f, grid), grid[np.argmin(errors, axis=0)])


@pytest.mark.parametrize("name", MEANS)
def test_leave_one_out_errors_are_those_of_refits(name):
    f, a = gaussian_arrays(80, 2, 1)
    mean, rows = LINEAR_MEANS[name](), Attributes(a, row_weight=WEIGHT)
    smoother, design = mean.prepare(rows), Design.of(mean, rows)
    for ridge in (0.01, 0.1):
        alone = left_out(design, SHARE, ridge, f[0], np.arange(80))
        ridges = np.array([ridge])
        assert smoother.leave_one_out(f, ridges, 1.0)[0, 0] == pytest.approx(SHARE @ alone**2, rel=1e-6)
        s = design.smoother(SHARE, ridge)
        dearer = SHARE @ (alone / (1 - s.diagonal())) ** 2
        assert smoother.leave_one_out(f, ridges, 2.0)[0, 0] == pytest.approx(dearer, rel=1e-6)


def test_ridges_that_leave_too_many_functions_are_refused():
    f, a = gaussian_arrays(60, 3, 1)
    rows = Attributes(a)
    smoother = RandomFeaturesMean().prepare(rows)
    for cost in (2.0, 4.0):
        fine = smoother.sensible(RIDGES, cost)
        np.testing.assert_array_equal(fine, cost * smoother.df(RIDGES) < 60)
        assert 0 < fine.sum() < len(RIDGES)
        np.testing.assert_array_equal(np.isfinite(leave_out_errors(f, smoother, Units.of(rows), RIDGES, cost))[0], fine)


@pytest.mark.parametrize("name", MEANS)
def test_many_rows_are_stored_in_32_bits(name, monkeypatch):
    f, a = gaussian_arrays(5000, 2, 2)
    a[:, 1] = np.round(a[:, 1])
    rows = Attributes(a, row_weight=np.linspace(1, 3, 5000))
    exact = LINEAR_MEANS[name]().prepare(rows)
    monkeypatch.setattr(module, "MANY_ROWS", 1000)
    found = LINEAR_MEANS[name]().prepare(rows.part(slice(None)))
    assert (exact.functions.columns.dtype, found.functions.columns.dtype) == (np.float64, np.float32)
    for ridge in (1e-4, 0.1):
        np.testing.assert_allclose(found.apply(f, ridge), exact.apply(f, ridge), rtol=0, atol=1e-4)
        leverage, expected = (each.leverage(each.shrinkage(ridge)) for each in (found, exact))
        np.testing.assert_allclose(leverage, expected, rtol=1e-3)
        there = rows.take(np.arange(7))
        np.testing.assert_allclose(found.predict(f, ridge, there), exact.predict(f, ridge, there), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["ridge", "groups"])  # bandwidths and knots of the others depend on the rows listed
def test_weights_are_repetitions(name):
    f, a = gaussian_arrays(30, 2, 2)
    times = np.tile([1, 2, 3], 10)
    mean = LINEAR_MEANS[name]()
    if name == "groups":
        a = np.round(a / 4)
    weighted = mean.prepare(Attributes(a, row_weight=times.astype(float))).apply(f, 0.1)
    copies = Attributes(np.repeat(a, times, axis=0))
    repeated = mean.prepare(copies).predict(np.repeat(f, times, axis=1), 0.1, Attributes(a))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12)


DEGENERATE = {
    "collinear": lambda a: np.column_stack([a, a[:, :1] * 2 - 1]),
    "constant column": lambda a: np.column_stack([a, np.full(len(a), 7.0)]),
    "all constant": lambda a: np.full((len(a), 2), 3.0),
    "more attributes than rows": lambda a: np.random.default_rng(1).standard_normal((len(a), 3 * len(a))),
    "one attribute": lambda a: a[:, :1],
    "duplicated rows": lambda a: np.repeat(a[: len(a) // 4], 4, axis=0),
    "two values": lambda a: (a[:, :1] > 0).astype(float),
    "huge offset": lambda a: a + 1e7,
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("name", MEANS)
def test_awkward_attributes_work(name, case):
    f, a = gaussian_arrays(40, 2, 2)
    attributes = DEGENERATE[case](a)
    smoother = LINEAR_MEANS[name]().prepare(Attributes(attributes))
    fitted = smoother.apply(f, smoother.choose_ridge(f))
    # a smoother never adds variance, and it keeps the mean
    assert (fitted.var(axis=1) <= f.var(axis=1) * (1 + 1e-6)).all()
    np.testing.assert_allclose(fitted.mean(axis=1), f.mean(axis=1), rtol=1e-6, atol=1e-8)


def test_random_features_leave_linear_functions_alone():
    _, a = gaussian_arrays(200, 3, 1)
    line = (a @ [1.0, -2.0, 0.5] + 4)[None]
    np.testing.assert_allclose(RandomFeaturesMean().prepare(Attributes(a)).apply(line, np.inf), line, rtol=1e-9)


def test_splines_find_a_smooth_additive_function():
    random = np.random.default_rng(0)
    a = random.uniform(-2, 2, (3000, 2))
    truth = (np.sin(2 * a[:, 0]) + a[:, 1] ** 2)[None]
    noisy = truth + 0.3 * random.standard_normal(3000)
    smoother = SplineMean().prepare(Attributes(a))
    error = np.mean((smoother.apply(noisy, smoother.choose_ridge(noisy)) - truth) ** 2)
    assert error < 5 * 0.09 * 20 / 3000  # a few times the variance of twenty coefficients


def test_splines_continue_as_straight_lines():
    a = np.linspace(-1, 1, 200)[:, None]
    beyond = Attributes(np.array([[2.0], [3.0], [4.0]]))
    fitted = SplineMean().prepare(Attributes(a)).predict(a.T**2, 1e-6, beyond)[0]
    assert fitted[2] - 2 * fitted[1] + fitted[0] == pytest.approx(0, abs=1e-8)
    assert fitted[2] - fitted[1] > 1


def test_groups_average_within_cells():
    random = np.random.default_rng(0)
    a = random.integers(0, 3, (100, 2)).astype(float)
    f = random.standard_normal((1, 100))
    fitted = GroupMean().prepare(Attributes(a)).apply(f, 0.0)[0]
    for cell in np.unique(a, axis=0):
        members = (a == cell).all(axis=1)
        np.testing.assert_allclose(fitted[members], f[0, members].mean(), rtol=1e-10, atol=1e-12)


def test_groups_of_mixed_attributes_have_their_own_slopes():
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 2000).astype(float)
    x = random.standard_normal(2000)
    truth = (np.where(group == 1, 2 * x, -x) + group)[None]
    smoother = GroupMean().prepare(Attributes(np.column_stack([group, x])))
    noisy = truth + 0.1 * random.standard_normal(2000)
    fitted = smoother.apply(noisy, smoother.choose_ridge(noisy))
    assert np.mean((fitted - truth) ** 2) < 0.01 * 30 / 2000


@pytest.mark.parametrize("name", MEANS)
def test_negative_ridge_is_refused(name):
    with pytest.raises(ValueError, match="ridge=-1"):
        LINEAR_MEANS[name](ridge=-1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"bandwidth": 0}, "bandwidth=0 was given; a positive number"), ({"features": 0}, "features=0 was given")],
)
def test_random_features_of_no_width_or_number_are_refused(settings, words):
    with pytest.raises(InvalidInput, match=words):
        RandomFeaturesMean(**settings)
