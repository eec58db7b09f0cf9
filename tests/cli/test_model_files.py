"""``fairlevel relevel`` on damaged files of models: whatever their library does, the command says one sentence."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from fairlevel import FairRegressor
from tests.terminal import run_here

HERE = "from fairlevel.cli import app"
IN_A_HURRY = f"{HERE}, own_process; own_process.LEAST_SECONDS = 4.0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of each format, and rows."""
    here = tmp_path_factory.mktemp("models")
    random = np.random.default_rng(0)
    x = pd.DataFrame(random.standard_normal((200, 3)), columns=list("uvw"))
    y = x["u"] + np.sin(2 * x["v"])
    lgb.train({"verbosity": -1, "num_leaves": 8}, lgb.Dataset(x, y), 5).save_model(here / "model.txt")
    booster = xgb.train({"max_depth": 3}, xgb.DMatrix(x, y), 5)
    booster.save_model(here / "model.json")
    booster.save_model(here / "model.ubj")
    settings = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False}
    catboost.CatBoostRegressor(**settings).fit(x, y).save_model(here / "model.cbm")
    FairRegressor(0, predictor="linear", validation_fraction=None).fit(x, y).to_onnx(here / "model.onnx")
    x.assign(age=random.standard_normal(200), price=y).to_csv(here / "rows.csv", index=False)
    return here


def arguments(folder, model, tmp_path):
    return ("relevel", model, folder / "rows.csv", "--sensitive", "age", "--drop", "price", "--out", tmp_path / "out")


def command(*words, code=HERE):
    """The command as from a shell, in a process that a library cannot take with it, or keep."""
    line = [sys.executable, "-c", f"{code}; app()", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60)


def digits_changed(content):
    """Sizes and numbers of nodes that the file does not have."""
    return re.sub(rb"[0-8]", b"9", content)


def in_circles(text):
    """The first tree of a LightGBM model, whose first node leads to itself."""
    return re.sub(r"^(left|right)_child=\S+", r"\1_child=0", text, flags=re.MULTILINE)


def beyond(text):
    """An XGBoost model whose trees lead to nodes far behind their last one."""
    model = json.loads(text)
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        tree["left_children"][0] = tree["right_children"][0] = 2**30
    return json.dumps(model)


def test_a_sound_model_is_relevelled_in_a_process_of_its_own(folder, tmp_path):
    found = command(*arguments(folder, folder / "model.ubj", tmp_path), "--seen", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["rows"] == 200
    assert (tmp_path / "out" / "models" / "point-01.ubj").is_file()


@pytest.mark.parametrize(
    ("name", "damage", "code", "end"),
    [
        ("model.txt", lambda text: text[: len(text) // 2], HERE, "it ended the process of lightgbm with signal"),
        ("model.txt", in_circles, IN_A_HURRY, "lightgbm was still busy with it after 4 seconds"),
        ("model.json", beyond, HERE, "it ended the process of xgboost with signal"),
    ],
)
def test_what_a_library_does_not_survive_is_one_sentence(folder, tmp_path, name, damage, code, end):
    """The command ended with a signal, or never."""
    (tmp_path / name).write_text(damage((folder / name).read_text()))
    found = command(*arguments(folder, tmp_path / name, tmp_path), code=code)
    assert (found.returncode, found.stderr.count("error:")) == (2, 1), found.stderr
    assert f"error: {name!r} cannot be used: {end}" in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["model.json", "model.cbm", "model.onnx"])
@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], digits_changed])
def test_what_a_library_refuses_is_one_sentence(folder, tmp_path, name, damage):
    (tmp_path / name).write_bytes(damage((folder / name).read_bytes()))
    found = run_here(*arguments(folder, tmp_path / name, tmp_path), columns=300)
    assert (found.returncode, found.stderr.count("error:")) == (2, 1), found.stderr
    assert f"{name!r}" in found.stderr


def test_numbers_without_squares_are_refused(folder, tmp_path):
    """A matrix of them had no factors: the command ended in a traceback."""
    text = (folder / "model.txt").read_text()
    text = re.sub(r"^leaf_value=\S+", "leaf_value=1e200", text, count=1, flags=re.MULTILINE)
    (tmp_path / "model.txt").write_text(text.replace("tree_sizes", "sizes"))
    found = run_here(*arguments(folder, tmp_path / "model.txt", tmp_path), columns=300)
    assert found.returncode == 2, found.stderr
    assert "'model.txt' holds or predicts numbers as large as 1e+200" in found.stderr


def test_an_interrupted_command_ends_the_process_that_it_waits_for(folder, tmp_path):
    (tmp_path / "model.txt").write_text(in_circles((folder / "model.txt").read_text()))
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {HERE}; app()"  # as on a terminal
    words = [sys.executable, "-c", code, *map(str, arguments(folder, tmp_path / "model.txt", tmp_path))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not children.read_text():
            time.sleep(0.1)
        time.sleep(3)  # LightGBM is busy
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=40)  # both have let go of their output
    assert process.returncode == 130
