"""Waiting threads leave their core to others, and a container's limit counts as cores."""

import os
import subprocess
import sys

import pytest
import torch

from fairlevel import openmp
from fairlevel.threads import on_single_threads, use_threads, workers

CHILD = """
import os
{first}
before = dict(os.environ)
import fairlevel
fairlevel.FBO
import torch
from fairlevel import openmp, threads
threads.cores = lambda: 8
torch.set_num_threads(3)
with threads.use_threads(None):
    print(torch.get_num_threads(), threads.workers())
with threads.use_threads(2):
    print(torch.get_num_threads(), threads.workers())
print(torch.get_num_threads(), threads.workers(), openmp.may_spin(), dict(os.environ) == before)
"""


@pytest.mark.parametrize(
    ("first", "policy", "inside", "may_spin"),
    [
        ("", None, "3 3", False),
        ("import torch", None, "1 3", True),  # its threads spin already: products are not divided, tasks are
        ("import torch", "PASSIVE", "3 3", False),
        ("import torch", "ACTIVE", "3 3", False),  # as the user says
    ],
)
def test_threads_that_would_spin_are_not_used(first, policy, inside, may_spin):
    settings = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    settings |= {} if policy is None else {openmp.POLICY: policy}
    code = CHILD.format(first=first)
    said = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == [inside, "2 2", f"3 3 {may_spin} True"]


@pytest.mark.parametrize(
    "use",
    [
        "fairlevel.FairRegressor(predictor='boosting', weight=0).fit([[k] for k in range(50)], list(range(50)))",
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
    settings = {name: value for name, value in os.environ.items() if name != openmp.POLICY}
    said = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["PASSIVE"]


def test_tasks_still_run_side_by_side_where_products_do_not(monkeypatch):
    monkeypatch.setattr("fairlevel.threads.may_spin", lambda: True)
    monkeypatch.setattr("fairlevel.threads.cores", lambda: 8)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with use_threads(None):
            assert (torch.get_num_threads(), workers()) == (1, 3)
            assert on_single_threads(*[workers] * 5) == [1] * 5  # a task is not divided again
            with use_threads(2):
                assert (torch.get_num_threads(), workers()) == (2, 2)
            assert (torch.get_num_threads(), workers()) == (1, 3)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("files", "granted"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, sys.maxsize),
        ({"cpu.max": ""}, sys.maxsize),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, sys.maxsize),
        ({}, sys.maxsize),
    ],
)
def test_limits_of_containers_count_as_cores(tmp_path, monkeypatch, files, granted):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(openmp, "_LIMITS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    assert openmp.cores() == {1.5: 2, 0.5: 1}.get(granted, 64)
    before = torch.get_num_threads()
    torch.set_num_threads(7)
    try:
        with use_threads(None):
            assert workers() == min(openmp.cores(), 7)
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
