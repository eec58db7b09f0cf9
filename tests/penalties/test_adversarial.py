import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import TorchBackend
from fairlevel.networks.penalties import Adversarial
from tests.drawn_rows import TENSORS


def settled(penalty, f, a, rounds):
    prepared = penalty.prepare(Attributes(a), seed=0).to(TorchBackend("cpu", f.dtype))
    state = None
    for _ in range(rounds):
        step = penalty.step(f, prepared, state)
        state = step.state
    return step


def test_a_settled_critic_reaches_the_squared_correlation():
    random = np.random.default_rng(0)
    a = random.standard_normal((4000, 1))
    f = torch.from_numpy(0.8 * a.T + 0.6 * random.standard_normal((1, 4000))).float()
    assert float(settled(Adversarial(critic_steps=20), f, a, 8).value) == pytest.approx(0.64, abs=0.03)


def test_blowing_the_prediction_up_gains_nothing():
    random = np.random.default_rng(0)
    a = random.standard_normal((300, 2))
    f = torch.from_numpy(a[:, :1].T + 0.5 * random.standard_normal((1, 300)))
    steps = [settled(Adversarial(), scale * f, a, 10) for scale in (1.0, 100.0)]
    torch.testing.assert_close(steps[0].value, steps[1].value, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(steps[0].gradient, 100 * steps[1].gradient, rtol=1e-7, atol=1e-12)
    along = (steps[0].gradient * (f - f.mean())).sum()
    assert abs(float(along)) < 1e-9  # no push to change the scale at all


def test_a_beaten_critic_is_left_alone_and_the_value_is_a_share():
    random = np.random.default_rng(0)
    a = random.standard_normal((300, 2))
    step = settled(Adversarial(critic_steps=1, critic_learning_rate=1e-6), torch.randn(3, 300).double(), a, 1)
    assert ((step.value >= 0) & (step.value <= 1)).all()
    assert (step.gradient[step.value == 0] == 0).all()


def test_steps_leave_the_old_state_as_it_was():
    a = np.random.default_rng(0).standard_normal((50, 2))
    penalty = Adversarial()
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    f = torch.from_numpy(a[:, :1].T)
    state = penalty.step(f, prepared, None).state
    first, second = (penalty.step(f, prepared, state) for _ in range(2))
    assert torch.equal(first.gradient, second.gradient)


def test_attributes_that_do_not_vary_push_nothing():
    step = settled(Adversarial(), torch.randn(2, 40).double(), np.ones((40, 2)), 2)
    assert (step.gradient == 0).all()
    assert (step.value == 0).all()


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="critic_steps=0"):
        Adversarial(critic_steps=0)
    with pytest.raises(InvalidInput, match="critic_learning_rate=0"):
        Adversarial(critic_learning_rate=0)
