"""Closed-form FBO against FBO as printed, at equal rounds of boosting and equal weights, judged by the true DPVar."""

import time

import numpy as np
import pytest

from fairlevel import FairRegressor
from fairlevel.data.synthetic import SyntheticDesign
from tests.study.grids import fit_weights

pytestmark = pytest.mark.study

WEIGHTS = [0.0, *np.geomspace(0.1, 30, 23)]


def best_error(design, penalty, seed, rows=4000):
    train, test = design.sample(rows, seed=seed), design.sample(20_000, seed=1000 + seed)
    estimator = FairRegressor(penalty=penalty, random_state=seed)
    start = time.perf_counter()
    models = fit_weights(estimator, WEIGHTS, train.x, train.y, sensitive_features=train.a)
    seconds = time.perf_counter() - start
    errors = np.array([np.mean((model.predict(test.x) - test.y) ** 2) for model in models]) / test.y.var()
    truths = np.array([design.true_dpvar(model).value for model in models]) / test.y.var()
    return errors, truths, seconds


def test_closed_form_and_all_labels_beat_the_printed_algorithm():
    design = SyntheticDesign(beta_int=1.0, attributes=8)
    ratios, times = [], []
    for seed in range(3):
        results = {penalty: best_error(design, penalty, seed) for penalty in ("fbo", "fbo_closed")}
        budget = 0.25 * results["fbo_closed"][1][0]  # a quarter of the plain model's DPVar (weight 0, all labels)
        best = {}
        for penalty, (errors, truths, seconds) in results.items():
            best[penalty] = errors[truths <= budget].min()
            print(
                f"\nseed {seed} {penalty:10s} best MSE {best[penalty]:.4f} (true DPVar ≤ {budget:.4f}) {seconds:.1f} s"
            )
        ratios.append(best["fbo_closed"] / best["fbo"])
        times.append(results["fbo_closed"][2] / results["fbo"][2])
    print(f"median ratio of errors {np.median(ratios):.3f}, of times {np.median(times):.3f}")
    assert np.median(ratios) <= 0.9
    assert np.median(times) < 1
