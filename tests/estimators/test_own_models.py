"""FairnessPath(models=[...]): own models among the candidates."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fairlevel import FairnessPath
from fairlevel.candidates.penalty_grid import PenaltyGrid
from fairlevel.data.native_columns import NativeColumns, WrittenFrame
from fairlevel.exceptions import ChangedCells, InvalidInput, InvalidType
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import ClosedFBO
from fairlevel.predictors import Boosting

QUICK = {"solver": "spectral", "predictor": "linear", "optimizer": Adam(steps=50), "random_state": 0}

CLASSES = QUICK | {"solver": PenaltyGrid.over(ClosedFBO(), (0.0, 5.0))}
"""The spectral path takes no classes."""


@pytest.fixture(scope="module")
def rows():
    """y is a step function of x0, which a forest finds and a linear model does not."""
    random = np.random.default_rng(0)
    x = random.normal(size=(500, 3))
    a = x[:, [1]] + 0.3 * random.normal(size=(500, 1))
    y = 100 + 5 * (2.0 * (x[:, 0] > 0) + x[:, 1]) + random.normal(size=500)
    return x, y, a


def share_of(path, model_name):
    """The share of an own model in the most accurate mixture."""
    chosen = path.model(-1)
    model = chosen.model_ if path.classes_ is None else chosen.models_[0]
    start = 0
    for group in model.groups:
        if group.kind == "own_models":
            inner = [own.estimator if isinstance(own, FrozenEstimator) else own for own in group.models]
            pairs = zip(inner, model.proportions[start : start + len(group)], strict=True)
            return float(sum(share for own, share in pairs if type(own).__name__ == model_name))
        start += len(group)
    return 0.0


def test_unfitted_models_are_fitted_inside_the_folds(rows):
    x, y, a = rows
    forest = RandomForestRegressor(30, min_samples_leaf=3, random_state=0)
    plain = FairnessPath(**QUICK).fit(x, y, sensitive_features=a)
    path = FairnessPath(models=[forest, DummyRegressor()], **QUICK).fit(x, y, sensitive_features=a)
    assert not hasattr(forest, "estimators_")
    assert path.front_["mse"].min() < 0.6 * plain.front_["mse"].min()
    assert share_of(path, "RandomForestRegressor") > 0.5
    assert set(path.candidates_["family"]) == {"spectral", "own model"}
    assert list(path.candidates_["predictor"][-2:]) == ["RandomForestRegressor", "DummyRegressor"]
    new = np.random.default_rng(1).normal(size=(2000, 3))
    truth = 100 + 5 * (2.0 * (new[:, 0] > 0) + new[:, 1])
    error = ((path.model(-1).predict(new) - truth) ** 2).mean() + 1
    assert error == pytest.approx(path.front_["mse"].iloc[-1], rel=0.3)  # no fold has seen its own rows


def test_models_that_memorise_gain_nothing(rows):
    """Its errors on training rows are zero; inside the folds they are not."""
    x, y, a = rows
    memory = RandomForestRegressor(10, bootstrap=False, max_features=1.0, random_state=0)
    path = FairnessPath(models=[memory], **QUICK).fit(x, y, sensitive_features=a)
    assert path.front_["mse"].min() > 0.5
    assert ((memory.fit(x, y).predict(x) - y) ** 2).mean() < 1e-20


def test_frozen_models_count_on_unseen_rows(rows):
    x, y, a = rows
    known = np.arange(500) < 250
    frozen = FrozenEstimator(RandomForestRegressor(30, random_state=0).fit(x[known], y[known]))
    path = FairnessPath(models=[frozen], **QUICK)
    with pytest.raises(InvalidInput, match="unseen=True"):
        path.fit(x, y, sensitive_features=a)
    assert clone(path).models[0].estimator is not None
    path.fit(x, y, sensitive_features=a, unseen=~known)
    honest = ((frozen.predict(x[~known]) - y[~known]) ** 2).mean()
    assert path.front_["mse"].iloc[-1] == pytest.approx(honest, rel=0.5)
    assert share_of(path, "RandomForestRegressor") > 0.3
    with pytest.raises(InvalidInput, match="unseen has type"):
        path.fit(x, y, sensitive_features=a, unseen=np.ones(3, dtype=bool))
    named = pd.Series(~known)
    with pytest.raises(InvalidInput, match="unseen has the same row labels as y, but in another order"):
        path.fit(x, pd.Series(y), sensitive_features=a, unseen=named[::-1])
    with pytest.raises(InvalidInput, match="20 unseen rows"):
        path.fit(x, y, sensitive_features=a, unseen=np.arange(500) < 20)
    with pytest.raises(InvalidInput, match="no FrozenEstimator"):
        FairnessPath(models=[Ridge()], **QUICK).fit(x, y, sensitive_features=a, unseen=True)


def test_weights_and_unseen_rows_stay_aligned(rows):
    x, y, a = rows
    weight = (np.arange(500) % 5 > 0).astype(float)
    seen = np.arange(500) < 200
    frozen = FrozenEstimator(LinearRegression().fit(x[seen], y[seen]))
    path = FairnessPath(models=[frozen], **QUICK)
    path.fit(x, y, sensitive_features=a, sample_weight=weight, unseen=~seen)
    kept = weight > 0
    other = FairnessPath(models=[frozen], **QUICK).fit(x[kept], y[kept], sensitive_features=a[kept], unseen=~seen[kept])
    np.testing.assert_allclose(path.front_["mse"], other.front_["mse"], rtol=1e-6)


def test_pipelines_get_the_frame_as_given(rows):
    x, y, a = rows
    frame = pd.DataFrame(x, columns=["u", "v", "w"]).assign(
        town=pd.Categorical(np.where(x[:, 0] > 0, "north", "south")), day=pd.Timestamp("2020-01-01", tz="UTC")
    )
    pipeline = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"]), ("passthrough", ["v"])), Ridge())
    path = FairnessPath(
        PenaltyGrid.over(ClosedFBO(), (0.0, 5.0)), predictor=Boosting(rounds=10), models=[pipeline], random_state=0
    ).fit(frame, y, sensitive_features=a)
    assert share_of(path, "Pipeline") > 0.5
    assert path.predict(frame).shape == (500,)
    with pytest.raises(InvalidInput, match=r"Pipeline.*cannot be saved"):
        path.model(-1).save("nowhere")
    with pytest.raises(InvalidInput, match="ONNX"):
        path.model(-1).to_onnx("nowhere.onnx")


def test_columns_are_restored_with_names_types_and_gaps():
    frame = pd.DataFrame(
        {
            "city": ["b", None, "a"],
            "kind": pd.Categorical(["x", "y", None], categories=["y", "x", "z"]),
            "day": pd.to_datetime(["2020-05-01 12:00", None, "2021-01-01 00:00"]),
            "count": [1, 2, 3],
            "price": [1.5, np.nan, 2.5],
            "yes": [True, False, True],
        }
    )
    native = NativeColumns.fit(frame)
    found = WrittenFrame.of(frame, native).restore(native.transform(frame))
    pd.testing.assert_frame_equal(found, frame, check_exact=False)
    array = np.ones((2, 3))
    assert WrittenFrame.of(array, None).restore(array) is array


@pytest.mark.parametrize(
    "cells",
    [
        ["1.0", "2.0", None],
        pd.Categorical(["1.0", "2.0", "1.0"]),
        ["2021-08-07T00:00:00", "2021-08-08T10:30:00", None],
        ["2021-08-07 00:00", "2021-08-08 10:30", "2021-08-08 10:31"],
        ["2021-08-07T00:00:00Z", "2021-08-08T10:30:00Z", None],
        ["2021-08", "2021-09", "2021-10"],
        ["07/08/2021", "31/08/2021", None],
        ["TRUE", "FALSE", None],
        pd.to_datetime(["2021-08-07 10:20:30.123456", None, "2021-08-08 23:59:59.999999"]),
    ],
    ids=["numbers", "categories", "seconds", "minutes", "zone", "months", "days first", "truths", "microseconds"],
)
def test_cells_are_restored_as_they_were_written(cells):
    frame = pd.DataFrame({"given": cells})
    native = NativeColumns.fit(frame)
    columns, x = WrittenFrame.of(frame, native), native.transform(frame)
    pd.testing.assert_frame_equal(columns.restore(x), frame, check_exact=True)
    pd.testing.assert_frame_equal(columns.restore(x[:1]), frame[:1], check_exact=True)  # no other row is needed
    columns.warn_of_changes(frame, x)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([2**53 + 1, 1, 2], r"'given' has 9007199254740993 in row 1, which becomes 9007199254740992"),
        (pd.array([2**53 + 1, None, 2], dtype="Int64"), r"has 9007199254740993 in row 1"),
        (["1.0", "1", "a"], r"'given' has '1' in row 2, which becomes '1.0'"),
        (["1,5", "2,25", None], r"has '1,5' in row 1, which becomes '?1\.5"),
    ],
)
def test_cells_that_cannot_be_restored_are_named(cells, says):
    frame = pd.DataFrame({"given": cells})
    native = NativeColumns.fit(frame)
    with pytest.warns(ChangedCells, match=says):
        WrittenFrame.of(frame, native).warn_of_changes(frame, native.transform(frame))


@pytest.mark.parametrize("table", [lambda frame: frame, pa.Table.from_pandas], ids=["frame", "arrow"])
def test_decimals_come_as_numbers(table):
    frame = pd.DataFrame({"price": [Decimal("1.10"), Decimal("2.25")]})
    x = np.array([[1.1], [2.25]])
    columns = WrittenFrame.of(table(frame), None)
    assert columns.restore(x)["price"].tolist() == [1.1, 2.25]
    columns.warn_of_changes(table(frame), x)


def test_frozen_pipelines_get_text_as_it_was_written(rows):
    x, y, a = rows
    code = np.where(x[:, 0] > 0, "1.0", "2.0")
    frame = pd.DataFrame({"code": code, "v": x[:, 1]}, index=np.arange(500) + 7)
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["code"]), ("passthrough", ["v"])), Ridge()
    ).fit(frame, y)
    grid = PenaltyGrid.over(ClosedFBO(), (0.0, 5.0))
    path = FairnessPath(grid, predictor=Boosting(rounds=3), models=[FrozenEstimator(pipeline)], random_state=0)
    path.fit(frame, y, sensitive_features=a, unseen=True)
    assert share_of(path, "Pipeline") > 0.9
    mixed = frame.assign(code=np.where(x[:, 2] > 0, frame["code"], frame["code"].str.removesuffix(".0")))
    with pytest.warns(ChangedCells, match="column 'code' has") as said:
        path.fit(mixed, y, sensitive_features=a, unseen=True)
    assert said[0].filename == __file__


@pytest.mark.parametrize(
    ("models", "error", "says"),
    [
        (Ridge(), InvalidType, "a list of regressors"),
        ([Ridge], InvalidType, "FrozenEstimator"),
        ([abs], InvalidType, "fit and predict"),
        ([LogisticRegression()], InvalidType, "classifier"),
    ],
)
def test_what_is_no_regressor_is_refused(rows, models, error, says):
    x, y, a = rows
    with pytest.raises(error, match=says):
        FairnessPath(models=models, **QUICK).fit(x, y, sensitive_features=a)


def test_classifiers_among_the_candidates_of_two_classes(rows):
    x, y, a = rows
    granted = np.where(y > np.median(y), "yes", "no")
    own = [RandomForestClassifier(30, min_samples_leaf=5, random_state=0), LogisticRegression()]
    path = FairnessPath(models=own, **CLASSES).fit(x, granted, sensitive_features=a)
    plain = FairnessPath(**CLASSES).fit(x, granted, sensitive_features=a)
    assert share_of(path, "RandomForestClassifier") > 0.3
    assert path.front_["log_loss"].iloc[-1] < plain.front_["log_loss"].iloc[-1]
    assert set(path.predict(x)) <= {"yes", "no"}
    with pytest.raises(InvalidType, match="no predict_proba"):
        FairnessPath(models=[RidgeClassifier()], **CLASSES).fit(x, granted, sensitive_features=a)


class SwappedClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose classes are not in their usual order."""

    def __init__(self, model):
        self.model = model

    def fit(self, x, y):
        raise NotImplementedError

    @property
    def classes_(self):
        return self.model.classes_[::-1]

    def predict(self, x):
        return self.model.predict(x)

    def predict_proba(self, x):
        return self.model.predict_proba(x)[:, ::-1]


def test_frozen_classifiers_give_the_probability_of_the_second_class(rows):
    x, y, a = rows
    granted = np.where(y > np.median(y), "yes", "no")
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(x[:250], granted[:250])
    fronts = []
    for model in (forest, SwappedClasses(forest)):
        path = FairnessPath(models=[FrozenEstimator(model)], **CLASSES)
        path.fit(x, granted, sensitive_features=a, unseen=np.arange(500) >= 250)
        assert share_of(path, type(model).__name__) > 0.3
        fronts.append(path.front_)
    pd.testing.assert_frame_equal(*fronts)


def test_frozen_classifiers_of_other_classes_are_refused(rows):
    x, y, a = rows
    default = (y > np.median(y)).astype(int)
    named = np.where(default == 1, "default", "ok")  # in this order, the reverse of the numbers
    by_number = FrozenEstimator(LogisticRegression().fit(x[:250], default[:250]))
    path = FairnessPath(models=[by_number], **CLASSES)
    with pytest.raises(InvalidInput, match=r"classes \[0, 1\], but y has the classes \['default', 'ok'\]; pass y with"):
        path.fit(x, named, sensitive_features=a, unseen=True)
    three = FrozenEstimator(LogisticRegression().fit(x[:250], np.arange(250) % 3))
    with pytest.raises(InvalidInput, match=r"classes \[0, 1, 2\], but y has"):
        FairnessPath(models=[three], **CLASSES).fit(x, default, sensitive_features=a, unseen=True)
    path.fit(x, default.astype(bool), sensitive_features=a, unseen=True)  # 0 and 1 are False and True
    with pytest.raises(InvalidInput, match="fit it before it is frozen"):
        FairnessPath(models=[FrozenEstimator(LogisticRegression())], **CLASSES).fit(
            x, default, sensitive_features=a, unseen=True
        )


def test_models_that_fail_are_named(rows):
    x, y, a = rows
    with pytest.raises(InvalidInput, match=r"Ridge in models= cannot be fitted"):
        FairnessPath(models=[Ridge(alpha=-1.0)], **QUICK).fit(x, y, sensitive_features=a)
    short = FrozenEstimator(Ridge().fit(x[:, :2], y))
    with pytest.raises(InvalidInput, match=r"Ridge in models= cannot predict"):
        FairnessPath(models=[short], **QUICK).fit(x, y, sensitive_features=a, unseen=True)
    with pytest.raises(InvalidInput, match=r"KNeighborsRegressor.fit takes none"):
        FairnessPath(models=[KNeighborsRegressor()], **QUICK).fit(
            x, y, sensitive_features=a, sample_weight=np.arange(500) + 1.0
        )
