"""FairnessPath: what it promises of every model it hands out."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict

from fairlevel import FairnessPath, FairRegressor
from fairlevel.candidates import PenaltyGrid
from fairlevel.estimators.front_page import front_page
from fairlevel.exceptions import AlreadyLevel, InvalidInput, InvalidType, MissingSensitiveFeatures, UnknownName
from fairlevel.fronts.budget import Budget
from fairlevel.fronts.combiners import Best, Stacked
from fairlevel.fronts.points import knee_index, non_dominated
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import LinearR2
from tests.few_trees import auto_of_few_trees

QUICK = {"solver": "spectral", "optimizer": Adam(0.02, steps=80), "device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def table():
    x, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return x.drop(columns="bmi"), y, x[["bmi"]]


@pytest.fixture(scope="module")
def path(table):
    x, y, a = table
    return FairnessPath(**QUICK).fit(x, y, sensitive_features=a)


def test_front_is_measured_on_rows_that_set_nothing(path, table):
    front = path.front_
    columns = ["selection_dpvar", "mse", "dpvar", "dpvar_low", "dpvar_high", "share", "members", "r2"]
    assert list(front.columns) == columns
    np.testing.assert_allclose(front["r2"], 1 - front["mse"] / table[1].var(ddof=0), rtol=1e-9)
    assert path.cross_fitted_
    assert len(non_dominated(front)) >= 6
    assert front["mse"].iloc[-1] < front["mse"].iloc[0]
    assert ((front["dpvar_low"] <= front["dpvar"]) & (front["dpvar"] <= front["dpvar_high"])).all()
    pd.testing.assert_frame_equal(path.to_frame(), front)


def test_the_page_of_a_path(path, tmp_path):
    path.to_html(tmp_path / "front.html", "progression")
    page = (tmp_path / "front.html").read_text(encoding="utf-8")
    assert "Trade-offs for progression" in page
    assert "The most accurate model is not level" in page
    assert "442 used" in page
    assert len(page) < 300_000


def test_the_page_opens_with_the_model_within_a_budget(path):
    chooser = front_page(path, "progression", within=("share within 0.05", 2)).sections[0].blocks[0]
    assert chooser.first == 2
    assert chooser.options[2].heading == "point-03 (share within 0.05)"
    assert ("share within 0.05", 2) in chooser.shortcuts
    assert front_page(path, "progression").sections[0].blocks[0].first == path.knee_index_


def test_best_answers_with_a_regressor_that_needs_no_attributes(path, table):
    x, y, _ = table
    plain = path.front_["dpvar"].iloc[-1]
    model = path.best(max_dpvar=0.3 * plain)
    assert isinstance(model, FairRegressor)
    assert model.predict(x).shape == (442,)
    assert model.dpvar_ < 0.6 * plain
    assert model.score(x, y) > 0.1
    tighter = path.best(max_dpvar=0.15 * plain)
    assert tighter.dpvar_ < model.dpvar_
    assert tighter.mse_ > model.mse_
    assert path.best(max_share=0.05).dpvar_ < path.best(max_share=0.15).dpvar_


def test_a_mixture_is_the_stated_average_and_pickles(path, table):
    x = table[0]
    model = path.best(max_share=0.1)
    inner = model.model_
    given = x.to_numpy(dtype=float)
    members = [group.take(np.array([k])) for group in inner.groups for k in range(len(group))]
    one_by_one = [part * each.predict(given)[0] for each, part in zip(members, inner.proportions, strict=True)]
    expected = inner.y_scaler.inverse(np.sum(one_by_one, axis=0))
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))


@pytest.fixture(scope="module")
def refitted(path, table):
    """A clone of the model within a budget, fitted anew."""
    x, y, a = table
    return clone(path.best(max_share=0.1)).fit(x, y, sensitive_features=a)


def test_a_clone_refits_the_same_model(path, refitted, table):
    x, _, _ = table
    model = path.best(max_share=0.1)
    np.testing.assert_allclose(refitted.predict(x), model.predict(x), rtol=1e-9)
    assert refitted.get_params()["max_share"] == 0.1
    assert refitted.get_params()["penalty"] == "spectral"


def test_predict_and_best_estimator_are_the_knee(path, table):
    x = table[0]
    np.testing.assert_array_equal(path.predict(x), path.knee().predict(x))
    np.testing.assert_array_equal(path.predict(x), path.best_estimator_.predict(x))
    levels = path.front_["dpvar"]
    knee = path.knee().get_params()["max_dpvar"]
    assert levels.min() < knee < levels.max()


def test_the_path_itself_pickles_and_answers_alike(path, table):
    again = pickle.loads(pickle.dumps(path))
    budget = 0.4 * path.front_["dpvar"].iloc[-1]
    np.testing.assert_array_equal(again.predict(table[0]), path.predict(table[0]))
    np.testing.assert_array_equal(
        again.best(max_dpvar=budget).predict(table[0]), path.best(max_dpvar=budget).predict(table[0])
    )


def test_a_share_budget_keeps_its_margin_where_dpvar_is_estimated_as_zero(path):
    found = path._fit.calibrations["max_share"]
    assert (found.measured > 0).all()
    with pytest.raises(InvalidInput, match="out of reach"):
        path._fit.within(Budget("max_share", 0.5 * found.measured.min()))


def test_no_row_is_kept(path, table):
    """A fitted path and its models hold no table of the fit: whatever is as long as the rows is suspicious."""
    x, y, a = table
    wanted = [np.asarray(each, dtype=np.float64) for each in (x, y, a)]

    def arrays(value, seen):
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, torch.Tensor):
            yield value.numpy()
        elif isinstance(value, pd.DataFrame):
            yield value.select_dtypes("number").to_numpy()
        elif isinstance(value, dict):
            for each in value.values():
                yield from arrays(each, seen)
        elif isinstance(value, list | tuple):
            for each in value:
                yield from arrays(each, seen)
        elif hasattr(value, "__dict__"):
            yield from arrays(vars(value), seen)

    for fitted in (
        path,
        path.best(max_share=0.5),
        FairRegressor(1.0, predictor="mlp", optimizer=Adam(steps=20), random_state=0).fit(x, y, sensitive_features=a),
    ):
        found = list(arrays(fitted, set()))
        assert len(found) > 5
        assert not [each.shape for each in found if len(wanted[1]) in each.shape]


def test_plot_returns_a_display(path):
    display = path.plot()
    assert len(display.frame()) == len(path.front_)
    assert display.ax_.get_xlabel()


@pytest.mark.parametrize("combiner", [Best(), Stacked(ridge=0.01)])
def test_any_penalty_and_either_combiner(table, combiner):
    x, y, a = table
    solver = PenaltyGrid.over(LinearR2(), (0.0, 1.0, 10.0))
    settings = QUICK | {"solver": solver, "combiner": combiner, "predictor": "linear"}
    path = FairnessPath(**settings).fit(x, y, sensitive_features=a)
    assert set(path.candidates_["family"]) == {"r2"}
    members = path.front_["members"]
    assert (members == 1).all() if isinstance(combiner, Best) else members.max() > 1


@pytest.mark.parametrize("solver", ["fbo_closed", "gdp"])
def test_names_of_penalties_are_solvers(table, solver):
    x, y, a = table
    settings = QUICK | {"solver": solver, "optimizer": Adam(0.05, steps=20), "predictor": "linear"}
    path = FairnessPath(**settings).fit(x[:200], y[:200], sensitive_features=a[:200])
    assert set(path.candidates_["family"]) == {solver}


def test_many_rows_have_sets_of_their_own(monkeypatch):
    monkeypatch.setattr("fairlevel.estimators.path_fit.ONE_SPLIT_FROM", 8000)  # of 40,000
    random = np.random.default_rng(0)
    rows = 8200
    a = random.standard_normal((rows, 1))
    x = np.c_[a + random.standard_normal((rows, 1)), random.standard_normal((rows, 2))]
    y = x[:, 0] + x[:, 1] + 0.1 * random.standard_normal(rows)
    path = FairnessPath(**QUICK | {"predictor": "linear"}).fit(x, y, sensitive_features=a)
    assert not path.cross_fitted_
    budget = 0.25
    fresh = random.standard_normal((20_000, 1))
    fresh_x = np.c_[fresh + random.standard_normal((20_000, 1)), random.standard_normal((20_000, 2))]
    slope = np.polyfit(fresh[:, 0], path.best(max_dpvar=budget).predict(fresh_x), 1)[0]
    assert 0.15 < slope**2 < 0.27  # DPVar of a prediction that is linear in A


def test_constraint_mode_of_the_regressor(refitted, table):
    """The clone is the regressor that a user writes with a budget."""
    settings = {name: QUICK[name] for name in ("optimizer", "device", "random_state")}
    model = FairRegressor(max_share=0.1, penalty="spectral", **settings)
    assert repr(model.get_params()) == repr(refitted.get_params())
    assert refitted.dpvar_ / refitted.predict(table[0]).var() < 0.2
    assert not hasattr(refitted, "weight_")


def test_a_budget_out_of_reach_names_the_smallest(path):
    with pytest.raises(InvalidInput, match=r"max_dpvar=0.001 is out of reach: the smallest value on unseen rows is"):
        path.best(max_dpvar=0.001)


def test_attributes_that_explain_nothing_leave_one_point(table):
    x, y, _ = table
    noise = np.random.default_rng(0).standard_normal((442, 1))
    with pytest.warns(AlreadyLevel, match="the front is that one model"):
        path = FairnessPath(**QUICK).fit(x, y, sensitive_features=noise)
    assert len(path.front_) == 1
    assert path.predict(x).shape == (442,)
    page = front_page(path, "progression")
    assert page.headlines[0].tone == "good"
    assert "no difference" in page.summary
    assert "moves by" not in page.summary


@pytest.mark.parametrize("seed", [2, 4])
def test_the_most_accurate_model_has_no_budget_in_any_fold(seed):
    """Without disparity, folds were held to the DPVar of all rows, about zero: errors of 1.98 and 2.12."""
    random = np.random.default_rng(seed)
    x, a = random.standard_normal((300, 4)), random.standard_normal(300)
    y = x @ [2, 1, 1, 1] + random.standard_normal(300)
    path = FairnessPath("spectral", predictor="linear", optimizer=Adam(0.05, steps=80), random_state=0, max_share=0.3)
    with pytest.warns(AlreadyLevel):
        path.fit(x, y, sensitive_features=a)
    plain = np.mean((cross_val_predict(LinearRegression(), x, y, cv=3) - y) ** 2)
    assert path.front_["mse"].iloc[-1] == pytest.approx(plain, rel=0.1)
    assert path.budget_index_ == len(path.front_) - 1 == 0  # it is within the budget itself


def test_a_front_without_a_bend_has_its_knee_at_the_most_accurate_model():
    bent, straight = ([[9.0, 0.0], [3.0, 1.0], [1.0, 4.0]], [[9.0, 0.0], [8.0, 2.0], [1.0, 4.0]])
    found = [knee_index(pd.DataFrame(points, columns=["mse", "dpvar"])) for points in (bent, straight)]
    assert found == [1, 2]


def test_a_constant_target_has_no_r2():
    """Weights that sum to 1 up to rounding left it a variance: R² was 1."""
    x, a = np.random.default_rng(0).standard_normal((2, 90, 2))
    with pytest.warns(AlreadyLevel):
        path = FairnessPath(**QUICK, predictor="linear").fit(x, np.full(90, 5.1), sensitive_features=a)
    assert path.front_["r2"].isna().all()
    np.testing.assert_allclose(path.predict(x), 5.1)


def test_bad_input(path, table):
    x, y, a = table
    with pytest.raises(MissingSensitiveFeatures, match=r"fit\(X, y, sensitive_features=A\)"):
        FairnessPath().fit(x, y)
    with pytest.raises(InvalidInput, match="at least 60"):
        FairnessPath().fit(x[:30], y[:30], sensitive_features=a[:30])
    with pytest.raises(UnknownName, match="Did you mean 'spectral'"):
        FairnessPath(solver="spectrum").fit(x, y, sensitive_features=a)
    with pytest.raises(InvalidType, match=r"Stacked\(\) or Best\(\)"):
        FairnessPath(combiner="stacked").fit(x, y, sensitive_features=a)
    with pytest.raises(InvalidType, match="is a class"):
        FairnessPath(solver=PenaltyGrid).fit(x, y, sensitive_features=a)
    with pytest.raises(InvalidInput, match="No budget"):
        path.best()
    with pytest.raises(InvalidInput, match="given together"):
        path.best(max_dpvar=1.0, max_share=0.1)
    with pytest.raises(InvalidInput, match="given together"):
        FairRegressor(weight=1.0, max_dpvar=1.0).fit(x, y, sensitive_features=a)
    with pytest.raises(InvalidInput, match="need a budget to choose by"):
        FairRegressor(penalty="auto").fit(x, y, sensitive_features=a)


class Interrupted:
    """A solver during which somebody presses Ctrl-C."""

    def possible(self, rows, setup):
        return True

    def train(self, rows, setup, limits, report):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "estimator", [FairnessPath(solver=Interrupted()), FairRegressor(max_share=0.1, penalty=Interrupted())]
)
def test_an_interrupted_fit_is_no_fit(table, estimator):
    x, y, a = table
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(x, y, sensitive_features=a)
    with pytest.raises(NotFittedError):
        estimator.predict(x)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_default_path_trains_on_a_gpu(table):
    x, y, a = table
    path = FairnessPath(device="cuda", random_state=0).fit(x, y, sensitive_features=a)
    assert path.front_["mse"].iloc[-1] < path.front_["mse"].iloc[0] < y.var(ddof=0)
    assert np.isfinite(path.best(max_share=0.05).predict(x)).all()


def test_every_row_is_judged_up_to_many_rows(monkeypatch):
    monkeypatch.setattr("fairlevel.estimators.path_fit.TWO_FOLDS_FROM", 1000)  # of 8000
    random = np.random.default_rng(0)
    a = random.standard_normal((1000, 1))
    x = np.c_[a + random.standard_normal((1000, 1)), random.standard_normal((1000, 1))]
    y = x.sum(axis=1) + random.standard_normal(1000)
    path = FairnessPath(**QUICK | {"predictor": "linear"}).fit(x, y, sensitive_features=a)
    assert path.cross_fitted_
    assert "all 1,000 rows" in str(path.provenance())


def counts_with_heavy_tails(rows, columns):
    """Counts that eight factors move, with some thousand times the median; y and A depend on the same factors."""
    random = np.random.default_rng(2)
    factors = random.standard_normal((rows, 8))
    rate = np.exp(factors @ random.standard_normal((8, columns)) * 0.3 + random.standard_normal(columns))
    y = factors[:, 0] + factors[:, 1] + np.exp(0.5 * factors[:, 2]) + 0.3 * random.standard_normal(rows)
    return random.poisson(rate).astype(float), y, factors[:, 0] + 0.5 * random.standard_normal(rows)


@pytest.mark.parametrize(
    ("solver", "predictor"),
    [(auto_of_few_trees(), None), ("spectral", "linear"), ("spectral", "random_features"), ("auto", "linear")],
)
def test_as_many_columns_as_rows_claim_what_new_rows_show(solver, predictor):
    """A linear candidate without a ridge claimed an R² of .85 and erred 1.2 to 8 times the variance of y on new rows,
    once it was refitted on as many rows as there are columns.
    """
    x, y, a = counts_with_heavy_tails(682, 285)
    seen, new = slice(0, 282), slice(282, None)
    path = FairnessPath(solver=solver, predictor=predictor, optimizer=Adam(0.02, steps=80), random_state=0)
    path.fit(x[seen], y[seen], sensitive_features=a[seen])
    for row in (-1, path.knee_index_):
        claimed = path.front_["mse"].iloc[row]
        assert ((path.model(row).predict(x[new]) - y[new]) ** 2).mean() < 1.5 * claimed
    assert path.front_["r2"].iloc[-1] > 0.5
