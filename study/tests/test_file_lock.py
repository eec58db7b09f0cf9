"""The lock on Windows, against a stand-in for its C runtime; the other one is tested by two real processes."""

import os
import sys
from types import SimpleNamespace

import pytest

from fairlevel_study.store import lock_file


def test_windows_locks_a_byte_that_no_reader_needs(monkeypatch, tmp_path):
    locked = []

    def locking(number, mode, count):
        locked.append((os.lseek(number, 0, os.SEEK_CUR), mode, count))

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    path = tmp_path / "run.json"
    path.write_text("{}")
    with open(path, "a+") as handle:
        lock_file(handle)
        handle.write("!")
    assert locked == [(2**30, 2, 1)]
    assert path.read_text() == "{}!"


def test_a_lock_that_is_taken_is_the_same_error_everywhere(monkeypatch, tmp_path):
    def locking(number, mode, count):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    with open(tmp_path / "run.json", "a+") as handle, pytest.raises(BlockingIOError):
        lock_file(handle)
