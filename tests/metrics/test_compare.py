"""Paired differences of DPVar."""

import numpy as np
import pytest

from fairlevel import compare, dpvar_interval
from fairlevel.conditional_mean import RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics import inputs
from fairlevel.metrics.choice import candidates_for, shared_choice
from fairlevel.metrics.compare import Paired

RANDOM = np.random.default_rng(0)
A, X, E = RANDOM.standard_normal((3, 3000))


def test_difference_of_known_disparities():
    found = compare(A + X, 0.5 * A + X, sensitive_features=A)
    assert found.low < 0.25 - 1 < found.high < 0
    assert found.p_value < 1e-6
    assert found.difference == pytest.approx(found.dpvar_b - found.dpvar_a)
    assert "B is more level" in str(found)


def test_exchanged_predictions_change_the_sign():
    first, second = compare(A + X, A + E, sensitive_features=A), compare(A + E, A + X, sensitive_features=A)
    assert (first.low, first.high) == pytest.approx((-second.high, -second.low), rel=1e-6)
    assert first.low < 0 < first.high
    assert "do not show" in str(first)


def test_pairs_are_sharper_than_two_intervals():
    paired = compare(A + X, 0.95 * A + X, sensitive_features=A)
    alone = dpvar_interval(A + X, sensitive_features=A)
    assert paired.high - paired.low < 0.25 * (alone.high - alone.low)
    assert paired.low < 0.95**2 - 1 < paired.high < 0


def test_the_same_prediction_twice_has_no_difference():
    found = compare(A + X, A + X, sensitive_features=A)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    constant = compare(np.ones(50), np.ones(50), sensitive_features=A[:50])
    assert (constant.low, constant.high) == (0, 0)


def test_units_are_squared():
    once, scaled = (compare(k * (A + X), k * X, sensitive_features=A) for k in (1, 10))
    assert (scaled.low, scaled.high) == pytest.approx((100 * once.low, 100 * once.high), rel=1e-9)


def test_variance_without_disparity_is_what_simulation_shows():
    random = np.random.default_rng(1)
    rows = Attributes(random.standard_normal((200, 5)))
    shared, own = random.standard_normal((2, 1000, 200))
    candidates = candidates_for(rows, 0, RidgeMean(ridge=0.0))
    pairs = np.stack([shared, 0.8 * shared + 0.6 * own], axis=1)
    found = [Paired.of(pair, shared_choice(pair, candidates).debiased) for pair in pairs]
    differences = np.array([each.difference for each in found])
    assert abs(differences.mean()) < 4 * differences.std() / np.sqrt(1000)
    assert np.mean([each.degenerate for each in found]) == pytest.approx(differences.var(), rel=0.15)


def test_predictions_of_other_rows_are_refused():
    with pytest.raises(InvalidInput, match="y_pred_b has 3 rows but y_pred_a has 3000"):
        compare(A, A[:3], sensitive_features=A)
    with pytest.raises(InvalidInput, match="level=2"):
        compare(A, A, sensitive_features=A, level=2)
    with pytest.raises(InvalidInput, match="y_pred_b varies by"):
        compare(A, A * 1e-200, sensitive_features=A)


def test_rows_of_weight_zero_are_as_if_absent():
    a, x, y = np.random.default_rng(4).standard_normal((3, 120))
    weight = np.where(np.arange(120) % 3 == 0, 0.0, 1.0 + (a > 0))
    used = weight > 0
    expected = compare((x + a)[used], (y + a)[used], sensitive_features=a[used], sample_weight=weight[used])
    assert compare(x + a, y + a, sensitive_features=a, sample_weight=weight) == expected


def test_attributes_are_encoded_once(monkeypatch):
    calls = []
    original = inputs.encode_sensitive
    monkeypatch.setattr(inputs, "encode_sensitive", lambda *given: calls.append(given) or original(*given))
    compare(A[:100], A[:100] ** 2, sensitive_features=A[:100])
    assert len(calls) == 1


def test_limits_are_finite_and_rows_that_are_too_few_say_nothing():
    """Where the variance outgrew every difference, a limit was infinite."""
    random = np.random.default_rng(3)
    for rows in (2, 3, 5, 8):
        f, g, a = random.standard_normal((3, rows))
        found = compare(f, g, sensitive_features=a)
        assert np.isfinite([found.low, found.high]).all()
        assert found.low <= found.difference <= found.high
        assert found.high <= max(found.difference, g.var() + 3 * (g**2).std())
    found = compare(np.arange(2.0), np.zeros(2), sensitive_features=np.arange(2.0))
    assert found.low < 0 <= found.high


def test_a_difference_without_noise_is_certain():
    """Both have the same residual, so that nothing is left to vary under the null: p was 1."""
    a, x = np.random.default_rng(0).standard_normal((2, 200))
    assert compare(a + x, a / 2 + x, sensitive_features=a).p_value < 1e-6
    assert compare(a + x, a + x, sensitive_features=a).p_value == 1


def test_opposite_slopes_with_one_residual_are_no_difference():
    """f_A = −kA + X and f_B = kA + X have the same DPVar. Most of these were found different, with p = 0."""
    found = []
    for seed in range(40):
        a, x = np.random.default_rng(seed).standard_normal((2, 200))
        found.append(compare(x - 0.1 * a, x + 0.1 * a, sensitive_features=a))
    assert np.mean([each.p_value < 0.05 for each in found]) <= 0.1
    assert np.mean([each.low <= 0 <= each.high for each in found]) >= 0.9


@pytest.mark.parametrize(("seed", "rows", "part"), [(6, 100, 0.8), (1, 100, 0.5), (0, 60, 0.0), (2, 200, 0.5)])
def test_p_says_what_the_interval_says(seed, rows, part):
    """The interval held 0, and p was 0: the noise was measured where it vanishes."""
    a, x = np.random.default_rng(seed).standard_normal((2, rows))
    for level in (0.5, 0.9, 0.95, 0.99):
        found = compare(0.3 * a + x, 0.3 * part * a + x, sensitive_features=a, level=level)
        assert (found.low <= 0 <= found.high) == (found.p_value >= 1 - level)
