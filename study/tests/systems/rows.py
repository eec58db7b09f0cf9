"""Rows and a setup on which systems are fitted within a second."""

import numpy as np

from fairlevel.candidates import TrainingSetup
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import MLP
from fairlevel_study.systems.protocol import Data

SETUP = TrainingSetup(MLP((8, 8)), Adam(steps=40), seed=0, device="cpu", rate_scale=0.2)


def data(rows=160, attributes=1, seed=0):
    """y depends on A and on what A does not explain of x; all standardised."""
    random = np.random.default_rng(seed)
    a = random.standard_normal((rows, attributes))
    x = np.hstack([a + 0.5 * random.standard_normal((rows, attributes)), random.standard_normal((rows, 2))])
    y = x[:, 0] + x[:, -1] + 0.3 * random.standard_normal(rows)
    x, a = ((values - values.mean(axis=0)) / values.std(axis=0) for values in (x, a))
    return Data(x, (y - y.mean()) / y.std(), a)
