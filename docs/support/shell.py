"""Commands of ``fairlevel`` as they look in a terminal."""

from __future__ import annotations

import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest.mock import patch


def terminal(command: str) -> None:
    """Run one ``fairlevel …`` command and print what a terminal would show, as a block."""
    from fairlevel.cli import app

    shown, code = StringIO(), None
    with (
        redirect_stdout(shown),
        redirect_stderr(shown),
        patch("sys.argv", shlex.split(command)),
        patch.dict("os.environ", COLUMNS="92"),
    ):
        try:
            app()
        except SystemExit as end:
            code = end.code
    lines = [line.rstrip() for line in shown.getvalue().rstrip().split("\n")]
    ending = [f"(exit code {code})"] if code else []
    print("\n".join(["```console", f"$ {command}", *lines, *ending, "```"]))
