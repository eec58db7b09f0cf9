"""Batches: the gradient given the moments is that of all rows, and a fit levels as the fit on all rows does."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

from fairlevel import ClosedFBO, FairRegressor, RandomFeaturesMean, dpvar, load
from fairlevel.conditional_mean import LINEAR_MEANS
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.memmaps import parquet_memmaps
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import FeatureHSIC
from fairlevel.penalties.in_batches import MEMORY, FBOInBatches, Moments, in_batches
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS
from fairlevel.training.minibatch import Batches, ring

ROWS = 600
EVERY_ROW = slice(ROWS)
PENALTIES = {"fbo": ClosedFBO(RandomFeaturesMean(ridge=1e-3)), "hsic": FeatureHSIC(features=20)}


def batch_form(penalty):
    """Three attributes; predictions: the target, curved in two of them, and something else."""
    random = np.random.default_rng(0)
    a = random.standard_normal((ROWS, 3))
    target = a[:, 0] * a[:, 1] + a[:, 2] + random.standard_normal(ROWS)
    prediction = torch.from_numpy(np.stack([target, a[:, 1] + np.sin(3 * a[:, 2])])).float()
    return a, prediction, in_batches(penalty, a, np.arange(ROWS), target, seed=0, device=torch.device("cpu"))


def test_with_the_moments_of_all_rows_the_target_meets_closed_fbo():
    penalty = PENALTIES["fbo"]
    a, prediction, batched = batch_form(penalty)
    assert isinstance(batched, FBOInBatches)
    exact = Moments(prediction @ batched.functions / ROWS, 1.0)
    value, gradient = batched.value(exact), batched.step(prediction, EVERY_ROW, exact).gradient
    prepared = penalty.prepare(Attributes(a), ALL_TRAINING_ROWS.assign(0, ROWS), {}, 0).to(torch.float32)
    whole = penalty.mean.prepare(Attributes(a))  # without the functions that closed FBO neglects
    shrinkage = whole.shrinkage(1e-3)[1:]
    coefficients = whole.coefficients(prediction.double())[:, 1:]
    expected = (coefficients.square() * shrinkage).sum(dim=1)
    torch.testing.assert_close(value[0].double(), expected[0], rtol=1e-5, atol=0)
    assert 0.9 * float(expected[1]) < float(value[1]) < float(expected[1])
    slope = penalty.step(prediction, prepared, penalty.init(prepared, 2, {})).gradient[0]
    assert float((gradient[0] - slope).norm()) < 0.02 * float(slope.norm())


@pytest.mark.parametrize("name", LINEAR_MEANS)
def test_every_linear_mean_works_in_batches(name):
    """On all rows the target's P is that of the smoother, whatever the features of A."""
    random = np.random.default_rng(0)
    a = np.column_stack([random.integers(0, 3, ROWS), random.standard_normal(ROWS)]).astype(np.float32)
    target = a[:, 0] + a[:, 1] ** 2 + random.standard_normal(ROWS)
    mean = LINEAR_MEANS[name](ridge=1e-2)
    batched = in_batches(ClosedFBO(mean), a, np.arange(ROWS), target, seed=0, device=torch.device("cpu"))
    whole = mean.prepare(Attributes(a.astype(np.float64)))
    coefficients = whole.coefficients(torch.from_numpy(target).unsqueeze(0))[:, 1:]
    expected = (coefficients.square() * whole.shrinkage(1e-2)[1:]).sum()
    found = (torch.from_numpy(target).float() @ batched.functions / ROWS).square().sum()
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=0)


def test_a_large_ridge_does_not_lose_the_curves():
    _, _, batched = batch_form(ClosedFBO(RandomFeaturesMean(ridge=1e3)))
    assert batched.functions.shape[1] > 3  # more than the three straight lines


def test_what_y_follows_is_read_among_many_attributes():
    """Twenty attributes, y follows a product of two: the functions that vary most say little about it."""
    random = np.random.default_rng(0)
    a = random.standard_normal((4000, 20))
    x = np.column_stack([a[:, :2] + random.standard_normal((4000, 2)), random.standard_normal((4000, 2))])
    y = x[:, 0] * x[:, 1] + 0.3 * random.standard_normal(4000)
    common = {"optimizer": Adam(0.01, steps=150), "random_state": 0}
    fits = [FairRegressor(weight=4.0, batch_size=size, **common) for size in (1000, None)]
    fits.append(FairRegressor(weight=0.0, batch_size=1000, **common))
    there = np.random.default_rng(1)
    level = there.standard_normal((20_000, 2))
    draws = [
        np.column_stack([level + there.standard_normal((20_000, 2)), there.standard_normal((20_000, 2))])
        for _ in range(2)
    ]  # two persons of the same profile: their predictions share the conditional mean and nothing else
    batches, together, plain = (
        np.cov(*(fit.fit(x, y, sensitive_features=a).predict(each) for each in draws))[0, 1] for fit in fits
    )
    assert batches < 0.75 * plain
    assert batches < together + 0.15 * plain


@pytest.mark.parametrize("name", PENALTIES)
def test_batches_are_unbiased_given_the_moments(name):
    _, prediction, batched = batch_form(PENALTIES[name])
    state = batched.init(2)
    for _ in range(3):
        state = batched.step(prediction, EVERY_ROW, state).state
    whole = batched.step(prediction, EVERY_ROW, state)
    parts = [slice(start, start + 60) for start in range(0, ROWS, 60)]
    gradient = torch.zeros_like(prediction)
    for part in parts:
        gradient[:, part] += batched.step(prediction[:, part], part, state).gradient / len(parts)
    torch.testing.assert_close(gradient, whole.gradient, rtol=1e-4, atol=1e-9)


def test_hsic_gradient_is_that_of_the_moments():
    """At exact moments the pull is the derivative of ‖C‖²."""
    _, prediction, batched = batch_form(PENALTIES["hsic"])
    f = prediction.double().requires_grad_()
    scale = (2 / len(batched.frequencies)) ** 0.5
    waves = scale * torch.cos(f.unsqueeze(-1) * batched.frequencies.double() + batched.phases.double())
    cross = waves.transpose(1, 2) @ batched.values.double() / ROWS
    (expected,) = torch.autograd.grad(cross.square().sum(), f)
    exact = Moments(cross.detach().float(), 1.0)
    torch.testing.assert_close(batched.value(exact), cross.detach().square().sum(dim=(1, 2)).float())
    found = batched.step(prediction, EVERY_ROW, exact)
    torch.testing.assert_close(found.gradient.double(), expected, rtol=1e-4, atol=1e-9)


def test_moving_averages_forget_their_start():
    state = Moments(torch.zeros(1, 2), 0.0)
    for _ in range(5):
        state = state.after(state.average.lerp(torch.tensor([[3.0, -1.0]]), MEMORY))
        torch.testing.assert_close(state.value, torch.tensor([[3.0, -1.0]]))


@pytest.mark.parametrize(("rows", "size"), [(10, 3), (12, 3), (10, 10), (7, 5)])
def test_every_row_is_seen_before_any_is_seen_again(rows, size):
    order = ring(rows, size, seed=1)
    batches = Batches(rows, size, take=lambda rows: (None, None), first=torch.zeros(1, 1))
    once, rounds = rows // size, 3000
    seen = np.array([order[window] for window in batches.windows(once * rounds, seed=0)]).reshape(rounds, once * size)
    assert all(len(set(each)) == once * size for each in seen)
    # what does not fill a batch is left out, and is another row each time
    share = once * size / rows
    times = np.bincount(seen.ravel(), minlength=rows)
    assert np.abs(times / rounds - share).max() <= 5 * (share * (1 - share) / rounds) ** 0.5


@pytest.fixture(scope="module")
def rows():
    return SyntheticDesign(beta_int=1.0).sample(3000, seed=0)


@pytest.mark.parametrize("penalty", ["fbo_closed", "hsic"])
def test_a_fit_in_batches_levels(rows, penalty):
    settings = {"batch_size": 256, "optimizer": Adam(0.01, steps=300), "penalty": penalty, "random_state": 0}
    plain = FairRegressor(weight=0.0, **settings).fit(rows.x, rows.y, sensitive_features=rows.a)
    weight = {"fbo_closed": 5.0, "hsic": 100.0}[penalty]
    fair = FairRegressor(weight=weight, **settings).fit(rows.x, rows.y, sensitive_features=rows.a)
    fresh = SyntheticDesign(beta_int=1.0).sample(4000, seed=1)
    before, after = (dpvar(None, model.predict(fresh.x), sensitive_features=fresh.a) for model in (plain, fair))
    assert after < 0.3 * before
    again = clone(fair).fit(rows.x, rows.y, sensitive_features=rows.a)
    np.testing.assert_array_equal(again.predict(rows.x), fair.predict(rows.x))


def test_parquet_and_memory_maps(rows, tmp_path):
    rows.to_frame().to_parquet(tmp_path / "rows.parquet")
    names = [name for name in rows.to_frame().columns if name.startswith("a")]
    x, y, a = parquet_memmaps(tmp_path / "rows.parquet", tmp_path / "maps", target="y", sensitive=names)
    assert isinstance(x, np.memmap)
    np.testing.assert_allclose(x, rows.to_frame().filter(regex="^x").to_numpy(), rtol=1e-6)
    model = FairRegressor(weight=1.0, batch_size=512, optimizer=Adam(steps=20), random_state=0)
    model.fit(x, y, sensitive_features=a)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(x[:5]), model.predict(x[:5]))
    with pytest.raises(InvalidInput, match="choose another folder"):
        parquet_memmaps(tmp_path / "rows.parquet", tmp_path / "maps", target="y", sensitive=names)
    with pytest.raises(UnknownName, match="Did you mean"):
        parquet_memmaps(tmp_path / "rows.parquet", tmp_path / "other", target="yy", sensitive=names)
    pd.DataFrame({"y": [1.0, 2.0], "a": [1.0, 2.0], "x": ["u", "v"]}).to_parquet(tmp_path / "text.parquet")
    with pytest.raises(InvalidType, match="not numbers"):
        parquet_memmaps(tmp_path / "text.parquet", tmp_path / "third", target="y", sensitive=["a"])
    assert not list((tmp_path / "third").iterdir())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"penalty": "itd"}, "needs all rows at once"),
        ({"batch_size": 1}, "a whole number"),
        ({"batch_size": 2.5}, "a whole number"),
        ({"validation_fraction": 0.2}, "use one of them"),
        ({"weight": "auto", "max_share": 0.1}, "budgets need all rows"),
    ],
)
def test_what_batches_cannot_do_is_said(rows, settings, sentence):
    model = FairRegressor(**{"weight": 1.0, "batch_size": 100, **settings})
    with pytest.raises(InvalidInput, match=sentence):
        model.fit(rows.x[:200], rows.y[:200], sensitive_features=rows.a[:200])
