"""How many threads a fit may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairlevel.exceptions import InvalidInput
from fairlevel.threads import cores


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """PyTorch's number of threads, which LightGBM and compiled code are given, too. None leaves it as it is; -1 stands
    for all cores, -2 for all but one, as in scikit-learn.
    """
    if n_jobs is None:
        yield
        return
    import torch  # a saved model needs neither threads nor PyTorch

    before = torch.get_num_threads()
    torch.set_num_threads(_threads(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _threads(n_jobs: Any) -> int:
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InvalidInput(
            f"n_jobs={n_jobs!r} was given; a whole number of threads is needed, -1 for all cores, or None."
        )
    if n_jobs > 0:
        return int(n_jobs)
    return max(cores() + 1 + int(n_jobs), 1)
