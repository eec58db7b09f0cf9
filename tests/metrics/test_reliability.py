import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.reliability import class_figures, reliability


@pytest.fixture(scope="module")
def drawn():
    random = np.random.default_rng(0)
    probability = np.concatenate([random.beta(0.5, 0.8, 2000), [0.0, 0.1, 0.3, 1.0]])  # edges of bins included
    return (random.uniform(size=2004) < probability**1.3).astype(float), probability


@pytest.mark.parametrize("bins", [10, 7])
def test_bins_are_those_of_scikit_learn(drawn, bins):
    frequency, mean = calibration_curve(*drawn, n_bins=bins)
    found = reliability(*drawn, bins=bins)
    np.testing.assert_allclose(found.probability, mean, rtol=1e-12)
    np.testing.assert_allclose(found.frequency, frequency, rtol=1e-12)
    assert found.share.sum() == pytest.approx(1)


def test_whole_weights_are_repeated_rows(drawn):
    y, p = (each[:300] for each in drawn)
    weight = np.random.default_rng(1).integers(0, 4, 300)
    weighted, repeated = reliability(y, p, sample_weight=weight), reliability(*(np.repeat(e, weight) for e in (y, p)))
    for one, two in zip(vars(weighted).values(), vars(repeated).values(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    assert weighted.error == pytest.approx(repeated.error)


def test_error_by_hand():
    found = reliability([1, 0, 1, 1], [0.2, 0.2, 0.9, 0.9])
    assert found.probability.tolist() == pytest.approx([0.2, 0.9])
    assert found.frequency.tolist() == [0.5, 1.0]
    assert found.error == pytest.approx(0.5 * 0.3 + 0.5 * 0.1)


def test_accuracy_counts_weights_and_the_threshold():
    figures = class_figures(np.array([[0.3, 0.6, 0.9]]), np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]), 0.6)
    assert figures["accuracy"] == [0.75]
    assert figures["auc"] == [1.0]


@pytest.mark.parametrize(
    ("y", "p", "sentence"),
    [([0, 2], [0.1, 0.2], "other values than 0 and 1"), ([0, 1], [0.1, 1.2], "outside"), ([0], [0.1, 0.2], "1 rows")],
)
def test_bad_input(y, p, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        reliability(y, p)
