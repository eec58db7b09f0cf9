"""A model that was fitted before a fork predicts first in the child, where the threads of OpenMP are gone."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import multiprocessing, pickle
import numpy as np
from fairlevel import FairRegressor, relevel
random = np.random.default_rng(0)
x, a = random.standard_normal((3000, 3)), random.standard_normal(3000)
model = FairRegressor(0.0, random_state=0).fit(x, x.sum(axis=1))
stored = pickle.dumps(model)
corrected = relevel(lambda rows: rows.sum(axis=1), x[:300], sensitive_features=x[:300, 0]).model(0)
def predictions(_):
    return [each.predict(x[:50]) for each in (model, pickle.loads(stored), corrected)]
with multiprocessing.get_context("fork").Pool(1) as pool:
    of_child = pool.map_async(predictions, [1]).get(timeout=60)[0]
for child, parent in zip(of_child, predictions(0)):
    np.testing.assert_array_equal(child, parent)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_predicts():
    settings = os.environ | {"OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
