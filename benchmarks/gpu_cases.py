"""What must be fast on a GPU."""

import statistics

import torch

from benchmarks.measure import absolute, overhead, per_step, seconds, speed_up
from benchmarks.naive import train_fbo
from benchmarks.problems import engine, tensors
from fairlevel import FBO, ClosedFBO
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel_study.datasets import SyntheticDataset
from fairlevel_study.methods import PAPER_METHODS
from fairlevel_study.protocol import PROTOCOLS
from fairlevel_study.task import Task

CONFIGS, STEPS = 960, 100


def _naive(rows):
    x, y, a = tensors(rows, "cuda")

    def run(count):
        train_fbo(x, y, a, 1.0, count)
        torch.cuda.synchronize()

    return lambda: per_step(run, 10)


def _ours(penalty, rows):
    run = engine(penalty, rows, CONFIGS, "cuda")
    run(3)
    return lambda: per_step(run, STEPS) / CONFIGS


def against_naive(name, penalty, rows, target):
    return speed_up(
        f"{name}, 960 configurations, n={rows}, vs naive FBO", _ours(penalty, rows), _naive(rows), target, 3
    )


def fair_to_plain():
    return overhead("closed-form FBO step / plain step, n=4000", _ours(ClosedFBO(), 4000), _ours(None, 4000), 1.05, 5)


def plain():
    step = _ours(None, 4000)
    return absolute(
        "plain step, n=4000, 24 inputs, per configuration", statistics.median(step() for _ in range(5)) * 1e6, 4, "µs"
    )


def study():
    dataset, protocol = SyntheticDataset(SyntheticDesign(beta_int=3.0), 4000), PROTOCOLS["paper"]
    taken = {method: seconds(Task(dataset, 0, method, protocol, "cuda")) for method in PAPER_METHODS}
    print({method: round(each, 1) for method, each in taken.items()})
    total = sum(taken.values())
    return absolute("six paper methods, 96 configurations, 1000 steps, 4000 rows, with selection", total, 60, "s")


CASES = {
    "fbo-1000": lambda: against_naive("paper FBO", FBO(), 1000, 800),
    "fbo-4000": lambda: against_naive("paper FBO", FBO(), 4000, 400),
    "closed-1000": lambda: against_naive("closed-form FBO", ClosedFBO(), 1000, 6000),
    "closed-4000": lambda: against_naive("closed-form FBO", ClosedFBO(), 4000, 2500),
    "fair-to-plain": fair_to_plain,
    "plain-4000": plain,
    "study": study,
}
