"""Models on disk: what comes back predicts the same, and nothing else comes back."""

import json
import re
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save, save_file
from sklearn.base import clone

from fairlevel import ClosedFBO, FairnessPath, FairRegressor, RidgeMean, SplineMean, TableEncoder, load
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.fronts.combiners import Best
from fairlevel.models.folder import ARRAYS, CHECKSUM, DESCRIPTION, SCHEMA, DamagedModel, _checksum
from fairlevel.models.settings import from_plain, known_classes, to_plain
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import PREDICTORS
from fairlevel.predictors.boosting import BoosterFactory
from fairlevel.trees.lightgbm_text import LightGBMText

QUICK = Adam(0.02, steps=30)


@pytest.fixture(scope="module")
def rows():
    return SyntheticDesign(attributes=2).sample(150, seed=0).to_frame()


@pytest.fixture(scope="module")
def saved(rows):
    """The fitted model of a predictor, trained once for all tests; boosters have 30 trees of 2000."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoosterFactory, "steps", lambda factory, optimizer: 30)
        yield cache(lambda predictor: fitted(rows, predictor=predictor))


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
    return is_dataclass(kind) and all(
        field.default is not MISSING or field.default_factory is not MISSING for field in fields(kind)
    )


@pytest.mark.parametrize("name", sorted(name for name, kind in known_classes().items() if has_defaults(kind)))
def test_every_known_class_makes_the_round_trip(name):
    value = known_classes()[name]()
    assert from_plain(json.loads(json.dumps(to_plain(value)))) == value


def test_an_encoder_makes_the_round_trip():
    value = TableEncoder(unreadable="impute")
    again = from_plain(json.loads(json.dumps(to_plain(value))))
    assert again.get_params() == value.get_params()


class OwnMean(RidgeMean):
    """A user's."""


@dataclass(frozen=True)
class OwnPenalty(ClosedFBO):
    """A user's, with a setting that JSON cannot hold."""

    callback: Any = print


def test_models_are_saved_whatever_trained_them(rows, tmp_path):
    """What predicts needs no settings: objects of other classes come back as their names."""
    model = fitted(rows, penalty=OwnPenalty(OwnMean(ridge=0.5)), predictor="linear")
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    x = rows.filter(regex="^x")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert repr(again.penalty) == f"{__name__}.OwnPenalty(...), whose class is not at hand"
    assert again.penalty.settings["mean"]["class"] == f"{__name__}.OwnMean"
    again.save(tmp_path / "again")
    assert load(tmp_path / "again").penalty == again.penalty


def test_names_in_files_are_not_looked_up():
    kept = from_plain({"class": "os.system", "settings": {"command": "true"}})
    assert repr(kept) == "os.system(...), whose class is not at hand"
    assert to_plain(kept) == {"class": "os.system", "settings": {"command": "true"}}


def test_settings_that_a_class_has_no_longer_refuse_no_model():
    assert from_plain({"class": "ClosedFBO", "settings": {"of_the_past": 1}}) == ClosedFBO()
    impossible = {"mean": 3}
    assert from_plain({"class": "ClosedFBO", "settings": impossible}).settings == impossible


def test_existing_folders_are_kept_unless_asked(saved, tmp_path):
    model = saved("boosting")
    model.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="overwrite=True"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(InvalidInput, match="holds no model"):
        model.save(tmp_path / "other", overwrite=True)


@pytest.fixture
def folder(saved, tmp_path):
    """A saved model of a predictor, whose description can be changed, with or without its checksum."""

    class Saved:
        path = tmp_path / "model"

        def fresh(self, predictor="boosting"):
            saved(predictor).save(self.path, overwrite=self.path.exists())
            return json.loads((self.path / DESCRIPTION).read_text())

        def write(self, description, sealed=False):
            if sealed:  # as somebody would who knows the rules
                description[CHECKSUM] = _checksum(description)
            (self.path / DESCRIPTION).write_text(json.dumps(description))

        def write_file(self, name, content):
            """Change a file and every checksum."""
            (self.path / name).write_bytes(content)
            description = json.loads((self.path / DESCRIPTION).read_text())
            description["sha256"][name] = sha256(content).hexdigest()
            self.write(description, sealed=True)

    return Saved()


def test_damage_is_refused(folder, tmp_path):
    folder.fresh()
    content = (folder.path / ARRAYS).read_bytes()
    (folder.path / ARRAYS).write_bytes(content[:-10])
    with pytest.raises(DamagedModel, match="not the file that was saved"):
        load(folder.path)
    folder.fresh()
    arrays = load_file(folder.path / ARRAYS)
    save_file(arrays | {"shares": torch.full_like(arrays["shares"], 2.0)}, folder.path / ARRAYS)
    with pytest.raises(DamagedModel, match="not the file that was saved"):
        load(folder.path)
    description = folder.fresh()
    folder.write(description | {"groups": [{"kind": "networks", "inputs": 3, "hidden": [4]}]}, sealed=True)
    with pytest.raises(DamagedModel, match="whole model"):
        load(folder.path)
    folder.write(description | {"schema": SCHEMA + 1, "version": "9.0"})
    with pytest.raises(InvalidInput, match=r"saved by fairlevel 9\.0 in schema"):
        load(folder.path)
    with pytest.raises(InvalidInput, match="holds no model"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", '"text"', '{"schema": []}', "\x00", "[" * 100_000])
def test_malformed_descriptions_are_one_sentence(folder, text):
    folder.fresh()
    (folder.path / DESCRIPTION).write_text(text)
    with pytest.raises(DamagedModel, match=r"model\.json' cannot be read"):
        load(folder.path)


def test_every_edit_of_the_description_is_noticed(folder):
    """Swapped names of features and an edited median loaded silently."""
    description = folder.fresh()
    names = description["feature_names"]
    edits = {
        "feature_names": [names[1], names[0], *names[2:]],
        "n_features": description["n_features"] + 1,
        "figures": description["figures"] | {"mse_": 0.0},
        "settings": description["settings"] | {"weight": 3.0},
        "notes": {"encoder": {"age": {"median": 40.0}}},
        "something": "else",
    }
    for name, value in edits.items():
        folder.write(description | {name: value})
        with pytest.raises(DamagedModel, match=r"model\.json' is not the file that was saved"):
            load(folder.path)
    folder.write(dict(reversed(description.items())))  # the order of keys and line breaks are free
    load(folder.path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"n_features": 9, "n_inputs": 9}, "it predicts None where"),
        ({"n_inputs": "ten"}, "does not hold a whole model"),
        ({"probes": []}, "does not hold a whole model"),
        ({"probes": [[0.0, 0.0]]}, r"where \[0\.0, 0\.0\] was predicted when it was saved"),
        ({"settings": {"no_such_setting": 1}}, "no_such_setting"),
        ({"settings": 3}, "does not hold a whole model"),
        ({"groups": [{"kind": "boosters"}]}, "does not hold a whole model"),
        ({"native_columns": 3}, "does not hold a whole model"),
    ],
)
def test_descriptions_that_contradict_the_model_are_refused(folder, changes, says):
    """Also where the checksum was computed again."""
    folder.write(folder.fresh() | changes, sealed=True)
    with pytest.raises(DamagedModel, match=says):
        load(folder.path)


@pytest.mark.parametrize(
    ("predictor", "name", "change"),
    [
        ("mlp", "group0/parameters", lambda value: value * np.nan),
        ("mlp", "group0/parameters", lambda value: value[:, :-20]),
        ("mlp", "group0/input_mean", lambda value: value[:-1]),
        ("mlp", "group0/input_inverse_scale", lambda value: value[:-1]),
        ("random_features", "group0/input_phases", lambda value: value[:1]),
        ("linear", "shares", lambda value: value * np.inf),
        ("linear", "shares", lambda value: value * 2),
        ("linear", "y_scale", lambda value: value * 2),
        ("boosting", "group0/trees", lambda value: -value),
        ("boosting", "group0/source", lambda value: value + 7),
    ],
)
def test_models_that_predict_something_else_are_refused(folder, predictor, name, change):
    """With all checksums adjusted: arrays of other shapes, or with other numbers."""
    folder.fresh(predictor)
    arrays = load_file(folder.path / ARRAYS)
    assert name in arrays
    folder.write_file(ARRAYS, save(arrays | {name: change(arrays[name]).contiguous()}))
    with pytest.raises(DamagedModel, match="does not hold a whole model"):
        load(folder.path)


@pytest.mark.parametrize(
    ("found", "instead", "says"),
    [
        (r"(?s).*", "", "no model in LightGBM's text format"),
        (r"(?s)^.*", "tree\n", "no model in LightGBM's text format"),
        (r"^tree_sizes=\d+", "tree_sizes=7", "sizes of trees"),  # LightGBM would abort the process
        (r"^leaf_value=\S+", "leaf_value=nan", "leaves hold missing"),
        (r"^leaf_value=\S+ ", "leaf_value=", "numbers in leaf_value"),
        (r"^left_child=\S+", "left_child=10000", "lead nowhere"),  # and here read foreign memory
        (r"^left_child=\S+", "left_child=0", "in a circle"),
        (r"^split_feature=\S+", "split_feature=99", "splits by column 99 of 10"),
        (r"^num_leaves=\d+", "num_leaves=5000", "numbers in leaf_value"),
        (r"^max_feature_idx=\d+", "max_feature_idx=1", "splits by column . of 2"),
        (r"^max_feature_idx=\d+", "max_feature_idx=99", "it predicts None where"),
        (r"^num_cat=0", "num_cat=4", "numbers in cat_boundaries"),
    ],
)
def test_trees_that_are_not_sound_are_one_sentence(folder, found, instead, says):
    """With all checksums adjusted, and the sizes of trees."""
    folder.fresh()
    text = (folder.path / "lightgbm-0.txt").read_text()
    changed = re.sub(found, instead, text, count=1, flags=re.MULTILINE)
    assert changed != text
    if "tree_sizes" not in found and changed.startswith("tree\nversion"):
        changed = LightGBMText.read(changed).write()
    folder.write_file("lightgbm-0.txt", changed.encode())
    with pytest.raises(FairLevelError, match=says):
        load(folder.path)


def test_infinite_settings_and_strange_notes(rows, saved, tmp_path):
    model = fitted(rows, weight="auto", max_dpvar=np.inf, predictor="linear", penalty="spectral")
    model.save(tmp_path / "infinite")
    assert load(tmp_path / "infinite").max_dpvar == np.inf
    for notes in ({"value": np.nan}, {"value": object()}):
        with pytest.raises(InvalidInput, match="JSON can hold"):
            saved("linear").save(tmp_path / "strange", notes=notes)
    assert not (tmp_path / "strange").exists()


def test_links_are_followed(saved, tmp_path):
    model = saved("linear")
    model.save(tmp_path / "model")
    (tmp_path / "link").symlink_to(tmp_path / "model")
    model.save(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    load(tmp_path / "link")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(FairLevelError, match="circle"):
        model.save(tmp_path / "circle")
    (tmp_path / "file").write_text("")
    with pytest.raises(FairLevelError, match="cannot be written"):
        model.save(tmp_path / "file" / "model")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("predictor", sorted(PREDICTORS))
def test_onnx_predicts_the_same(rows, saved, tmp_path, predictor):
    model, x = saved(predictor), rows.filter(regex="^x")
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(["prediction"], {"X": x.to_numpy()})
    np.testing.assert_allclose(found, model.predict(x), rtol=1e-9, atol=1e-9)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("predictor", sorted(PREDICTORS))
def test_onnx_of_constant_features(rows, tmp_path, predictor):
    """A linear model then has no input left."""
    x = np.ones((len(rows), 2))
    model = FairRegressor(weight=0.0, predictor=predictor, optimizer=QUICK, device="cpu", random_state=0)
    model.fit(x, rows["y"]).to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": x[:3]})[0], model.predict(x[:3]), rtol=1e-9)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(x), model.predict(x))
