"""A user's own nn.Module, end to end."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from torch import nn

import fairlevel.networks.torch_module as torch_module
from fairlevel import FairnessPath, FairRegressor, dpvar, load
from fairlevel.exceptions import InvalidInput
from fairlevel.models.folder import DamagedModel
from fairlevel.networks.modules import ModuleClassMissing
from fairlevel.networks.optimizers import Adam
from fairlevel.networks.torch_module import TorchModule
from fairlevel.predictors import resolve_predictor

STEPS = Adam(0.02, steps=120)
ALL_ROWS = {"optimizer": STEPS, "validation_fraction": None, "random_state": 0}
"""One training on all rows."""


class Perceptron(nn.Module):
    """Two layers, with dropout if asked; the arguments are attributes of the same names."""

    def __init__(self, features: int, hidden: int = 16, dropout: float = 0.0) -> None:
        super().__init__()
        self.features, self.hidden, self.dropout = features, hidden, dropout
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class WithEmbedding(nn.Module):
    """The first column is a code from 0 to ``codes`` − 1."""

    def __init__(self, codes: int, numbers: int) -> None:
        super().__init__()
        self.codes, self.numbers = codes, numbers
        torch.manual_seed(0)
        self.table, self.head = (
            nn.Embedding(codes, 3),
            nn.Sequential(nn.Linear(3 + numbers, 16), nn.Tanh(), nn.Linear(16, 1)),
        )

    def forward(self, x):
        return self.head(torch.cat([self.table(x[:, 0].long()), x[:, 1:]], dim=1))


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    a = random.standard_normal(600)
    town = random.choice(["north", "south", "west"], 600)
    x = pd.DataFrame(
        {"town": town, "income": 100 * (a + random.standard_normal(600)), "size": random.standard_normal(600)}
    )
    y = x["income"] / 100 + x["size"] + x["town"].map({"north": 1.0, "south": -1.0, "west": 0.0}) * 2
    return x, y + 0.3 * random.standard_normal(600), pd.DataFrame({"age": a})


def numbers(rows):
    return StandardScaler().fit_transform(rows[0][["income", "size"]]), rows[1], rows[2]


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_weight_lowers_disparity_and_beats_shrinking(rows, dropout):
    x, y, a = numbers(rows)
    module = Perceptron(2, dropout=dropout)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    common = {"predictor": module, **ALL_ROWS}
    plain = FairRegressor(weight=0.0, **common).fit(x, y, sensitive_features=a)
    fair = FairRegressor(weight=50.0, **common).fit(x, y, sensitive_features=a)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())  # not ours to change
    found = [dpvar(None, model.predict(x), sensitive_features=a) for model in (plain, fair)]
    assert found[1] < 0.2 * found[0]
    prediction = plain.predict(x)
    shrunk = prediction.mean() + np.sqrt(max(found[1], 0) / found[0]) * (prediction - prediction.mean())
    assert fair.mse_ < ((shrunk - y) ** 2).mean()
    again = clone(fair).fit(x, y, sensitive_features=a)
    np.testing.assert_array_equal(again.predict(x), fair.predict(x))


def test_stacks_where_it_can_and_agrees_with_one_by_one(rows):
    x, y, a = numbers(rows)
    assert resolve_predictor(Perceptron(2)).prepare(x, 0, "cpu").stackable
    assert not TorchModule(Perceptron(2, dropout=0.1)).prepare(x, 0, "cpu").stackable
    norm = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    assert not TorchModule(norm).prepare(x, 0, "cpu").stackable
    common = {"predictor": Perceptron(2), "optimizer": Adam(0.01, steps=30), "random_state": 0, "weight": 2.0}
    stacked = FairRegressor(**common).fit(x, y, sensitive_features=a).predict(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_module, "_is_pure", lambda module, rows: False)
        separate = FairRegressor(**common).fit(x, y, sensitive_features=a).predict(x)
    np.testing.assert_allclose(stacked, separate, rtol=1e-3, atol=1e-3)


def test_random_numbers_of_the_user_are_left_alone(rows):
    x, y, a = numbers(rows)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    model = FairRegressor(weight=1.0, predictor=Perceptron(2, dropout=0.5), optimizer=Adam(steps=5), random_state=0)
    torch.manual_seed(5)
    model.fit(x, y, sensitive_features=a)
    assert torch.equal(torch.rand(3), expected)


def test_embeddings_in_a_pipeline(rows, tmp_path):
    x, y, a = rows
    encode = make_column_transformer((OrdinalEncoder(), ["town"]), (StandardScaler(), ["income", "size"]))
    model = FairRegressor(weight=30.0, predictor=WithEmbedding(3, 2), **ALL_ROWS)
    pipeline = make_pipeline(encode, model).fit(x, y, fairregressor__sensitive_features=a)
    plain = make_pipeline(encode, clone(model).set_params(weight=0.0)).fit(x, y, fairregressor__sensitive_features=a)
    prediction = plain.predict(x)
    assert 1 - ((prediction - y) ** 2).mean() / y.var() > 0.9  # towns differ by code, not by order
    assert dpvar(None, pipeline.predict(x), sensitive_features=a) < 0.2 * dpvar(None, prediction, sensitive_features=a)
    fitted = pipeline[-1]
    fitted.save(tmp_path / "model")
    here = encode.transform(x)
    np.testing.assert_array_equal(load(tmp_path / "model").predict(here), fitted.predict(here))


def test_files_name_the_class_and_refuse_without_it(rows, tmp_path, monkeypatch):
    x, y, a = numbers(rows)
    settings = {"optimizer": Adam(steps=5), "validation_fraction": None, "random_state": 0}
    model = FairRegressor(weight=1.0, predictor=Perceptron(2, hidden=8), **settings)
    model.fit(x, y, sensitive_features=a).save(tmp_path / "model")
    described = json.loads((tmp_path / "model" / "model.json").read_text())
    assert described["groups"][0]["module_class"]["path"].endswith(":Perceptron")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert again.predictor.hidden == 8
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, __name__)  # as in a process that has not imported this file
        with pytest.raises(ModuleClassMissing, match="The model holds a module of class Perceptron"):
            load(tmp_path / "model")
        assert __name__ not in sys.modules  # a file imports nothing
    plain = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    other = FairRegressor(weight=1.0, predictor=plain, **settings)
    other.fit(x, y, sensitive_features=a).save(tmp_path / "sequential")
    with pytest.raises(ModuleClassMissing, match=r"pass load\(folder, module=Sequential"):
        load(tmp_path / "sequential")
    fresh = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    np.testing.assert_array_equal(load(tmp_path / "sequential", module=fresh).predict(x), other.predict(x))
    with pytest.raises(InvalidInput, match="the model holds a"):
        load(tmp_path / "sequential", module=Perceptron(2))
    with pytest.raises(InvalidInput, match="your own module"):
        model.to_onnx(tmp_path / "model.onnx")


def test_a_path_of_modules(rows):
    x, y, a = numbers(rows)
    path = FairnessPath(predictor=Perceptron(2), optimizer=Adam(0.04, steps=30), random_state=0)
    path.fit(x, y, sensitive_features=a)
    assert set(path.candidates_["family"]) == {"fbo_root", "gdp"}
    assert path.front_["dpvar"].iloc[0] < 0.3 * path.front_["dpvar"].iloc[-1]
    assert path.best(max_share=0.3).predict(x).shape == (600,)


class Wrong(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.layer = nn.Linear(2, outputs)

    def forward(self, x):
        return self.layer(x)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (Wrong(2), r"maps \(4, 2\) to \(4, 2\); one number per row"),
        (Perceptron(3), "cannot read rows of 2 features"),
        (nn.Flatten(), "no parameters that require a gradient"),
    ],
)
def test_modules_that_do_not_fit_are_refused(rows, module, sentence):
    x, y, a = numbers(rows)
    with pytest.raises(InvalidInput, match=sentence):
        FairRegressor(predictor=module).fit(x, y, sensitive_features=a)


class Unusual(nn.Module):
    """Works in 64 bits, keeps its activations, counts calls in a buffer that is not saved, and asks for a number."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        torch.manual_seed(0)
        self.layer = nn.Linear(features, 1)
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x):
        if self.training:
            self.calls += 1
        elif self.calls.item() < 0:
            return x.sum(dim=1)
        self.kept = self.layer(x)
        return self.kept.double()


class Keeping(nn.Module):
    """Pure, but keeps its activations."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        torch.manual_seed(0)
        self.layer = nn.Linear(features, 1)

    def forward(self, x):
        self.kept = self.layer(x)
        return self.kept.double()


@pytest.mark.parametrize("kind", [Unusual, Keeping])
@pytest.mark.parametrize("validation", [None, 0.2])
def test_unusual_modules_work(rows, kind, validation, tmp_path):
    x, y, a = numbers(rows)
    model = FairRegressor(1.0, predictor=kind(2), optimizer=STEPS, validation_fraction=validation, random_state=0)
    model.fit(x, y, sensitive_features=a)
    assert model.score(x, y) > 0.1
    if kind is Unusual:
        (module,) = model.model_.groups[0].modules
        assert int(module.calls) == model.n_iter_
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(x), model.predict(x))


class Forgetful(nn.Module):
    """Keeps what it has seen as a plain attribute, which neither early stopping nor a file has."""

    def __init__(self, features: int, alone: bool = False) -> None:
        super().__init__()
        self.features, self.alone, self.seen = features, alone, 0.0
        self.layer = nn.Linear(features, 1)

    def forward(self, x):
        if self.training:
            self.seen = 0.9 * self.seen + 0.01
            if self.alone:
                x.sum().item() if self.layer.weight.sum().item() > 0 else None  # no vmap
        return self.layer(x) + 100 * self.seen


@pytest.mark.parametrize("alone", [False, True])
def test_state_beside_parameters_and_buffers_is_refused(rows, alone):
    """It was lost: training saw it, predictions did not."""
    x, y, a = numbers(rows)
    model = FairRegressor(1.0, predictor=Forgetful(2, alone), optimizer=Adam(steps=5), random_state=0)
    with pytest.raises(InvalidInput, match="Forgetful predicts from something that training changes"):
        model.fit(x, y, sensitive_features=a)


class Shifted(nn.Module):
    """Adds a number that is an argument, and one that is not."""

    def __init__(self, features: int, shift: float) -> None:
        super().__init__()
        self.features, self.shift, self.extra = features, shift, 0.0
        self.layer = nn.Linear(features, 1)

    def forward(self, x):
        return self.layer(x) + self.shift + self.extra


def test_a_module_made_with_other_arguments_is_refused(rows, tmp_path):
    x, y, a = numbers(rows)
    model = FairRegressor(1.0, predictor=Shifted(2, 0.3), optimizer=Adam(steps=5), random_state=0)
    model.fit(x, y, sensitive_features=a).save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(x), model.predict(x))
    with pytest.raises(DamagedModel, match="made with other arguments"):
        load(tmp_path / "model", module=Shifted(2, 0.9))
    model.model_.groups[0].modules[0].extra = 5.0
    with pytest.raises(InvalidInput, match="outside of its state_dict"):
        model.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_lazy_layers_take_their_sizes_from_the_rows(rows):
    x, y, _ = numbers(rows)
    model = FairRegressor(0, predictor=nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.LazyLinear(1)), **ALL_ROWS)
    assert model.fit(x, y).score(x, y) > 0.1


def test_extra_state_is_refused(rows):
    class Extra(Perceptron):
        def get_extra_state(self):
            return "text"

    x, y, _ = numbers(rows)
    with pytest.raises(InvalidInput, match="no tensor"):
        FairRegressor(0, predictor=Extra(2)).fit(x, y)
