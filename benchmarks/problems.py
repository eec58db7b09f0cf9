"""The rows that everything is timed on, and the engine as a function of the number of steps."""

import numpy as np
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.penalties import NoPenalty
from fairlevel.predictors import MLP, Configurations
from fairlevel.training.engine import train
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
    training = AllRows(TrainingRows(x, y, Attributes(a), rows_in=rows // 2))
    weights = np.linspace(0.1, 5.0, configs)

    def run(steps, progress=None):
        train(
            training,
            Configurations.of(weights, 0.1),
            predictor=MLP(),
            penalty=NoPenalty() if penalty is None else penalty,
            optimizer=GradientDescent(0.1, steps),
            device=device,
            progress=progress,
        )

    return run
