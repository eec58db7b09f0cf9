"""Where an audit of a front's model finds more than the front, the front says so."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from fairlevel import FairnessPath, relevel
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.estimators import fairness_path
from fairlevel.estimators.path_front import seen_by_an_audit
from fairlevel.exceptions import AuditSeesMore
from fairlevel.metrics.evaluator import DPVarEvaluator

RANDOM = np.random.default_rng(0)
A = RANDOM.uniform(-1, 1, (1500, 2))
SIGNS = np.sign(np.sin(4 * np.pi * A)).prod(axis=1)  # a chessboard, which no smooth curve follows
NOISE = RANDOM.standard_normal(1500)


def test_a_shape_that_only_learnt_functions_follow_is_named():
    attributes, prediction = Attributes(A), SIGNS + 0.3 * NOISE
    (interval,) = DPVarEvaluator(attributes, 0).intervals(prediction[None])
    assert interval.share_high < 0.2
    sentence = seen_by_an_audit("knee", prediction, attributes, interval, 0)
    assert sentence.startswith("An audit of the knee sees more than this front: ")
    assert f"instead of {interval.share:.1%}" in sentence


@pytest.mark.parametrize("shape", [NOISE, A[:, 0] + NOISE, np.sin(3 * A[:, 1]) + NOISE])
def test_nothing_is_said_where_the_front_sees_it(shape):
    attributes = Attributes(A)
    (interval,) = DPVarEvaluator(attributes, 0).intervals(shape[None])
    assert seen_by_an_audit("knee", shape, attributes, interval, 0) is None


def test_fronts_say_so(monkeypatch, tmp_path):
    X = np.column_stack([A + RANDOM.normal(size=A.shape), NOISE])
    path = FairnessPath("spectral", predictor="linear", random_state=0)
    assert path.fit(X, A[:, 0] + NOISE, sensitive_features=A).seen_by_an_audit() is None
    monkeypatch.setattr(fairness_path, "seen_by_an_audit", lambda *figures: "An audit sees more.")
    with pytest.warns(AuditSeesMore, match="An audit sees more"):
        path.fit(X, A[:, 0] + NOISE, sensitive_features=A)
    path.to_html(tmp_path / "front.html")
    assert "An audit sees more." in (tmp_path / "front.html").read_text(encoding="utf-8")
    front = relevel(LinearRegression().fit(X, A[:, 0] + NOISE), X, sensitive_features=A)
    assert front.seen_by_an_audit() is None
