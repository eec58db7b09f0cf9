"""FBO's gradient against the exact objective, and what it is otherwise."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import GroupMean, RandomFeaturesMean, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.penalties import ALL_TRAINING_ROWS, FBO
from fairlevel.penalties import ClosedFBO, fbo_closed
from fairlevel.penalties.inner_losses import Huber, Pinball
from tests.drawn_rows import TENSORS, gaussian


def centred(values):
    return values - values.mean(dim=-1, keepdim=True)


@pytest.mark.parametrize("weight", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("mean", [RidgeMean(ridge=0.0), GroupMean(ridge=0.0)], ids=lambda mean: mean.name)
def test_closed_fbo_is_the_exact_gradient_when_the_smoother_is_a_projection(mean, weight):
    _, a = gaussian(50, 2, 1)
    if mean.name == "groups":
        a = np.round(a / 4)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 4, generator=generator, dtype=torch.float64)
    y = torch.randn(50, generator=generator, dtype=torch.float64)
    omega = torch.tensor([[0.5, -1.0, 2.0, 0.1]], dtype=torch.float64, requires_grad=True)
    f = omega @ x.T
    design = torch.from_numpy(np.column_stack([np.ones(50), a]))
    if mean.name == "groups":
        _, cell = np.unique(a, axis=0, return_inverse=True)
        design = torch.nn.functional.one_hot(torch.from_numpy(cell)).double()
    h = f @ (design @ torch.linalg.pinv(design)).T  # least squares, by another route
    objective = (f - y).square().mean(-1) + weight * h.var(-1, correction=0)
    (exact,) = torch.autograd.grad(objective.sum(), omega)

    penalty = ClosedFBO(mean=mean)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    step = penalty.step(f.detach(), prepared, None)
    push = 2 * (f.detach() - y) / 50 + weight * step.gradient
    torch.testing.assert_close(push @ x, exact, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(step.value, h.detach().var(-1, correction=0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.01, 0.3, 5.0])
def test_with_shrinkage_the_exact_gradient_of_var_h_is_fbos_smoothed_once_more(ridge):
    f, a = gaussian(50, 3, 2)
    penalty = ClosedFBO(mean=RandomFeaturesMean(ridge=ridge))
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    traced = f.clone().requires_grad_()
    (exact,) = torch.autograd.grad(prepared.apply(traced).var(-1, correction=0).sum(), traced)
    ours = penalty.step(f, prepared, None).gradient
    torch.testing.assert_close(prepared.apply(ours), exact, rtol=1e-8, atol=1e-12)
    assert not torch.allclose(ours, exact, rtol=1e-3)


def converged(penalty, prepared, f, passes=150):
    state = None
    for _ in range(passes):
        step = penalty.step(f, prepared, state)
        state = step.state
    return step


@pytest.mark.parametrize("loss", [Huber(0.6), Huber(0.2), Pinball(0.5, 0.3), Pinball(0.8, 0.4)], ids=repr)
def test_adjoint_of_other_losses_is_the_derivative_on_groups(loss):
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(4.0), 6)[:, None]
    f = torch.from_numpy(random.standard_normal((1, 24)) + group[:, 0] / 2)
    penalty = ClosedFBO(mean=GroupMean(ridge=0.0), loss=loss)
    prepared = penalty.prepare(Attributes(group), seed=0).to(TENSORS)
    gradient = converged(penalty, prepared, f).gradient[0]
    shifts = 1e-4 * torch.eye(24, dtype=torch.float64)
    up, down = (converged(penalty, prepared, f + sign * shifts).value for sign in (1, -1))
    torch.testing.assert_close(gradient, (up - down) / 2e-4, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_printed_fbo_is_algorithm_two(rate):
    f, a = gaussian(40, 2, 3)
    a = (a - a.mean(0)) / a.std(0)
    penalty = FBO(inner_steps=4, inner_learning_rate=rate, mean=MLPMean(hidden=(5, 4)))
    prepared = penalty.prepare(Attributes(a), seed=3).to(TENSORS)
    step = penalty.step(f, prepared, None)

    inside, outside = torch.from_numpy(a[:20]), torch.from_numpy(a[20:])
    network = penalty.mean.network(2)
    for config in range(3):  # one network at a time, by autograd
        phi = network.init(3, torch.float64).unsqueeze(0)
        for _ in range(4):
            phi = phi.detach().requires_grad_()
            loss = (f[config, :20] - network.forward(phi, inside)[0][0]).square().mean()
            phi = phi - rate * torch.autograd.grad(loss, phi)[0]
        h_in, h_out = network.forward(phi, inside)[0][0], network.forward(phi, outside)[0][0]
        expected = torch.zeros(40, dtype=torch.float64)
        expected[:20] = (2 / 20) * (h_in - h_out.mean())
        torch.testing.assert_close(step.gradient[config], expected.detach(), rtol=1e-9, atol=1e-12)
        assert float(step.value[config]) == pytest.approx(float(h_out.detach().var(correction=0)), rel=1e-9)
        torch.testing.assert_close(step.state[config], phi[0].detach(), rtol=1e-9, atol=1e-12)


def test_printed_fbo_is_exact_when_in_is_out_and_h_is_least_squares():
    f, a = gaussian(50, 2, 2)
    a = (a - a.mean(0)) / a.std(0)
    penalty = FBO(inner_steps=0, mean=MLPMean(hidden=()), rows=ALL_TRAINING_ROWS)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    layer = penalty.mean.network(2).layers[0]
    phi = torch.zeros(2, penalty.mean.network(2).size, dtype=torch.float64)
    phi[:, layer.weight] = torch.linalg.lstsq(torch.from_numpy(a), centred(f).T).solution.T
    phi[:, layer.bias] = f.mean(dim=1, keepdim=True)
    ours = penalty.step(f, prepared, phi).gradient
    traced = f.clone().requires_grad_()
    design = torch.from_numpy(np.column_stack([np.ones(50), a]))
    h = traced @ (design @ torch.linalg.pinv(design)).T
    (exact,) = torch.autograd.grad(h.var(-1, correction=0).sum(), traced)
    torch.testing.assert_close(ours, exact, rtol=1e-10, atol=1e-12)


def test_printed_fbo_takes_other_losses():
    f, a = gaussian(60, 2, 2)
    penalty = FBO(loss=Huber(0.5))
    prepared = penalty.prepare(Attributes((a - a.mean(0)) / a.std(0)), seed=0).to(TENSORS)
    step = penalty.step(f, prepared, None)
    plain = FBO().step(f, prepared, None)
    assert torch.isfinite(step.gradient).all()
    assert not torch.allclose(step.gradient, plain.gradient)
    assert not step.gradient[:, 30:].any()


def test_what_is_left_out_moves_the_gradient_by_less_than_stated(monkeypatch):
    f, a = gaussian(300, 3, 4)
    a = (a - a.mean(0)) / a.std(0)
    penalty = ClosedFBO()
    trimmed = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    step = penalty.step(f, trimmed, None)
    bound = fbo_closed.NEGLIGIBLE
    monkeypatch.setattr(fbo_closed, "NEGLIGIBLE", 0.0)
    whole = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    exact = penalty.step(f, whole, None)
    assert trimmed.functions.shape[1] < whole.functions.shape[1]
    moved = 300 / 2 * (step.gradient - exact.gradient)  # of h − μ
    spread = (f - f.mean(dim=1, keepdim=True)).square().mean(dim=1).sqrt()
    assert (moved.square().mean(dim=1).sqrt() <= bound * spread).all()
    assert (step.value <= exact.value).all()
    assert (exact.value - step.value <= bound * spread.square()).all()


def test_a_smaller_ridge_keeps_more_functions():
    _, a = gaussian(300, 3, 1)
    large, small = (
        ClosedFBO(RandomFeaturesMean(ridge=ridge)).prepare(Attributes(a), seed=0).functions.shape[1]
        for ridge in (1e-1, 1e-5)
    )
    assert large < small


def test_a_large_ridge_does_not_lose_the_curves():
    """Heavy shrinkage and a heavy weight make up for each other; what is left out is small next to what is kept."""
    _, a = gaussian(300, 3, 1)
    strong, weak = (ClosedFBO(mean=RandomFeaturesMean(ridge=ridge)) for ridge in (1e3, 1.0))
    assert strong.prepare(Attributes(a), seed=0).functions.shape[1] > 3
    assert weak.prepare(Attributes(a), seed=0).functions.shape[1] > 3
