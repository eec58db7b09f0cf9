"""The debiased estimate against dense matrices, refits without each unit, and simulation."""

import numpy as np
import pytest

from fairlevel import GroupMean, RandomFeaturesMean, RidgeMean, SplineMean
from fairlevel.conditional_mean import Features
from fairlevel.conditional_mean import smoother as module
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import attributes_within
from fairlevel.metrics.debiased import Debiased, leave_out_errors
from fairlevel.metrics.units import Units
from tests.conditional_mean.dense import Design, left_out
from tests.conditional_mean.discrete_rows import FREE_CASES, WrittenOut
from tests.drawn_rows import gaussian_arrays

ROWS = 120
RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((ROWS, 2))
LEVELS = RANDOM.integers(0, 9, (ROWS, 1)).astype(float)
WEIGHT = RANDOM.uniform(0.5, 2, ROWS)
FACTOR = np.tanh(A[:, :1] + RANDOM.standard_normal((ROWS, 1)))
F = np.sin(A[:, 0]) + RANDOM.standard_normal((3, ROWS)) * (1 + A[:, 1] ** 2)
GROUPS = {"rows": None, "pairs and triples": np.arange(ROWS) * 4 // 10, "any size": RANDOM.integers(0, 40, ROWS)}
DESIGNS = {
    "splines": (SplineMean(), A, None, None),
    "random features, weights": (RandomFeaturesMean(features=20), A, None, WEIGHT),
    "levels, weights": (GroupMean(), LEVELS, None, WEIGHT),
    "levels and a slope": (GroupMean(), np.hstack([LEVELS, A[:, :1]]), None, None),
    "within a factor": (SplineMean(knots=4), A, FACTOR, WEIGHT),
    "levels within a factor": (GroupMean(), LEVELS, FACTOR, None),
}
RIDGE = 0.05


@pytest.fixture(params=DESIGNS)
def design(request):
    return DESIGNS[request.param]


@pytest.fixture(params=GROUPS)
def rows(design, request):
    _, a, factor, weight = design
    return attributes_within(a, factor, weight, GROUPS[request.param])


def blocks(unit):
    return unit[:, None] == unit


def test_estimates_are_those_of_dense_matrices_and_refits(design, rows):
    """Σ w f Q f, less the noise of each unit on its own block of Q, plus what functions of L fit of h by chance."""
    mean, (weight, unit) = design[0], (rows.weight, Units.of(rows).number)
    debiased = Debiased(mean.prepare(rows), RIDGE, Units.of(rows))
    dense = Design.of(mean, rows)
    s, first = dense.smoother(weight, RIDGE), dense.unpenalised_nuisance.smoother(weight, 0.0)
    q = np.eye(ROWS) - np.linalg.matrix_power(np.eye(ROWS) - s, 4) - first
    small = np.bincount(unit, s.diagonal())[unit] / np.bincount(unit)[unit] < 0.5 - 1e-9
    for f, found in zip(F, debiased.estimates(F), strict=True):
        centred, alone = f - first @ f, left_out(dense, weight, RIDGE, f, unit)
        noise = weight * centred @ (q * blocks(unit)) @ alone
        beyond = left_out(dense.unpenalised_nuisance, weight, 0.0, f, unit)
        of_factors = weight[:, None] * (first - weight) * blocks(unit)
        lost = (beyond * small) @ of_factors @ (beyond - alone)
        assert found == pytest.approx(weight * f @ q @ f - noise + lost, rel=1e-6)


def test_the_matrix_is_the_estimate_of_every_mixture(design, rows):
    debiased = Debiased(design[0].prepare(rows), RIDGE, Units.of(rows))
    matrix = debiased.matrix(F)
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(matrix.diagonal(), debiased.estimates(F))
    for proportions in np.random.default_rng(1).dirichlet(np.ones(3), 3):
        alone = debiased.estimates((proportions @ F)[None])
        assert proportions @ matrix @ proportions == pytest.approx(alone[0], rel=1e-9)


def test_fitted_values_and_noise_are_those_of_dense_matrices(design, rows):
    """Noise is (I − S_uu)^(−½) of the residuals of each unit."""
    mean, (weight, unit) = design[0], (rows.weight, Units.of(rows).number)
    debiased, dense = Debiased(mean.prepare(rows), RIDGE, Units.of(rows)), Design.of(mean, rows)
    s, first = dense.smoother(weight, RIDGE), dense.unpenalised_nuisance.smoother(weight, 0.0)
    np.testing.assert_allclose(debiased.fitted(F), F @ (s - first).T, rtol=0, atol=1e-7)
    residual, root = F - F @ s.T, np.sqrt(weight)
    symmetric = np.eye(ROWS) - root[:, None] * (s * blocks(unit)) / root
    values, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    expected = ((residual * root) @ vectors / np.sqrt(values)) @ vectors.T / root
    np.testing.assert_allclose(debiased.noise(F), expected, rtol=0, atol=1e-6)


def test_errors_of_ridges_are_those_of_refits(design, rows):
    mean, weight, units = design[0], rows.weight, Units.of(rows)
    if rows.given is not None:
        pytest.skip("functions of L are in every fit")
    dense, ridges = Design.of(mean, rows), np.array([0.02, 0.2])
    found = leave_out_errors(F, mean.prepare(rows), units, ridges, 1.0)
    for config, f in enumerate(F):
        for place, ridge in enumerate(ridges):
            alone = left_out(dense, weight, ridge, f, units.number)
            assert found[config, place] == pytest.approx(weight @ alone**2, rel=1e-6)


@pytest.mark.parametrize("groups", [None, np.random.default_rng(1).permutation(400) // 4], ids=["rows", "groups"])
@pytest.mark.parametrize("name", FREE_CASES)
def test_counted_levels_give_the_figures_of_columns(name, groups):
    rows = FREE_CASES[name]()
    units = Units.of(Attributes(rows.values, groups=groups))
    f = np.random.default_rng(2).standard_normal((2, len(rows)))
    counted, columns = (Debiased(mean().prepare(rows), RIDGE, units) for mean in (GroupMean, WrittenOut))
    np.testing.assert_allclose(counted.matrix(f), columns.matrix(f), rtol=1e-6)
    variances = [each.null_variance(each.scores(each.noise(f)[0])) for each in (counted, columns)]
    assert variances[0] == pytest.approx(variances[1], rel=1e-6)
    errors = [leave_out_errors(f, each.smoother, units, np.array([0.01, np.inf]), 2.0) for each in (counted, columns)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-6)


@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean(features=40), GroupMean()], ids=lambda m: m.name)
def test_functions_in_32_bits_give_the_same_figures(mean, monkeypatch):
    f, a = gaussian_arrays(5000, 2, 2)
    a[:, 1] = np.round(a[:, 1])
    rows = Attributes(a, row_weight=np.linspace(1, 2, 5000), groups=np.arange(5000) // 2)
    exact = Debiased(mean.prepare(rows), 1e-3, Units.of(rows))
    monkeypatch.setattr(module, "MANY_ROWS", 1000)
    found = Debiased(mean.prepare(rows.part(slice(None))), 1e-3, Units.of(rows))
    assert found.smoother.functions.columns.dtype == np.float32
    np.testing.assert_allclose(found.matrix(f), exact.matrix(f), rtol=1e-4)
    variances = [each.null_variance(each.scores(each.noise(f)[0])) for each in (found, exact)]
    assert variances[0] == pytest.approx(variances[1], rel=1e-4)


def test_unbiased_when_noise_differs_between_levels():
    random, group = np.random.default_rng(0), np.repeat(np.arange(6), 5)
    mean = np.array([0.0, 0.2, -0.1, 0.4, 0.0, -0.3])[group]
    noise_sd = np.array([0.1, 3.0, 0.5, 2.0, 1.0, 0.2])[group]
    rows = Attributes(group[:, None].astype(float))
    draws = mean + noise_sd * random.standard_normal((10_000, 30))
    estimates = np.concatenate(
        [Debiased(GroupMean().prepare(rows), 0.0, Units.of(rows)).estimates(part) for part in np.split(draws, 20)]
    )
    assert estimates.mean() == pytest.approx(mean.var(), abs=4 * estimates.std() / 100)


def test_unbiased_with_groups_where_rows_alone_are_not():
    """Noise shared by the rows of a group: 40 groups of 10 rows whose A is the same."""
    random, number = np.random.default_rng(2), np.repeat(np.arange(40), 10)
    rows = Attributes(random.standard_normal((40, 4))[number], groups=number)
    draws = random.standard_normal((300, 40))[:, number] + random.standard_normal((300, 400))
    smoother = RidgeMean().prepare(rows)
    found = Debiased(smoother, 0.0, Units.of(rows)).estimates(draws)
    assert abs(found.mean()) < 3 * found.std() / np.sqrt(300)
    assert Debiased(smoother, 0.0, Units.of(Attributes(rows.values))).estimates(draws).mean() > 0.05


@pytest.mark.parametrize("singles", [1, 200], ids=["few", "most rows"])
def test_rows_that_determine_their_fit_get_the_noise_of_others(singles):
    """A level of one row is fitted exactly. Where such rows are most of all, their whole variance counts as noise."""
    group = np.r_[np.repeat([0.0, 1.0], 15), np.arange(2.0, 2.0 + singles)]
    rows = Attributes(group[:, None])
    draws = np.random.default_rng(0).standard_normal((1000, len(group)))
    smoother = WrittenFree().prepare(rows)
    found = Debiased(smoother, 0.0, Units.of(rows)).estimates(draws)
    assert found.mean() == pytest.approx(0, abs=4 * found.std() / 1000**0.5 + 2 / len(group) ** 2)


class WrittenFree(RidgeMean):
    """A free average per distinct value, however few rows it has."""

    def feature_map(self, sensitive, row_weight, seed):
        known = np.unique(sensitive)
        return lambda rows: Features((rows == known).astype(float), np.empty((len(rows), 0)))


@pytest.mark.parametrize("name", ["levels and a slope", "splines"])
def test_labels_of_single_rows_in_any_order_are_rows(name):
    """One row has a leverage above 0.9."""
    mean, a, *_ = DESIGNS[name]
    a = np.vstack([a[:-1], a[-1:] + 30.0])
    found = []
    for groups in (None, np.random.default_rng(5).permutation(ROWS)):
        rows = Attributes(a, groups=groups)
        debiased = Debiased(mean.prepare(rows), RIDGE, Units.of(rows))
        noise = debiased.noise(F[:1])[0]
        variance = debiased.null_variance(debiased.scores(noise))
        traces = debiased.scores(noise).covariance().traces(debiased.q)
        found.append(np.concatenate([debiased.estimates(F), noise, traces, [variance]]))
    np.testing.assert_allclose(*found, rtol=1e-9)


MANY = np.random.default_rng(6).standard_normal((600, 2))
NULL = {
    "splines": (SplineMean(), MANY, None, None),
    "two levels": (GroupMean(), (MANY[:, :1] > 0).astype(float), None, None),
    "levels": (GroupMean(), np.round(4 * np.tanh(MANY[:, :1])), None, MANY[:, 1] ** 2 + 0.5),
    "pairs": (RandomFeaturesMean(), MANY, np.arange(600) // 2, None),
    "levels in pairs": (GroupMean(), np.round(2 * np.tanh(MANY[:, :1])), np.arange(600) // 2, None),
}


@pytest.mark.parametrize("name", NULL)
def test_null_variance_is_what_simulation_shows(name):
    """Without disparity, with noise that grows along A and is shared within pairs."""
    mean, a, groups, weight = NULL[name]
    rows = Attributes(a, row_weight=weight, groups=groups)
    debiased, random = Debiased(mean.prepare(rows), RIDGE, Units.of(rows)), np.random.default_rng(3)
    draws = random.standard_normal((3000, 600))
    if groups is not None:
        draws += random.standard_normal((3000, 300))[:, groups]
    draws *= 1 + np.abs(a[:, 0]) / 4
    estimates, noise = debiased.estimates(draws), debiased.noise(draws[:100])
    predicted = np.mean([debiased.null_variance(debiased.scores(each)) for each in noise])
    assert predicted == pytest.approx(estimates.var(), rel=0.15)
    assert abs(estimates.mean()) < 4 * estimates.std() / 3000**0.5
