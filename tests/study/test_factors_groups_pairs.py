"""Coverage within factors, of pairs, with groups, and of audits of errors, by simulation (hours on two cores)."""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
import torch

from fairlevel import compare, dpvar_interval
from fairlevel.auditing.flags import question_flags
from fairlevel.auditing.questions import ask
from fairlevel.metrics.inputs import read_rows

pytestmark = pytest.mark.study

ROWS = 2000


def simulate(one, replications):
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        results = np.array(list(pool.map(one, range(replications), chunksize=25)), dtype=float)
    print(f"\n{one.func.__name__} {one.args}: {results.mean(axis=0).round(5)}")
    return results.mean(axis=0)


def within_factors(factors, truth, replication):
    """A = Z + 0.8 L₁, f = √ψ Z + sin L₁ + ½ Σ L + noise: disparity ψ within L."""
    torch.set_num_threads(1)
    random = np.random.default_rng([factors, int(truth * 1e6), replication])
    given, z, noise = random.standard_normal((ROWS, factors)), *random.standard_normal((2, ROWS))
    prediction = np.sqrt(truth) * z + np.sin(given[:, 0]) + 0.5 * given.sum(axis=1) + noise
    found = dpvar_interval(prediction, sensitive_features=z + 0.8 * given[:, 0], given=given)
    return found.estimate, found.low <= truth <= found.high, found.p_value <= 0.05


@pytest.mark.parametrize("factors", [1, 5])
@pytest.mark.parametrize("truth", [0.0, 0.003, 0.01, 0.05, 0.49])
def test_interval_within_factors(factors, truth):
    _, covered, rejected = simulate(partial(within_factors, factors, truth), 2000)
    assert covered >= 0.93
    if truth == 0:
        assert rejected <= 0.06


def pair(base, difference, correlation, replication):
    torch.set_num_threads(1)
    random = np.random.default_rng([int(base * 1e4), int(difference * 1e4), int(10 * correlation), replication])
    a, first, own = random.standard_normal((ROWS, 3)), *random.standard_normal((2, ROWS))
    second = correlation * first + np.sqrt(1 - correlation**2) * own
    found = compare(
        np.sqrt(base) * a[:, 0] + first, np.sqrt(base + difference) * a[:, 0] + second, sensitive_features=a
    )
    return found.difference, found.low <= difference <= found.high, found.p_value <= 0.05


@pytest.mark.parametrize("difference", [0.0, 0.01, 0.1])
@pytest.mark.parametrize(("base", "correlation"), [(0.0, 0.9), (0.1, 0.9), (0.1, 0.5)])
def test_interval_of_a_difference(base, difference, correlation):
    _, covered, _ = simulate(partial(pair, base, difference, correlation), 1000)
    assert covered >= 0.93


def grouped(truth, known, replication):
    """200 people of 10 rows; A and a part of the prediction are the person's."""
    torch.set_num_threads(1)
    random = np.random.default_rng([7, int(truth * 1e6), replication])
    person = np.repeat(np.arange(200), 10)
    a, own = random.standard_normal((2, 200))[:, person]
    prediction = np.sqrt(truth) * a + own + random.standard_normal(ROWS)
    found = dpvar_interval(prediction, sensitive_features=a, groups=person if known else None)
    return found.estimate, found.low <= truth <= found.high, found.p_value <= 0.05


def test_size_with_groups():
    assert simulate(partial(grouped, 0.0, True), 500)[2] <= 0.07
    assert simulate(partial(grouped, 0.0, False), 100)[2] > 0.5


@pytest.mark.parametrize("truth", [0.01, 0.05, 0.49])
def test_interval_with_groups(truth):
    assert simulate(partial(grouped, truth, True), 500)[1] >= 0.93


def errors(slope, replication):
    torch.set_num_threads(1)
    random = np.random.default_rng([3, int(slope * 100), replication])
    a, x, noise = random.standard_normal((3, ROWS))
    rows = read_rows(x + 0.5 * a, pd.DataFrame({"a": a}))
    found = ask(rows, x + (0.5 + slope) * a + noise, None, 0)
    return *(each.interval.p_value <= 0.05 for each in found), any(question_flags(found))


def test_size_and_power_of_audits_of_errors():
    assert max(simulate(partial(errors, 0.0), 500)) <= 0.06
    assert simulate(partial(errors, 0.3), 100)[-1] >= 0.99
