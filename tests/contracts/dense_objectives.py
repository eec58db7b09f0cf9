"""What each registered penalty claims to differentiate, written densely and without its code.

An objective takes (prediction with gradient, attributes, row weights, penalty, state before, state after) and returns
the value of each configuration.
"""

import torch
from scipy.spatial.distance import pdist

from fairlevel.conditional_mean.attributes import Attributes
from tests.drawn_rows import TENSORS


def shares(weight):
    return weight / weight.sum()


def mlp(parameters, layers, x):
    """A tanh network from one row of flat parameters, layer by layer."""
    for number, layer in enumerate(layers):
        weight, bias = parameters[layer.weight].reshape(layer.shape), parameters[layer.bias]
        x = x @ weight + bias
        x = x.tanh() if number + 1 < len(layers) else x
    return x


def explained(features, ridge, f, w):
    """Σ w f_c (S f_c) by weighted ridge regression solved densely."""
    centred = features - w @ features
    f = f - (f @ w)[:, None]
    moments = centred.T @ (w[:, None] * centred) + ridge * torch.eye(centred.shape[1], dtype=f.dtype)
    coefficients = torch.linalg.solve(moments, centred.T @ (w[:, None] * f.T))
    return (w * f * (centred @ coefficients).T).sum(-1)


def linear_r2(f, a, weight, penalty, *_):
    w = shares(weight)
    return explained(torch.from_numpy(standard(a, w)), penalty.ridge, f, w) / ((f - (f @ w)[:, None]).square() @ w)


def fbo_closed(f, a, weight, penalty, *_):
    """The smoother as a dense matrix, column by column, from its own definition as a regression."""
    w = shares(weight)
    free, waves = map(torch.from_numpy, penalty.mean.feature_map(standard(a, w), w.numpy(), 0)(standard(a, w))[:2])
    centred = f - (f @ w)[:, None]
    free, waves = free - w @ free, waves - w @ waves
    ridge = torch.block_diag(
        torch.zeros(free.shape[1], free.shape[1], dtype=f.dtype), penalty.ridge * torch.eye(waves.shape[1])
    )
    both = torch.cat([free, waves], dim=1)
    moments = both.T @ (w[:, None] * both) + ridge
    fitted = (both @ torch.linalg.solve(moments, both.T @ (w[:, None] * centred.T))).T
    return (w * centred * fitted).sum(-1)


def fbo_root(*arguments):
    return (fbo_closed(*arguments) + 0.05**2).sqrt() - 0.05


def standard(a, w):
    centred = a - w @ a
    return ((centred) / (w @ centred.square()).sqrt()).numpy()


def gaussian_kernel(points, bandwidth):
    return torch.exp(-0.5 * (points[:, None] - points[None]).square().sum(-1) / bandwidth**2)


def hsic(f, a, weight, penalty, *_):
    """tr(K H L H) with weighted centring."""
    w = shares(weight)
    n = len(w)
    centre = torch.eye(n, dtype=f.dtype) - torch.ones(n, 1, dtype=f.dtype) * w
    unit = float(torch.from_numpy(pdist(a.numpy())).quantile(0.5))
    other = centre @ gaussian_kernel(a, penalty.sensitive_bandwidth * unit) @ centre.T
    both = [gaussian_kernel(row[:, None], penalty.bandwidth) for row in f]
    return torch.stack([torch.trace(torch.diag(w) @ k @ torch.diag(w) @ other) for k in both])


def hsic_features(f, a, weight, penalty, state, after):
    """Squared cross-covariances of the features, one pair at a time."""
    w = shares(weight)
    prepared = penalty.prepare(Attributes(a.numpy(), row_weight=weight.numpy()), seed=0).to(TENSORS)
    weighted = prepared.features  # times the rows' weights already
    total = 0
    for frequency, phase in zip(prepared.frequencies, prepared.phases, strict=True):
        wave = (2 / penalty.features) ** 0.5 * torch.cos(f * frequency + phase)
        total = total + ((wave - (wave @ w)[:, None]) @ weighted).square().sum(-1)
    return total


def gdp(f, a, weight, penalty, *_):
    """Node by node."""
    w = shares(weight)
    values, directions = torch.linalg.eigh((a - w @ a).T @ (w[:, None] * (a - w @ a)))
    scores = (a - w @ a) @ directions[:, [-1, -2]] / values[[-1, -2]].sqrt()
    effective = 1 / w.square().sum()
    b = penalty.bandwidth * (effective * (2 + 2) / 4) ** (-1 / 6)
    box = [torch.linspace(float(c.quantile(0.005)), float(c.quantile(0.995)), 32, dtype=f.dtype) for c in scores.T]
    top, bottom = 0, 0
    for node in torch.cartesian_prod(*box):
        k = w * torch.exp(-0.5 * (scores - node).square().sum(-1) / b**2)
        top = top + k.sum() * ((f @ k) / k.sum() - f @ w).abs()
        bottom = bottom + k.sum()
    return top / bottom


def adversarial(f, a, weight, penalty, state, after):
    """R² of the critic as the step left it."""
    w = shares(weight)
    layers = penalty._network(penalty.prepare(Attributes(a.numpy()), seed=0)).layers
    centred = f - (f @ w)[:, None]
    u = centred / (centred.square() @ w).sqrt()[:, None]
    target = a - w @ a
    constant = (w @ target.square()).mean()
    losses = [
        (mlp(parameters, layers, row[:, None]) - target).square().mean(-1) @ w
        for parameters, row in zip(after.critic.parameters, u, strict=True)
    ]
    return (1 - torch.stack(losses) / constant).clamp_min(0)


def adversarial_plain(f, a, weight, penalty, state, after):
    """The error of the constant less that of the critic as the step left it."""
    w = shares(weight)
    layers = penalty._network(penalty.prepare(Attributes(a.numpy()), seed=0)).layers
    target = a - w @ a
    losses = [
        (mlp(parameters, layers, row[:, None]) - target).square().mean(-1) @ w
        for parameters, row in zip(after.critic.parameters, f, strict=True)
    ]
    return (w @ target.square()).mean() - torch.stack(losses)


def fbo(f, a, weight, penalty, state, after):
    """The surrogate of Algorithm 2: 2 Σ_IN w (h(a) − μ) f, h held fixed."""
    inside, outside = shares(weight[:20]), shares(weight[20:])
    layers = penalty.mean.network(a.shape[1]).layers
    fitted = torch.stack([mlp(parameters, layers, a).squeeze(-1) for parameters in after])
    mean = (fitted[:, 20:] @ outside)[:, None]
    return 2 * (inside * (fitted[:, :20] - mean) * f[:, :20]).sum(-1)


def itd(f, a, weight, penalty, state, after):
    """Var over OUT of h after K more steps, all of them differentiated by autograd."""
    inside, outside = shares(weight[:20]), shares(weight[20:])
    layers = penalty.mean.network(a.shape[1]).layers
    values = []
    starts = penalty.mean.init(a.shape[1], len(f), 0, f.dtype)
    for row, start in zip(f[:, :20], starts, strict=True):

        def loss(phi, prediction):
            return inside @ (mlp(phi, layers, a[:20]).squeeze(-1) - prediction).square()

        phi = start.clone()
        for number in range(penalty.inner_steps + penalty.steps):
            if number < penalty.inner_steps:
                phi = phi.detach().requires_grad_()
                (slope,) = torch.autograd.grad(loss(phi, row.detach()), phi)
                phi = (phi - penalty.inner_learning_rate * slope).detach().requires_grad_()
            else:
                (slope,) = torch.autograd.grad(loss(phi, row), phi, create_graph=True)
                phi = phi - penalty.inner_learning_rate * slope
        fitted = mlp(phi, layers, a[20:]).squeeze(-1)
        values.append(outside @ (fitted - outside @ fitted).square())
    return torch.stack(values)
