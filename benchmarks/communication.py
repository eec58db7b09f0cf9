"""``torchrun --nproc-per-node 2 -m benchmarks.communication``: what all-reducing the moments of the loss costs a step.

A step of data-parallel training with the penalty in it: batch 4096 per worker, 64 random features beside 5 attributes,
two networks. The seconds of the penalty's all-reduce are compared with those of the whole step; waiting for the other
worker, which a barrier before it takes, counts for neither. Medians over steps of one run, by the clock and in CPU
time.
"""

import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from fairlevel.torch import DPVarPenalty

BATCH, ATTRIBUTES, FEATURES, INPUTS, WIDTHS, STEPS = 4096, 5, 64, 50, (64, 256), 60


def now():
    """Seconds by the clock and of CPU time, all threads of this process."""
    return torch.tensor([time.perf_counter(), time.process_time()], dtype=torch.float64)


class Timed(DPVarPenalty):
    waited = talked = torch.zeros(2)
    sent = 0

    def _summed(self, local):
        start = now()
        distributed.barrier()
        ready = now()
        distributed.all_reduce(local)
        self.waited, self.talked, self.sent = ready - start, now() - ready, local.nbytes
        return local


def measure(width, rank):
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(INPUTS, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    model, penalty = DistributedDataParallel(net), Timed(ATTRIBUTES, features=FEATURES)
    optimizer = torch.optim.Adam(model.parameters())
    x, a = torch.randn(BATCH, INPUTS), torch.randn(BATCH, ATTRIBUTES)
    y, rows = x[:, 0] + a[:, 0], []
    for _ in range(STEPS):
        start = now()
        f = model(x).squeeze(1)
        loss = (f - y).square().mean() + penalty(f, a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows.append(torch.stack([now() - start - penalty.waited, penalty.talked]))
    (step, cpu_step), (talk, cpu_talk) = torch.stack(rows[10:]).median(dim=0).values.tolist()
    if rank == 0:
        print(f"2 × {width}: {penalty.sent} bytes per step; all-reduce {talk * 1e3:.2f} of {step * 1e3:.1f} ms")
        print(f"    share of a step {talk / step:.1%}, in CPU time {cpu_talk / cpu_step:.1%}; target ≤ 10 %")


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    for width in WIDTHS:
        measure(width, distributed.get_rank())
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
