"""Models that version 0.2 saved are read, without PyTorch, and predict as they did."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairlevel import load
from fairlevel.models.settings import from_plain, to_plain

FOLDER = Path(__file__).with_name("of_0_2")
TRUTH = {name: np.array(values) for name, values in json.loads((FOLDER / "predictions.json").read_text()).items()}
ROWS = pd.read_csv(FOLDER / "rows.csv")


def predictions(model, rows):
    return model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)


def features_of(name):
    if name == "booster":
        return ROWS.assign(town=ROWS["town"].astype("category"))
    return ROWS[["size", "rooms"]].astype(float)


@pytest.mark.parametrize("name", TRUTH)
def test_they_predict_as_before(name):
    model = load(FOLDER / name)
    assert model.notes_ == {"by": "0.2"}
    np.testing.assert_allclose(predictions(model, features_of(name)), TRUTH[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", TRUTH)
def test_they_are_saved_again_as_they_were(name, tmp_path):
    load(FOLDER / name).save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_allclose(predictions(again, features_of(name)), TRUTH[name], rtol=1e-9, atol=1e-12)


def test_settings_that_need_what_is_not_installed_are_kept(tmp_path):
    """A classifier that was trained with a penalty of the study, read where the study is not."""
    program = f"""
import sys
sys.modules["fairlevel_study"] = None
import pandas as pd
from fairlevel import load
from fairlevel.models.settings import from_plain, to_plain
model = load({str(FOLDER / "classifier")!r})
assert "torch" not in sys.modules
model.save({str(tmp_path / "model")!r})
try:
    rows = pd.DataFrame({{"size": [1.0, 2, 3] * 40, "rooms": [1.0, 2] * 60}})
    model.fit(rows, [0, 1] * 60, sensitive_features=[1, 2] * 60)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gedi" in done.stdout
    assert "fairlevel_study" in done.stdout


def test_a_class_that_is_not_at_hand_is_kept_as_it_was_written():
    written = {"class": "PenaltyOfTheFuture", "settings": {"steps": 3, "mean": {"class": "RidgeMean", "settings": {}}}}
    kept = from_plain(written)
    assert repr(kept) == "PenaltyOfTheFuture(...), whose class is not at hand"
    assert to_plain(kept) == written
