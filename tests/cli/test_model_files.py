"""``fairlevel relevel`` on damaged files of models: one sentence."""

import re

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from fairlevel import FairRegressor
from tests.terminal import run_here


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


def digits_changed(content):
    """Sizes and numbers of nodes that the file does not have."""
    return re.sub(rb"[0-8]", b"9", content)


def halved(content):
    """What is left of a file whose transfer was interrupted."""
    return content[: len(content) // 2]


def test_a_halved_model_of_lightgbm_is_one_sentence(folder, tmp_path):
    """The library ended the process with a signal."""
    (tmp_path / "model.txt").write_bytes(halved((folder / "model.txt").read_bytes()))
    found = run_here(*arguments(folder, tmp_path / "model.txt", tmp_path), columns=300)
    assert found.returncode == 2
    assert "'model.txt' cannot be used: it is damaged, or no model of lightgbm" in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["model.json", "model.cbm", "model.onnx"])
@pytest.mark.parametrize("damage", [halved, digits_changed])
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
