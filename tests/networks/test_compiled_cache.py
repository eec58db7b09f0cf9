"""The cache of compiled code: only what was compiled here is opened; anything odd falls back to PyTorch."""

import os
import shutil
import subprocess

import pytest
import torch

from fairlevel import compiled as build
from fairlevel.compiled import SWITCH, shared_library
from fairlevel.networks.backends import backend_for, cpu
from fairlevel.networks.network import Network

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or os.environ.get(SWITCH) == "off" or not hasattr(os, "geteuid"),
    reason="no C compiler here, or switched off",
)


def find():
    """The library, without what an earlier call found."""
    return shared_library.__wrapped__(cpu.SOURCE)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache with a library, compiled once."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        found = find()
    assert found is not None
    return folder


@pytest.fixture
def cache(compiled, tmp_path, monkeypatch):
    """A copy of that cache, in use; compiling again is counted, not done."""
    folder = tmp_path / "cache"
    shutil.copytree(compiled, folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setattr(build, "_compiled", lambda compiler, source, folder, name: "compiled again")
    return folder


def test_a_library_is_found_again(cache):
    found = find()
    assert found.parent == cache / "fairlevel" / "compiled"
    assert found.parent.stat().st_mode & 0o777 == 0o700
    assert found.stat().st_mode & 0o777 == 0o700


def test_a_truncated_or_changed_library_is_compiled_again(cache):
    """Opening a truncated one ends the process (SIGBUS)."""
    found = find()
    content = found.read_bytes()
    for wrong in (content[:1000], b"", content[:-1] + b"x"):
        found.write_bytes(wrong)
        assert find() == "compiled again"


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_what_others_may_write_to_is_not_opened(cache, mode):
    found = find()
    found.chmod(mode)
    assert find() is None
    found.chmod(0o700)
    found.parent.chmod(mode)
    assert find() is None


def test_links_and_files_of_others_are_not_opened(cache, tmp_path, monkeypatch):
    found = find()
    elsewhere = found.replace(tmp_path / found.name)
    found.symlink_to(elsewhere)
    assert find() is None
    found.unlink()
    elsewhere.replace(found)
    assert find() == found
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert find() is None


def test_a_relative_cache_is_ignored(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "_compiled", lambda compiler, source, folder, name: folder)
    assert find() == tmp_path / ".cache" / "fairlevel" / "compiled"
    assert not (tmp_path / "relative").exists()
    monkeypatch.setenv("HOME", "also/relative")
    assert find() is None


def test_no_home_and_compilers_that_fail(compiled, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(build.Path, "home", nowhere)
    assert find() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number, script in enumerate(("exit 1", "kill -9 $$", "printf '\\377\\376'; exit 3")):
        wrong = tmp_path / f"cc{number}"
        wrong.write_text(f"#!/bin/sh\n{script}\n")
        wrong.chmod(0o755)
        monkeypatch.setenv("CC", str(wrong))
        assert find() is None


def test_output_of_a_compiler_in_another_encoding(cache, tmp_path, monkeypatch):
    wrapper = tmp_path / "cc-latin1"
    wrapper.write_text(f"#!/bin/sh\nprintf '\\344\\366\\374'\nexec {shutil.which('cc')} \"$@\"\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    assert find() == "compiled again"  # another compiler, so another name


def test_a_library_without_the_functions_is_not_used(tmp_path, monkeypatch):
    source, library = tmp_path / "empty.c", tmp_path / "empty.so"
    source.write_text("long mlp_panels(long rows) { return rows; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    monkeypatch.setattr(cpu, "shared_library", lambda source: library)
    assert cpu.load() is None
    wrong = tmp_path / "wrong.so"
    wrong.write_bytes(b"no library")
    monkeypatch.setattr(cpu, "shared_library", lambda source: wrong)
    assert cpu.load() is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_default_type_of_pytorch_does_not_reach_compiled_code(dtype):
    """A buffer of half the size was overrun: the heap was corrupted."""
    network = Network(5)
    parameters = network.init(0).repeat(3, 1)
    x = torch.randn(400, 5, generator=torch.Generator().manual_seed(0))
    backend = backend_for(network.hidden, 1, parameters, x)
    assert backend is not None

    def gradient():
        prediction, kept = backend.forward(network.shape, parameters, x)
        return backend.pullback(network.shape, parameters, x, kept, prediction)

    expected = gradient()
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        assert backend._buffer(network.shape, 3, 400).dtype == torch.float32
        torch.testing.assert_close(gradient(), expected, rtol=0, atol=0)
    finally:
        torch.set_default_dtype(before)
