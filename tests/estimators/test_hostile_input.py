"""Input that a fit must refuse or survive, and what a failed fit leaves behind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from fairlevel import FairClassifier, FairnessPath, FairRegressor, TableEncoder, audit, load, relevel
from fairlevel.exceptions import ClassesWarning, FairLevelError, InvalidInput, InvalidType, ProxyWarning
from fairlevel.networks.optimizers import Adam

random = np.random.default_rng(0)
X, A = random.standard_normal((150, 3)), random.standard_normal((150, 1))
X[:, 1] += A[:, 0]
Y = X[:, 0] + X[:, 1] + 0.5 * A[:, 0] + 0.2 * random.standard_normal(150)
LINEAR = {"weight": 1.0, "predictor": "linear", "optimizer": Adam(0.1, steps=30), "random_state": 0}
DATES = pd.date_range("2020-01-01", periods=150).to_numpy()


@pytest.mark.parametrize(
    ("x", "y", "a", "says"),
    [
        (1, 1e155, 1, "y holds numbers beyond"),
        (1, 1e-165, 1, "y varies by"),
        (1e155, 1, 1, "X, column 0, holds numbers beyond"),
        (1e-40, 1, 1, "X, column 0, varies by"),  # below 1e-35 LightGBM sees zeros
        (1, 1, 1e155, "sensitive_features holds 150 infinite or huge"),
        (1, 1, 1e-165, "sensitive_features, column 'a0', varies by"),
    ],
)
def test_extreme_units_are_refused_with_a_sentence(x, y, a, says):
    with pytest.raises(InvalidInput, match=says):
        FairRegressor(**LINEAR).fit(X * x, Y * y, sensitive_features=A * a)


@pytest.mark.parametrize(("x", "y", "a"), [(1e140, 1e140, 1e140), (1e-25, 1e-140, 1e-140)])
def test_large_and_small_units_change_nothing(x, y, a):
    here = FairRegressor(**LINEAR).fit(X, Y, sensitive_features=A)
    there = FairRegressor(**LINEAR).fit(X * x, Y * y, sensitive_features=A * a)
    np.testing.assert_allclose(there.predict(X * x) / y, here.predict(X), rtol=1e-4, atol=1e-5)
    assert there.dpvar_ == pytest.approx(here.dpvar_ * y**2, rel=1e-3)


def test_a_target_far_from_zero_has_a_disparity():
    """At 1e13 the predictions counted as constant: DPVar 0."""
    here, there = (FairRegressor(**LINEAR).fit(X, Y + shift, sensitive_features=A).dpvar_ for shift in (0.0, 1e13))
    assert there == pytest.approx(here, rel=0.01)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, np.ma.masked_array(Y, mask=Y > 1)),
        (np.ma.masked_array(X, mask=X > 1), Y),
        (X, DATES),
        (DATES[:, None], Y),
        ((DATES - DATES[0])[:, None], Y),
        (X + 1j, Y),
        (X, pl.Series(DATES)),  # polars and pyarrow name their types in their own way: these were nanoseconds
        (X, pl.Series(DATES - DATES[0])),
        (X, pa.array(DATES)),
    ],
    ids=[
        *("masked y", "masked X", "dates as y", "dates as X", "spans as X", "complex X", "dates of polars"),
        *("spans of polars", "dates of pyarrow"),
    ],
)
def test_what_is_no_number_is_refused(x, y):
    with pytest.raises(FairLevelError, match=r"masked values|dates or times|Complex data not supported"):
        FairRegressor(**LINEAR).fit(x, y, sensitive_features=A)


def test_advice_about_dates_of_polars_works():
    y = pl.Series(DATES)
    with pytest.raises(InvalidType) as caught:
        audit(y, sensitive_features=A)
    advice = (
        str(caught.value)
        .rpartition(": ")[2]
        .rstrip(".")
        .replace("y_pred", "y")
        .replace("numpy.timedelta", "np.timedelta")
    )
    np.testing.assert_array_equal(eval(advice), np.arange(150))


def test_frames_without_rows_are_refused():
    """A LazyFrame of polars ended in an AttributeError."""
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    lazy, model = frame.lazy(), FairRegressor(**LINEAR).fit(frame, Y, sensitive_features=A)
    for call in (
        lambda: FairRegressor(**LINEAR).fit(lazy, Y, sensitive_features=A),
        lambda: FairRegressor(**LINEAR, encoder=TableEncoder()).fit(lazy, Y, sensitive_features=A),
        lambda: model.predict(lazy),
        lambda: relevel(model, lazy, sensitive_features=A),
        lambda: TableEncoder().fit(lazy),
    ):
        with pytest.raises(InvalidType, match=r"X is a LazyFrame, which holds no rows yet; pass X.collect\(\)"):
            call()
    with pytest.raises(InvalidType, match=r"pass sensitive_features.collect\(\)"):
        audit(Y, sensitive_features=lazy)


def test_rows_to_predict_for_that_are_too_large():
    model = FairRegressor(**LINEAR).fit(X, Y, sensitive_features=A)
    with pytest.raises(InvalidInput, match="beyond"):
        model.predict(X * 1e200)
    assert np.isfinite(model.predict(np.full((1, 3), 1e149))).all()


def broken(table, y):
    """The same columns under other names, with a target that cannot be used."""
    return table.rename(columns=str.upper), np.where(np.arange(len(y)) == 3, np.nan, y)


@pytest.mark.parametrize(
    "estimator",
    [
        FairRegressor(**LINEAR),
        FairClassifier(**LINEAR),
        FairnessPath(solver="spectral", predictor="linear", optimizer=Adam(0.1, steps=30), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_failed_refit_leaves_nothing(estimator):
    """Old weights stood under new column names, and predicted."""
    frame, target = pd.DataFrame(X, columns=["u", "v", "w"]), Y
    if isinstance(estimator, FairClassifier):
        target = (Y > 0).astype(float)
    estimator.fit(frame, target, sensitive_features=A)
    with pytest.raises(ValueError, match="missing"):
        estimator.fit(*broken(frame, target), sensitive_features=A)
    assert not [name for name in vars(estimator) if name.endswith("_")]
    for names in (frame, frame.rename(columns=str.upper)):
        with pytest.raises(NotFittedError):
            estimator.predict(names)


def test_a_refit_of_a_loaded_model_forgets_its_notes(tmp_path):
    """Notes hold the rules by which the old table was encoded."""
    model = FairRegressor(**LINEAR).fit(X, Y, sensitive_features=A)
    model.save(tmp_path / "model", notes={"encoder": "of the old table"})
    again = load(tmp_path / "model")
    assert again.notes_ == {"encoder": "of the old table"}
    assert not hasattr(again.fit(X, Y, sensitive_features=A), "notes_")


def test_warnings_name_the_line_that_called_fit():
    for x, y, kind in ((np.hstack([X, A]), Y, ProxyWarning), (X, (Y > 0).astype(float), ClassesWarning)):
        with pytest.warns(kind) as caught:
            FairRegressor(**LINEAR).fit(x, y, sensitive_features=A)
        assert [each.filename for each in caught if each.category is kind] == [__file__]


def test_advice_about_text_works():
    """Text was to be converted with .astype(float), and dates with get_dummies, which reads none."""
    frame = pd.DataFrame({"x": np.arange(80.0), "day": pd.date_range("2020-01-01", periods=80).astype(str)})
    y, a = pd.Series(["no", "yes"] * 40), np.random.default_rng(0).standard_normal(80)
    with pytest.raises(InvalidType, match=r"'day'; encode them with fairlevel\.TableEncoder, as the first step"):
        FairRegressor(predictor="linear").fit(frame, frame["x"], sensitive_features=a)
    with pytest.raises(InvalidType, match="of two classes 0 and 1, such as y_true == 'yes'"):
        audit(frame["x"], sensitive_features=a, y_true=y)
    audit(frame["x"], sensitive_features=a, y_true=y == "yes")


@pytest.mark.parametrize(
    ("estimator", "target"),
    [(FairnessPath(predictor="linear"), Y), (FairRegressor(max_share=0.1), Y), (FairClassifier(max_share=0.1), Y > 0)],
)
def test_attributes_that_never_differ_are_refused_before_training(estimator, target):
    """A front was trained, with intervals from 0 to 3.8."""
    with pytest.raises(InvalidInput, match="a single value per column"):
        estimator.fit(X, target, sensitive_features=np.ones(150))


def test_frames_with_sparse_columns_are_read_and_frames_without_columns_refused():
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = FairRegressor(**LINEAR).fit(frame, Y, sensitive_features=A).predict(frame)
    sparse = frame.astype(pd.SparseDtype(float, 0.0))
    np.testing.assert_array_equal(
        FairRegressor(**LINEAR).fit(sparse, Y, sensitive_features=A).predict(sparse), expected
    )
    with pytest.raises(InvalidInput, match="X has no columns"):
        FairRegressor(**LINEAR).fit(frame[[]], Y, sensitive_features=A)
