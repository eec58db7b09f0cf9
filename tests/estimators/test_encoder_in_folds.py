"""Text, dates and gaps in a fit: the encoder is learnt from the rows that train; new categories of a fold are new."""

import warnings

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairClassifier, FairnessPath, FairRegressor, load
from fairlevel.candidates import PATH_LIMITS, PenaltyGrid
from fairlevel.candidates.fitting import fitted_with_held_out
from fairlevel.candidates.protocol import Recipe
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.splitting import folds
from fairlevel.estimators import path_fit
from fairlevel.estimators.feature_rows import read_rows
from fairlevel.estimators.path_fit import evaluated_path
from fairlevel.estimators.reading import read_table
from fairlevel.estimators.settings import draw_seed, path_settings, training_setup
from fairlevel.exceptions import BudgetOutOfReach, InvalidInput, InvalidType, UnseenLevels
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import ClosedFBO
from fairlevel.predictors import Boosting

ROWS = 150
QUICK = Adam(0.05, steps=40)


@pytest.fixture(scope="module")
def mixed():
    random = np.random.default_rng(0)
    a = random.normal(size=ROWS)
    day = random.integers(0, 900, ROWS)
    x = pd.DataFrame(
        {
            "when": (pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D")).strftime("%d/%m/%Y"),
            "town": random.choice(["a", "b", None], ROWS),
            "job": [f"job {k}" for k in random.integers(0, 60, ROWS)],
            "hours": random.normal(size=ROWS) + a,
        }
    )
    x.loc[::13, "hours"] = np.nan
    return x, day / 100 + x["hours"].fillna(0) + random.normal(size=ROWS), a


def test_folds_are_judged_by_encoders_that_have_not_seen_them(mixed, monkeypatch):
    """Against folds by hand: encode by the training rows alone, train, predict the others."""
    x, y, a = mixed
    source, seed = PenaltyGrid.over(ClosedFBO(), (0.0, 1.0)), draw_seed(0)
    setup = training_setup("linear", QUICK, "cpu", seed)
    table = read_table(read_rows(FairRegressor(), x, y, encoder=TableEncoder()), a)
    kept = {}
    monkeypatch.setattr(
        path_fit, "Evaluation", type("Stop", (), {"of": lambda *given: kept.update(given=given) or 1 / 0})
    )
    with pytest.raises(ZeroDivisionError):
        evaluated_path(table, path_settings(source, None, setup, True), lambda share: None)
    fold, expected = folds(ROWS, path_fit.FOLDS, seed), []
    for number in range(path_fit.FOLDS):
        train, judge = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        encoder = TableEncoder().fit(x.iloc[train])
        part = read_table(read_rows(FairRegressor(), encoder.transform(x.iloc[train]), y[train]), a[train])
        fitted = fitted_with_held_out(
            part, Recipe(source, setup, PATH_LIMITS), path_fit.EARLY_STOPPING, lambda share: None
        )
        assert not x["job"].iloc[judge].dropna().isin(x["job"].iloc[train]).all()  # or nothing was shown
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevels)
            expected.append(fitted.predict(encoder.transform(x.iloc[judge])))
    np.testing.assert_allclose(kept["given"][0], np.concatenate(expected, axis=1), rtol=1e-6, atol=1e-6)


def test_models_take_the_table_as_it_is_after_saving(mixed, tmp_path):
    x, y, a = mixed
    settings = {"predictor": "linear", "optimizer": QUICK, "validation_fraction": None, "random_state": 0}
    regressor = FairRegressor(1.0, encoder=TableEncoder(), **settings)
    classifier = FairClassifier(1.0, encoder=TableEncoder(), **settings)
    regressor.fit(x, y, sensitive_features=a).save(tmp_path / "r")
    classifier.fit(x, np.where(y > y.mean(), "high", "low"), sensitive_features=a).save(tmp_path / "c")
    again = load(tmp_path / "r")
    np.testing.assert_array_equal(again.predict(x.assign(more=1)[["more", *x]]), regressor.predict(x))
    assert repr(again.get_params()["encoder"]) == "TableEncoder()"
    np.testing.assert_array_equal(load(tmp_path / "c").predict_proba(x), classifier.predict_proba(x))
    regressor.to_onnx(tmp_path / "r.onnx")
    encoded = TableEncoder().fit_transform(x)
    plain = FairRegressor(1.0, **settings).fit(encoded, y, sensitive_features=a)
    np.testing.assert_allclose(plain.predict(encoded), regressor.predict(x), rtol=1e-6)
    with pytest.raises(InvalidType, match="TableEncoder"):
        FairRegressor(1.0, encoder="table").fit(x, y, sensitive_features=a)


def test_text_dates_are_dates_for_boosting(mixed):
    x, y, _ = mixed
    trees = Boosting(rounds=40)
    model = FairRegressor(0.0, predictor=trees, random_state=0).fit(x[["when", "hours"]], y)
    assert model.native_columns_.categorical == ()
    as_dates = x[["when", "hours"]].assign(when=pd.to_datetime(x["when"], dayfirst=True))
    plain = FairRegressor(0.0, predictor=trees, random_state=0).fit(as_dates, y)
    np.testing.assert_array_equal(model.predict(x[["when", "hours"]]), plain.predict(as_dates))
    np.testing.assert_array_equal(model.predict(as_dates), plain.predict(as_dates))
    with pytest.raises(InvalidType, match=r"'when' holds 'soon' \(row 3\)"):
        model.predict(as_dates.assign(when=["2020-01-01", "2020-01-02", "soon"] * 50))
    ambiguous = x[["hours"]].assign(when=[f"0{k % 9 + 1}/0{k % 8 + 1}/2020" for k in range(ROWS)])
    with pytest.raises(InvalidInput, match="day and month cannot be told apart"):
        FairRegressor(0.0).fit(ambiguous, y)


def test_a_budget_is_a_row_of_the_front(mixed, monkeypatch):
    monkeypatch.setattr(path_fit, "POINTS", 4)
    x, y, a = mixed
    settings = {
        "solver": "spectral",
        "predictor": "linear",
        "encoder": TableEncoder(),
        "optimizer": QUICK,
        "random_state": 0,
    }
    usual = FairnessPath(**settings).fit(x, y, sensitive_features=a)
    assert usual.budget_index_ is None
    share = 0.9 * float(usual.front_["share"].max())
    path = FairnessPath(**settings, max_share=share).fit(x, y, sensitive_features=a)
    assert len(path.front_) == len(usual.front_) + 1
    others = path.front_.drop(index=path.budget_index_).reset_index(drop=True)
    pd.testing.assert_frame_equal(others, usual.front_)  # the other rows stay as they are
    assert path.front_["selection_dpvar"].is_monotonic_increasing
    chosen, best = path.model(path.budget_index_), usual.best(max_share=share)
    np.testing.assert_allclose(chosen.predict(x), best.predict(x), rtol=1e-9)
    assert chosen.max_share == share
    with pytest.warns(BudgetOutOfReach, match="out of reach: the smallest value"):
        none = FairnessPath(**settings, max_share=1e-9).fit(x, y, sensitive_features=a)
    assert none.budget_index_ is None
    pd.testing.assert_frame_equal(none.front_, usual.front_)
    with pytest.raises(InvalidInput, match="above 0 and at most 1"):
        FairnessPath(**settings, max_share=7).fit(None, None)
