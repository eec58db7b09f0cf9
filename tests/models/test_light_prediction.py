"""Saved models predict without PyTorch, and what they predict is what was trained."""

import json
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch

from fairlevel import FairClassifier, FairRegressor, TableEncoder
from fairlevel.links import LogisticLink
from fairlevel.members.boosters import FittedTrees
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import PREDICTORS, Boosting

CLOSE = {"rtol": 1e-12, "atol": 1e-13}
FEW_TREES = Boosting(rounds=15)
CASES = {name: FairRegressor(predictor=name) for name in PREDICTORS} | {
    "boosting": FairRegressor(predictor=FEW_TREES),
    "classes": FairClassifier(predictor="mlp"),
    "three classes": FairClassifier(predictor=FEW_TREES),
    "encoder": FairRegressor(predictor="linear", encoder=TableEncoder()),
    "mixture": FairRegressor(predictor="linear", max_share=0.3),
}
PROGRAM = """
import json, sys
import pandas as pd
from fairlevel import load
table = pd.read_csv(sys.argv[1])
predictions = {name: load(name).predict(table).tolist() for name in sys.argv[2:]}
print(json.dumps([predictions, "torch" in sys.modules]))
"""


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    x = pd.DataFrame(random.standard_normal((160, 4)), columns=list("abcd"))
    return x, x["a"] - x["b"] ** 2 + 0.1 * random.standard_normal(160), random.standard_normal((160, 1))


@pytest.fixture(scope="module")
def folders(rows, tmp_path_factory):
    """Every predictor, classifiers, an encoder and a mixture, fitted and saved."""
    x, y, a = rows
    home, fitted = tmp_path_factory.mktemp("models"), {}
    for name, model in CASES.items():
        target = {"classes": y > 0, "three classes": np.digitize(y, [-1, 0])}.get(name, y)
        model.set_params(optimizer=Adam(0.02, steps=20), device="cpu", random_state=0)
        fitted[name] = model.fit(x, target, sensitive_features=a)
        by_name = "boosting" if isinstance(model.predictor, Boosting) else model.predictor
        model.set_params(optimizer="adam", predictor=by_name)  # objects of these classes need PyTorch
        fitted[name].save(home / name)
    x.to_csv(home / "rows.csv", index=False)
    return home, fitted


def test_saved_models_predict_the_same_without_pytorch(rows, folders):
    home, fitted = folders
    run = [sys.executable, "-c", PROGRAM, "rows.csv", *CASES]
    done = subprocess.run(run, cwd=home, capture_output=True, text=True, check=True)
    predictions, with_torch = json.loads(done.stdout)
    assert not with_torch
    for name, model in fitted.items():
        np.testing.assert_array_equal(predictions[name], model.predict(rows[0]))


@pytest.mark.parametrize("hidden", [(), (5,), (64, 64)])
def test_networks_in_numpy_are_those_that_were_trained(hidden):
    network, random = Network(3, hidden), np.random.default_rng(0)
    parameters = random.standard_normal((4, network.size))
    waves = InputMap(frequencies=random.standard_normal((2, 3)), phases=random.standard_normal(3))
    for mapped, x in ((InputMap(), random.standard_normal((700, 3))), (waves, random.standard_normal((700, 2)))):
        inputs = torch.from_numpy(x)
        if mapped is waves:
            inputs = 2**0.5 * torch.cos(inputs @ torch.from_numpy(waves.frequencies) + torch.from_numpy(waves.phases))
        expected = network.predict(torch.from_numpy(parameters), inputs).numpy()
        found = NetworkMembers(Layout(3, hidden), mapped, parameters).predict(x)
        np.testing.assert_allclose(found, expected, **CLOSE)


def test_trees_are_those_of_lightgbm(rows):
    """Bit for bit, from any tree on, with gaps and categories."""
    x, y, _ = rows
    x = x.assign(d=np.digitize(x["d"], [-1, 0, 1]), a=x["a"].where(x["a"] > -1)).to_numpy()
    grown = lightgbm.train(
        {"verbosity": -1, "min_data_in_leaf": 3}, lightgbm.Dataset(x, y, categorical_feature=[3]), num_boost_round=12
    )
    text = grown.model_to_string()
    for first, last in ((0, 12), (0, 5), (5, 12)):
        before, after = FittedTrees(text).sums(x, [first, last])
        expected = grown.predict(x, raw_score=True, start_iteration=first, num_iteration=last - first)
        np.testing.assert_array_equal(after, before + expected)


def test_probabilities_are_those_of_the_loss():
    link, score = LogisticLink(0.3, 0.2, 0.4), np.array([-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
    np.testing.assert_allclose(link(score), link(torch.from_numpy(score)).numpy(), rtol=1e-14)
    assert link(np.array([-40.3]))[0] * 0.4 + 0.2 == pytest.approx(np.exp(-40.0))
