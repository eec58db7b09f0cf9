import pickle
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlevel import ITD, ClosedFBO, FairClassifier, FairRegressor, RidgeMean, SplineMean, dpvar
from fairlevel.candidates import PenaltyGrid
from fairlevel.candidates.fitting import fitted_on_all_rows
from fairlevel.candidates.protocol import Recipe
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.estimators.feature_rows import read_rows
from fairlevel.estimators.reading import read_table
from fairlevel.estimators.settings import NO_LIMITS, draw_seed, training_setup
from fairlevel.exceptions import (
    Diverged,
    FairLevelError,
    InvalidInput,
    MissingSensitiveFeatures,
    NoSensitiveFeatures,
    ProxyWarning,
)
from fairlevel.fronts.combiners import Best
from fairlevel.metrics.scorers import fair_scorer
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.penalties import NAMES
from fairlevel.predictors import PREDICTORS, WITH_NETWORKS, Boosting, RandomFeatures
from tests.contracts.penalty_cases import quick_penalty

QUICK = Adam(0.02, steps=120)
FEW = Adam(0.06, steps=40)
BESIDE = Adam(0.035, steps=55)
"""For a mean that is trained beside, which has to follow."""
LINEAR = {"predictor": "linear", "optimizer": QUICK, "validation_fraction": None, "random_state": 0}
"""One training on all rows."""
TREES = Boosting(rounds=40, learning_rate=0.15)
"""The default predictor with few rounds."""
SMALL = {"boosting": TREES, "mlp": MLP(hidden=(16,)), "random_features": RandomFeatures(features=50)}


@pytest.fixture(scope="module")
def table():
    rows = SyntheticDesign(beta_int=1.0).sample(500, seed=0).to_frame()
    return rows.filter(regex="^x"), rows["y"], rows.filter(regex="^a")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def without_weight():
    """Fits of weight 0: penalties that train on the same rows share them, which their contract promises."""
    return {}


@pytest.mark.parametrize(
    ("penalty", "predictor"),
    list(product(sorted(NAMES), sorted((*PREDICTORS, *WITH_NETWORKS)))),
)
def test_more_weight_means_less_disparity(table, without_weight, penalty, predictor):
    beside = penalty in ("fbo", "itd")
    x, y, a = table if beside else (part[:300] for part in table)
    weight = {"hsic": 1000.0, "hsic_features": 1000.0, "gdp": 30.0}.get(penalty, 10.0)  # each on a scale of its own
    predictor = SMALL.get(predictor, predictor)
    optimizer = BESIDE if beside else FEW
    same = predictor, optimizer, beside
    settings = {"optimizer": optimizer, "validation_fraction": 0.2, "random_state": 0}
    model = FairRegressor(weight, penalty=quick_penalty(penalty), predictor=predictor, **settings)
    if same not in without_weight:
        without_weight[same] = clone(model).set_params(weight=0.0).fit(x, y, sensitive_features=a)
    plain, fair = without_weight[same], model.fit(x, y, sensitive_features=a)
    assert fair.dpvar_ < 0.5 * plain.dpvar_
    assert fair.mse_ > plain.mse_
    assert plain.score(x, y) > 0.35
    assert fair.n_iter_ >= 0  # 0: with so large a weight the constant may be best
    assert list(fair.trace_.columns) == ["step", "mse", "penalty"]


def test_fit_without_sensitive_features_is_plain_regression_and_says_so(table):
    """A forgotten request for metadata routing trained an ordinary model without a word."""
    x, y, _ = table
    model = FairRegressor(predictor=TREES, random_state=0)
    with pytest.warns(NoSensitiveFeatures, match="set_fit_request.*set weight=0") as warned:
        model.fit(x, y)
    assert warned[0].filename == __file__
    assert model.score(x, y) > 0.5
    assert not hasattr(model, "dpvar_")
    np.testing.assert_array_equal(clone(model).set_params(weight=0).fit(x, y).predict(x), model.predict(x))


def test_a_refit_without_sensitive_features_forgets_dpvar(table):
    x, y, a = table
    model = FairRegressor(**LINEAR).fit(x, y, sensitive_features=a)
    assert model.dpvar_ > 0
    assert not hasattr(model.set_params(weight=0).fit(x, y), "dpvar_")


def test_same_seed_same_model_other_seed_other_model(table):
    x, y, a = (part[:200] for part in table)
    first, second, other = (
        FairRegressor(predictor=Boosting(rounds=5), random_state=seed).fit(x, y, sensitive_features=a).predict(x)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_kinds_of_input_agree(table):
    x, y, a = table
    models = [
        FairRegressor(**LINEAR | {"optimizer": Adam(0.02, steps=20)}).fit(*xy, sensitive_features=attributes)
        for xy, attributes in (
            ((x, y), a),
            ((x.to_numpy(), y.to_numpy()), a.to_numpy()),
            ((pl.from_pandas(x), pl.Series(y)), pl.from_pandas(a)),
            ((pa.Table.from_pandas(x), pa.array(y)), pa.Table.from_pandas(a)),
            ((x.to_numpy().tolist(), y.tolist()), a.to_numpy().tolist()),
        )
    ]
    kinds = (x, x.to_numpy(), pl.from_pandas(x), pa.Table.from_pandas(x), x.to_numpy().tolist())
    for model, given in zip(models, kinds, strict=True):
        np.testing.assert_allclose(model.predict(given), models[0].predict(x), rtol=1e-10)
    for model in (models[2], models[3]):
        assert list(model.feature_names_in_) == list(x.columns)


def test_categorical_sensitive_columns(table):
    x, y, a = table
    region = pd.Series(np.where(a["a1"] > 0, "north", "south"), name="region", dtype="category")
    mixed = pd.DataFrame({"region": region, "age": a["a2"], "member": a["a3"] > 0})
    plain, fair = (
        FairRegressor(weight=w, predictor=TREES, validation_fraction=0.2, random_state=0).fit(
            x, y, sensitive_features=mixed
        )
        for w in (0.0, 20.0)
    )
    gap = [np.ptp(pd.Series(model.predict(x)).groupby(region, observed=True).mean()) for model in (plain, fair)]
    assert gap[1] < 0.3 * gap[0]


def test_reordered_columns_predict_the_same_and_missing_ones_are_named(table):
    x, y, _ = table
    model = FairRegressor(0, **LINEAR).fit(x, y)
    assert np.array_equal(model.predict(x[x.columns[::-1]]), model.predict(x))
    with pytest.raises(FairLevelError, match="'x3'"):
        model.predict(x.drop(columns="x3"))


def test_pickle_and_clone(table):
    x, y, a = (part[:200] for part in table)
    model = FairRegressor(weight=3.0, penalty=ITD(steps=2), predictor=Boosting(rounds=5), random_state=0).fit(
        x, y, sensitive_features=a
    )
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))
    again = clone(model)
    assert again.penalty == ITD(steps=2)
    assert np.array_equal(again.fit(x, y, sensitive_features=a).predict(x), model.predict(x))


@pytest.mark.usefixtures("routing")
def test_grid_search_over_weight_with_routed_attributes(table):
    x, y, a = table
    settings = {"optimizer": FEW, "validation_fraction": 0.2, "random_state": 0}
    estimator = FairRegressor(predictor="linear", **settings).set_fit_request(sensitive_features=True)
    scorer = fair_scorer(zeta=5.0).set_score_request(sensitive_features=True)
    search = GridSearchCV(estimator, {"weight": [0.0, 5.0]}, scoring=scorer, cv=2)
    search.fit(x, y, sensitive_features=a)
    assert search.best_params_["weight"] > 0  # ζ = 5 pays for some levelling
    accurate = GridSearchCV(estimator, {"weight": [0.0, 5.0]}, cv=2).fit(x, y, sensitive_features=a)
    assert accurate.best_params_["weight"] == 0


@pytest.mark.usefixtures("routing")
def test_pipeline_routes_attributes(table):
    x, y, a = table
    estimator = FairRegressor(weight=10.0, **LINEAR)
    pipeline = make_pipeline(StandardScaler(), estimator.set_fit_request(sensitive_features=True))
    fair = dpvar(y, pipeline.fit(x, y, sensitive_features=a).predict(x), sensitive_features=a)
    plain = dpvar(y, clone(estimator).set_params(weight=0).fit(x, y).predict(x), sensitive_features=a)
    assert fair < 0.5 * plain
    assert len(cross_val_score(pipeline, x, y, params={"sensitive_features": a}, cv=2)) == 2


def test_grid_of_weights_equals_single_fits(table):
    x, y, a = table
    settings = {"predictor": "mlp", "validation_fraction": None, "optimizer": Adam(0.01, steps=10), "random_state": 0}
    estimator, weights = FairRegressor(**settings), (0.0, 0.5, 2.0, 8.0, 30.0)
    rows = read_table(read_rows(clone(estimator), x, y), a)
    setup = training_setup("mlp", estimator.optimizer, "auto", draw_seed(0))
    grid = PenaltyGrid.over(ClosedFBO(), weights)
    together = fitted_on_all_rows(rows, Recipe(grid, setup, NO_LIMITS), None, lambda share: None)
    for weight, proportions in zip(weights, np.eye(len(weights)), strict=True):
        alone = clone(estimator).set_params(weight=weight).fit(x, y, sensitive_features=a)
        np.testing.assert_allclose(alone.predict(x), together.model(proportions).predict(rows.x), rtol=1e-3)


def test_units_of_y_do_not_change_the_trade_off(table):
    x, y, a = table
    settings = {"weight": 2.0, "predictor": TREES, "validation_fraction": 0.2, "random_state": 0}
    plain = FairRegressor(**settings).fit(x, y, sensitive_features=a)
    scaled = FairRegressor(**settings).fit(x, 1000 * y - 7, sensitive_features=a * 50 + 3)
    np.testing.assert_allclose(scaled.predict(x), 1000 * plain.predict(x) - 7, rtol=1e-3, atol=10)
    assert scaled.dpvar_ == pytest.approx(1e6 * plain.dpvar_, rel=1e-2)


def test_copies_of_sensitive_columns_are_pointed_out(table):
    x, y, a = table
    leaky = x.assign(birth_year=2000 - 3 * a["a1"])
    with pytest.warns(ProxyWarning, match="birth_year ~ a1"):
        FairRegressor(**LINEAR).fit(leaky, y, sensitive_features=a)


@pytest.mark.parametrize("predictor", sorted((*PREDICTORS, *WITH_NETWORKS)))
def test_constant_target_is_predicted_exactly(table, predictor):
    x, _, a = table
    model = FairRegressor(predictor=predictor, optimizer=Adam(steps=15))
    model.fit(x, np.full(500, 3.7), sensitive_features=a)
    assert (model.predict(x) == 3.7).all()
    assert model.dpvar_ == 0


def test_constant_features_are_ignored(table):
    x, y, a = table
    model = FairRegressor(**LINEAR).fit(x.assign(one=1.0), y, sensitive_features=a)
    np.testing.assert_allclose(model.predict(x.assign(one=99.0)), model.predict(x.assign(one=1.0)), rtol=1e-9)


def test_early_stopping_on_a_small_table():
    x, y = load_diabetes(return_X_y=True)
    scores = {}
    for fraction in (None, 0.25):
        model = FairRegressor(0, predictor=Boosting(rounds=500), validation_fraction=fraction, random_state=0)
        model.fit(x[:300], y[:300])
        scores[fraction] = model.score(x[300:], y[300:])
    assert scores[0.25] > scores[None]
    assert scores[0.25] > 0.3


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"combiner": Best()}, "combiner=Best"),
        ({"max_share": 0.1, "validation_fraction": 0.2}, "holds out rows of its own"),
    ],
)
def test_parameters_that_would_change_nothing_are_refused(table, settings, sentence):
    x, y, a = table
    with pytest.raises(InvalidInput, match=sentence):
        FairRegressor(**settings).fit(x, y, sensitive_features=a)


def test_a_budget_is_met(table):
    x, y, a = table
    settings = {"predictor": "linear", "optimizer": FEW, "random_state": 0}
    plain = FairRegressor(weight=0.0, **settings).fit(x, y, sensitive_features=a)
    model = FairRegressor(max_dpvar=0.3 * plain.dpvar_, **settings).fit(x, y, sensitive_features=a)
    assert 0.05 * plain.dpvar_ < model.dpvar_ < 0.5 * plain.dpvar_
    assert plain.mse_ < model.mse_ < np.var(y)
    by_share = FairRegressor(max_share=0.08, **settings).fit(x, y, sensitive_features=a)
    assert by_share.dpvar_ / np.var(by_share.predict(x)) < 0.15


def test_divergence_is_an_error_for_one_model(table):
    x, y, a = table
    with pytest.raises(Diverged, match="lower the step size"):
        FairRegressor(1.0, predictor="mlp", optimizer=GradientDescent(1e6, steps=30)).fit(x, y, sensitive_features=a)


def bad(x, y, a):
    """case -> (estimator, X, y, A, part of the sentence)."""
    x_nan, y_nan = x.copy(), y.copy()
    x_nan.loc[3, "x2"], y_nan[5] = np.nan, np.inf
    fair = FairRegressor(weight=1.0, predictor="mlp", optimizer=QUICK)
    return {
        "NaN in X": (fair, x_nan, y, a, "X holds 1 missing .* column 'x2'.*SimpleImputer"),
        "inf in X": (fair, x_nan.fillna(np.inf), y, a, "1 infinite"),
        "inf in y": (fair, x, y_nan, a, "y holds 0 missing .* and 1 infinite"),
        "lengths of X and A": (fair, x, y, a[:100], "100 rows but X and y have 500"),
        "lengths of X and y": (fair, x, y[:100], a, "inconsistent numbers of samples"),
        "one row": (fair, x[:1], y[:1], a[:1], "minimum of 2"),
        "no A": (fair, x, y, None, r"weight=1 asks for fairness.*sensitive_features=A.*weight=0"),
        "empty A": (fair, x, y, a.iloc[:, :0], "at least one row and one column"),
        "3-d A": (fair, x, y, np.zeros((500, 2, 2)), "3 dimensions"),
        "objects in A": (fair, x, y, np.array([{}] * 500, dtype=object), "dict objects"),
        "text in X": (fair, x.assign(city="Paris"), y, a, "'city'.*TableEncoder"),
        "text array": (fair, x.astype(str).to_numpy(), y, a, "OneHotEncoder"),
        "unknown penalty": (FairRegressor(penalty="fbo_close"), x, y, a, "Did you mean 'fbo_closed'"),
        "penalty class": (FairRegressor(penalty=ClosedFBO), x, y, a, r"ClosedFBO\(\)"),
        "unknown predictor": (
            FairRegressor(predictor="forest"),
            x,
            y,
            a,
            "Known: boosting, linear, mlp",
        ),
        "unknown optimizer": (FairRegressor(optimizer="sgd"), x, y, a, "Known: adam, gd"),
        "unknown device": (FairRegressor(device="tpu"), x, y, a, "Known: auto, cpu, cuda"),
        "negative weight": (FairRegressor(weight=-1), x, y, a, "weight=-1"),
        "NaN weight": (FairRegressor(weight=float("nan")), x, y, a, "weight=nan"),
        "text weight": (FairRegressor(weight="strong"), x, y, a, "weight='strong'"),
        "weight and budget": (FairRegressor(weight=1.0, max_dpvar=0.1), x, y, a, "weight=1.0 and max_dpvar=0.1"),
        "two budgets": (FairRegressor(max_share=0.1, max_dpvar=0.1), x, y, a, "max_dpvar=0.1 and max_share=0.1"),
        "budget of zero": (FairRegressor(max_dpvar=0.0), x, y, a, "max_dpvar=0.0"),
        "budget without A": (FairRegressor(max_dpvar=0.1), x, y, None, "max_dpvar=0.1 asks for fairness"),
        "validation fraction": (FairRegressor(validation_fraction=1.5), x, y, a, "validation_fraction=1.5"),
    }


@pytest.mark.parametrize(
    "case", sorted(bad(*[pd.DataFrame(np.ones((500, 5)), columns=[f"{c}{k}" for k in range(5)]) for c in "xya"]))
)
def test_bad_input_is_refused_in_one_sentence(table, case):
    estimator, x, y, a, sentence = bad(*table)[case]
    with pytest.raises((FairLevelError, ValueError), match=sentence):
        estimator.fit(x, y, sensitive_features=a)


def test_the_same_labels_in_another_order_are_refused(table):
    x, y, a = table
    with pytest.raises(FairLevelError, match="matched by position"):
        FairRegressor(weight=1.0, optimizer=QUICK).fit(x, y, sensitive_features=a.sample(frac=1, random_state=0))
    with pytest.raises(FairLevelError, match="matched by position"):
        dpvar(None, y, sensitive_features=a.sample(frac=1, random_state=0))
    assert np.isfinite(dpvar(None, y.reset_index(drop=True), sensitive_features=a.set_axis(range(1000, 1500))))


def test_missing_sensitive_features_is_also_a_value_error(table):
    x, y, _ = table
    with pytest.raises(ValueError, match="set_fit_request"):
        FairRegressor(weight=1.0).fit(x, y)
    assert issubclass(MissingSensitiveFeatures, ValueError)


def test_penalty_objects_take_other_conditional_means(table):
    x, y, a = table
    settings = LINEAR | {"predictor": MLP(hidden=(16,))}
    plain = FairRegressor(weight=0.0, **settings).fit(x, y, sensitive_features=a)
    for mean in (RidgeMean(ridge=0.0), SplineMean()):
        fair = FairRegressor(weight=20.0, penalty=ClosedFBO(mean=mean), **settings).fit(x, y, sensitive_features=a)
        assert fair.dpvar_ < 0.3 * plain.dpvar_


def test_more_attributes_than_rows_are_refused(random):
    x, y, a = random.standard_normal((40, 3)), random.standard_normal(40), random.standard_normal((40, 45))
    with pytest.raises(FairLevelError, match=r"45 columns .* for 40 training rows"):
        FairRegressor().fit(x, y, sensitive_features=a)


@pytest.mark.parametrize("estimator", [FairRegressor, FairClassifier])
def test_settings_that_are_gone_say_what_to_use(estimator):
    with pytest.raises(TypeError, match=rf"{estimator.__name__}\(batch_size=\) is gone .*DPVarPenalty"):
        estimator(batch_size=100)
    with pytest.raises(TypeError, match="unexpected keyword argument 'batchsize'"):
        estimator(batchsize=100)
