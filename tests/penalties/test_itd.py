"""ITD against closed forms with a linear inner model."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import FairLevelError
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.network import Network
from fairlevel.networks.penalties import ALL_TRAINING_ROWS, FBO, ITD
from fairlevel.penalties import ClosedFBO
from fairlevel.penalties.inner_losses import Huber, Pinball
from tests.drawn_rows import TENSORS, TENSORS_OF_32_BITS, gaussian

ROWS, RATE = 50, 0.2


def setting(steps, start):
    """ITD with linear h on IN = OUT, from the inner optimum or from zero; returns gradient and its ingredients."""
    f, a = gaussian(ROWS, 3, 2)
    a = (a - a.mean(0)) / a.std(0)
    a[:, 1] += 0.8 * a[:, 0]  # unequal eigenvalues
    phi_matrix = torch.from_numpy(np.column_stack([a, np.ones(ROWS)]))
    hessian = 2 * phi_matrix.T @ phi_matrix / ROWS
    optimum = torch.linalg.solve(hessian, 2 * phi_matrix.T @ f.T / ROWS).T
    theta = optimum if start == "optimum" else torch.zeros_like(optimum)
    penalty = ITD(steps=steps, inner_steps=0, inner_learning_rate=RATE, mean=MLPMean(hidden=()), rows=ALL_TRAINING_ROWS)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    network = penalty.mean.network(3)
    parameters = torch.zeros(2, network.size, dtype=torch.float64)
    parameters[:, network.layers[0].weight], parameters[:, network.layers[0].bias] = theta[:, :3], theta[:, 3:]
    step = penalty.step(f, prepared, parameters)
    return f, phi_matrix, hessian, optimum, step


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_each_direction_gets_its_truncation_factor_from_the_inner_optimum(steps):
    _, phi_matrix, hessian, optimum, step = setting(steps, "optimum")
    values, vectors = torch.linalg.eigh(hessian)
    factor = vectors @ torch.diag(1 - (1 - RATE * values) ** steps) @ vectors.T
    centred = phi_matrix - phi_matrix.mean(dim=0)
    var_gradient = 2 * optimum @ (centred.T @ centred / ROWS)
    expected = var_gradient @ factor @ torch.linalg.solve(hessian, 2 * phi_matrix.T / ROWS)
    torch.testing.assert_close(step.gradient, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_from_zero_the_factor_acts_twice(steps):
    _, phi_matrix, hessian, optimum, step = setting(steps, "zero")
    values, vectors = torch.linalg.eigh(hessian)
    factor = vectors @ torch.diag(1 - (1 - RATE * values) ** steps) @ vectors.T
    centred = phi_matrix - phi_matrix.mean(dim=0)
    var_gradient = 2 * (optimum @ factor) @ (centred.T @ centred / ROWS)
    expected = var_gradient @ factor @ torch.linalg.solve(hessian, 2 * phi_matrix.T / ROWS)
    torch.testing.assert_close(step.gradient, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("start", ["optimum", "zero"])
def test_many_steps_give_the_exact_gradient(start):
    f, phi_matrix, _, _, step = setting(2000, start)
    traced = f.clone().requires_grad_()
    h = traced @ (phi_matrix @ torch.linalg.pinv(phi_matrix)).T
    (exact,) = torch.autograd.grad(h.var(-1, correction=0).sum(), traced)
    torch.testing.assert_close(step.gradient, exact, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("loss", [Huber(0.5), Pinball(0.3, 0.2)], ids=repr)
def test_gradient_is_the_derivative_of_the_unrolled_variance(loss):
    f, a = gaussian(24, 2, 2)
    a = (a - a.mean(0)) / a.std(0)
    penalty = ITD(steps=4, inner_steps=0, loss=loss, mean=MLPMean(hidden=(5,)))
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    gradient = penalty.step(f, prepared, None).gradient
    assert not gradient[:, 12:].any()
    for row in range(12):
        shift = torch.zeros_like(f)
        shift[:, row] = 1e-5
        up, down = (penalty.step(f + sign * shift, prepared, None).value for sign in (1, -1))
        torch.testing.assert_close(gradient[:, row], (up - down) / 2e-5, rtol=1e-6, atol=1e-9)


def test_warm_steps_come_first_and_are_not_differentiated():
    f, a = gaussian(24, 2, 1)
    warm, cold = ITD(steps=2, inner_steps=5), ITD(steps=2, inner_steps=0)
    prepared = warm.prepare(Attributes((a - a.mean(0)) / a.std(0)), seed=0).to(TENSORS)
    first = warm.step(f, prepared, None)
    again = cold.step(f, prepared, first.state)  # the state is φ after the warm steps
    torch.testing.assert_close(first.gradient, again.gradient, rtol=1e-12, atol=1e-14)


def test_cost_is_linear_in_the_unrolled_steps(monkeypatch):
    f, a = gaussian(24, 2, 1)
    passes = []
    forward = Network.forward_all
    monkeypatch.setattr(Network, "forward_all", lambda self, *args: passes.append(1) or forward(self, *args))
    counts = {}
    for steps in (1, 5, 20):
        penalty = ITD(steps=steps, inner_steps=10)
        prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
        passes.clear()
        penalty.step(f, prepared, None)
        counts[steps] = len(passes)
    assert counts == {1: 2, 5: 6, 20: 21}  # K + one evaluation on OUT; the M warm steps are not differentiated


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ITD(steps=2.5),
        lambda: ITD(inner_steps=-1),
        lambda: FBO(inner_learning_rate=-1.0),
        lambda: FBO(mean=SplineMean()),
        lambda: ClosedFBO(mean=MLPMean()),
        lambda: ClosedFBO(mean="splines"),
    ],
)
def test_penalties_refuse_what_cannot_work_when_they_are_made(bad):
    with pytest.raises(FairLevelError, match="needed"):
        bad()


def test_refuses_zero_steps():
    with pytest.raises(ValueError, match=r"ITD\(steps=5\)"):
        ITD(steps=0)


def test_numbers_of_32_bits_give_the_same():
    random = np.random.default_rng(0)
    a = random.standard_normal((300, 4))
    f = torch.from_numpy(np.stack([a[:, 0] ** 2, a[:, 1] + random.standard_normal(300)]))
    penalty = ITD(steps=3, inner_steps=4, inner_learning_rate=0.2)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    exact = penalty.step(f, prepared, None)  # float64 goes by autograd
    single = prepared.to(TENSORS_OF_32_BITS)
    found = penalty.step(f.float(), single, None)
    torch.testing.assert_close(found.value.double(), exact.value, rtol=1e-4, atol=0)
    scale = float(exact.gradient.abs().max())
    torch.testing.assert_close(found.gradient.double(), exact.gradient, rtol=0, atol=1e-4 * scale)
