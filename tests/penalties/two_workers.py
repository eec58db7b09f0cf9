"""What both workers of ``test_torch_loss.py`` do; ``python two_workers.py EXAMPLE OUT`` is the second one. Rank and
address are in the variables that torchrun sets."""

import importlib.util
import sys
from datetime import timedelta

import pytest
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from fairlevel.exceptions import InvalidInput
from fairlevel.torch import DPVarPenalty


def load_example(path):
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gradients(model, penalty, part=slice(None), steps=4):
    """The gradients of the penalty alone at each of some steps, (step, parameter), and its values, (step,)."""
    random, found, values = torch.Generator().manual_seed(0), [], []
    for _ in range(steps):
        a = torch.randn(100, 2, generator=random, dtype=torch.float64) * torch.tensor([5.0, 0.1]) + 20
        x = torch.randn(100, 3, generator=random, dtype=torch.float64) + (a[:, :1] - 20) / 5
        model.zero_grad()
        value = penalty(model(x[part]), a[part])
        value.backward()
        found.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
        values.append(value.detach())
    return torch.stack(found), torch.stack(values)


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()


def work(example, rank, workers=2):
    """What each worker finds: gradients and values with 70 and 30 rows, and the example's parameters after an epoch."""
    distributed.init_process_group("gloo", timeout=timedelta(seconds=120))
    try:
        part = slice(0, 70) if rank == 0 else slice(70, 100)
        found = gradients(DistributedDataParallel(network()), DPVarPenalty(2, features=10), part)
        trained = load_example(example).train(10.0, rank, workers, epochs=1)
        with pytest.raises(InvalidInput, match="missing or infinite"):  # all refuse what one of them cannot use
            DPVarPenalty(1)(torch.full((5,), torch.nan if rank else 1.0), torch.arange(5.0).unsqueeze(1))
        return [*found, parameters(trained)]
    finally:
        distributed.destroy_process_group()


def parameters(net):
    return nn.utils.parameters_to_vector(net.parameters()).detach()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save(work(sys.argv[1], 1), sys.argv[2])
