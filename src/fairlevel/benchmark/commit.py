"""Which code made a row of results."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

COMMIT_VARIABLE = "FAIRLEVEL_COMMIT"


@cache
def commit() -> str:
    """The commit of this code: FAIRLEVEL_COMMIT where that is set (copies without a repository), else what Git says,
    with a + where files of the package differ from it; empty for an installed package.
    """
    if COMMIT_VARIABLE in os.environ:
        return os.environ[COMMIT_VARIABLE]
    here = Path(__file__).parents[1]
    known, _ = _git(here, "ls-files", "--error-unmatch", "__init__.py")
    found, text = _git(here, "rev-parse", "--short=10", "HEAD")
    if not (known and found):
        return ""
    clean, changed = _git(here, "status", "--porcelain", "--", ".")
    return text + ("" if clean and not changed else "+")


def _git(folder: Path, *words: str) -> tuple[bool, str]:
    """Whether a command of Git worked, and what it said."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False, ""
    return done.returncode == 0, done.stdout.strip()
