"""What a user would write from the paper: one module a configuration, autograd, a Python loop."""

import torch
from torch import nn


def network(inputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def train_plain(x, y, steps, rate=0.1):
    model = network(x.shape[1]).to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(x).squeeze(1) - y).square().mean().backward()
        optimizer.step()
    return model


def fit_inner(inner, optimizer, a, target, steps):
    """Algorithm 1: some warm steps of the inner network on the current predictions."""
    for _ in range(steps):
        optimizer.zero_grad()
        (inner(a).squeeze(1) - target).square().mean().backward()
        optimizer.step()


def train_fbo(x, y, a, weight, steps, inner_steps=10, rate=0.1, inner_rate=0.1):
    """Algorithms 1 and 2 of the paper, mode FBO; the first half of the rows is IN."""
    half = len(y) // 2
    model, inner = network(x.shape[1]).to(x.device), network(a.shape[1]).to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    inner_optimizer = torch.optim.SGD(inner.parameters(), lr=inner_rate)
    for _ in range(steps):
        prediction = model(x).squeeze(1)
        fit_inner(inner, inner_optimizer, a[:half], prediction[:half].detach(), inner_steps)
        with torch.no_grad():
            level = inner(a).squeeze(1)
            adjoint = 2 * (level[:half] - level[half:].mean()) / half
        loss = (prediction[half:] - y[half:]).square().mean() + weight * (adjoint * prediction[:half]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def train_itd(x, y, a, weight, steps, unrolled=5, inner_steps=10, rate=0.1, inner_rate=0.1):
    """Algorithm 2, mode ITD: the unrolled steps are differentiated back into the predictor."""
    half = len(y) // 2
    model, inner = network(x.shape[1]).to(x.device), network(a.shape[1]).to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    inner_optimizer = torch.optim.SGD(inner.parameters(), lr=inner_rate)
    for _ in range(steps):
        prediction = model(x).squeeze(1)
        fit_inner(inner, inner_optimizer, a[:half], prediction[:half].detach(), inner_steps)
        moving = dict(inner.named_parameters())
        for _ in range(unrolled):
            level = torch.func.functional_call(inner, moving, (a[:half],)).squeeze(1)
            loss = (level - prediction[:half]).square().mean()
            slopes = torch.autograd.grad(loss, list(moving.values()), create_graph=True)
            moving = {
                name: value - inner_rate * slope for (name, value), slope in zip(moving.items(), slopes, strict=True)
            }
        spread = torch.func.functional_call(inner, moving, (a[half:],)).squeeze(1).var(correction=0)
        optimizer.zero_grad()
        ((prediction[half:] - y[half:]).square().mean() + weight * spread).backward()
        optimizer.step()
    return model


def hsic_step(f, a, sigma_f=1.0, sigma_a=1.0):
    """Value and gradient with whole n × n matrices."""
    f = f.detach().requires_grad_()
    k = torch.exp(-torch.cdist(f[:, None], f[:, None]).square() / (2 * sigma_f**2))
    other = torch.exp(-torch.cdist(a, a).square() / (2 * sigma_a**2))
    other = other - other.mean(0, keepdim=True) - other.mean(1, keepdim=True) + other.mean()
    value = (k * other).mean()
    value.backward()
    return value.detach(), f.grad
