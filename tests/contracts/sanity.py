"""The sanity matrix: four predictions whose dependence on A is known, measured by every penalty."""

import numpy as np
import torch
from scipy.stats import norm

from fairlevel.conditional_mean.attributes import Attributes
from tests.drawn_rows import TENSORS_OF_32_BITS

RHO = 0.6
ROWS = 5000
DPVAR = [RHO**2, 2.0, 0.0, 0.0]
"""The truth for: rho A + noise, A squared, A times Z, independent."""
MEDIAN_DISTANCE = 0.954  # of two standard normals: √2 · 0.6745


def draw(rows=ROWS, seed=0):
    """A (row, 1) and the predictions of the four cases, (case, row)."""
    random = np.random.default_rng(seed)
    a, z = random.standard_normal((2, rows))
    f = np.stack([RHO * a + np.sqrt(1 - RHO**2) * z, a**2, a * z, random.standard_normal(rows)])
    return (a[:, None] - a.mean()) / a.std(), torch.from_numpy(f)


def measure(penalty, rounds, rows):
    """The value of a penalty in each case, (case,), after so many calls: a trained part has to settle."""
    a, f = draw(rows)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS_OF_32_BITS)
    state = None
    f = f.float()
    for _ in range(rounds):
        step = penalty.step(f, prepared, state)
        state = step.state
    return step.value.double().numpy()


def smoothed_gdp(rows=ROWS):
    """What the kernel estimate of GDP tends to: the true one blurred by the bandwidth, on the middle 99 %."""
    b = (rows * 3 / 4) ** (-1 / 5)
    g = np.linspace(*norm.ppf([0.005, 0.995]), 200)
    density = norm.pdf(g, scale=np.sqrt(1 + b**2))
    centre, spread = g / (1 + b**2), b**2 / (1 + b**2)  # A given A + b·noise = g
    means = [RHO * centre, centre**2 + spread - 1, 0 * g, 0 * g]
    return np.array([density @ np.abs(mean) / density.sum() for mean in means])


def gaussian_hsic(rho, s=1.0, t=1.0):
    """HSIC of a standard bivariate normal pair with correlation rho under Gaussian kernels of bandwidths s and t."""
    d = (1 + 2 / s**2) * (1 + 2 / t**2)
    c = rho**2 / (s * t) ** 2
    return (d - 4 * c) ** -0.5 + d**-0.5 - 2 * (d - c) ** -0.5
