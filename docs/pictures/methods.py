"""The same data under each penalty: docs/pictures/methods.png. Run: python docs/pictures/methods.py"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from fairlevel import FairRegressor, dpvar
from fairlevel.metrics.profile import mean_profile

WEIGHTS = {"none": 0, "fbo_closed": 30, "fbo": 10, "itd": 30, "r2": 30, "gdp": 5, "hsic": 300, "adversarial": 5}
TITLES = {"none": "no penalty", "fbo_closed": "FBO closed form", "fbo": "FBO", "itd": "ITD", "r2": "R²", "gdp": "GDP"}
TITLES |= {"hsic": "HSIC", "adversarial": "adversarial"}


def draw(rows: int = 800) -> None:
    """One panel a penalty: predictions against A and their average."""
    random = np.random.default_rng(0)
    a, z = random.uniform(-1.7, 1.7, (2, rows))
    x = np.c_[a + 0.3 * random.standard_normal(rows), a**2 + 0.3 * random.standard_normal(rows), z, a * z]
    y = 0.6 * a + 0.8 * a**2 + z + a * z + 0.2 * random.standard_normal(rows)
    figure, axes = plt.subplots(2, 4, figsize=(13, 6), sharex=True, sharey=True, layout="constrained")
    for axis, (name, weight) in zip(axes.flat, WEIGHTS.items(), strict=True):
        penalty = "fbo_closed" if name == "none" else name
        model = FairRegressor(weight=weight, penalty=penalty, random_state=0).fit(x, y, sensitive_features=a)
        prediction = model.predict(x)
        axis.scatter(a[:800], prediction[:800], s=4, alpha=0.35, color="C0", linewidths=0)
        profile = mean_profile(prediction, attribute=a)
        axis.plot(profile.at, profile.mean, color="C3", linewidth=2)
        error, level = np.mean((prediction - y) ** 2) / y.var(), dpvar(None, prediction, sensitive_features=a) / y.var()
        axis.set_title(f"{TITLES[name]}\nMSE {error:.2f}, DPVar {max(level, 0):.3f}", fontsize=10)
    figure.supxlabel("A")
    figure.supylabel("prediction (red: its average given A)")
    plt.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    draw()
