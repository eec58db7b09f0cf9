"""The rows that everything is timed on, and the engine as a function of the number of steps."""

import lightgbm as lgb
import numpy as np
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.penalties import ClosedFBO, NoPenalty
from fairlevel.predictors import Boosting, Configurations
from fairlevel.predictors.boosting import SMALL
from fairlevel.training.engine import Trainer
from fairlevel.training.rows import AllRows, TrainingRows

INPUTS, ATTRIBUTES = 24, 5


def table(rows, inputs=INPUTS, attributes=ATTRIBUTES, seed=0):
    """x, y and a, standardised; x follows a, y follows both."""
    random = np.random.default_rng(seed)
    a = random.standard_normal((rows, attributes))
    x = random.standard_normal((rows, inputs))
    x[:, :attributes] = (x[:, :attributes] + a[:, :inputs]) / 2**0.5
    y = x[:, 0] + a[:, 0] * a[:, -1] + 0.3 * random.standard_normal(rows)
    return x, (y - y.mean()) / y.std(), a


def tensors(rows, device="cpu"):
    return [torch.tensor(part, dtype=torch.float32, device=device) for part in table(rows)]


def engine(penalty, rows, configs, device="cpu", attributes=ATTRIBUTES):
    """A function that trains the grid for a number of steps; ``penalty=None`` trains without fairness."""
    x, y, a = table(rows, attributes=attributes)
    training = AllRows(TrainingRows(x, y, Attributes(a)))
    weights = np.linspace(0.1, 5.0, configs)

    def run(steps, progress=None):
        trainer = Trainer(MLP(), penalty or NoPenalty(), GradientDescent(0.1, steps), device=device)
        trainer.train(training, Configurations.of(weights, 0.1), progress=progress)

    return run


def boosters(rows, inputs, rounds, weight=1.0, attributes=10):
    """Functions that train a fair booster, LightGBM, and LightGBM on a gradient f − y that Python computes: 31 leaves,
    half of the features per tree. Everything from arrays to a booster counts: functions of A, their ridge, bins.
    """
    x, y, a = table(rows, inputs, attributes)
    predictor = Boosting(leaves=31, rounds=rounds, features=0.5)
    given = {
        "num_leaves": 31,
        "learning_rate": predictor.learning_rate,
        "lambda_l2": predictor.l2,
        "feature_fraction": 0.5,
        "num_threads": torch.get_num_threads() if x.size >= SMALL else 1,
        "verbosity": -1,
    }

    def fair():
        training = AllRows(TrainingRows(x, y, Attributes(a)))
        penalty = training.tuned(ClosedFBO(), 0)
        grid = Configurations.of([weight], 0.1)
        Trainer(predictor, penalty).train(training, grid)

    def residual(scores, data):
        return scores - data.get_label(), np.ones(len(scores))

    def lightgbm(objective):
        lgb.train({**given, "objective": objective}, lgb.Dataset(x, y), rounds)

    return fair, lambda: lightgbm("regression"), lambda: lightgbm(residual)
