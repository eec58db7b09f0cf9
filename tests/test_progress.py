"""Stages of work reach whoever listens, and cover all of it."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairnessPath, relevel
from fairlevel.networks.optimizers import Adam
from fairlevel.progress import listening, share_of, shown, stage


def test_stages_are_heard_inside_alone():
    heard = []
    stage("before")
    with listening(lambda words, share: heard.append((words, share))):
        stage("first")
        done = share_of("second")
        done(0.5)
        with shown(True):  # joins what listens already
            stage("third")
    done(1.0)
    stage("after")
    assert heard == [("first", None), ("second", 0.0), ("second", 0.5), ("third", None), ("second", 1.0)]


def test_without_a_terminal_stages_are_lines(capsys):
    """verbose=1 wrote nothing there."""
    with shown(True):
        stage("reading")
        done = share_of("training")
        for step in range(101):
            done(step / 100)
    lines = ["reading …", "training …", "training: 25 %", "training: 50 %", "training: 75 %", "training: 100 %"]
    assert capsys.readouterr().err.splitlines() == lines
    with shown(False):
        stage("reading")
    assert capsys.readouterr().err == ""


def test_loggers_hear_of_stages(caplog):
    with caplog.at_level("INFO", logger="fairlevel"):
        stage("reading")
        share_of("training")(0.5)
    assert caplog.messages == ["reading", "training"]


@pytest.mark.parametrize(("compiler", "why"), [("", "There is no C compiler"), ("false", "C code cannot be compiled")])
def test_a_slow_path_is_one_line(compiler, why, tmp_path):
    """Without a compiler training was slower, without a word."""
    code = (
        "import fairlevel; from fairlevel.networks.optimizers import Adam\n"
        "for _ in range(2): fairlevel.FairRegressor(predictor='mlp', weight=0, optimizer=Adam(steps=2)).fit("
        "[[k] for k in range(50)], list(range(50)))"
    )
    settings = os.environ | {"CC": compiler or "no compiler", "XDG_CACHE_HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    assert len(said.stderr.splitlines()) == 1
    assert said.stderr.startswith(why)
    settings |= {"FAIRLEVEL_NATIVE": "off"}
    said = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    assert said.stderr == ""


def test_a_path_and_a_relevelled_model_name_their_stages():
    random = np.random.default_rng(0)
    x, a = pd.DataFrame(random.standard_normal((300, 2)), columns=["u", "v"]), random.standard_normal((300, 1))
    x["u"] += a[:, 0]  # so that there is something to level
    heard = {}
    with listening(lambda words, share: heard.setdefault(words, []).append(share)):
        path = FairnessPath("fbo_closed", predictor="linear", optimizer=Adam(steps=20), random_state=0)
        path.fit(x, x["u"] + a[:, 0] + x["v"] * a[:, 0], sensitive_features=a)
    training = heard.pop("training candidates")
    assert training == sorted(training)
    assert (training[0], training[-1]) == (0.0, 1.0)
    assert list(heard) == [
        "choosing mixtures of them",
        "measuring the front on rows that it has not seen",
        "describing the models",
    ]
    heard.clear()
    with listening(lambda words, share: heard.setdefault(words, share)):
        relevel(lambda rows: rows["u"] + rows["v"], x, sensitive_features=x[["u"]].to_numpy() + a)
    assert list(heard) == ["reading the model and its predictions", "finding corrections", "choosing among them"]
