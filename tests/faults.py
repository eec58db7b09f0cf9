"""What stands on the disk where a process that writes dies, or gets an I/O error, at any of its steps."""

import errno
import os
import signal
import sys

STEPS = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "shutil.rmtree")
"""Events of Python's audit hooks at which something on the disk may change."""


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def io_error():
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def after_each_fault(folder, write, fault):
    """Run ``write`` in a process of its own, with a fault at the first step that touches the folder, then at the second
    one, and so on; yields after each, and ends where no step was left.
    """
    step = 0
    while True:
        step += 1
        child = os.fork()
        if child == 0:
            _with_fault(folder, write, fault, step)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            assert step > 3, "nothing was tried"
            return
        yield step


def _with_fault(folder, write, fault, step):
    """Never returns; ends with 0 where there were fewer steps. An error in a step that cleans up may pass unnoticed."""
    steps = 0

    def watch(event, arguments):
        nonlocal steps
        if event not in STEPS or not _touches(str(folder), event, arguments):
            return
        steps += 1
        if steps == step:
            fault()

    sys.addaudithook(watch)
    try:
        write()
    except Exception:
        pass
    finally:
        os._exit(0 if steps < step else 1)


def _touches(folder, event, arguments):
    if event == "open" and not (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
        flags = arguments[2] if isinstance(arguments[2], int) else 0
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return False
    return any(isinstance(each, str | os.PathLike) and str(each).startswith(folder) for each in arguments)
