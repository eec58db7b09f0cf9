"""What the estimates of these penalties tend to in the four cases of ``tests/contracts/sanity.py``."""

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import k0
from scipy.stats import norm

from tests.contracts.sanity import ROWS


def smoothed_eipm(rho, rows=ROWS):
    """What the estimate of EIPM tends to: distances between characteristic functions of f given A near g and of f,
    blurred by the bandwidth, with the noise of so many rows.
    """
    b = (rows * 3 / 4) ** (-1 / 5)
    g, w = np.linspace(-4, 4, 161)[:, None], np.linspace(-8, 8, 801)
    centre, spread = g / (1 + b**2), b**2 / (1 + b**2)  # A given A + b·noise = g

    def waves(c, s):
        """E exp(i w f) for A ~ N(c, s), in the four cases."""
        yield np.exp(1j * w * rho * c - w**2 * (1 - rho**2 * (1 - s)) / 2)
        yield np.exp(1j * w * c**2 / (1 - 2j * w * s)) / np.sqrt(1 - 2j * w * s)
        yield np.exp(-(w**2) * c**2 / 2 / (1 + w**2 * s)) / np.sqrt(1 + w**2 * s)
        yield np.exp(-(w**2) / 2) + 0 * c

    kernel, density = norm.pdf(w) * (w[1] - w[0]), norm.pdf(g[:, 0]) * (g[1, 0] - g[0, 0])
    near = 1 / (rows * 2 * np.sqrt(np.pi) * b * norm.pdf(g[:, 0])) - 1 / rows  # Σ (W − w)²
    distances = []
    for here, everywhere in zip(waves(centre, spread), waves(0 * g, 1.0), strict=True):
        noise = near * (1 - np.abs(here) ** 2 @ kernel)
        distances.append(density @ np.sqrt(np.abs(here - everywhere) ** 2 @ kernel + noise))
    return np.array(distances)


def smoothed_chi2(rho, rows=ROWS):
    """χ² between the densities of (f, A) and of f and A apart, blurred by the bandwidth, on the nodes."""
    b = rows ** (-1 / 6)
    g, a = np.linspace(-2.5, 2.5, int(5 / b)), np.linspace(-6, 6, 4001)
    near = norm.pdf(a) * norm.pdf(g[:, None] - a, scale=b)  # (node of A, a)
    noise = np.sqrt(1 - rho**2 + b**2)
    given = [
        norm.pdf(g[:, None] - rho * a, scale=noise),
        norm.pdf(g[:, None] - (a**2 - 1) / np.sqrt(2), scale=b),
        norm.pdf(g[:, None] / np.sqrt(a**2 + b**2)) / np.sqrt(a**2 + b**2),
        norm.pdf(g[:, None], scale=np.sqrt(1 + b**2)) + 0 * a,
    ]
    found = []
    for density in given:
        p = density @ near.T
        p = p / p.sum()
        found.append((p**2 / p.sum(0) / p.sum(1, keepdims=True)).sum() - 1)
    return np.array(found)


def product_information():
    """Mutual information of A·Z and A: the entropy of A·Z, of density K₀(|x|)/π, less that of A·Z given A."""
    x = np.exp(np.linspace(-30, 4, 20_001))
    density = k0(x) / np.pi
    entropy = -2 * trapezoid(density * np.log(density) * x, np.log(x))
    mean_of_log = -(np.euler_gamma + np.log(2)) / 2  # E log|A|
    return float(entropy - np.log(2 * np.pi * np.e) / 2 - mean_of_log)
