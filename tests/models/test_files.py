"""Models on disk: what comes back predicts the same, and nothing else comes back."""

import json
from dataclasses import MISSING, fields
from functools import cache

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.base import clone

from fairlevel import ClosedFBO, FairnessPath, FairRegressor, SplineMean, load
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.estimators.settings_json import KNOWN, from_plain, to_plain
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.combiners import Best
from fairlevel.models.folder import ARRAYS, DESCRIPTION, SCHEMA, DamagedModel
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import MLP, PREDICTORS

QUICK = Adam(0.02, steps=30)


@pytest.fixture(scope="module")
def rows():
    return SyntheticDesign(attributes=2).sample(150, seed=0).to_frame()


@pytest.fixture(scope="module")
def saved(rows):
    """The fitted model of a predictor, trained once for all tests."""
    return cache(lambda predictor: fitted(rows, predictor=predictor))


def fitted(rows, **settings):
    model = FairRegressor(**{"weight": 2.0, "optimizer": QUICK, "device": "cpu", "random_state": 0} | settings)
    return model.fit(rows.filter(regex="^x"), rows["y"], sensitive_features=rows.filter(regex="^a"))


@pytest.mark.parametrize("predictor", sorted(PREDICTORS))
def test_saved_models_predict_the_same(rows, saved, tmp_path, predictor):
    model, x = saved(predictor), rows.filter(regex="^x")
    model.save(tmp_path / "model", notes={"by": "us"})
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert again.get_params() == model.get_params()
    assert (again.mse_, again.dpvar_, again.weight_, again.n_iter_) == (
        model.mse_,
        model.dpvar_,
        model.weight_,
        model.n_iter_,
    )
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert again.notes_ == {"by": "us"}
    trees = ["lightgbm-0.txt"] if predictor == "boosting" else []
    assert sorted(path.name for path in tmp_path.rglob("*")) == [*trees, "model", DESCRIPTION, ARRAYS]
    with pytest.raises(ValueError, match="lacks 1 of the 10 columns"):
        again.predict(x.rename(columns={"x1": "z"}))


def test_a_mixture_and_its_settings_survive(rows, tmp_path):
    path = FairnessPath(solver="spectral", combiner=Best(), optimizer=QUICK, device="cpu", random_state=0)
    x, a = rows.filter(regex="^x"), rows.filter(regex="^a")
    model = path.fit(x, rows["y"], sensitive_features=a).knee()
    model.save(tmp_path / "knee")
    again = load(tmp_path / "knee")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert clone(again).get_params() == model.get_params()


def test_objects_in_settings_come_back_as_objects(rows, tmp_path):
    penalty = ClosedFBO(SplineMean(knots=5))
    model = fitted(rows, penalty=penalty, predictor=MLP(hidden=(8,)))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").penalty == penalty
    assert load(tmp_path / "model").predictor == MLP(hidden=(8,))


def has_defaults(kind):
    return all(field.default is not MISSING or field.default_factory is not MISSING for field in fields(kind))


@pytest.mark.parametrize("name", sorted(name for name, kind in KNOWN.items() if has_defaults(kind)))
def test_every_known_class_makes_the_round_trip(name):
    value = KNOWN[name]()
    assert from_plain(json.loads(json.dumps(to_plain(value)))) == value


def test_foreign_objects_are_not_written(rows, tmp_path):
    with pytest.raises(InvalidInput, match="cannot be written"):
        to_plain(object())
    with pytest.raises(InvalidInput, match="does not know"):
        from_plain({"class": "os.system", "settings": {}})


def test_existing_folders_are_kept_unless_asked(saved, tmp_path):
    model = saved("boosting")
    model.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="overwrite=True"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(InvalidInput, match="holds no model"):
        model.save(tmp_path / "other", overwrite=True)


def test_damage_is_refused(saved, tmp_path):
    folder = tmp_path / "model"

    def fresh():
        saved("boosting").save(folder, overwrite=folder.exists())
        return (folder / ARRAYS).read_bytes(), json.loads((folder / DESCRIPTION).read_text())

    content, _ = fresh()
    (folder / ARRAYS).write_bytes(content[:-10])
    with pytest.raises(DamagedModel, match="not the file that was saved"):
        load(folder)
    fresh()
    arrays = load_file(folder / ARRAYS)
    save_file(arrays | {"shares": torch.full_like(arrays["shares"], 2.0)}, folder / ARRAYS)
    with pytest.raises(DamagedModel, match="not the file that was saved"):
        load(folder)
    _, description = fresh()
    (folder / DESCRIPTION).write_text(
        json.dumps(description | {"groups": [{"kind": "networks", "inputs": 3, "hidden": [4]}]})
    )
    with pytest.raises(DamagedModel, match="whole model"):
        load(folder)
    (folder / DESCRIPTION).write_text(json.dumps(description | {"schema": SCHEMA + 1, "version": "9.0"}))
    with pytest.raises(InvalidInput, match=r"saved by fairlevel 9\.0 in schema"):
        load(folder)
    (folder / DESCRIPTION).write_text("{")
    with pytest.raises(DamagedModel, match="cannot be read"):
        load(folder)
    with pytest.raises(InvalidInput, match="holds no model"):
        load(tmp_path)


@pytest.mark.parametrize("predictor", sorted(PREDICTORS))
def test_onnx_predicts_the_same(rows, saved, tmp_path, predictor):
    model, x = saved(predictor), rows.filter(regex="^x")
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(["prediction"], {"X": x.to_numpy()})
    np.testing.assert_allclose(found, model.predict(x), rtol=1e-9, atol=1e-9)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
