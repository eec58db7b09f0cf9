"""``torchrun --nproc-per-node 2 -m benchmarks.communication``: what all-reducing the moments of the loss costs a step.

The step is that of plain data-parallel training with the penalty in it: batch 4096 per worker, 64 random features beside
5 attributes, a network of 2 × 256. Time in the penalty's own all-reduce, its waiting for the other worker apart, is
compared with the whole step; both are medians over steps of the same run.
"""

import os
import statistics
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from fairlevel.torch import DPVarPenalty

BATCH, ATTRIBUTES, FEATURES, INPUTS, WIDTH, STEPS = 4096, 5, 64, 50, 256, 60


class Timed(DPVarPenalty):
    """Counts bytes and seconds of its all-reduces; a barrier before each of them takes the waiting out."""

    waited = talked = sent = 0.0

    def _summed(self, local):
        start = time.perf_counter()
        distributed.barrier()
        ready = time.perf_counter()
        distributed.all_reduce(local)
        self.waited, self.talked = self.waited + ready - start, self.talked + time.perf_counter() - ready
        self.sent += local.nbytes
        return local


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(INPUTS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))
    model, penalty = DistributedDataParallel(net), Timed(ATTRIBUTES, features=FEATURES)
    optimizer = torch.optim.Adam(model.parameters())
    x, a = torch.randn(BATCH, INPUTS), torch.randn(BATCH, ATTRIBUTES)
    y, rows = x[:, 0] + a[:, 0], []
    for _ in range(STEPS):
        penalty.waited = penalty.talked = penalty.sent = 0.0
        start = time.perf_counter()
        f = model(x).squeeze(1)
        loss = (f - y).square().mean() + penalty(f, a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows.append((time.perf_counter() - start - penalty.waited, penalty.talked, penalty.sent))
    steps, talks, bytes_sent = zip(*rows[10:], strict=True)
    shares = [talk / step for step, talk in zip(steps, talks, strict=True)]
    if rank == 0:
        whole, talk = statistics.median(steps), statistics.median(talks)
        print(f"{bytes_sent[0]:.0f} bytes per step; step {whole * 1e3:.1f} ms, all-reduce {talk * 1e3:.2f} ms")
        print(f"share of a step: median {statistics.median(shares):.1%}, target ≤ 10 %; load {os.getloadavg()[0]:.0f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
