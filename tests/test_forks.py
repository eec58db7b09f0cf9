"""Fork after fit: the child works on one thread instead of waiting for threads that are gone."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import multiprocessing
import numpy as np
from fairlevel import FairRegressor, dpvar
from fairlevel.networks.optimizers import Adam
random = np.random.default_rng(0)
x, a = random.standard_normal((2, 1000, 3))
y = x[:, 0] + a[:, 0]
def fit(_):
    settings = {"predictor": "mlp", "optimizer": Adam(steps=5), "validation_fraction": None}
    settings |= {"random_state": 0, "device": "cpu"}  # CUDA serves no process forked from one that has used it
    model = FairRegressor(weight=1.0, **settings)
    return float(dpvar(None, model.fit(x, y, sensitive_features=a).predict(x), sensitive_features=a))
here = fit(0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert abs(pool.map_async(fit, [1]).get(timeout=100)[0] - here) < 1e-5
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_can_train_and_measure():
    pytest.importorskip("torch")
    settings = os.environ | {"OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


THREADS_OF_A_CHILD = """
import multiprocessing
import torch
from fairlevel.extras import networks
networks("backend")
torch.set_num_threads(3)
def asks(_):
    before = torch.get_num_threads()
    networks("backend")
    return before, torch.get_num_threads()
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map_async(asks, [0]).get(timeout=100) == [(3, 1)]
assert torch.get_num_threads() == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_networks_have_one_thread_in_forked_processes_alone():
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", THREADS_OF_A_CHILD], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
