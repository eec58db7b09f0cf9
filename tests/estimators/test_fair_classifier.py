"""FairClassifier: probabilities that are level across sensitive attributes."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

from fairlevel import ClosedFBO, FairClassifier, FairnessPath, FairRegressor, dpvar, load
from fairlevel.candidates.penalty_grid import PenaltyGrid
from fairlevel.estimators.front_page import front_page
from fairlevel.exceptions import ClassesWarning, InvalidInput, UnknownAttributes
from fairlevel.metrics.scorers import fair_scorer
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import Boosting

TREES = Boosting(rounds=60, leaves=8)
QUICK = {"predictor": "linear", "optimizer": Adam(learning_rate=0.1, steps=120), "random_state": 0}
ALL_ROWS = QUICK | {"validation_fraction": None}
"""One training on all rows."""


@pytest.fixture(scope="module")
def rows():
    """The log-odds are x0 + x1 − 1, and a is x0 with noise."""
    random = np.random.default_rng(0)
    x = random.normal(size=(1500, 4))
    a = x[:, [0]] + 0.4 * random.normal(size=(1500, 1))
    y = random.random(1500) < 1 / (1 + np.exp(1 - x[:, 0] - x[:, 1]))
    return x, np.where(y, "yes", "no"), a


def test_without_a_penalty_it_is_logistic_regression(rows):
    x, y, _ = rows
    model = FairClassifier(0.0, **ALL_ROWS).fit(x, y)
    truth = LogisticRegression(C=np.inf, tol=1e-8).fit(x, y)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(x), truth.predict_proba(x), atol=0.01)  # of a small ridge
    assert (model.predict(x) == truth.predict(x)).mean() > 0.995
    assert model.brier_ == pytest.approx(((model.predict_proba(x)[:, 1] - (y == "yes")) ** 2).mean())
    assert not hasattr(model, "dpvar_")


def test_classes_that_are_well_apart_are_told_apart_by_default():
    """Steps ran out before a linear model got there: log-loss .31 instead of .22."""
    random = np.random.default_rng(0)
    x = random.normal(size=(500, 2))
    y = random.random(500) < 1 / (1 + np.exp(-4 * x.sum(axis=1)))
    model = FairClassifier(0.0, predictor="linear", validation_fraction=None, random_state=0).fit(x, y)
    truth = LogisticRegression(C=np.inf).fit(x, y)
    lowest = log_loss(y, truth.predict_proba(x))
    assert lowest < log_loss(y, model.predict_proba(x)) < 1.05 * lowest


@pytest.mark.parametrize("predictor", ["linear", MLP(hidden=(16,)), TREES], ids=["linear", "mlp", "boosting"])
def test_the_penalty_levels_probabilities(rows, predictor):
    x, y, a = rows
    settings = ALL_ROWS | {"predictor": predictor}
    train, test = slice(0, 1000), slice(1000, None)
    found = {}
    for weight in (0.0, 30.0):
        model = FairClassifier(weight, **settings).fit(x[train], y[train], sensitive_features=a[train])
        p = model.predict_proba(x[test])[:, 1]
        assert ((p >= 0) & (p <= 1)).all()
        found[weight] = dpvar(None, p, sensitive_features=a[test]), roc_auc_score(y[test], p)
    assert found[30.0][0] < 0.2 * found[0.0][0]
    assert found[30.0][1] > 0.6  # x1 still counts


def test_weights_have_no_unit(rows):
    """The penalty acts on standardised probabilities: it is the share of Var y, whatever the share of ones."""
    x, y, a = rows
    model = FairClassifier(2.0, penalty=ClosedFBO(), **ALL_ROWS)
    model.fit(x, y, sensitive_features=a)
    share = (y == "yes").mean()
    assert model.trace_["penalty"].iloc[-1] * share * (1 - share) == pytest.approx(model.dpvar_, rel=0.15)


def test_the_trace_is_named_by_the_loss(rows):
    x, y, a = rows
    model = FairClassifier(2.0, **ALL_ROWS).fit(x, y, sensitive_features=a)
    assert list(model.trace_.columns) == ["step", "log_loss", "penalty"]
    assert model.trace_["log_loss"].iloc[-1] == pytest.approx(log_loss(y, model.predict_proba(x)), rel=1e-5)


def test_figures_call_the_squared_error_of_probabilities_brier(rows):
    x, y, a = rows
    model = FairClassifier(2.0, **ALL_ROWS).fit(x, y, sensitive_features=a)
    p = model.predict_proba(x)[:, 1]
    assert model.figures() == {"brier": model.brier_, "dpvar": model.dpvar_}
    assert model.brier_ == pytest.approx(brier_score_loss(y, p, pos_label="yes"), rel=1e-10)
    assert not hasattr(model, "mse_")


def test_several_classes(rows, tmp_path):
    x, _, a = rows
    y = pd.cut(x[:, 0] + x[:, 1], [-np.inf, -0.5, 0.7, np.inf], labels=["low", "middle", "high"]).astype(object)
    model = FairClassifier(1.0, **ALL_ROWS | {"predictor": TREES}).fit(x, y, sensitive_features=a)
    p = model.predict_proba(x)
    assert list(model.classes_) == ["high", "low", "middle"]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.score(x, y) > 0.7
    assert len(model.dpvar_by_class_) == 3
    assert model.dpvar_ == pytest.approx(model.dpvar_by_class_.sum())
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(x), p)
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    with pytest.raises(InvalidInput, match="two classes"):
        model.to_onnx(tmp_path / "model.onnx")


def three_classes(x):
    names = np.array(["high", "low", "middle"])
    return names[np.digitize(x[:, 0] + x[:, 1], [-0.5, 0.7])]


def test_figures_of_several_classes_are_those_of_the_probabilities(rows):
    x, _, a = (each[:400] for each in rows)
    y = three_classes(x)
    model = FairClassifier(1.0, **ALL_ROWS).fit(x, y, sensitive_features=a)
    p = model.predict_proba(x)
    expected = [dpvar(None, column, sensitive_features=a) for column in p.T]
    np.testing.assert_allclose(model.dpvar_by_class_, expected, rtol=1e-6)
    truth = y[:, None] == model.classes_
    assert model.brier_ == pytest.approx(((p - truth) ** 2).mean(axis=0).sum(), rel=1e-6)


def test_figures_of_several_classes_with_weights_and_unknown_attributes(rows):
    x, _, a = (each[:400] for each in rows)
    y, known, weight = three_classes(x), np.arange(400) % 4 > 0, 1.0 + np.arange(400) % 3
    some = np.where(known[:, None], a, np.nan)
    with pytest.warns(UnknownAttributes):
        model = FairClassifier(1.0, **ALL_ROWS).fit(x, y, sensitive_features=some, sample_weight=weight)
    p = model.predict_proba(x)
    settings = {"sensitive_features": a[known], "sample_weight": weight[known]}
    expected = [dpvar(None, column, **settings) for column in p[known].T]
    np.testing.assert_allclose(model.dpvar_by_class_, expected, rtol=1e-6)
    errors = ((p - (y[:, None] == model.classes_)) ** 2).sum(axis=1)
    assert model.brier_ == pytest.approx(np.average(errors, weights=weight), rel=1e-6)
    plain = FairClassifier(0.0, **ALL_ROWS).fit(x, y)
    assert plain.brier_ > 0
    assert not hasattr(plain, "dpvar_by_class_")


def test_figures_of_several_classes_within_a_budget_are_near_those_of_new_rows(rows):
    x, _, a = rows
    y, train, test = three_classes(x), slice(0, 500), slice(500, None)
    grid = PenaltyGrid.over(ClosedFBO(), (0.0, 1.0, 10.0))
    model = FairClassifier(max_dpvar=0.05, penalty=grid, **QUICK).fit(x[train], y[train], sensitive_features=a[train])
    p = model.predict_proba(x[test])
    found = sum(dpvar(None, p[:, number], sensitive_features=a[test]) for number in range(3))
    assert model.dpvar_ == pytest.approx(found, rel=0.3)
    assert model.brier_ == pytest.approx(((p - (y[test, None] == model.classes_)) ** 2).sum(axis=1).mean(), rel=0.1)


@pytest.mark.parametrize("predictor", ["linear", TREES], ids=["linear", "boosting"])
def test_files(rows, predictor, tmp_path):
    import onnxruntime

    x, y, a = rows
    model = FairClassifier(1.0, **ALL_ROWS | {"predictor": predictor}).fit(x, y == "yes", sensitive_features=a)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, FairClassifier)
    assert again.classes_.dtype == np.bool_
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert (again.brier_, again.dpvar_) == (model.brier_, model.dpvar_)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    found = session.run(None, {"X": x[:200]})[0]
    np.testing.assert_allclose(found, model.predict_proba(x[:200])[:, 1], atol=1e-6)


def test_a_threshold_that_cannot_decide_is_refused_before_training(rows):
    x, y, a = rows
    with pytest.raises(InvalidInput, match=r"threshold=1\.5"):
        FairnessPath(threshold=1.5, **QUICK).fit(x, y, sensitive_features=a)


def test_budgets_and_paths(rows):
    x, y, a = rows
    train, test = slice(0, 1000), slice(1000, None)
    grid = PenaltyGrid.over(ClosedFBO(), (0.0, 0.3, 1.0, 3.0, 10.0))
    path = FairnessPath(grid, **QUICK).fit(x[train], y[train], sensitive_features=a[train])
    assert list(path.classes_) == ["no", "yes"]
    assert {"log_loss", "auc", "accuracy", "decision_dpvar"} <= set(path.front_)
    assert path.front_["auc"].iloc[-1] > path.front_["auc"].iloc[0]
    chooser = front_page(path, "granted").sections[0].blocks[0]
    shown = {row[0] for row in chooser.options[0].blocks[1].rows}
    assert {"log-loss", "AUC", "Brier score", "accuracy", "moves by ±", "decisions move by ±"} <= shown
    assert any(block.title.startswith("Reliability") for block in chooser.follow[:2])
    assert len(path.reliabilities()) == len(path.front_)
    assert path.reliabilities()[-1].error < 0.1
    facts = dict(path.provenance().facts())
    assert (facts["threshold"], facts["classes"], facts["rows"]) == ("0.5", "no, yes", "1,000 used")
    plain = path.model(-1).predict_proba(x[test])[:, 1]
    assert path.front_["log_loss"].iloc[-1] == pytest.approx(log_loss(y[test] == "yes", plain), rel=0.1)
    model = path.best(max_share=0.1)
    assert isinstance(model, FairClassifier)
    p = model.predict_proba(x[test])[:, 1]
    assert dpvar(None, p, sensitive_features=a[test]) / p.var() < 0.2
    assert set(path.predict(x[:50])) <= {"no", "yes"}
    assert path.predict_proba(x[:50]).shape == (50, 2)
    direct = FairClassifier(max_share=0.1, penalty=grid, **QUICK).fit(x[train], y[train], sensitive_features=a[train])
    np.testing.assert_allclose(direct.predict_proba(x[test])[:, 1], p, atol=1e-6)
    with pytest.raises(InvalidInput, match="3 classes"):
        FairnessPath(grid, **QUICK).fit(x, np.array(["a", "b", "c"])[np.arange(1500) % 3], sensitive_features=a)


@pytest.mark.parametrize("as_column", [lambda y: y[:, None], lambda y: pd.DataFrame({"y": y})], ids=["array", "frame"])
@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1]], ids=["text", "numbers"])
def test_paths_read_a_table_of_one_column_as_that_column(rows, as_column, labels):
    x, y, a = (each[:100] for each in rows)
    y = np.where(y == "yes", labels[1], labels[0])
    path = FairnessPath(PenaltyGrid.over(ClosedFBO(), (0.0, 3.0)), **QUICK | {"optimizer": Adam(0.1, steps=10)})
    with pytest.warns(DataConversionWarning):  # as FairClassifier and scikit-learn say
        path.fit(x, as_column(y), sensitive_features=a)
    assert list(path.classes_) == labels
    with pytest.raises(InvalidInput, match="3 classes"):
        path.fit(x, as_column(np.array(["a", "b", "c"])[np.arange(100) % 3]), sensitive_features=a)


def test_regression_on_classes_is_said(rows):
    x, y, a = rows
    with pytest.warns(ClassesWarning, match="FairClassifier"):
        FairRegressor(1.0, **ALL_ROWS).fit(x, (y == "yes").astype(float), sensitive_features=a)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda y: np.full(len(y), "yes"), "one class only"),
        (lambda y: np.where(np.arange(len(y)) == 3, None, y), "1 missing"),
        (lambda y: np.random.default_rng(0).normal(size=len(y)), "continuous"),
        (lambda y: np.where(y == "yes", np.array(1, dtype=object), "no"), r"different types \(int and str\)"),
    ],
)
def test_targets_that_are_no_classes(rows, change, says):
    x, y, a = rows
    with pytest.raises((ValueError, TypeError), match=says):
        FairClassifier(1.0, **QUICK).fit(x, change(y), sensitive_features=a)
    with pytest.raises(NotFittedError):
        FairClassifier().predict_proba(x)


def test_the_scorer_sees_probabilities(rows):
    x, y, a = rows
    model = FairClassifier(1.0, **ALL_ROWS).fit(x, y, sensitive_features=a)
    p = model.predict_proba(x)[:, 1]
    truth = ((p - (y == "yes")) ** 2).mean() + 2 * dpvar(None, p, sensitive_features=a)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = fair_scorer(2.0).set_score_request(sensitive_features=True)
        assert scorer(model, x, y, sensitive_features=a) == pytest.approx(-truth)


def test_dates_that_become_text_are_read_or_named(rows):
    x, y, _ = rows
    frame = pd.DataFrame(x[:100], columns=list("abcd")).assign(day=pd.Timestamp("2020-01-01"))
    model = FairClassifier(0.0, predictor=TREES, random_state=0).fit(frame, y[:100])
    np.testing.assert_array_equal(model.predict_proba(frame.assign(day="2020-01-01")), model.predict_proba(frame))
    with pytest.raises(TypeError, match=r"Column 'day' holds 'soon' \(row 1\).*dates such as '2020-02-29'"):
        model.predict_proba(frame.assign(day="soon"))


def test_other_targets_of_a_regression_are_refused(rows):
    x, y, a = rows
    with pytest.raises(TypeError, match="use FairClassifier"):
        FairRegressor(1.0, **QUICK).fit(x, y, sensitive_features=a)
    with pytest.raises(InvalidInput, match="one model for each column"):
        FairRegressor(1.0, **QUICK).fit(x, x[:, :2], sensitive_features=a)
    with pytest.raises(InvalidInput, match="no row of class 'no'"):
        FairClassifier(1.0, **QUICK).fit(x, y, sensitive_features=a, sample_weight=(y == "yes").astype(float))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::fairlevel.exceptions.NoSensitiveFeatures")
def test_every_check_of_scikit_learn_passes():
    model = FairClassifier(predictor=Boosting(rounds=3, learning_rate=1.0), validation_fraction=0.2)
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    assert sum(result["status"] == "passed" for result in results) > 40
