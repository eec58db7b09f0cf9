import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel_study.penalties import MINE
from fairlevel_study.penalties.mine import bound
from study.tests.penalties.test_hgr import settled
from study.tests.penalties.test_hgr_kernel import drawn
from tests.drawn_rows import TENSORS


def test_gaussian_pairs():
    """−½ ln(1 − ρ²); ρ = 0.6, A², A·Z and independence stand in the sanity matrix."""
    a, f = drawn(3000)
    step, _ = settled(MINE(10, critic_learning_rate=0.04, hidden=(16, 16)), f[[1, 3]].float(), a, 6)
    assert step.value.tolist() == pytest.approx([-np.log(1 - 0.09) / 2, -np.log(1 - 0.81) / 2], abs=0.05)


def test_the_bound_at_the_true_ratio_is_the_information():
    """T = log density ratio of a Gaussian pair, over all pairs of rows."""
    random = np.random.default_rng(0)
    x, z = random.standard_normal((2, 1500))
    y = 0.6 * x + 0.8 * z

    def ratio(x, y):
        return -np.log(0.64) / 2 - (0.36 * (x**2 + y**2) - 1.2 * x * y) / (2 * 0.64)

    answers = np.r_[ratio(x, y), ratio(x[:, None], y).ravel()]
    weights = [torch.full((count,), 1 / count, dtype=torch.float64) for count in (1500, 1500**2)]
    found = bound(torch.from_numpy(answers)[None], *weights)
    assert float(found) == pytest.approx(-np.log(0.64) / 2, abs=0.03)


def test_the_bound_is_finite_for_any_answers():
    answers = torch.from_numpy(5e6 * np.random.default_rng(1).standard_normal((3, 50)))
    pair, shuffled = (torch.full((count,), 1 / count, dtype=torch.float64) for count in (10, 40))
    assert torch.isfinite(bound(answers, pair, shuffled)).all()


def test_shuffles_pair_every_row_with_another_and_are_others_at_each_step():
    a = np.random.default_rng(2).standard_normal((50, 2))
    prepared = MINE().prepare(Attributes(a), seed=0).to(TENSORS)
    seen = [prepared.partners(torch.tensor(float(step))).reshape(4, 50) for step in range(3)]
    for shuffle in torch.cat(seen):
        assert sorted(shuffle.tolist()) == list(range(50))
        assert (shuffle != torch.arange(50)).all()
    assert len({tuple(shuffle.tolist()) for shuffle in torch.cat(seen)}) > 8


def test_the_held_out_value_does_not_fit_noise():
    random = np.random.default_rng(3)
    a, f = random.standard_normal((2, 100, 4)), torch.from_numpy(random.standard_normal((2, 4, 100)))
    penalty = MINE(10, critic_learning_rate=0.01)
    step, _ = settled(penalty, f[0], a[0], 15)
    there = penalty.prepare(Attributes(a[1]), seed=0).to(TENSORS)
    assert float(step.value.min()) > 0.2
    assert float(penalty.value(f[1], there, step.state).max()) < 0.1


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="critic_steps=0"):
        MINE(critic_steps=0)
    with pytest.raises(InvalidInput, match="critic_learning_rate=0"):
        MINE(critic_learning_rate=0)
