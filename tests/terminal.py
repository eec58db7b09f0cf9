"""The command line without a new process: the same arguments, output and exit code, but no seconds of imports."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

from fairlevel.cli import app


def run_here(*arguments, columns=160, program=app, name="fairlevel"):
    words, out, err, code = [str(each) for each in arguments], io.StringIO(), io.StringIO(), 0
    settings = patch.dict("os.environ", COLUMNS=str(columns))
    with settings, patch.object(sys, "argv", [name, *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            program()
        except SystemExit as end:
            code = end.code or 0
    return CompletedProcess(words, code, out.getvalue(), err.getvalue())
