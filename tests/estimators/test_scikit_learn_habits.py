"""What users of scikit-learn expect: sparse X, n_jobs, routing, clones, names of columns."""

from itertools import islice

import numpy as np
import onnx
import pandas as pd
import pytest
import sklearn
import torch
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import accuracy_score, get_scorer, roc_auc_score
from sklearn.model_selection import KFold, cross_validate
from sklearn.utils.estimator_checks import _NotAnArray, check_estimator

from fairlevel import FairClassifier, FairnessPath, FairRegressor, dpvar, relevel
from fairlevel.candidates import PenaltyGrid
from fairlevel.data import features
from fairlevel.exceptions import InvalidInput, InvalidType, UnusedOptimizer
from fairlevel.fronts.combiners import Best
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import LinearR2
from fairlevel.predictors import Boosting
from fairlevel.threads import use_threads

pytestmark = pytest.mark.filterwarnings("ignore::fairlevel.exceptions.AlreadyLevel")  # of paths of two candidates

random = np.random.default_rng(0)
A = random.standard_normal((120, 1))
X = np.where(random.random((120, 3)) < 0.3, 0.0, random.standard_normal((120, 3)) + 2 * A)
Y = X[:, 0] + X[:, 1] + A[:, 0] + 0.2 * random.standard_normal(120)
FEW = Boosting(rounds=8)
SMALL = {
    "solver": PenaltyGrid.over(LinearR2(), (0.0, 3.0)),
    "combiner": Best(),
    "predictor": "linear",
    "optimizer": Adam(0.1, steps=15),
    "random_state": 0,
}


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("predictor", [FEW, "linear"])
def test_sparse_features_are_those_of_the_array(kind, predictor):
    settings = {"predictor": predictor, "optimizer": Adam(steps=5), "random_state": 0}
    here = FairRegressor(**settings).fit(X, Y, sensitive_features=A)
    there = FairRegressor(**settings).fit(kind(X), Y, sensitive_features=A)
    np.testing.assert_array_equal(here.predict(X), there.predict(kind(X)))


def test_sparse_features_of_a_path_and_of_a_model_that_exists():
    here, there = (FairnessPath(**SMALL).fit(x, Y, sensitive_features=A) for x in (X, sparse.csr_array(X)))
    pd.testing.assert_frame_equal(here.front_, there.front_)
    forest = RandomForestRegressor(5, random_state=0).fit(X[:60], Y[:60])
    here, there = (relevel(forest, x[60:], sensitive_features=A[60:], y=Y[60:]) for x in (X, sparse.csr_array(X)))
    pd.testing.assert_frame_equal(here.front_, there.front_)


def test_sparse_input_that_is_refused_says_what_to_type(monkeypatch):
    with pytest.raises(InvalidType, match=r"sensitive_features is a sparse matrix.*sensitive_features\.toarray\(\)"):
        dpvar(None, Y, sensitive_features=sparse.csr_array(A))
    monkeypatch.setattr(features, "MOST_DENSE", 100)
    with pytest.raises(InvalidInput, match=r"120 rows and 3 columns, too large.*X\.toarray\(\)"):
        FairRegressor(predictor=FEW).fit(sparse.csr_array(X), Y, sensitive_features=A)


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 3), (2, 2), (-1, None)])
def test_n_jobs_sets_threads_for_the_fit_alone(n_jobs, threads, monkeypatch):
    seen = []
    monkeypatch.setattr("fairlevel.threads.cores", lambda: 8)
    monkeypatch.setattr(
        Boosting,
        "prepare",
        lambda self, *arguments, prepare=Boosting.prepare: (
            seen.append(torch.get_num_threads()) or prepare(self, *arguments)
        ),
    )
    with use_threads(3):
        FairRegressor(predictor=FEW, n_jobs=n_jobs, random_state=0).fit(X, Y, sensitive_features=A)
        assert torch.get_num_threads() == 3
    assert set(seen) == {threads or 8}


@pytest.mark.parametrize("wrong", [0, 1.5, True, "all"])
def test_n_jobs_that_is_no_number_of_threads(wrong):
    with pytest.raises(InvalidInput, match=r"n_jobs=.*-1 for all cores"):
        FairRegressor(n_jobs=wrong).fit(X, Y)


@pytest.mark.parametrize(("n_jobs", "splits"), [(None, 2), (2, 1)])
def test_a_path_in_cross_validation(n_jobs, splits):
    """In processes one split is enough: each that is given one imports PyTorch, which takes longer than the rest."""
    some = islice(KFold(2).split(X), splits)
    with sklearn.config_context(enable_metadata_routing=True):
        path = FairnessPath(**SMALL).set_fit_request(sensitive_features=True)
        found = cross_validate(
            path, X, Y, cv=some, n_jobs=n_jobs, params={"sensitive_features": A}, error_score="raise"
        )
    assert len(found["test_score"]) == splits
    assert (found["test_score"] > 0).all()


def test_a_path_predicts_within_its_budget():
    """It predicted by the knee, whatever the budget."""
    path = FairnessPath(**SMALL, max_share=0.9).fit(X, Y, sensitive_features=A)
    assert path.budget_index_ is not None
    np.testing.assert_array_equal(path.predict(X), path.model(path.budget_index_).predict(X))
    assert path.best_estimator_.max_share == 0.9
    assert path.score(X, Y) == path.best_estimator_.score(X, Y)


def test_a_path_fitted_to_two_classes_is_a_classifier():
    path = FairnessPath(**SMALL)
    assert is_regressor(path)
    assert not is_classifier(path)
    path.fit(X, Y, sensitive_features=A)
    assert is_regressor(path)
    labels = np.where(np.median(Y) < Y, "high", "low")
    path.fit(X, labels, sensitive_features=A)
    assert is_classifier(path)
    assert not is_regressor(path)
    assert path.score(X, labels) == accuracy_score(labels, path.predict(X))
    low = path.predict_proba(X)[:, 1]
    assert get_scorer("roc_auc")(path, X, labels) == pytest.approx(roc_auc_score(labels == "low", low))
    assert is_regressor(clone(path))


class PathAcrossTheFirstColumn(FairnessPath):
    """The checks of scikit-learn know no sensitive features."""

    def fit(self, X, y):
        given = getattr(X, "to_numpy", lambda: X)()
        given = given.toarray() if sparse.issparse(given) else np.asarray(given)
        a = given[:, 0] if given.ndim == 2 and given.size and given.dtype.kind != "c" else None
        return super().fit(X, y, sensitive_features=a)


@pytest.mark.study
@pytest.mark.filterwarnings("ignore")
def test_a_path_passes_the_checks_of_scikit_learn():
    expected = dict.fromkeys(
        ("check_readonly_memmap_input", "check_n_features_in", "check_fit1d", "check_fit2d_1sample"), "needs 60 rows"
    )
    results = check_estimator(PathAcrossTheFirstColumn(**SMALL), on_fail=None, expected_failed_checks=expected)
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] == "failed"}
    few = {name for name, error in failed.items() if "a path needs at least 60" in f"{error} {error.__cause__}"}
    assert not failed.keys() - few


def test_features_that_only_become_an_array():
    """scikit-learn's own check, which runs among the slow ones."""
    here = FairnessPath(**SMALL).fit(X, Y, sensitive_features=A)
    there = FairnessPath(**SMALL).fit(_NotAnArray(X), _NotAnArray(Y), sensitive_features=A)
    pd.testing.assert_frame_equal(here.front_, there.front_)


@pytest.mark.parametrize("kind", [FairRegressor, FairClassifier, FairnessPath])
def test_parameters_and_clones(kind):
    settings = {"n_jobs": 2, "predictor": "linear", "random_state": 3}
    copy = clone(kind(**settings))
    assert {name: copy.get_params()[name] for name in settings} == settings
    assert clone(copy.set_params(n_jobs=1)).n_jobs == 1


def test_columns_that_fit_did_not_see():
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    model = FairRegressor(predictor=FEW, random_state=0).fit(frame, Y, sensitive_features=A)
    assert list(model.feature_names_in_) == ["u", "v", "w"]
    more = frame.assign(id=1)
    with pytest.raises(InvalidInput, match=r"1 columns that fit did not see: 'id'; pass X\[model\.feature_names_in_\]"):
        model.predict(more)
    np.testing.assert_array_equal(model.predict(more[model.feature_names_in_]), model.predict(frame[["w", "v", "u"]]))


def test_boosting_says_that_it_has_no_optimiser():
    for model in (
        FairRegressor(predictor=FEW, optimizer="gd"),
        FairnessPath("r2", predictor=FEW, optimizer=Adam(steps=9)),
    ):
        with pytest.warns(UnusedOptimizer, match="boosting has no optimiser") as caught:
            model.fit(X, Y, sensitive_features=A)
        assert {each.filename for each in caught if each.category is UnusedOptimizer} == {__file__}


def test_a_model_within_a_budget_says_what_it_is_mixed_of():
    settings = {name: value for name, value in SMALL.items() if name != "solver"}
    classes = FairClassifier(max_share=0.9, penalty=SMALL["solver"], **settings)
    mixture = classes.fit(X, Y > 0, sensitive_features=A).mixture_
    assert list(mixture.columns) == ["family", "setting", "weight", "proportion"]
    assert mixture["proportion"].sum() == pytest.approx(1)
    assert set(mixture["weight"]) <= {0.0, 3.0}
    assert not hasattr(classes, "weight_")
    three = clone(classes).fit(X, np.digitize(Y, [-0.5, 0.5]), sensitive_features=A)
    assert set(three.mixture_["class"]) == {0, 1, 2}


def test_onnx_holds_the_names_of_features_and_classes(tmp_path):
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    model = FairClassifier(predictor=FEW, random_state=0).fit(frame, np.where(Y > 0, "yes", "no"), sensitive_features=A)
    model.to_onnx(tmp_path / "model.onnx")
    found = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert found == {"features": '["u", "v", "w"]', "classes": '["no", "yes"]'}


@pytest.mark.parametrize(
    ("y", "more", "says"),
    [
        (Y + 1j, {}, "complex"),
        (np.stack([Y, Y], axis=1)[..., None], {}, "dim 3"),
        (Y > 0, {"time": Y + 1j}, "time holds complex"),
        (Y[:0], {"groups": Y[:0]}, "no rows|one label|0 sample"),
    ],
)
def test_what_scikit_learn_or_pandas_would_refuse_is_refused_by_the_package(y, more, says):
    with pytest.raises(InvalidInput, match=says):
        FairClassifier(predictor=FEW).fit(X[: len(y)], y, sensitive_features=A[: len(y)], **more)


@pytest.mark.parametrize("x", [X[:1], X[:0], X[..., None], X[:50]], ids=["1 row", "no row", "3 axes", "other rows"])
def test_arrays_of_wrong_shapes(x):
    with pytest.raises(InvalidInput):
        FairRegressor(predictor=FEW).fit(x, Y[: len(x)] if len(x) < 50 else Y, sensitive_features=A[: len(x)])
