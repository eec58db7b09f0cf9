"""Where an audit of a front's model finds more than the front, the front says so."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from fairlevel import FairnessPath, relevel
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.sensitive import encode_sensitive
from fairlevel.estimators.front import MeasuredModels
from fairlevel.exceptions import AuditSeesMore
from fairlevel.fronts.combiners import Best
from fairlevel.fronts.evaluation import Evaluation

RANDOM = np.random.default_rng(0)
A = RANDOM.uniform(-1, 1, (1500, 2))
SIGNS = np.sign(np.sin(4 * np.pi * A)).prod(axis=1)  # a chessboard, which no smooth curve follows
NOISE = RANDOM.standard_normal(1500)


def measured_by_smooth_means(prediction):
    """The prediction as a front shows it whose functions of A were learnt from another model."""
    evaluation = Evaluation.of(prediction[None], NOISE, Attributes(A), np.arange(1500) % 3, Best(), 0)
    evaluation = replace(evaluation, attributes=Attributes(A))
    evidence = evaluation.evidence(evaluation.predictions)
    sensitive = encode_sensitive(A, len(A))
    return MeasuredModels(evaluation, prediction[None], evidence, NOISE, sensitive, classifies=False)


def test_a_shape_that_only_learnt_functions_follow_is_named():
    models = measured_by_smooth_means(SIGNS + 0.3 * NOISE)
    (interval,) = models.intervals
    assert interval.share_high < 0.2
    sentence = models.seen_by_an_audit(0, "knee")
    assert sentence.startswith("An audit of the knee sees more than this front: ")
    assert f"instead of {interval.share:.1%}" in sentence


@pytest.mark.parametrize("shape", [NOISE, A[:, 0] + NOISE, np.sin(3 * A[:, 1]) + NOISE])
def test_nothing_is_said_where_the_front_sees_it(shape):
    assert measured_by_smooth_means(shape).seen_by_an_audit(0, "knee") is None


def test_fronts_say_so(monkeypatch, tmp_path):
    X = np.column_stack([A + RANDOM.normal(size=A.shape), NOISE])
    path = FairnessPath("spectral", predictor="linear", random_state=0)
    assert path.fit(X, A[:, 0] + NOISE, sensitive_features=A).seen_by_an_audit() is None
    monkeypatch.setattr(MeasuredModels, "seen_by_an_audit", lambda *figures: "An audit sees more.")
    with pytest.warns(AuditSeesMore, match="An audit sees more"):
        path.fit(X, A[:, 0] + NOISE, sensitive_features=A)
    path.to_html(tmp_path / "front.html")
    assert "An audit sees more." in (tmp_path / "front.html").read_text(encoding="utf-8")
    monkeypatch.undo()
    front = relevel(LinearRegression().fit(X, A[:, 0] + NOISE), X, sensitive_features=A)
    assert front.seen_by_an_audit() is None
