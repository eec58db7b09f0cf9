"""Several processes on one NVIDIA GPU at the same time, instead of in turns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from tempfile import TemporaryDirectory

CONTROL = "nvidia-cuda-mps-control"
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
_START_SECONDS, _TRY_SECONDS = 20, 60
_USE_GPU = "import torch; torch.ones(8, device='cuda').sum().item()"


def is_shared() -> bool:
    """Whether processes started from here use one GPU at the same time."""
    return PIPES in os.environ


@contextmanager
def shared_gpu() -> Iterator[None]:
    """Processes started inside this context share the GPU through NVIDIA's Multi-Process Service, which is started and
    stopped here; where it is not installed, does not work or runs already, nothing changes.
    """
    if which(CONTROL) is None or is_shared():
        yield
        return
    with TemporaryDirectory(prefix="fairlevel-mps-", ignore_cleanup_errors=True) as folder:
        os.environ |= {PIPES: folder, LOGS: folder}
        started = _succeeds([CONTROL, "-d"], _START_SECONDS)
        if not (started and _succeeds([sys.executable, "-c", _USE_GPU], _TRY_SECONDS)):
            _stop(started)
            started = False
        try:
            yield
        finally:
            _stop(started)


def _succeeds(command: list[str], seconds: int) -> bool:
    nowhere = subprocess.DEVNULL  # a pipe would stay open as long as the service runs
    try:
        ended = subprocess.run(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def _stop(started: bool) -> None:
    if started:
        subprocess.run([CONTROL], input=b"quit\n", capture_output=True, timeout=_START_SECONDS, check=False)
    os.environ.pop(PIPES, None)
    os.environ.pop(LOGS, None)
