"""Tasks for workers, in a file that imports little: every worker imports it."""

import os
import signal
import time

from fairlevel.exceptions import InvalidInput


class Environment:
    """Reports a variable as its worker sees it."""

    def __call__(self):
        return os.environ.get("OMP_WAIT_POLICY")


class Threads:
    """Reports how many threads PyTorch has, which it imports itself."""

    def __call__(self):
        import torch

        return torch.get_num_threads()


class Sleeps:
    """Never ends."""

    def __call__(self):
        time.sleep(600)


class Dies:
    """Takes its worker with it."""

    def __call__(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Fails:
    """Ends in an expected error."""

    def __call__(self):
        raise InvalidInput("no such table")
