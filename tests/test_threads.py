"""Waiting threads leave their core to others."""

import os
import subprocess
import sys

import pytest
import torch

from fairlevel.threads import POLICY, on_single_threads, use_threads, workers


@pytest.mark.parametrize(
    "use",
    [
        "fairlevel.FairRegressor(predictor='mlp', weight=0).fit([[k] for k in range(50)], list(range(50)))",
        "fairlevel.dpvar(None, range(50), sensitive_features=[k % 7 for k in range(50)], method='paper')",
    ],
)
def test_libraries_are_loaded_with_threads_that_sleep(use):
    """PyTorch comes first; LightGBM and compiled code then use its OpenMP library."""
    code = (
        "import fairlevel, os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'torch': print(os.environ.get('OMP_WAIT_POLICY'))\n"
        f"sys.meta_path.insert(0, Finder())\n{use}"
    )
    settings = {name: value for name, value in os.environ.items() if name != POLICY}
    said = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["PASSIVE"]


def test_a_task_is_not_divided_again_and_threads_come_back():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with use_threads(2):
            assert (torch.get_num_threads(), workers()) == (2, 2)
            assert on_single_threads(*[workers] * 5) == [1] * 5
        assert (torch.get_num_threads(), workers()) == (3, 3)
    finally:
        torch.set_num_threads(before)


LATE = """
import numpy as np
from fairlevel import audit, dpvar
from fairlevel import threads
random = np.random.default_rng(0)
f, a = random.standard_normal((2, 200))
{first}
import torch
before = torch.get_num_threads(), threads.workers()
audit(f, sensitive_features=a)
assert (torch.get_num_threads(), threads.workers()) == before, "after an audit"
from fairlevel.predictors.protocol import Tiling
from fairlevel.training.threads import in_threads
print(*in_threads(lambda tile, check: torch.get_num_threads(), range(4), Tiling(1, threads=2)))
assert torch.get_num_threads() == before[0]
"""


@pytest.mark.parametrize("first", ["", "dpvar(None, f, sensitive_features=a)", "audit(f, sensitive_features=a)"])
def test_threads_from_before_torch_was_imported_leave_its_number_alone(first):
    settings = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    run = [sys.executable, "-c", LATE.format(first=first)]
    said = subprocess.run(run, env=settings, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.split() == ["1"] * 4
