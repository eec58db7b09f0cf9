"""Studies within a second: few steps, few models, and tasks in this process where no test of executors is meant."""

from dataclasses import dataclass, replace

from fairlevel import MLPMean
from fairlevel.benchmark.protocol import PROTOCOLS, NamedProtocol, Protocol
from fairlevel.executors.protocol import call
from fairlevel.networks.optimizers import Adam, GradientDescent

FEW = replace(
    Protocol.small(),
    optimizer=Adam(steps=10),
    settings=1,
    weights=2,
    coarse=2,
    diagnostic=MLPMean(optimizer=GradientDescent(0.1, steps=5)),
)
SOME = replace(FEW, optimizer=Adam(steps=150), weights=4)
"""Tasks that take long enough to be killed."""


@dataclass(frozen=True)
class InThisProcess:
    """Runs tasks without starting processes."""

    processes: int | None = None

    def run(self, tasks):
        return enumerate(call(task) for task in tasks)


def use_few_steps_here(patch):
    """Make ``fairlevel bench`` train by FEW, which is called small, and in this process."""
    patch.setattr("fairlevel.executors.LocalExecutor", InThisProcess)
    patch.setitem(PROTOCOLS, "small", NamedProtocol(lambda: FEW))


def use_some_steps():
    """The same in a process of its own, with SOME, and with workers."""
    PROTOCOLS["small"] = NamedProtocol(lambda: SOME)
