"""Stages of work reach whoever listens, and cover all of it."""

import numpy as np
import pandas as pd

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
