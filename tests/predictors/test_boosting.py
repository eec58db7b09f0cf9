"""Fair boosting: LightGBM on the gradient of the whole objective."""

import json
import subprocess
import sys
from functools import cache

import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import torch

from fairlevel import FairnessPath, FairRegressor, dpvar, load
from fairlevel.candidates import SOURCES
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.scaling import Scaler
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import EmptyColumns, InvalidInput, InvalidType, UnseenLevels
from fairlevel.losses import Logistic
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import NAMES, ClosedFBO, NoPenalty, RootFBO, resolve_penalty
from fairlevel.predictors import Boosting, Configurations
from fairlevel.training.rows import AllRows, TrainingRows
from tests.contracts.penalty_cases import FEW_STEPS
from tests.few_trees import auto_of_few_trees
from tests.trained import train

SMALL = Boosting(rounds=12, rows_in_leaf=5)
CRITICS = {"fbo", "itd", "adversarial", "adversarial_plain"}  # their penalty moves with the predictions


def samples(rows=300, seed=0):
    drawn = SyntheticDesign(attributes=3).sample(rows, seed)
    x, a, y = (Scaler.fit(values).transform(values) for values in (drawn.x, drawn.a, drawn.y))
    return TrainingRows(x, y, Attributes(a))


@cache
def all_samples():
    """Prepared once for all trainings on them."""
    return AllRows(samples())


def trained(weights, penalty, predictor=SMALL, **settings):
    grid = Configurations.of(weights, 0.1)
    rows = all_samples()
    return train(rows, grid, penalty=penalty, predictor=predictor, optimizer=Adam(), device="cpu", **settings)


@pytest.mark.parametrize("penalty", sorted(NAMES))
def test_a_booster_is_the_same_alone_and_in_a_grid(penalty):
    x, penalty = samples(50, seed=1).x, FEW_STEPS.get(penalty) or resolve_penalty(penalty)
    few = Boosting(rounds=3, rows_in_leaf=5)
    grid = trained([0.0, 0.1, 1.0, 10.0], penalty, few).members.predict(x)
    alone = trained([1.0], penalty, few).members.predict(x)[0]
    assert np.mean(np.abs(alone - grid[2]) < 1e-4) > 0.6  # rounding may move a split by a row
    np.testing.assert_array_equal(trained([0.0, 0.1, 1.0, 10.0], penalty, few).members.predict(x), grid)
    assert np.ptp(grid, axis=0).max() > 0


def test_one_thread_and_two_give_the_same_trees(monkeypatch):
    monkeypatch.setattr("fairlevel.predictors.boosting.SMALL", 0)
    before, texts = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            text = trained([1.0], RootFBO()).members.boosters[0].text
            texts.append(text.partition("parameters:")[0])
    finally:
        torch.set_num_threads(before)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("penalty", sorted({*NAMES} - CRITICS))
@pytest.mark.parametrize("weight", [0.3, 30.0, 1e4])
def test_the_objective_never_rises(penalty, weight):
    found = trained([weight], resolve_penalty(penalty), Boosting(rounds=20, rows_in_leaf=5))
    objective = found.trace.loss + weight * found.trace.penalty
    assert (np.diff(objective, axis=0) <= 1e-5 * np.abs(objective[:-1]).clip(1)).all()
    assert objective[-1] < objective[0] or weight > 1  # near a constant some penalties have nowhere to go


def test_the_objective_of_probabilities_never_rises():
    rows = samples()
    rows = TrainingRows(rows.x, (rows.y > 0).astype(float), rows.attributes)
    for weight in (0.0, 1.0, 100.0):
        found = train(
            AllRows(rows),
            Configurations.of([weight], 0.1),
            penalty=ClosedFBO(),
            predictor=SMALL,
            optimizer=Adam(),
            loss=Logistic(),
            device="cpu",
        )
        objective = found.trace.loss + weight * found.trace.penalty
        assert (np.diff(objective, axis=0) <= 1e-6).all()
        assert objective[-1] < objective[0]


def test_the_step_is_the_minimum_along_the_tree():
    """Against a dense quadratic in float64: f + s t at ten thousand steps s."""
    rows, penalty, weight = samples(), ClosedFBO(), 3.0
    one, two = (
        trained([weight], penalty, Boosting(rounds=count, rows_in_leaf=5, learning_rate=1.0)) for count in (1, 2)
    )
    f = one.members.predict(rows.x)
    direction = two.members.predict(rows.x) - f  # already scaled by its best step
    prepared = penalty.prepare(rows.attributes, seed=0)
    state = None

    def objective(step):
        value = float(penalty.step(f + step * direction, prepared, state).value[0])
        return float(((f + step * direction - rows.y) ** 2).mean()) + weight * value

    steps = np.linspace(0.5, 1.5, 201)
    best = steps[np.argmin([objective(step) for step in steps])]
    assert best == pytest.approx(1.0, abs=0.02) or best > 1.0  # a longer step than 1 is never taken


def test_without_a_penalty_it_is_lightgbm():
    rows = samples(2000)
    ours = train(
        AllRows(rows),
        Configurations.of([0.0], 0.1),
        penalty=NoPenalty(),
        predictor=Boosting(leaves=7, rounds=30, learning_rate=0.1, features=1.0),
        optimizer=Adam(),
        device="cpu",
    ).members.predict(rows.x)[0]
    theirs = lgb.train(
        {
            "num_leaves": 7,
            "lambda_l2": 1.0,
            "learning_rate": 0.1,
            "verbosity": -1,
            "deterministic": True,
            "num_threads": 1,
        },
        lgb.Dataset(rows.x, rows.y),
        30,
    ).predict(rows.x)
    np.testing.assert_allclose(ours, theirs, atol=0.03)  # the best step along a ridge-shrunk tree stays at 1
    assert np.corrcoef(ours, theirs)[0, 1] > 0.9999


@pytest.fixture(scope="module")
def mixed():
    """Numbers with gaps, text, a category, a date, and an attribute that the first number follows."""
    random = np.random.default_rng(0)
    n = 1200
    a, town = random.standard_normal(n), random.choice(["north", "south", "west"], n)
    income = a + random.standard_normal(n)
    x = pd.DataFrame(
        {
            "income": np.where(random.random(n) < 0.1, np.nan, income),
            "town": np.where(random.random(n) < 0.05, None, town),
            "kind": pd.Categorical(random.integers(0, 4, n)),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D"),
        }
    )
    y = income + 2 * (town == "south") + (x["kind"].astype(int) == 2) + (x["since"].dt.year == 2021) + 0.2 * a
    return x, y.to_numpy() + 0.2 * random.standard_normal(n), pd.DataFrame({"age": a})


def test_gaps_categories_and_dates_are_read_as_they_are(mixed, tmp_path):
    x, y, a = mixed
    settings = {"predictor": "boosting", "validation_fraction": 0.2, "random_state": 0}
    plain = FairRegressor(0.0, **settings).fit(x[:900], y[:900], sensitive_features=a[:900])
    assert plain.score(x[900:], y[900:]) > 0.8
    fair = FairRegressor(3.0, **settings).fit(x[:900], y[:900], sensitive_features=a[:900])
    before, after = (dpvar(None, model.predict(x[900:]), sensitive_features=a[900:]) for model in (plain, fair))
    assert after < 0.3 * before
    fair.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x), fair.predict(x))
    unseen = x.assign(town="east")
    with pytest.warns(UnseenLevels, match="'town' 1200 of 1200 rows"):
        found = again.predict(unseen)
    with pytest.warns(EmptyColumns, match="without a single value in 1200 rows: 'town'"):
        np.testing.assert_array_equal(found, fair.predict(x.assign(town=None)))
    with pytest.raises(InvalidType, match="pass a frame"):
        fair.predict(x.to_numpy())


def test_the_default_path_takes_text_and_gaps(mixed, tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "auto", auto_of_few_trees(15))
    x, y, a = mixed
    path = FairnessPath(random_state=0).fit(x[:200], y[:200], sensitive_features=a[:200])
    assert set(path.candidates_["predictor"]) == {"boosting", "none"}  # networks cannot read them
    model = path.best(max_share=0.3)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict(x), model.predict(x), rtol=1e-12)


def test_plain_lightgbm_reads_the_file(tmp_path):
    rows = SyntheticDesign().sample(400, 0)
    model = FairRegressor(2.0, predictor=SMALL, random_state=0).fit(rows.x, 50 + 9 * rows.y, sensitive_features=rows.a)
    model.save(tmp_path / "model")
    np.save(tmp_path / "x.npy", rows.x)
    script = (
        "import json, sys, numpy; sys.modules.update(sklearn=None, pandas=None);"  # LightGBM does without them
        "import lightgbm; b = lightgbm.Booster(model_file=sys.argv[1]);"
        "assert 'fairlevel' not in sys.modules; print(json.dumps(b.predict(numpy.load(sys.argv[2])).tolist()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "model" / "lightgbm-0.txt", tmp_path / "x.npy"],
        capture_output=True,
        text=True,
        check=True,
    )
    np.testing.assert_allclose(json.loads(found.stdout), model.predict(rows.x), rtol=1e-12)


def test_onnx_follows_gaps_and_categories(mixed, tmp_path):
    x, y, a = mixed
    model = FairRegressor(1.0, predictor=Boosting(rounds=40), random_state=0).fit(x, y, sensitive_features=a)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"X": model.native_columns_.transform(x)})
    np.testing.assert_allclose(found, model.predict(x), rtol=1e-9, atol=1e-9)
    metadata = {each.key: json.loads(each.value) for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    towns = metadata["categories"]["town"]
    codes = x["town"].map({town: float(number) for number, town in enumerate(towns)}).to_numpy(dtype=float)
    np.testing.assert_array_equal(codes, model.native_columns_.transform(x)[:, metadata["features"].index("town")])


def test_categories_have_no_order_to_keep(mixed):
    """LightGBM ends the process."""
    x, y, a = mixed
    model = FairRegressor(predictor=Boosting(rounds=5, monotone=(1, 1, 0, 0)))
    with pytest.raises(InvalidInput, match="monotone is 1 for column 1, which holds categories"):
        model.fit(x, y, sensitive_features=a)


def test_monotone_constraints_are_kept():
    rows = SyntheticDesign().sample(500, 0)
    monotone = (1, *[0] * (rows.x.shape[1] - 1))
    model = FairRegressor(1.0, predictor=Boosting(rounds=60, monotone=monotone), random_state=0)
    model.fit(rows.x, rows.y, sensitive_features=rows.a)
    grid = np.repeat(rows.x[:20, None, :], 30, axis=1)
    grid[:, :, 0] = np.linspace(-3, 3, 30)
    rising = np.diff(model.predict(grid.reshape(600, -1)).reshape(20, 30), axis=1)
    assert (rising >= -1e-12).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"leaves": 1}, "leaves=1"),
        ({"rows_in_leaf": 0}, "rows_in_leaf=0"),
        ({"rounds": 0}, "rounds=0"),
        ({"learning_rate": 0.0}, "learning_rate=0"),
        ({"l2": -1.0}, "l2=-1"),
        ({"monotone": (2,)}, "one of -1, 0 and 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Boosting(**settings)


def test_what_is_given_is_not_chosen():
    assert [(each.leaves, each.rows_in_leaf) for each in Boosting().choices()] == [(15, 20), (15, 60), (31, 10)]
    assert [(each.leaves, each.rows_in_leaf) for each in Boosting(rows_in_leaf=5).choices()] == [(15, 5), (31, 5)]
    assert Boosting(leaves=15).choices() == (Boosting(leaves=15),)
    usual = Boosting(leaves=15, rows_in_leaf=20)
    assert Boosting(leaves=15).parameters(3, 0, 1, True) == usual.parameters(3, 0, 1, True)
    assert Boosting().parameters(3, 0, 1, True) == usual.parameters(3, 0, 1, True)


def test_rows_too_few_for_a_split_give_the_mean():
    model = FairRegressor(0, predictor="boosting", random_state=0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 6.0])
    np.testing.assert_allclose(model.predict([[5.0]]), [3.0])
