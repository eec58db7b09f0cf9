import numpy as np
import pytest
import torch

from fairlevel import FairClassifier, FairRegressor
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import Boosting
from fairlevel_study.penalties import PrejudiceRemover
from fairlevel_study.penalties.prejudice_remover import negative_entropy
from tests.drawn_rows import TENSORS

SETTINGS = {"penalty": PrejudiceRemover(), "optimizer": Adam(0.05, steps=60), "random_state": 0}


def evaluated(f, a, share=None, weight=None):
    penalty = PrejudiceRemover(share)
    prepared = penalty.prepare(Attributes(a, row_weight=weight), None, {}, seed=0).to(TENSORS)
    return penalty.step(f, prepared, None), penalty.value(f, prepared, None)


def standardised(p, share):
    return torch.from_numpy((p - share) / np.sqrt(share * (1 - share)))[None]


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_is_the_information_of_a_known_table(rho):
    """Two groups of n = 2500 with exact means p̄ ± rho/10 and any spread within."""
    random = np.random.default_rng(0)
    group = np.repeat([0.0, 1.0], 2500)
    noise = random.uniform(-0.05, 0.05, 5000)
    noise -= np.where(group == 1, noise[group == 1].mean(), noise[group == 0].mean())
    p = 0.3 + 0.1 * rho * (2 * group - 1) + noise
    mean = 0.3 + 0.1 * rho * np.array([-1, 1])
    table = np.stack([1 - mean, mean]) / 2
    truth = (table * np.log(table / table.sum(0) / table.sum(1, keepdims=True))).sum()
    step, _ = evaluated(standardised(p, 0.3), group[:, None], share=0.3)
    assert float(step.value) == pytest.approx(truth, abs=1e-12)


def test_small_gaps_are_half_of_dpvar():
    random = np.random.default_rng(1)
    group = random.integers(0, 4, 5000)
    f = torch.from_numpy(0.02 * np.array([0.0, 1.0, 2.0, -1.0])[group] + random.standard_normal(5000))[None]
    means = np.array([f[0, group == each].mean() for each in range(4)])[group]
    step, _ = evaluated(f, group[:, None].astype(float), share=0.5)
    assert float(step.value) == pytest.approx(means.var() / 2, rel=5e-3)


def test_weights_count_rows():
    random = np.random.default_rng(2)
    p, group, count = random.uniform(0.1, 0.9, 60), random.integers(0, 3, (60, 2)), random.integers(1, 4, 60)
    once, _ = evaluated(standardised(p, 0.4), group.astype(float), 0.4, count.astype(float))
    repeated, _ = evaluated(standardised(np.repeat(p, count), 0.4), np.repeat(group, count, axis=0).astype(float), 0.4)
    assert float(once.value) == pytest.approx(float(repeated.value), rel=1e-9)


def test_the_held_out_value_is_zero_on_average_where_groups_are_alike():
    random = np.random.default_rng(3)
    group = random.integers(0, 5, (200, 1)).astype(float)
    p = torch.from_numpy(random.uniform(0.1, 0.9, (3000, 200)))
    step, held = evaluated((p - 0.5) / 0.5, group)
    error = float(held.std()) / np.sqrt(3000)
    assert float(step.value.mean()) > 20 * error
    assert abs(float(held.mean())) < 4 * error


def test_entropy_continues_smoothly_beyond_the_edges():
    for edge in (0.01, 0.99):
        p = (edge + torch.tensor([-1e-6, 1e-6], dtype=torch.float64)).requires_grad_()
        value = negative_entropy(p)
        (slope,) = torch.autograd.grad(value.sum(), p)
        assert float(value.detach().diff()) == pytest.approx(2e-6 * float(slope.mean()), rel=1e-6)
        assert float(slope.diff()) == pytest.approx(2e-6 / (edge * (1 - edge)), rel=1e-3)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    group = random.integers(0, 3, 600)
    x = np.column_stack([group + 0.7 * random.standard_normal(600), random.standard_normal(600)])
    y = random.random(600) < 1 / (1 + np.exp(2 - x[:, 0] - x[:, 1]))
    return x, y, group


@pytest.mark.parametrize("predictor", ["linear", Boosting(rounds=40, learning_rate=0.1)], ids=["linear", "boosting"])
def test_levels_a_classifier(table, predictor):
    x, y, group = table
    known = np.where(np.arange(600) % 10 == 0, np.nan, group)  # unknown in some rows
    with pytest.warns(UserWarning, match="missing in 60 of 600 rows"):
        fair = FairClassifier(30.0, predictor=predictor, **SETTINGS).fit(x, y, sensitive_features=known)
    plain = FairClassifier(0.0, predictor=predictor, **SETTINGS).fit(x, y, sensitive_features=group)
    gaps = [
        np.ptp([model.predict_proba(x[group == each])[:, 1].mean() for each in range(3)]) for model in (plain, fair)
    ]
    assert gaps[1] < 0.3 * gaps[0]


def test_refuses_what_it_cannot_do_and_says_what_can(table):
    x, y, group = table
    with pytest.raises(InvalidInput, match=r"A has 480 different values, more than 32.*fbo_closed.*qcut"):
        FairClassifier(1.0, **SETTINGS).fit(x, y, sensitive_features=np.arange(600.0))
    with pytest.raises(InvalidInput, match=r"two classes; y has 480 values.*fbo_closed"):
        FairRegressor(1.0, **SETTINGS).fit(x, x[:, 1], sensitive_features=group)
    with pytest.raises(InvalidInput, match=r"the penalty 'prejudice_remover' .* use one of fbo_closed, fbo_root, r2\."):
        FairClassifier(1.0, **SETTINGS).fit(x, y, sensitive_features=group, given=x[:, 1])
    with pytest.raises(InvalidInput, match="share=1"):
        PrejudiceRemover(share=1.0)
