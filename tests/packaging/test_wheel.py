"""What people install: a wheel and an sdist that hold everything, and that work in an environment of their own."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import fairlevel

ROOT = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "src")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])"

USE = """
import socket, sys
from pathlib import Path

def no_network(*_):
    raise OSError("no network")

socket.socket.connect = socket.getaddrinfo = no_network
import numpy as np
import fairlevel
from fairlevel import FairRegressor, audit, load
from fairlevel.data.synthetic import SyntheticDesign

assert Path(fairlevel.__file__).is_relative_to(sys.prefix), fairlevel.__file__
rows = SyntheticDesign().sample(300, seed=0)
frame = rows.to_frame()
X = frame.filter(like="x")
for predictor in ("boosting", "linear"):
    model = FairRegressor(1.0, predictor=predictor, random_state=0).fit(X, rows.y, sensitive_features=rows.a)
    model.save(predictor)
    prediction = load(predictor).predict(X)
    assert np.array_equal(prediction, model.predict(X))
audit(prediction, sensitive_features=rows.a, y_true=rows.y).to_html("audit.html")
frame.assign(shown=prediction).to_csv("rows.csv", index=False)
"""


def built(kind, source, out):
    """A wheel or an sdist, built by setuptools without pip and without a network."""
    out.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-c", BUILD.format(kind), out], cwd=source, check=True, capture_output=True)
    return next(out.iterdir())


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The tree without what earlier builds left in it."""
    tree = tmp_path_factory.mktemp("tree")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, tree / part)
    return tree


@pytest.fixture(scope="module")
def sdist(copy, tmp_path_factory):
    return built("sdist", copy, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """Built from the sdist, so that nothing is missing there either."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        archive.extractall(unpacked)
    return built("wheel", next(unpacked.iterdir()), tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_every_file_of_the_package(copy, wheel):
    package = copy / "src"
    expected = {path.relative_to(package).as_posix() for path in (package / "fairlevel").rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if name.startswith("fairlevel/")} == expected
    assert "fairlevel/py.typed" in expected
    assert any(name.startswith("fairlevel/report/templates/") for name in expected)


def test_what_the_wheel_says_of_itself(wheel):
    info = f"fairlevel-{fairlevel.__version__}.dist-info"
    assert wheel.name == f"fairlevel-{fairlevel.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        said = message_from_string(archive.read(f"{info}/METADATA").decode())
        assert f"{info}/licenses/LICENSE" in archive.namelist()
        assert "fairlevel = fairlevel.cli:app" in archive.read(f"{info}/entry_points.txt").decode()
    assert (said["License-Expression"], said["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert "Typing :: Typed" in said.get_all("Classifier")


def test_one_version_everywhere():
    """The package, its citation and the newest entry of the changelog."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## [")[2]
    version, _, date = released.partition("\n")[0].partition("] - ")
    assert version == fairlevel.__version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


@pytest.mark.study
def test_an_empty_environment_without_compiler_home_and_network(wheel, tmp_path):
    """Only dependencies come from outside, by a path. A home below a file cannot be written, not even by root."""
    home, work = tmp_path / "environment", tmp_path / "work"
    work.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    programs = home / "bin"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        programs / "python",
        "install",
        "--no-index",
        "--no-deps",
        wheel,
    ]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(install, check=True, capture_output=True, env=clean)
    site = next(home.glob("lib*/python*/site-packages"))
    (site / "dependencies.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n", encoding="utf-8")
    (tmp_path / "file").touch()
    kept = {name: clean[name] for name in ("LANG", "LC_ALL", "OMP_NUM_THREADS") if name in clean}
    bare = kept | {"PATH": str(programs), "HOME": str(tmp_path / "file" / "home"), "CC": "/nonexistent"}

    def run(program, *words):
        done = subprocess.run([programs / program, *words], cwd=work, env=bare, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("python", "-c", USE)
    assert (work / "audit.html").stat().st_size > 10_000
    assert run("fairlevel", "--version") == f"fairlevel {fairlevel.__version__}\n"
    said = run("fairlevel", "audit", "rows.csv", "--prediction", "shown", "--sensitive", "a1,a2", "--json")
    assert json.loads(said)["rows"] == 300
    for model in ("boosting", "linear"):
        run("python", "-m", "fairlevel", "predict", model, "rows.csv", "--out", f"{model}.csv")
        assert (work / f"{model}.csv").read_text(encoding="utf-8").count("\n") == 301
    example = shutil.copy(ROOT / "docs/examples/typed.py", work)
    strict = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--python-executable"]
    checked = subprocess.run(
        [*strict, programs / "python", example], cwd=work, env=clean, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
