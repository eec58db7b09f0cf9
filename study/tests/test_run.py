"""Runs that are killed, and runs on a cluster: the rows are the same in the end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel_study import executors
from fairlevel_study.executors import (
    EXECUTORS,
    Failure,
    LocalExecutor,
    RayExecutor,
    WorkersDied,
    call,
)
from fairlevel_study.protocol import PROTOCOLS
from fairlevel_study.rows import Store
from fairlevel_study.task import COMMIT_VARIABLE, commit
from study.tests.quick_studies import SOME, InThisProcess, run_study
from study.tests.small_tasks import Dies, Environment, Fails
from study.tests.test_tables import make_folder, table

TASKS = 6
PROGRAM = """
from study.tests.quick_studies import use_some_steps
from fairlevel_study.cli import app
use_some_steps()
app()
"""


@pytest.fixture(scope="module", autouse=True)
def some_steps():
    """Rows name a commit of these tests, whichever process makes them: a commit meanwhile would change Git's answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROTOCOLS, "small", SOME)
        patch.setenv(COMMIT_VARIABLE, "0123456789")
        commit.cache_clear()
        yield
    commit.cache_clear()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_folder(folder, one=table(60, 1), two=table(64, 2), three=table(68, 3))
    return folder


def words(data, out, *more, suite="one,two,three", methods="r2,spectral"):
    arguments = ["run", "--suite", suite, "--seeds", "0", "--methods", methods]
    arguments += ["--protocol", "small", "--data-dir", str(data), "--out", str(out), "--device", "cpu"]
    return [*arguments, *(more or ["--processes", "1"])]  # starting a process costs more than the tasks


def run(data, out, **more):
    """The command in this process; the tasks in a worker."""
    return run_study(*words(data, out, **more))


def run_without_workers(data, out, **more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXECUTORS, "local", InThisProcess)
        return run(data, out, **more)


def rows_of(out):
    return Store(out).read().drop(columns="seconds")


def files_of(out):
    return sorted(path.name for path in Path(out).rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def calm(data, tmp_path_factory):
    """Results of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("undisturbed") / "results"
    result = run_without_workers(data, out)
    assert result.returncode == 0, result.stderr
    assert f"{TASKS} of {TASKS} tasks finished" in result.stdout
    return out


@pytest.fixture(scope="module")
def undisturbed(calm):
    return rows_of(calm)


def finished(out):
    return len(list(Path(out).glob("rows/*/*/*/rows.parquet")))


def wait_for(condition, seconds=180):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def workers(parent):
    """Processes that a run has spawned for its tasks."""
    children = [pid for path in Path(f"/proc/{parent}/task").glob("*/children") for pid in path.read_text().split()]
    return [int(pid) for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


def test_a_killed_run_goes_on_where_it_stopped(data, undisturbed, tmp_path):
    out = tmp_path / "results"
    command = [sys.executable, "-c", PROGRAM, *words(data, out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: finished(out) >= 2)
            orphans = workers(process.pid)
        finally:
            process.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans), 20)
    kept = {path: path.stat().st_mtime_ns for path in out.glob("rows/*/*/*/rows.parquet")}
    result = run_without_workers(data, out)
    assert result.returncode == 0, result.stderr
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())  # nothing is computed twice
    pd.testing.assert_frame_equal(rows_of(out), undisturbed)
    assert files_of(out) == [".lock", *["rows.parquet"] * TASKS, "run.json"]


def test_a_killed_worker_costs_its_task_only(data, undisturbed, tmp_path):
    out = tmp_path / "results"
    killed = []

    def kill():
        wait_for(lambda: finished(out) >= 1)
        killed.extend(workers(os.getpid()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = run(data, out)
    killer.join()
    assert len(killed) == 1
    assert result.returncode == 0, result.stderr
    assert f"{TASKS} of {TASKS} tasks finished" in result.stdout
    pd.testing.assert_frame_equal(rows_of(out), undisturbed)
    assert files_of(out) == [".lock", *["rows.parquet"] * TASKS, "run.json"]


def test_workers_that_keep_dying_end_the_run(monkeypatch):
    monkeypatch.setattr(executors, "MAX_DEATHS", 2)
    with pytest.raises(WorkersDied, match="fewer --processes"):
        list(LocalExecutor(1).run([Dies()]))


def test_a_task_that_fails_is_reported_and_the_others_go_on():
    assert list(LocalExecutor(1).run([Fails()])) == [(0, Failure("no such table"))]
    with pytest.raises(InvalidInput, match="processes=0"):
        LocalExecutor(0)


def test_failures_are_listed_and_the_exit_code_says_so(data, tmp_path):
    (tmp_path / "data").mkdir()
    make_folder(tmp_path / "data", one=table(60, 1), bad=table(60)[["x0", "y"]])
    out = tmp_path / "results"
    result = run_without_workers(tmp_path / "data", out, suite="one,bad", methods="spectral")
    assert result.returncode == 1
    assert "failed: bad / 0 / spectral: The table has only one usable column" in result.stderr
    assert finished(out) == 1
    assert "next: fairlevel-study report" in result.stdout
    none = run_without_workers(tmp_path / "data", tmp_path / "none", suite="bad", methods="spectral,plain_network")
    assert "0 of 2 tasks finished" in none.stdout
    assert "failed: bad / 0 / spectral and 1 more: The table has only one usable column" in none.stderr
    assert none.stderr.count("failed:") == 1
    assert "next:" not in none.stdout  # there is nothing to report on


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--suite", "onne"], "Did you mean 'one'?"),
        (["--methods", "fboo"], "Did you mean 'fbo'?"),
        (["--protocol", "big"], "Unknown protocol"),
        (["--executor", "slurm"], "Known: local, ray"),
        (["--address", "auto"], "--address does not belong to --executor local"),
        (["--data-dir", "/nowhere"], "is not a data folder"),
        (["--executor", "ray", "--gpus", "3"], "gpus=3"),
    ],
)
def test_bad_input_starts_nothing(data, tmp_path, more, sentence):
    result = run_study(*words(data, tmp_path / "results", *more))
    assert result.returncode == 2, result.stdout
    assert sentence in result.stderr.replace("\n", " ")
    assert not (tmp_path / "results").exists()


def test_status_counts(calm):
    found = json.loads(run_study("status", "--out", str(calm), "--json").stdout)
    assert (found["finished"], found["tasks"]) == (TASKS, TASKS)
    assert found["counts"]["one"] == {"r2": 1, "spectral": 1}


@pytest.fixture(scope="module")
def cluster():
    """A head; tests add a second node and lose it. Ray's workers are nice to other processes by default: beside tests
    that keep all cores busy they would hardly run. One connection for all tests keeps the head's worker, which has
    imported PyTorch.
    """
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        with RayExecutor(cluster.address).connected():
            yield cluster
        cluster.shutdown()


def second_node(cluster):
    """A node that has run a task: it will have work when it is lost."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = cluster.add_node(num_cpus=1)
    there = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
    ray.get(ray.remote(call).options(num_cpus=1, scheduling_strategy=there).remote(Environment()))
    return node


def test_a_ray_cluster_that_loses_a_node_finishes_with_the_same_rows(data, undisturbed, tmp_path, cluster):
    from fairlevel_study.datasets import resolve_datasets
    from fairlevel_study.sources import FolderSource
    from fairlevel_study.task import Task, run_tasks

    second = second_node(cluster)
    datasets = resolve_datasets(["one", "two", "three"], FolderSource(data))
    tasks = [Task(dataset, 0, method, SOME, "cpu") for dataset in datasets for method in ("r2", "spectral")]
    store, lost = Store(tmp_path / "results"), []

    def lose_a_node(share):
        if share == 2 / len(tasks) and not lost:
            cluster.remove_node(second, allow_graceful=False)
            lost.append(share)

    with store.claimed(SOME.id, "folder", ["one", "two", "three"], [0], ["r2", "spectral"]):
        failures = run_tasks(tasks, store, RayExecutor(cluster.address), lose_a_node)
    assert not failures
    assert lost
    pd.testing.assert_frame_equal(rows_of(store.folder), undisturbed)


def test_a_task_that_dies_on_a_ray_cluster_is_a_failure(monkeypatch, cluster):
    """And not the end of the run. The last test of the cluster: the warm worker dies with the task."""
    monkeypatch.setattr(executors, "RETRIES", 0)
    ((number, died),) = RayExecutor(cluster.address).run([lambda: os._exit(1)])
    assert number == 0
    assert "lost on the cluster" in died.message
