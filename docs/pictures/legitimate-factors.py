"""What a factor explains, and what a proxy hides: docs/pictures/legitimate-factors.png.

Run: python docs/pictures/legitimate-factors.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from fairlevel import dpvar_interval


def draw(rows: int = 3000) -> None:
    """Two panels: DPVar within a factor as its part in the prediction grows, and within ever better proxies of age."""
    random = np.random.default_rng(0)
    age, chance, noise = random.standard_normal((3, rows))
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    experience = 0.8 * age + 0.6 * chance
    parts = np.linspace(0, 1, 6)
    pays = [(part * experience + (1 - part) * age + 0.5 * noise) for part in parts]
    show(
        left,
        parts,
        [dpvar_interval(pay, sensitive_features=age, given=experience) for pay in pays],
        "within experience",
    )
    show(left, parts, [dpvar_interval(pay, sensitive_features=age) for pay in pays], "between all people")
    left.set_xlabel("part of pay that depends on experience, not on age itself")
    left.set_ylabel("DPVar, 95 % interval")
    left.set_title("A legitimate factor", fontsize=10)
    pay, errors = age + 0.5 * noise, np.array([2.0, 1.0, 0.5, 0.25, 0.1, 0.05])
    proxies = [age + error * chance for error in errors]
    show(
        right,
        errors,
        [dpvar_interval(pay, sensitive_features=age, given=proxy) for proxy in proxies],
        "within the proxy",
    )
    show(right, errors, [dpvar_interval(pay, sensitive_features=age)] * len(errors), "between all people")
    right.set_xscale("log")
    right.invert_xaxis()
    right.set_xlabel("error of the proxy, in standard deviations of age")
    right.set_title("A proxy: pay depends on age alone", fontsize=10)
    for axis in (left, right):
        axis.legend(frameon=False)
        axis.set_ylim(bottom=0)
    plt.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def show(axis: plt.Axes, at: np.ndarray, intervals: list, label: str) -> None:
    """Estimates joined by a line, with their intervals."""
    estimates = np.array([each.estimate for each in intervals])
    ends = np.abs(np.array([[each.low, each.high] for each in intervals]).T - estimates)
    axis.errorbar(at, estimates, yerr=ends, marker="o", markersize=4, capsize=3, label=label)


if __name__ == "__main__":
    draw()
