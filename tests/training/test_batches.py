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
from fairlevel.exceptions import Diverged, InvalidInput, InvalidType, UnknownName
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.penalties import FeatureHSIC, RootFBO
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, BatchAttributes
from fairlevel.penalties.running_moments import NEWEST_WEIGHT, RunningMoments
from fairlevel.training.ring import RingWindows

ROWS = 600
EVERY_ROW = slice(ROWS)
PENALTIES = {"fbo": ClosedFBO(RandomFeaturesMean(ridge=1e-3)), "hsic": FeatureHSIC(features=20)}


def batch_form(penalty):
    """Three attributes; predictions: the target, curved in two of them, and something else."""
    random = np.random.default_rng(0)
    a = random.standard_normal((ROWS, 3))
    target = a[:, 0] * a[:, 1] + a[:, 2] + random.standard_normal(ROWS)
    prediction = torch.from_numpy(np.stack([target, a[:, 1] + np.sin(3 * a[:, 2])])).float()
    return a, prediction, penalty.in_batches(BatchAttributes(a, np.arange(ROWS), target, 0, torch.device("cpu")))


def test_with_the_moments_of_all_rows_the_target_meets_closed_fbo():
    penalty = PENALTIES["fbo"]
    a, prediction, batched = batch_form(penalty)
    exact = RunningMoments(prediction @ batched.functions / ROWS, 1.0)
    value, gradient, _ = batched.step(prediction, EVERY_ROW, exact)
    prepared = penalty.prepare(Attributes(a), ALL_TRAINING_ROWS.assign(0, ROWS), {}, 0).to(torch.float32)
    whole = penalty.mean.prepare(Attributes(a))  # without the functions that closed FBO neglects
    coefficients = whole.coefficients(prediction.double().numpy())
    expected = np.square(coefficients) @ whole.shrinkage(1e-3)
    assert float(value[0]) == pytest.approx(expected[0], rel=1e-5)
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
    batched = ClosedFBO(mean).in_batches(BatchAttributes(a, np.arange(ROWS), target, 0, torch.device("cpu")))
    whole = mean.prepare(Attributes(a.astype(np.float64)))
    expected = np.square(whole.coefficients(target[None])[0]) @ whole.shrinkage(1e-2)
    found = (torch.from_numpy(target).float() @ batched.functions / ROWS).square().sum()
    assert float(found) == pytest.approx(expected, rel=1e-4)


def test_a_large_ridge_does_not_lose_the_curves():
    _, _, batched = batch_form(ClosedFBO(RandomFeaturesMean(ridge=1e3)))
    assert batched.functions.shape[1] > 3  # more than the three straight lines


def test_what_y_follows_is_read_among_many_attributes():
    """Twenty attributes, y follows a product of two: the functions that vary most say little about it."""
    random = np.random.default_rng(0)
    a = random.standard_normal((3000, 20))
    x = np.column_stack([a[:, :2] + random.standard_normal((3000, 2)), random.standard_normal((3000, 2))])
    y = x[:, 0] * x[:, 1] + 0.3 * random.standard_normal(3000)
    common = {"predictor": "mlp", "optimizer": Adam(0.02, steps=75), "random_state": 0}
    fits = [FairRegressor(weight=4.0, batch_size=size, **common) for size in (1000, None)]
    fits.append(FairRegressor(weight=0.0, batch_size=1000, **common))
    there = np.random.default_rng(1)
    level = there.standard_normal((20_000, 2))
    draws = [
        np.column_stack([level + there.standard_normal((20_000, 2)), there.standard_normal((20_000, 2))])
        for _ in range(2)
    ]  # two persons of the same profile: their predictions share the conditional mean and nothing else
    models = [fit.fit(x, y, sensitive_features=a) for fit in fits]
    batches, together, plain = (np.cov(*map(model.predict, draws))[0, 1] for model in models)
    assert batches < 0.75 * plain
    assert batches < together + 0.15 * plain


def test_hsic_gradient_is_that_of_the_moments():
    """At exact moments the gradient is the derivative of ‖C‖²."""
    _, prediction, batched = batch_form(PENALTIES["hsic"])
    f = prediction.double().requires_grad_()
    scale = (2 / len(batched.frequencies)) ** 0.5
    waves = scale * torch.cos(f.unsqueeze(-1) * batched.frequencies.double() + batched.phases.double())
    cross = waves.transpose(1, 2) @ batched.values.double() / ROWS
    (expected,) = torch.autograd.grad(cross.square().sum(), f)
    exact = RunningMoments(cross.detach().float(), 1.0)
    found = batched.step(prediction, EVERY_ROW, exact)
    torch.testing.assert_close(found.value, cross.detach().square().sum(dim=(1, 2)).float())
    torch.testing.assert_close(found.gradient.double(), expected, rtol=1e-4, atol=1e-9)


def test_running_averages_do_not_depend_on_their_start():
    state = RunningMoments(torch.zeros(1, 2), 0.0)
    for _ in range(5):
        state = state.after(state.average.lerp(torch.tensor([[3.0, -1.0]]), NEWEST_WEIGHT))
        torch.testing.assert_close(state.value, torch.tensor([[3.0, -1.0]]))


@pytest.mark.parametrize(("rows", "size"), [(10, 3), (12, 3), (10, 10), (7, 5)])
def test_every_row_is_seen_before_any_is_seen_again(rows, size):
    order = RingWindows.ring_order(np.arange(rows), size, seed=1)
    batches = RingWindows(order, size, take=lambda rows: None, target=torch.zeros(rows), attributes=None)
    once, rounds = rows // size, 3000
    seen = np.array([order[window] for window in batches.windows(once * rounds, seed=0)]).reshape(rounds, once * size)
    assert all(len(set(each)) == once * size for each in seen)
    # what does not fill a batch is left out, and is another row each time
    share = once * size / rows
    times = np.bincount(seen.ravel(), minlength=rows)
    assert np.abs(times / rounds - share).max() <= 5 * (share * (1 - share) / rounds) ** 0.5


def test_a_rare_value_of_an_attribute_is_among_the_first_rows():
    """Functions of A are fitted on the first 20,000 rows: a column that is constant there would not be levelled."""
    plain = RingWindows.ring_order(np.arange(60_000), 100, seed=1)
    rare = plain[30_000:30_004]
    a = np.column_stack([np.random.default_rng(0).standard_normal(60_000), np.zeros(60_000)])
    np.testing.assert_array_equal(RingWindows.ring_order(np.arange(60_000), 100, 1, a[:, :1]), plain)
    a[rare, 1] = 1.0
    order = RingWindows.ring_order(np.arange(60_000), 100, 1, a)
    assert np.isin(rare, order[:20_000]).all()
    assert np.array_equal(np.sort(order[:-100]), np.arange(60_000))
    assert np.array_equal(order[-100:], order[:100])


def test_the_root_form_is_the_root_in_batches_too():
    """Its value is the root of closed FBO's, its gradient closed FBO's divided by twice the root."""
    mean = RandomFeaturesMean(ridge=1e-3)
    _, prediction, plain = batch_form(ClosedFBO(mean))
    _, _, root = batch_form(RootFBO(mean))
    state = RunningMoments(prediction @ plain.functions / ROWS, 1.0)
    value, gradient, _ = plain.step(prediction, EVERY_ROW, state)
    rooted = root.step(prediction, EVERY_ROW, state)
    scale = (value + 0.05**2).sqrt()
    torch.testing.assert_close(rooted.value, scale - 0.05)
    torch.testing.assert_close(rooted.gradient, gradient / (2 * scale[:, None]))


def test_attributes_on_any_scale_give_the_same_batch_form():
    random = np.random.default_rng(0)
    a, target = random.standard_normal((ROWS, 2)), random.standard_normal(ROWS)
    there = 1e3 + a * [100.0, 1e-3]
    for penalty in (FeatureHSIC(), ClosedFBO(RandomFeaturesMean(ridge=1e-3))):
        forms = [
            penalty.in_batches(BatchAttributes(values, np.arange(ROWS), target, 0, torch.device("cpu")))
            for values in (a, there)
        ]
        prediction = torch.from_numpy(np.stack([a[:, 0], a[:, 1] ** 2])).float()
        steps = []
        for form in forms:
            state = form.init(2)
            for _ in range(2):
                step = form.step(prediction, EVERY_ROW, state)
                state = step.state
            steps.append(step)
        torch.testing.assert_close(steps[0].value, steps[1].value, rtol=1e-3, atol=1e-6)


@pytest.fixture(scope="module")
def rows():
    return SyntheticDesign(beta_int=1.0).sample(3000, seed=0)


@pytest.mark.parametrize("penalty", ["fbo_closed", "fbo_root", "hsic"])
def test_a_fit_in_batches_levels(rows, penalty):
    settings = {"batch_size": 256, "optimizer": Adam(0.03, steps=100), "penalty": penalty, "random_state": 0}
    plain = FairRegressor(weight=0.0, **settings).fit(rows.x, rows.y, sensitive_features=rows.a)
    weight = {"fbo_closed": 5.0, "fbo_root": 2.0, "hsic": 100.0}[penalty]
    fair = FairRegressor(weight=weight, **settings).fit(rows.x, rows.y, sensitive_features=rows.a)
    fresh = SyntheticDesign(beta_int=1.0).sample(2000, seed=1)
    before, after = (dpvar(None, model.predict(fresh.x), sensitive_features=fresh.a) for model in (plain, fair))
    assert after < 0.3 * before
    again = clone(fair).fit(rows.x, rows.y, sensitive_features=rows.a)
    np.testing.assert_array_equal(again.predict(rows.x), fair.predict(rows.x))


def test_early_stopping_and_statuses_hold_in_batches(rows):
    few = slice(0, 150)
    settings = {"batch_size": 50, "weight": 1.0, "random_state": 0, "optimizer": Adam(0.03, steps=800)}
    stopped = FairRegressor(validation_fraction=0.3, **settings)
    stopped.fit(rows.x[few], rows.y[few], sensitive_features=rows.a[few])
    full = FairRegressor(validation_fraction=None, **settings).fit(
        rows.x[few], rows.y[few], sensitive_features=rows.a[few]
    )
    assert stopped.n_iter_ < 800 == full.n_iter_
    fresh = SyntheticDesign(beta_int=1.0).sample(3000, seed=1)
    errors = [((model.predict(fresh.x) - fresh.y) ** 2).mean() for model in (stopped, full)]
    assert errors[0] < errors[1]
    wild = FairRegressor(batch_size=50, weight=1.0, optimizer=GradientDescent(1e4, steps=50), random_state=0)
    with pytest.raises(Diverged, match="lower the step size"):
        wild.fit(rows.x[few], rows.y[few], sensitive_features=rows.a[few])


def test_large_offsets_are_centred_before_they_are_rounded(rows):
    """64-bit features keep their digits although batches are in 32 bits."""
    settings = {"batch_size": 256, "weight": 0.0, "optimizer": Adam(0.01, steps=60), "random_state": 0}
    here, there = (
        FairRegressor(**settings).fit(rows.x + offset, rows.y).predict(rows.x + offset) for offset in (0.0, 1e8)
    )
    assert np.abs(here - there).max() < 0.05 * here.std()


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


def test_maps_keep_the_digits_of_columns_far_from_zero(rows, tmp_path):
    """In 32 bits, 1e9 + x is one number for all rows."""
    frame = rows.to_frame()
    names = [name for name in frame.columns if name.startswith("a")]
    (frame + 1e9).to_parquet(tmp_path / "far.parquet")
    frame.to_parquet(tmp_path / "near.parquet")
    near, far = (
        parquet_memmaps(tmp_path / f"{name}.parquet", tmp_path / name, target="y", sensitive=names)
        for name in ("near", "far")
    )
    assert [each.dtype.itemsize for each in (*near, *far)] == [4, 4, 4, 8, 8, 8]
    settings = {"weight": 1.0, "batch_size": 512, "optimizer": Adam(0.01, steps=30), "random_state": 0}
    here, there = (FairRegressor(**settings).fit(x, y, sensitive_features=a) for x, y, a in (near, far))
    assert there.mse_ == pytest.approx(here.mse_, rel=0.02)
    assert there.dpvar_ == pytest.approx(here.dpvar_, rel=0.05)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"penalty": "itd"}, "needs all rows at once"),
        ({"batch_size": 1}, "a whole number"),
        ({"batch_size": 2.5}, "a whole number"),
        ({"validation_fraction": 1.2}, "between 0 and 1"),
        ({"weight": "auto", "max_share": 0.1}, "budgets need all rows"),
    ],
)
def test_what_batches_cannot_do_is_said(rows, settings, sentence):
    model = FairRegressor(**{"weight": 1.0, "batch_size": 100, **settings})
    with pytest.raises(InvalidInput, match=sentence):
        model.fit(rows.x[:200], rows.y[:200], sensitive_features=rows.a[:200])


def test_numbers_that_differ_between_settings_are_refused_in_batches():
    ring = RingWindows(np.arange(12), 4, lambda window: torch.zeros(4, 1), torch.zeros(12), np.zeros((8, 1)))
    with pytest.raises(InvalidInput, match="ridge differ"):
        ring.bind(ClosedFBO(), {"ridge": torch.tensor([0.1, 0.2])}, 0, torch.device("cpu"))
