import pytest
import torch

from fairlevel.penalties.inner_losses import Huber, Pinball, Squared

RHO = {
    Squared(): lambda r: r**2,
    Huber(0.7): lambda r: 2 * 0.49 * ((1 + (r / 0.7) ** 2).sqrt() - 1),
    Pinball(0.3, 0.2): lambda r: 0.3 * r + 0.2 * torch.nn.functional.softplus(-r / 0.2),
}


@pytest.mark.parametrize("loss", RHO, ids=lambda loss: type(loss).__name__)
def test_slope_and_curvature_are_derivatives(loss):
    r = torch.linspace(-3, 3, 41, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(RHO[loss](r).sum(), r, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), r)
    torch.testing.assert_close(loss.slope(r).detach(), slope.detach(), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(loss.curvature(r).detach(), curvature, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", RHO, ids=lambda loss: type(loss).__name__)
def test_passes_find_the_minimiser(loss):
    f = torch.tensor([[-1.0, 0.0, 0.5, 4.0]], dtype=torch.float64)
    fitted = torch.zeros_like(f)
    for _ in range(4000):
        fitted = loss.response(f, fitted).mean(dim=-1, keepdim=True).expand_as(f)
    assert float(loss.slope(f - fitted).sum()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "bad", [lambda: Huber(0), lambda: Pinball(0.5, -1), lambda: Pinball(1.0), lambda: Pinball(float("nan"))]
)
def test_refuses_numbers_that_cannot_work(bad):
    with pytest.raises(ValueError, match="needed"):
        bad()
