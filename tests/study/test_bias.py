"""Bias of the debiased DPVar and of the paper's diagnostic with 5, 20 and 100 attributes."""

import numpy as np
import pytest
from scipy.stats import norm

from fairlevel import dpvar, dpvar_interval

pytestmark = pytest.mark.study

ROWS = 2000


def linear(a):
    return 0.7 * a.sum(axis=1) / np.sqrt(a.shape[1])


def additive(a):
    return 0.7 * (np.sin(2 * a) / np.sqrt((1 - np.exp(-8)) / 2)).sum(axis=1) / np.sqrt(a.shape[1])


@pytest.mark.parametrize("attributes", [5, 20, 100])
@pytest.mark.parametrize("shape", [linear, additive])
def test_bias_by_number_of_attributes(shape, attributes):
    estimates, papers, errors = [], [], []
    for seed in range(20):
        random = np.random.default_rng([attributes, seed])
        a = random.standard_normal((ROWS, attributes))
        f = shape(a) + random.standard_normal(ROWS)
        found = dpvar_interval(f, sensitive_features=a)
        estimates.append(found.estimate)
        errors.append((found.high - found.low) / 3.92)
        if seed < 3:
            papers.append(dpvar(None, f, sensitive_features=a, method="paper"))
    print(
        f"\n{shape.__name__:8s} kA={attributes:<3d} truth .49 debiased {np.mean(estimates):.3f} (sd "
        f"{np.std(estimates):.3f}) "
        f"paper {np.mean(papers):.3f}"
    )
    if shape is linear:
        assert abs(np.mean(estimates) - 0.49) < 3 * np.std(estimates) / np.sqrt(20) + 0.01
    assert np.mean(estimates) < 0.49 + 3 * np.mean(errors) / np.sqrt(20)


GROUP_MEANS, GROUP_SHARES = np.array([-1.0, 1.0, 0.5, -0.5]), np.full(4, 0.25)


def groups_of(a):
    return np.digitize(a[:, 0], norm.ppf([0.25, 0.5, 0.75]))


CASES = {
    "w'A + e": (lambda a, e: a @ [0.5, -0.3, 0.2] + e, 0.38, 3),
    "A^2": (lambda a, e: a[:, 0] ** 2, 2.0, 1),
    "|A|": (lambda a, e: np.abs(a[:, 0]), 1 - 2 / np.pi, 1),
    "sin U": (lambda a, e: np.sin(np.pi * (2 * norm.cdf(a[:, 0]) - 1)), 0.5, 1),
    "4 groups": (lambda a, e: GROUP_MEANS[groups_of(a)] + e, GROUP_SHARES @ (GROUP_MEANS**2), 1),
    "A Z": (lambda a, e: a[:, 0] * e, 0.0, 1),
    "1{U<s(A)}": (lambda a, e: (np.abs(e) < 0.5 + 0.4 * np.tanh(a[:, 0])).astype(float), None, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_closed_forms_at_twenty_thousand_rows(name):
    shape, truth, attributes = CASES[name]
    random = np.random.default_rng(7)
    a, e = random.standard_normal((20_000, attributes)), random.standard_normal(20_000)
    if truth is None:  # f = 1{U < s(A)}: the variance of s, by quadrature over A
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        s = 2 * norm.cdf(0.5 + 0.4 * np.tanh(nodes)) - 1
        weights = weights / weights.sum()
        truth = float(weights @ s**2 - (weights @ s) ** 2)
    f = shape(a, e)
    if name == "4 groups":
        a = groups_of(a)
    found = dpvar_interval(f, sensitive_features=a)
    error = max((found.high - found.low) / 3.92, 1e-9)
    paper = dpvar(None, f, sensitive_features=a, method="paper")
    print(
        f"\n{name:9s} truth {truth:.4f} debiased {found.estimate:.4f} ± {error:.4f} paper {paper:.4f} "
        f"[{found.regressor}]"
    )
    assert abs(found.estimate - truth) <= 3 * error
