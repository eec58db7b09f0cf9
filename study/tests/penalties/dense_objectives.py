"""What each of these penalties claims to differentiate, written densely and without its code; see
``tests/contracts/dense_objectives.py``.
"""

from itertools import product
from math import factorial

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermeval

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.network import Network
from tests.contracts.dense_objectives import explained, gaussian_kernel, mlp, shares, standard
from tests.drawn_rows import TENSORS


def eipm(f, a, weight, penalty, *_):
    """Anchor by anchor, with all pairs of the Gaussian kernel."""
    w = shares(weight)
    values, directions = torch.linalg.eigh((a - w @ a).T @ (w[:, None] * (a - w @ a)))
    scores = (a - w @ a) @ directions[:, [-1, -2]] / values[[-1, -2]].sqrt()
    b = penalty.sensitive_bandwidth * w.square().sum() ** (1 / 6)
    total = 0
    for centre, own in zip(scores, w, strict=True):
        near = w * torch.exp(-0.5 * (scores - centre).square().sum(-1) / b**2)
        contrast = near / near.sum() - w
        squares = [contrast @ gaussian_kernel(row[:, None], penalty.bandwidth) @ contrast for row in f]
        total = total + own * (torch.stack(squares) + 1e-12).sqrt()
    return total - 1e-6


def hermite_products(a, degree):
    """Power by power, from NumPy's polynomials."""
    columns = []
    for powers in product(range(degree + 1), repeat=a.shape[1]):
        if 1 <= sum(powers) <= degree:
            parts = [
                hermeval(column, np.eye(degree + 1)[power]) / factorial(power) ** 0.5
                for column, power in zip(a.numpy().T, powers, strict=True)
            ]
            columns.append(np.prod(parts, axis=0))
    return torch.from_numpy(np.stack(columns, axis=1))


def hgr_kernel(f, a, weight, penalty, *_):
    """The largest eigenvalue of the canonical correlations, by dense solves."""
    w = shares(weight)
    g = hermite_products(a, penalty.sensitive_degree)
    g = g - w @ g
    inverse = torch.linalg.inv(g.T @ (w[:, None] * g) + penalty.ridge * torch.eye(g.shape[1], dtype=f.dtype))
    values = []
    for row in f:
        u = (row - row @ w) / ((row - row @ w).square() @ w).sqrt()
        own = torch.stack([u, (u**2 - 1) / 2**0.5, (u**3 - 3 * u) / 6**0.5], dim=1)
        own = own - w @ own
        root = torch.linalg.cholesky(own.T @ (w[:, None] * own) + penalty.ridge * torch.eye(3, dtype=f.dtype))
        cross = torch.linalg.solve(root, own.T @ (w[:, None] * g))
        values.append(torch.linalg.eigvalsh(cross @ inverse @ cross.T)[-1])
    return torch.stack(values)


def gedi(f, a, weight, penalty, *_):
    """Least squares on plain powers."""
    w = shares(weight)
    powers = [p for p in product(range(penalty.degree + 1), repeat=a.shape[1]) if 1 <= sum(p) <= penalty.degree]
    plain = torch.stack([torch.stack([a[:, k] ** p for k, p in enumerate(each)]).prod(0) for each in powers], dim=1)
    return explained(plain, 0.0, f, w)


def hgr_chi2(f, a, weight, penalty, *_):
    """Attribute by attribute, row by row, with the mean over attributes."""
    w = shares(weight)
    b = penalty.bandwidth * w.square().sum() ** (1 / 6)
    g = torch.linspace(-2.5, 2.5, int(5 * w.square().sum() ** (-1 / 6)), dtype=f.dtype)
    points = torch.from_numpy(standard(a, w))
    values = []
    for row in f:
        u = (row - row @ w) / ((row - row @ w).square() @ w).sqrt()
        each = []
        for column in points.T:
            p = sum(
                own * torch.outer(torch.exp(-((g - x) ** 2) / 2 / b**2), torch.exp(-((g - y) ** 2) / 2 / b**2))
                for own, x, y in zip(w, u, column, strict=True)
            )
            p = p / p.sum()
            first, second = p.sum(1, keepdim=True) + 1e-10, p.sum(0, keepdim=True) + 1e-10
            each.append((p**2 / (first * second)).sum() - 1)
        values.append(torch.stack(each).mean())
    return torch.stack(values)


def hgr(f, a, weight, penalty, state, after):
    """The squared correlation of the functions as the step left them."""
    w = shares(weight)
    first, second = (Network(inputs, penalty.hidden).layers for inputs in (1, a.shape[1]))
    values = []
    for row, of_f, of_a in zip(f, *after.parameters, strict=True):
        u = (row - row @ w) / ((row - row @ w).square() @ w).sqrt()
        phi, psi = mlp(of_f, first, u[:, None]).squeeze(-1), mlp(of_a, second, a).squeeze(-1)
        phi, psi = phi - phi @ w, psi - psi @ w
        c = (phi * psi) @ w / ((phi.square() @ w + 1e-9) * (psi.square() @ w + 1e-9)).sqrt()
        values.append(c.clamp_min(0).square())
    return torch.stack(values)


def mine(f, a, weight, penalty, state, after):
    """The bound at the critic and the four shuffles as the step left them."""
    w = shares(weight)
    prepared = penalty.prepare(Attributes(a.numpy()), seed=0).to(TENSORS)
    layers, partners = penalty._network(prepared).layers, prepared.partners(after.steps).reshape(4, -1)
    values = []
    for row, parameters in zip(f, *after.parameters, strict=True):
        u = ((row - row @ w) / ((row - row @ w).square() @ w).sqrt())[:, None]
        top, bottom = 0, 0
        for partner in partners:
            both = w * w[partner]
            top = top + both @ mlp(parameters, layers, torch.cat([u, a[partner]], 1))[:, 0].exp()
            bottom = bottom + both.sum()
        pairs = mlp(parameters, layers, torch.cat([u, a], 1))[:, 0]
        values.append((pairs @ w - (top / bottom).log()).clamp_min(0))
    return torch.stack(values)
