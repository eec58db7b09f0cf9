"""Files and folders are whole, old or new, whatever happens while they are written, and as private as they were."""

import os
import stat

import pytest

from fairlevel.data.whole_files import whole_folder, write_whole
from fairlevel.exceptions import CannotWrite
from tests.faults import after_each_fault, io_error, kill

NAMES = ("a.txt", "models/b.txt")


def write_folder(out, content):
    with whole_folder(out, lambda present: None) as partial:
        (partial / "models").mkdir()
        for name in NAMES:
            (partial / name).write_text(content)


def read_folder(out):
    """The content of a folder, which must be whole."""
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "models"]
    contents = {(out / name).read_text() for name in NAMES}
    assert len(contents) == 1
    return contents.pop()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Sets the umask, and puts the old one back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("fault", [kill, io_error])
def test_a_file_is_old_or_new(tmp_path, fault):
    out, seen = tmp_path / "report.html", []
    out.write_text("old")
    for _ in after_each_fault(tmp_path, lambda: write_whole(out, lambda partial: partial.write_text("new")), fault):
        seen.append(out.read_text())
        out.write_text("old")
    assert len(seen) > 3
    assert set(seen) == {"old", "new"}  # new where a step that cleans up fails


@pytest.mark.parametrize("fault", [kill, io_error])
def test_a_folder_is_old_or_new(tmp_path, fault):
    """It was deleted before the new one stood."""
    out, seen = tmp_path / "front", []
    write_folder(out, "old")
    for _ in after_each_fault(tmp_path, lambda: write_folder(out, "new"), fault):
        seen.append(read_folder(out))
        write_folder(out, "old")
    assert len(seen) > 8
    assert set(seen) == {"old", "new"}


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o002])
def test_permissions_follow_the_umask(tmp_path, umask, mask):
    umask(mask)
    write_whole(tmp_path / "new.csv", lambda partial: partial.write_text("rows"))
    write_folder(tmp_path / "front", "rows")
    assert mode(tmp_path / "new.csv") == 0o666 & ~mask
    for path in ("front", "front/models"):
        assert mode(tmp_path / path) == 0o777 & ~mask
    for name in NAMES:
        assert mode(tmp_path / "front" / name) == 0o666 & ~mask


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664])
def test_what_is_replaced_keeps_its_permissions(tmp_path, umask, kept):
    out, front = tmp_path / "rows.csv", tmp_path / "front"
    out.write_text("old")
    out.chmod(kept)
    write_folder(front, "old")
    front.chmod(kept | 0o100)
    (front / NAMES[1]).chmod(kept)
    write_whole(out, lambda partial: partial.write_text("new"))
    write_folder(front, "new")
    assert (out.read_text(), read_folder(front)) == ("new", "new")
    assert (mode(out), mode(front), mode(front / NAMES[1])) == (kept, kept | 0o100, kept)
    assert mode(front / NAMES[0]) == 0o644


def test_nobody_else_reads_what_is_being_written(tmp_path, umask):
    seen = []
    write_whole(tmp_path / "rows.csv", lambda partial: seen.append(mode(partial.parent)) or partial.write_text("rows"))
    with whole_folder(tmp_path / "front", lambda present: None) as partial:
        seen.append(mode(partial.parent))
    assert seen == [0o700, 0o700]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["front", "rows.csv"]


def test_nothing_is_left_of_a_folder_that_fails(tmp_path):
    write_folder(tmp_path / "front", "old")

    def fail():
        with whole_folder(tmp_path / "front", lambda present: None) as partial:
            (partial / "a.txt").write_text("new")
            raise OSError(28, "No space left on device")

    with pytest.raises(CannotWrite, match="No space left"):
        fail()
    assert read_folder(tmp_path / "front") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["front"]
