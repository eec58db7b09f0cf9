import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.preprocessing import SplineTransformer, StandardScaler

from fairlevel.conditional_mean import LINEAR_MEANS, GroupMean, RandomFeaturesMean, RidgeMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.spectrum import RIDGES
from tests.drawn_rows import gaussian

MEANS = sorted(LINEAR_MEANS)


def dense(smoother, ridge):
    return smoother.apply(torch.eye(len(smoother.fit_basis), dtype=torch.float64), ridge).T


def test_ridge_is_scikit_learns_ridge_with_a_free_intercept():
    f, a = gaussian(60, 3, 2)
    _, there = gaussian(20, 3, 2, seed=1)
    smoother = RidgeMean().prepare(Attributes(a), there)
    scaler = StandardScaler().fit(a)
    for ridge in (0.0, 0.01, 1.0):
        peer = Ridge(alpha=max(ridge * 60, 1e-12)).fit(scaler.transform(a), f.numpy().T)
        expected = peer.predict(scaler.transform(there)).T
        np.testing.assert_allclose(smoother.apply(f, ridge).numpy(), expected, rtol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_curves_are_scikit_learns_splines_with_lines_beyond_the_knots(scale):
    a = scale * np.random.default_rng(0).standard_t(3, (200, 1))
    features = SplineMean(knots=7).feature_map(a, np.ones(200), 0)
    there = np.concatenate([a, features.knots[0][:, None], scale * np.array([[-50.0], [30.0]])])
    peer = SplineTransformer(knots=features.knots[0][:, None], extrapolation="linear").fit(a).transform(there)
    roughness = np.diff(np.eye(peer.shape[1]), n=2, axis=0)
    stiffness, directions = np.linalg.eigh(roughness.T @ roughness)
    expected = peer @ (directions[:, 2:] / np.sqrt(stiffness[2:]))
    np.testing.assert_allclose(features(there)[1], expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", MEANS)
def test_basis_is_orthonormal_and_starts_with_the_constant(name):
    _, a = gaussian(80, 3, 1)
    smoother = LINEAR_MEANS[name]().prepare(Attributes(a, row_weight=np.linspace(1, 3, 80)))
    gram = smoother.fit_basis.T @ (smoother.row_weight.unsqueeze(1) * smoother.fit_basis)
    torch.testing.assert_close(gram, torch.eye(len(gram), dtype=torch.float64), atol=1e-6, rtol=0)
    assert torch.equal(smoother.fit_basis[:, 0], torch.ones(80, dtype=torch.float64))


@pytest.mark.parametrize("name", MEANS)
def test_gcv_is_its_formula(name):
    f, a = gaussian(60, 2, 3)
    smoother = LINEAR_MEANS[name]().prepare(Attributes(a))
    found = smoother.spectrum.gcv(smoother.coefficients(f).square(), f.square().mean(dim=1), RIDGES[5:8])
    for column, ridge in enumerate(RIDGES[5:8].tolist()):
        s = dense(smoother, ridge)
        residual = f - f @ s.T
        expected = residual.square().mean(dim=1) / (1 - s.diagonal().sum() / 60) ** 2
        torch.testing.assert_close(found[:, column], expected, rtol=1e-6, atol=1e-12)
        assert float(smoother.spectrum.df(ridge)) == pytest.approx(float(s.diagonal().sum()), rel=1e-6)


@pytest.mark.parametrize("name", ["ridge", "groups"])  # bandwidths and knots of the others depend on the rows listed
def test_weights_are_repetitions(name):
    f, a = gaussian(30, 2, 2)
    times = np.tile([1, 2, 3], 10)
    mean = LINEAR_MEANS[name]()
    if name == "groups":
        a = np.round(a / 4)
    weighted = mean.prepare(Attributes(a, row_weight=times.astype(float))).apply(f, 0.1)
    repeated = mean.prepare(Attributes(np.repeat(a, times, axis=0)), a).apply(
        torch.from_numpy(np.repeat(f.numpy(), times, axis=1)), 0.1
    )
    torch.testing.assert_close(weighted, repeated, rtol=1e-9, atol=1e-12)


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
    f, a = gaussian(40, 2, 2)
    attributes = DEGENERATE[case](a)
    smoother = LINEAR_MEANS[name]().prepare(Attributes(attributes))
    fitted = smoother.apply(f, smoother.choose_ridge(f))
    assert torch.isfinite(fitted).all()
    # a smoother never adds variance, and it keeps the mean
    assert (fitted.var(dim=1) <= f.var(dim=1) * (1 + 1e-6)).all()
    torch.testing.assert_close(fitted.mean(dim=1), f.mean(dim=1), rtol=1e-6, atol=1e-8)


def test_random_features_leave_linear_functions_alone():
    _, a = gaussian(200, 3, 1)
    line = torch.from_numpy(a @ [1.0, -2.0, 0.5] + 4).unsqueeze(0)
    torch.testing.assert_close(
        RandomFeaturesMean().prepare(Attributes(a)).apply(line, float("inf")), line, rtol=1e-9, atol=1e-9
    )


def test_splines_find_a_smooth_additive_function():
    random = np.random.default_rng(0)
    a = random.uniform(-2, 2, (3000, 2))
    truth = torch.from_numpy(np.sin(2 * a[:, 0]) + a[:, 1] ** 2).unsqueeze(0)
    noisy = truth + torch.from_numpy(0.3 * random.standard_normal(3000))
    smoother = SplineMean().prepare(Attributes(a))
    error = (smoother.apply(noisy, smoother.choose_ridge(noisy)) - truth).square().mean()
    assert float(error) < 5 * 0.09 * 20 / 3000  # a few times the variance of twenty coefficients


def test_splines_continue_as_straight_lines():
    a = np.linspace(-1, 1, 200)[:, None]
    smoother = SplineMean().prepare(Attributes(a), np.array([[2.0], [3.0], [4.0]]))
    fitted = smoother.apply(torch.from_numpy(a[:, 0] ** 2).unsqueeze(0), 1e-6)[0]
    assert float(fitted[2] - 2 * fitted[1] + fitted[0]) == pytest.approx(0, abs=1e-8)


def test_groups_average_within_cells():
    random = np.random.default_rng(0)
    a = random.integers(0, 3, (100, 2)).astype(float)
    f = torch.from_numpy(random.standard_normal((1, 100)))
    fitted = GroupMean().prepare(Attributes(a)).apply(f, 0.0)[0].numpy()
    for cell in np.unique(a, axis=0):
        members = (a == cell).all(axis=1)
        np.testing.assert_allclose(fitted[members], f[0].numpy()[members].mean(), rtol=1e-10, atol=1e-12)


def test_groups_of_mixed_attributes_have_their_own_slopes():
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 2000).astype(float)
    x = random.standard_normal(2000)
    truth = torch.from_numpy(np.where(group == 1, 2 * x, -x) + group).unsqueeze(0)
    smoother = GroupMean().prepare(Attributes(np.column_stack([group, x])))
    noisy = truth + 0.1 * torch.from_numpy(random.standard_normal(2000))
    fitted = smoother.apply(noisy, smoother.choose_ridge(noisy))
    assert float((fitted - truth).square().mean()) < 0.01 * 30 / 2000


@pytest.mark.parametrize("name", MEANS)
def test_negative_ridge_is_refused(name):
    with pytest.raises(ValueError, match="ridge=-1"):
        LINEAR_MEANS[name](ridge=-1)
