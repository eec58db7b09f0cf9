"""The sanity matrix: four predictions whose dependence on A is known, measured by every penalty."""

import numpy as np
import torch
from scipy.stats import norm

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties import FBO, GDP, HSIC, ITD, Adversarial, ClosedFBO, FeatureHSIC, LinearR2, RootFBO

RHO = 0.6
CASES = ("rho A + noise", "A squared", "A times Z", "independent")
MEASURED_BY = {
    "fbo": FBO(inner_steps=25),
    "itd": ITD(inner_steps=25, steps=1),
    "fbo_closed": ClosedFBO(),
    "fbo_root": RootFBO(),
    "r2": LinearR2(),
    "gdp": GDP(),
    "hsic": HSIC(),
    "hsic_features": FeatureHSIC(features=300, sensitive_features_count=300),
    "adversarial": Adversarial(critic_steps=20),
}
ROUNDS = {"fbo": 20, "itd": 20, "adversarial": 20}  # calls until a trained part has settled on fixed predictions


def draw(rows=5000, seed=0):
    """A (row, 1) and the predictions of the four cases, (case, row)."""
    random = np.random.default_rng(seed)
    a, z = random.standard_normal((2, rows))
    f = np.stack([RHO * a + np.sqrt(1 - RHO**2) * z, a**2, a * z, random.standard_normal(rows)])
    return (a[:, None] - a.mean()) / a.std(), torch.from_numpy(f)


def measure(name, rows=5000, seed=0):
    """The value of one penalty in each case, (case,)."""
    penalty, (a, f) = MEASURED_BY[name], draw(rows, seed)
    prepared = penalty.prepare(Attributes(a), penalty.rows.assign(rows // 2, rows), {}, seed=0).to(torch.float32, "cpu")
    state = penalty.init(prepared, len(f), {})
    f = f.float()
    for _ in range(ROUNDS.get(name, 1)):
        step = penalty.step(f, prepared, state)
        state = step.state
    return step.value.double().numpy()


def smoothed_gdp(rows=5000):
    """What the kernel estimate of GDP tends to: the true one blurred by the bandwidth, on the middle 99 %."""
    b = (rows * 3 / 4) ** (-1 / 5)
    g = np.linspace(*norm.ppf([0.005, 0.995]), 200)
    density = norm.pdf(g, scale=np.sqrt(1 + b**2))
    centre, spread = g / (1 + b**2), b**2 / (1 + b**2)  # A given A + b·noise = g
    levels = [RHO * centre, centre**2 + spread - 1, 0 * g, 0 * g]
    return np.array([density @ np.abs(level) / density.sum() for level in levels])


def gaussian_hsic(rho, s=1.0, t=1.0):
    """HSIC of a standard bivariate normal pair with correlation rho under Gaussian kernels of bandwidths s and t."""
    d = (1 + 2 / s**2) * (1 + 2 / t**2)
    c = rho**2 / (s * t) ** 2
    return (d - 4 * c) ** -0.5 + d**-0.5 - 2 * (d - c) ** -0.5
