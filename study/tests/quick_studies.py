"""Studies within a second: few steps, few models, and tasks in this process where no test of executors is meant."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, partialmethod

import pytest

from fairlevel import MLPMean
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel_study.cli import app
from fairlevel_study.executors import Executor, call
from fairlevel_study.protocol import PROTOCOLS
from tests.terminal import run_here

run_study = partial(run_here, program=app, name="fairlevel-study")

FEW = replace(
    PROTOCOLS["small"],
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


def use_few_profiles(patch):
    """The true DPVar of the design from few rows drawn anew; its own tests are in tests/data."""
    few = partialmethod(SyntheticDesign.true_dpvar, profiles=200, draws=4)
    patch.setattr(SyntheticDesign, "true_dpvar", few)


@dataclass(frozen=True)
class WithFewProfiles:
    """A task, in whichever process, whose true DPVar comes from few rows."""

    task: Callable

    def __call__(self):
        with pytest.MonkeyPatch.context() as patch:
            use_few_profiles(patch)
            return self.task()


@dataclass(frozen=True)
class FewProfilesEach:
    """Gives tasks to an executor with few profiles each."""

    executor: Executor

    def run(self, tasks):
        return self.executor.run([WithFewProfiles(task) for task in tasks])


def use_few_steps_here(patch):
    """Make ``fairlevel-study`` train by FEW, which is called small, and in this process."""
    patch.setattr("fairlevel_study.executors.LocalExecutor", InThisProcess)
    patch.setitem(PROTOCOLS, "small", FEW)
    use_few_profiles(patch)


def use_some_steps():
    """The same in a process of its own, with SOME, and with workers."""
    PROTOCOLS["small"] = SOME
