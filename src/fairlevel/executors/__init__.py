"""Where tasks run: one file per executor, and one row each in the table below."""

from __future__ import annotations

from fairlevel.executors.local import LocalExecutor
from fairlevel.executors.protocol import Executor, Failure
from fairlevel.executors.ray_cluster import RayExecutor

EXECUTORS: dict[str, type[LocalExecutor] | type[RayExecutor]] = {
    "local": LocalExecutor,  # processes of this machine
    "ray": RayExecutor,  # a Ray cluster
}

__all__ = ["EXECUTORS", "Executor", "Failure", "LocalExecutor", "RayExecutor"]
