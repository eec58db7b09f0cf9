import numpy as np
import torch

from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.penalties.inner_losses import Huber, Squared


def test_a_step_is_gradient_descent_on_the_mean_inner_loss():
    torch.manual_seed(0)
    a, f = torch.randn(20, 3, dtype=torch.float64), torch.randn(2, 20, dtype=torch.float64)
    weight, rate = torch.full((20,), 1 / 20, dtype=torch.float64), torch.tensor([0.1, 0.3], dtype=torch.float64)
    mean = MLPMean(hidden=(6, 5))
    start = mean.init(3, 2, seed=1, dtype=torch.float64).requires_grad_()
    (gradient,) = torch.autograd.grad((f - mean.predict(start, a)).square().mean(dim=1).sum(), start)
    after = mean.descend(start.detach(), a, f, weight, rate, 1, Squared())
    torch.testing.assert_close(after, (start - rate[:, None] * gradient).detach(), rtol=1e-12, atol=1e-14)


def test_descent_lowers_the_loss_of_every_configuration():
    torch.manual_seed(0)
    a = torch.randn(200, 2)
    f = torch.stack([a[:, 0], a[:, 1] ** 2])
    weight, rate = torch.full((200,), 1 / 200), torch.tensor([0.1, 0.1])
    mean = MLPMean()
    start = mean.init(2, 2, seed=0)
    after = mean.descend(start, a, f, weight, rate, 200, Huber(1.0))
    before_loss, after_loss = ((f - mean.predict(p, a)).square().mean(dim=1) for p in (start, after))
    assert (after_loss < 0.5 * before_loss).all()


def test_fit_recovers_a_quadratic_profile():
    random = np.random.default_rng(0)
    a = torch.from_numpy(random.standard_normal((1000, 1))).float()
    f = (a[:, 0] ** 2).unsqueeze(0)
    mean = MLPMean(optimizer=Adam(0.01, 300, final_fraction=1.0))
    parameters = mean.fit(a, f, torch.full((1000,), 1e-3), seed=0)
    assert float((mean.predict(parameters, a) - f).square().mean()) < 0.1  # of a variance of 2


def test_plain_descent_survives_many_attributes_that_say_the_same():
    random = np.random.default_rng(0)
    common = random.standard_normal((400, 1))
    a = torch.from_numpy(common + 0.3 * random.standard_normal((400, 30))).float()
    f = torch.from_numpy(common.T + 0.1 * random.standard_normal((1, 400))).float()
    mean = MLPMean(optimizer=GradientDescent(learning_rate=0.1, steps=200))
    parameters = mean.fit(a, f, torch.full((400,), 1 / 400), seed=0)
    assert float((mean.predict(parameters, a) - f).square().mean()) < 0.1  # of a variance of 1
