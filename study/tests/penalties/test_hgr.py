import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import TorchBackend
from fairlevel_study.penalties import NeuralHGR
from fairlevel_study.penalties.hgr import correlation
from study.tests.penalties.test_hgr_kernel import drawn
from tests.drawn_rows import TENSORS


def settled(penalty, f, a, rounds):
    prepared = penalty.prepare(Attributes(a), seed=0).to(TorchBackend("cpu", f.dtype))
    state = None
    for _ in range(rounds):
        step = penalty.step(f, prepared, state)
        state = step.state
    return step, prepared


def test_gaussian_pairs():
    """ρ, once the functions have settled; A², A·Z and independence stand in the sanity matrix."""
    a, f = drawn(3000)
    step, _ = settled(NeuralHGR(10, critic_learning_rate=0.02), f[[0, 1, 3]].float(), a, 8)
    assert step.value.sqrt().tolist() == pytest.approx([0.0, 0.3, 0.9], abs=0.06)  # at ρ = 0 what fits noise


def test_a_correlation():
    random = np.random.default_rng(0)
    first, second = (torch.from_numpy(random.standard_normal((3, 50))) for _ in range(2))
    weight = torch.from_numpy(random.dirichlet(np.ones(50)))
    found = correlation(first, second, weight)
    for config in range(3):
        table = np.cov(first[config], second[config], aweights=weight.numpy(), ddof=0)
        dense = table[0, 1] / np.sqrt(table[0, 0] * table[1, 1])
        assert float(found[config]) == pytest.approx(dense, rel=1e-6)


def test_several_attributes_at_once():
    """The sign of A₁A₂ has no correlation with either attribute alone."""
    random = np.random.default_rng(1)
    a = random.standard_normal((400, 2))
    f = torch.from_numpy(np.sign(a[:, 0] * a[:, 1]) + 0.1 * random.standard_normal(400))[None].float()
    step, _ = settled(NeuralHGR(10, critic_learning_rate=0.01), f, a, 25)
    assert float(step.value) > 0.6


def test_the_held_out_value_does_not_fit_noise():
    random = np.random.default_rng(2)
    a, f = random.standard_normal((2, 100, 4)), torch.from_numpy(random.standard_normal((2, 4, 100)))
    penalty = NeuralHGR(10, critic_learning_rate=0.01)
    step, _ = settled(penalty, f[0], a[0], 15)
    there = penalty.prepare(Attributes(a[1]), seed=0).to(TENSORS)
    assert float(step.value.min()) > 0.3
    assert float(penalty.value(f[1], there, step.state).max()) < 0.1


def test_steps_leave_the_old_state_as_it_was():
    a = np.random.default_rng(3).standard_normal((50, 2))
    penalty, f = NeuralHGR(), torch.from_numpy(a[:, :1].T)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    state = penalty.step(f, prepared, None).state
    first, second = (penalty.step(f, prepared, state) for _ in range(2))
    assert torch.equal(first.gradient, second.gradient)


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="critic_steps=0"):
        NeuralHGR(critic_steps=0)
    with pytest.raises(InvalidInput, match="critic_learning_rate=0"):
        NeuralHGR(critic_learning_rate=0)
