"""Audits, DPVar, comparisons and relevel in an environment without PyTorch."""

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairlevel
from fairlevel import audit

TORCH = ("torch", "torchgen", "functorch", "triton")
RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame({"age": RANDOM.standard_normal(300), "town": RANDOM.choice(["Bonn", "Ulm"], 300)})
TABLE["score"] = TABLE["age"] + (TABLE["town"] == "Ulm") + RANDOM.standard_normal(300)
PROGRAM = """
import json, sys
import pandas as pd
from fairlevel import audit, compare, dpvar
table = pd.read_csv("table.csv")
A, score = table[["age", "town"]], table["score"]
found = audit(score, sensitive_features=A)
found.to_html("page.html")
compare(score, score / 2, sensitive_features=A)
try:
    dpvar(None, score, sensitive_features=A, method="paper")
except ImportError as error:
    print(error)
assert "torch" not in sys.modules
print(json.dumps(found.to_dict()["dpvar"]))
"""


@pytest.fixture(scope="module")
def without_torch(tmp_path_factory):
    """What to run Python with, and its environment: links to all installed packages but PyTorch."""
    packages = tmp_path_factory.mktemp("packages")
    for folder in site.getsitepackages():
        for path in Path(folder).iterdir():
            if path.name.partition("-")[0] not in TORCH and path.suffix != ".pth":
                (packages / path.name).symlink_to(path)
    source = Path(fairlevel.__file__).parents[1]
    return [sys.executable, "-S"], os.environ | {"PYTHONPATH": os.pathsep.join([str(packages), str(source)])}


def test_figures_are_those_with_it(without_torch, tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    python, settings = without_torch
    run = [*python, "-c", PROGRAM]
    said = subprocess.run(run, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    refused, figures = said.stdout.splitlines()
    assert refused.startswith("This needs PyTorch, which is not installed: pip install")
    here = audit(TABLE["score"], sensitive_features=TABLE[["age", "town"]])
    there = json.loads(figures)
    for name in ("estimate", "low", "high", "share", "p_value"):
        assert there[name] == pytest.approx(getattr(here.interval, name), rel=1e-9)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "DPVar, debiased" in page


def test_the_command_line(without_torch, tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    python, settings = without_torch
    run = [*python, "-m", "fairlevel", "audit", "table.csv", "--prediction", "score", "--sensitive", "age,town"]
    said = subprocess.run(run, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "DPVar, debiased" in said.stdout
    assert "paper" not in said.stdout


RELEVEL = """
import json, sys
import numpy as np
import lightgbm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from fairlevel import load, relevel
random = np.random.default_rng(0)
A = random.standard_normal((400, 1))
X = np.hstack([A + random.standard_normal((400, 1)), random.standard_normal((400, 2))])
y = X[:, 0] + X[:, 1] + random.standard_normal(400)
shares = []
forest = RandomForestClassifier(20, random_state=0)
for model in (lightgbm.LGBMRegressor(n_estimators=30, verbose=-1), LinearRegression(), forest):
    target = y > 0 if hasattr(model, "predict_proba") else y
    front = relevel(model.fit(X[:200], target[:200]), X[200:], sensitive_features=A[200:], y=target[200:], points=4)
    front.model(0).predict(X)
    shares.append(front.front_["share"].tolist())
print(json.dumps([shares, "torch" in sys.modules]))
"""


def test_models_become_level(without_torch, tmp_path):
    python, settings = without_torch
    run = [*python, "-W", "ignore", "-c", RELEVEL]
    said = subprocess.run(run, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    shares, has_torch = json.loads(said.stdout)
    assert not has_torch
    for of_model in shares:
        assert of_model[0] < 0.8 * of_model[-1]


TRAINING = """
import json, sys
import numpy as np
import fairlevel
from fairlevel import FairClassifier, FairnessPath, FairRegressor, load
random = np.random.default_rng(0)
A = random.standard_normal((300, 1))
X = np.hstack([A + random.standard_normal((300, 1)), random.standard_normal((300, 2))])
y = X[:, 0] + X[:, 1] + random.standard_normal(300)
fits = {}
for predictor in ("boosting", "linear", "random_features"):
    for penalty in ("fbo_closed", "fbo_root", "r2", "hsic_features", "gdp"):
        model = FairRegressor(3.0, predictor=predictor, penalty=penalty, random_state=0, validation_fraction=None)
        fits[f"{predictor} {penalty}"] = model.fit(X, y, sensitive_features=A).dpvar_
model.save("model")
assert np.array_equal(load("model").predict(X), model.predict(X))
FairClassifier(random_state=0, predictor="linear").fit(X, y > 0, sensitive_features=A).predict_proba(X)
path = FairnessPath(random_state=0).fit(X, y, sensitive_features=A)
refused = []
def says(call):
    try:
        call()
    except ImportError as error:
        refused.append(str(error))
says(lambda: fairlevel.FBO)
says(lambda: fairlevel.torch)
says(lambda: FairRegressor(penalty="itd").fit(X, y, sensitive_features=A))
says(lambda: FairRegressor(predictor="mlp").fit(X, y, sensitive_features=A))
says(lambda: FairnessPath("adversarial").fit(X, y, sensitive_features=A))
says(lambda: FairnessPath("spectral").fit(X, y, sensitive_features=A))
print(json.dumps([fits, sorted(set(path.candidates_["predictor"])), refused, "torch" in sys.modules]))
"""


def test_models_are_trained(without_torch, tmp_path):
    python, settings = without_torch
    run = [*python, "-W", "ignore", "-c", TRAINING]
    said = subprocess.run(run, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    fits, predictors, refused, has_torch = json.loads(said.stdout.splitlines()[-1])
    assert not has_torch
    assert all(dpvar < 0.5 for name, dpvar in fits.items() if "hsic" not in name), fits  # 1 without a penalty
    assert {"boosting", "linear", "network", "random_features"} <= set(predictors)
    assert refused == ['This needs PyTorch, which is not installed: pip install "fairlevel[networks]".'] * 6
