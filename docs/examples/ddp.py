"""A level network, trained by two processes: ``torchrun --nproc-per-node 2 docs/examples/ddp.py``."""

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from fairlevel import dpvar
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.torch import DPVarPenalty


def rows(count, seed):
    """Features (row, 10), target (row,) with a spread near 1, attributes (row, 5) in any units."""
    sample = SyntheticDesign(beta_int=3.0).sample(count, seed)
    return [torch.tensor(part, dtype=torch.float32) for part in (sample.x, sample.y / 3, sample.a)]


def train(weight, rank=0, workers=1, epochs=10, batch=256):
    """Each of the workers takes its part of every batch of 256."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    model = DistributedDataParallel(net) if workers > 1 else net
    penalty = DPVarPenalty(attributes_dim=5)  # not wrapped: it has no parameters, and adds up its sums itself
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    table = TensorDataset(*rows(8192, seed=0))
    sampler = DistributedSampler(table, num_replicas=workers, rank=rank, seed=0)
    loader = DataLoader(table, batch_size=batch // workers, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y, a in loader:
            f = model(x).squeeze(1)
            loss = (f - y).square().mean() + weight * penalty(f, a)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net


def main():
    """Train without and with the penalty, and measure on new rows."""
    distributed.init_process_group("gloo")
    rank, workers = distributed.get_rank(), distributed.get_world_size()
    x, y, a = rows(4000, seed=1)
    for weight in (0.0, 10.0):
        f = train(weight, rank, workers)(x).squeeze(1).detach()
        if rank == 0:
            error, disparity = (f - y).square().mean(), dpvar(None, f.numpy(), sensitive_features=a.numpy())
            print(f"weight {weight:>2g}: MSE {error:.3f}, DPVar {disparity:.4f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
