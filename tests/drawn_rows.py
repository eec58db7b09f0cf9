import numpy as np
import torch

from fairlevel.networks.backend import TorchBackend

TENSORS, TENSORS_OF_32_BITS = TorchBackend("cpu", torch.float64), TorchBackend("cpu")


def gaussian_arrays(rows, attributes, configs, seed=0):
    """Predictions (config, row) and attributes (row, attribute) of unlike means and scales."""
    random = np.random.default_rng(seed)
    mean, scale = 3.0 * np.arange(attributes) - 2.0, 0.5 + np.arange(attributes)
    a = mean + scale * random.standard_normal((rows, attributes))
    f = random.standard_normal((configs, rows)) + np.sin(a[:, 0]) * np.arange(1, configs + 1)[:, None]
    return f, a


def gaussian(rows, attributes, configs, seed=0):
    """The same with predictions as a tensor."""
    f, a = gaussian_arrays(rows, attributes, configs, seed)
    return torch.from_numpy(f), a
