"""NVIDIA's service is started before workers and stopped after them; a program that notes its calls stands for it."""

import os

import pytest

from fairlevel_study import executors


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """The service's program, which writes down what it is asked for, and its file."""
    told, program = tmp_path / "told", tmp_path / executors.GPU_SERVICE
    program.write_text(f'#!/bin/sh\nif [ "$1" = -d ]; then echo start; else cat; fi >> {told}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv(executors.GPU_FOLDER, raising=False)
    return told


def test_the_service_runs_inside_the_context_only(calls, monkeypatch):
    monkeypatch.setattr(executors, "_USE_GPU", f"import os; assert os.path.isdir(os.environ['{executors.GPU_FOLDER}'])")
    with executors.shared_gpu():
        assert executors.GPU_FOLDER in os.environ
        assert calls.read_text() == "start\n"
    assert calls.read_text() == "start\nquit\n"
    assert executors.GPU_FOLDER not in os.environ


def test_a_gpu_that_does_not_answer_is_used_in_turns(calls, monkeypatch):
    monkeypatch.setattr(executors, "_USE_GPU", "raise SystemExit(1)")
    with executors.shared_gpu():
        assert executors.GPU_FOLDER not in os.environ
    assert calls.read_text() == "start\nquit\n"


def test_a_service_of_the_user_is_left_alone(calls, monkeypatch):
    monkeypatch.setenv(executors.GPU_FOLDER, "/their/own")
    with executors.shared_gpu():
        assert os.environ[executors.GPU_FOLDER] == "/their/own"
    assert not calls.exists()
