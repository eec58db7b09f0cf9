import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairlevel import GroupMean, MLPMean, RandomFeaturesMean, RidgeMean, SplineMean, dpvar, dpvar_interval
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import FairLevelError
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.inputs import read_rows

ROWS = 4000
RANDOM = np.random.default_rng(0)
A, E = RANDOM.standard_normal((ROWS, 3)), RANDOM.standard_normal(ROWS)
UNIFORM = RANDOM.uniform(-np.pi, np.pi, ROWS)

CLOSED_FORMS = {
    "linear": (A @ [0.5, -0.3, 0.2] + E, A, 0.38),
    "square": (A[:, 0] ** 2, A, 2.0),
    "sine": (np.sin(UNIFORM), UNIFORM, 0.5),
    "absolute": (np.abs(A[:, 0]), A[:, 0], 1 - 2 / np.pi),
    "dependent spread": (A[:, 0] * E, A, 0.0),
    "independent": (E, A, 0.0),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(name):
    f, a, truth = CLOSED_FORMS[name]
    found = dpvar_interval(f, sensitive_features=a)
    error = (found.high - found.low) / 3.92
    assert error < 0.1 * max(truth, 0.1)
    assert abs(found.estimate - truth) <= 3.5 * error
    assert dpvar(None, f, sensitive_features=a) == pytest.approx(found.estimate, rel=1e-12)


@pytest.mark.parametrize("regressor", [SplineMean(), RandomFeaturesMean()], ids=lambda r: r.name)
def test_regressors_agree_on_a_smooth_profile(regressor):
    a = A[:600, :2]
    f = np.sin(2 * a[:, 0]) + 0.5 * a[:, 1] + 0.5 * E[:600]
    truth = (1 - np.exp(-8)) / 2 + 0.25
    found = dpvar_interval(f, sensitive_features=a, regressor=regressor)
    assert abs(found.estimate - truth) < 0.12
    assert found.low < truth < found.high + 0.02
    assert found.p_value < 1e-3
    assert found.regressor.startswith(regressor.name)


def test_discrete_attributes_are_exact():
    group = np.repeat([0, 1, 2], [20, 30, 50])
    f = np.array([1.0, 2.0, 4.0])[group]
    share = np.array([0.2, 0.3, 0.5])
    expected = share @ np.array([1.0, 2.0, 4.0]) ** 2 - (share @ np.array([1.0, 2.0, 4.0])) ** 2
    assert dpvar(None, f, sensitive_features=group) == pytest.approx(expected, rel=1e-10)
    assert dpvar(None, f, sensitive_features=np.array(list("abc"))[group]) == pytest.approx(expected, rel=1e-10)
    assert dpvar(None, f, sensitive_features=group, regressor=GroupMean()) == pytest.approx(expected, rel=1e-10)
    assert dpvar_interval(f, sensitive_features=group).regressor.startswith("groups")


def test_discrete_estimate_removes_the_noise_of_group_means():
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(10), 10)
    draws = random.standard_normal((200, 100))
    estimates = dpvar_of_many(draws, read_rows(draws[0], group).attributes(0))
    assert estimates[0] == pytest.approx(dpvar(None, draws[0], sensitive_features=group), rel=1e-12)
    # the plug-in would read σ²(G − 1)/n = .09
    assert np.mean(estimates) == pytest.approx(0, abs=4 * np.std(estimates) / np.sqrt(200) + 1e-3)


def test_binary_predictions_zero_means_demographic_parity():
    """For 0/1 predictions DPVar is the variance of acceptance rates: zero exactly when rates are equal."""
    group = np.repeat(["a", "b"], [40, 80])
    parity = np.r_[np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [60, 20])]  # both 25 %
    unequal = np.r_[np.repeat([0, 1], [10, 30]), np.repeat([0, 1], [60, 20])]
    smoothed = GroupMean().prepare(Attributes(np.where(group == "a", 0.0, 1.0)[:, None])).apply
    assert smoothed(parity[None].astype(float), 0.0).var() == pytest.approx(0, abs=1e-28)
    many = [np.tile(values, 200) for values in (parity, unequal)]
    groups = np.tile(group, 200)
    assert dpvar(None, many[0], sensitive_features=groups) == pytest.approx(0, abs=2e-5)
    assert dpvar_interval(many[0], sensitive_features=groups).p_value > 0.5
    gap = (1 / 3) * (2 / 3) * 0.5**2
    assert dpvar(None, many[1], sensitive_features=groups) == pytest.approx(gap, abs=2e-5)
    assert dpvar_interval(many[1], sensitive_features=groups).p_value < 1e-3


def test_constant_prediction_has_no_disparity_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpvar_interval(np.full(50, 3.3), sensitive_features=A[:50])
        assert (found.estimate, found.low, found.high, found.share, found.p_value) == (0, 0, 0, 0, 1)
        for method in ("debiased", "paper"):
            assert dpvar(None, np.full(50, 0.1), sensitive_features=A[:50], method=method) == 0.0


@pytest.mark.parametrize("method", ["debiased", "paper"])
def test_units_are_those_of_the_prediction_squared(method):
    f, a, _ = CLOSED_FORMS["linear"]
    plain = dpvar(None, f[:500], sensitive_features=a[:500], method=method)
    scaled = dpvar(None, 1000 * f[:500] + 5e4, sensitive_features=7 * a[:500] - 3, method=method)
    assert scaled == pytest.approx(1e6 * plain, rel=1e-3)


def test_integer_weights_are_repetitions_for_groups():
    random = np.random.default_rng(0)
    group, _, times = random.integers(0, 4, 200), random.standard_normal(200), random.integers(1, 4, 200)
    f = np.array([0.0, 1.0, 2.0, -1.0])[group]  # noiseless: weighting and repeating must agree exactly
    weighted = dpvar(None, f, sensitive_features=group, sample_weight=times)
    repeated = dpvar(None, np.repeat(f, times), sensitive_features=np.repeat(group, times))
    assert weighted == pytest.approx(repeated, rel=1e-9)
    # with noise, weights are survey weights: the noise of a weighted mean is Σw²σ²/(Σw)², here by simulation
    draws = random.standard_normal((200, 200))
    estimates = dpvar_of_many(draws, read_rows(draws[0], group, times).attributes(0))
    alone = dpvar(None, draws[0], sensitive_features=group, sample_weight=times)
    assert estimates[0] == pytest.approx(alone, rel=1e-12)
    assert np.mean(estimates) == pytest.approx(0, abs=4 * np.std(estimates) / np.sqrt(200))


def test_zero_weight_rows_do_not_count():
    f, a, _ = CLOSED_FORMS["linear"]
    weight = np.r_[np.ones(1000), np.zeros(ROWS - 1000)]
    spoiled = f.copy()
    spoiled[1000:] = 1e9
    assert dpvar(None, spoiled, sensitive_features=a, sample_weight=weight) == pytest.approx(
        dpvar(None, f[:1000], sensitive_features=a[:1000]), rel=1e-9
    )


def test_frames_of_every_kind_give_the_same_answer():
    f, a, _ = CLOSED_FORMS["linear"]
    frame = pd.DataFrame(a[:300], columns=list("xyz"))
    answers = [
        dpvar(None, f[:300], sensitive_features=given)
        for given in (a[:300], a[:300].tolist(), frame, pl.from_pandas(frame), frame.assign(const=1.0))
    ]
    np.testing.assert_allclose(answers, answers[0], rtol=1e-9)


def test_rank_deficient_attributes_change_nothing():
    f, a, truth = CLOSED_FORMS["linear"]
    for attributes in (np.column_stack([a, a[:, 0] + a[:, 1]]), np.column_stack([a, np.ones(ROWS)])):
        found = dpvar_interval(f, sensitive_features=attributes)
        assert found.low < truth < found.high


def test_more_attributes_than_rows_gives_a_number():
    random = np.random.default_rng(0)
    a = random.standard_normal((60, 200))
    for attributes in (a, np.sign(a)):
        found = dpvar_interval(a[:, 0] + random.standard_normal(60), sensitive_features=attributes)
        assert np.isfinite([found.estimate, found.low, found.high, found.share]).all()
        assert found.high > 0.3  # nothing is certain here


def test_categories_that_never_repeat_prove_nothing():
    noise = np.random.default_rng(0).standard_normal(200)
    with pytest.raises(ValueError, match="200 categories on 200 rows; at least 5 rows per category"):
        dpvar_interval(noise, sensitive_features=[f"person {k}" for k in range(200)])


def test_repeating_whole_numbers_can_be_groups():
    random = np.random.default_rng(0)
    group = random.integers(0, 100, 1000)
    f = (2 * random.standard_normal(100))[group] + random.standard_normal(1000)
    by_code, by_name = (dpvar(None, f, sensitive_features=given) for given in (group, group.astype(str)))
    assert by_code == pytest.approx(by_name, rel=1e-6)
    assert by_code == pytest.approx(4, abs=1.5)


@pytest.mark.parametrize("attributes", [1, 3, 4, 6])
def test_ridge_means_are_tested_too(attributes):
    a = A[:500, [0, 1, 2, 0, 1, 2][:attributes]] + 0.1 * RANDOM.standard_normal((500, attributes))
    found = dpvar_interval(2 * a[:, 0] + E[:500], sensitive_features=a, regressor=RidgeMean())
    assert found.p_value < 1e-3
    assert found.low > 1


def test_interval_reaches_zero_unless_the_test_rejects():
    covered = []
    for seed in range(12):  # noise that grows with the attribute, the hardest null
        random = np.random.default_rng(seed)
        a = random.standard_normal(300)
        predictions = a * random.standard_normal((10, 300))
        for found in DPVarEvaluator(Attributes(a[:, None]), 0).intervals(predictions):
            covered.append(found.low == 0)
            assert (found.low == 0) or found.p_value <= 0.05
    assert np.mean(covered) > 0.9


def test_random_state_is_read_as_scikit_learn_reads_it():
    f, a, _ = CLOSED_FORMS["linear"]
    for given in (None, np.random.RandomState(0), np.int64(3)):
        assert np.isfinite(dpvar(None, f[:200], sensitive_features=a[:200], random_state=given))
    with pytest.raises(FairLevelError, match="random_state=-1"):
        dpvar(None, f, sensitive_features=a, random_state=-1)


@pytest.mark.parametrize("regressor", [SplineMean, MLPMean(), "splines"])
def test_regressors_are_objects(regressor):
    with pytest.raises(FairLevelError, match=r"SplineMean\(\)"):
        dpvar(None, E, sensitive_features=A, regressor=regressor)


@pytest.mark.parametrize("shift", [lambda a: 1e-13 * a, lambda a: 1e12 + 1000 * a, lambda a: a.astype(object)])
def test_scale_of_attributes_does_not_matter(shift):
    f, a, _ = CLOSED_FORMS["linear"]
    frame = pd.DataFrame(shift(a[:500]))
    assert dpvar(None, f[:500], sensitive_features=frame) == pytest.approx(
        dpvar(None, f[:500], sensitive_features=a[:500]), rel=0.02
    )


def test_huge_numbers_are_refused():
    with pytest.raises(FairLevelError, match="beyond"):
        dpvar(None, E * 1e200, sensitive_features=A)
    with pytest.raises(FairLevelError, match="huge"):
        dpvar(None, E, sensitive_features=A * 1e200)


def test_plain_gradient_descent_hides_part_of_a_quadratic_disparity():
    f, a, truth = CLOSED_FORMS["square"]
    by_adam = dpvar(None, f[:2000], sensitive_features=a[:2000, :1], method="paper", regressor=MLPMean())
    by_descent = dpvar(None, f[:2000], sensitive_features=a[:2000, :1], method="paper")
    assert by_descent < 0.95 * by_adam
    assert by_adam == pytest.approx(truth, rel=0.15)


def test_interval_is_reproducible_and_level_matters():
    f, a, _ = CLOSED_FORMS["linear"]
    first, second = (dpvar_interval(f[:500], sensitive_features=a[:500]) for _ in range(2))
    assert first == second
    wide = dpvar_interval(f[:500], sensitive_features=a[:500], level=0.99)
    assert wide.low < first.low < first.high < wide.high
    assert 0 <= first.share_low < first.share < first.share_high <= 1


BAD = {
    "missing A": ({"sensitive_features": np.where(A > 2, np.nan, A)}, "missing values: a0"),
    "infinite A": ({"sensitive_features": np.where(A > 2, np.inf, A)}, "infinite or huge values"),
    "short A": ({"sensitive_features": A[:10]}, "4000 rows but sensitive_features has 10"),
    "no A": ({"sensitive_features": None}, "sensitive_features is None"),
    "empty A": ({"sensitive_features": A[:, :0]}, "at least one row and one column"),
    "3-d A": ({"sensitive_features": np.zeros((ROWS, 2, 2))}, "3 dimensions"),
    "objects in A": ({"sensitive_features": np.array([{"age": 1}] * ROWS)}, "dict objects"),
    "level": ({"sensitive_features": A, "level": 95}, "level=95"),
    "negative weights": ({"sensitive_features": A, "sample_weight": -np.ones(ROWS)}, "negative"),
    "short weights": ({"sensitive_features": A, "sample_weight": np.ones(3)}, "one weight for each of the"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case):
    settings, message = BAD[case]
    with pytest.raises(FairLevelError, match=message):
        dpvar_interval(E, **settings)


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        (np.where(E > 2, np.nan, E), "missing or infinite"),
        (np.zeros((ROWS, 2)), "one number per row"),
        (["a"] * ROWS, "not numbers"),
        (E[:1], "at least 2 rows"),
    ],
)
def test_bad_predictions_are_refused(prediction, message):
    with pytest.raises(FairLevelError, match=message):
        dpvar_interval(prediction, sensitive_features=A[: len(prediction)])


def test_unknown_method_names_the_known_ones():
    with pytest.raises(FairLevelError, match=r"Known: debiased, paper"):
        dpvar(None, E, sensitive_features=A, method="papr")
    with pytest.raises(FairLevelError, match="MLPMean"):
        dpvar(None, E, sensitive_features=A, method="paper", regressor=RidgeMean())
