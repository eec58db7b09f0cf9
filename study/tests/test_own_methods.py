"""Candidates of the study: those of the product, and those of a penalty from outside."""

from dataclasses import replace

import numpy as np
import pandas as pd

from fairlevel import FairnessPath, MLPMean
from fairlevel.candidates import PenaltyGrid, TrainingSetup
from fairlevel.candidates.protocol import CandidateRows
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.predictors.boosting import BoosterFactory
from fairlevel.training.rows import AllRows
from fairlevel_study.datasets import SyntheticDataset
from fairlevel_study.methods import METHODS, Method
from fairlevel_study.protocol import PROTOCOLS
from fairlevel_study.task import Task
from study.tests.quick_studies import SOME, use_few_profiles
from tests.contracts.test_new_penalty import SquaredCovariance


def test_the_study_and_the_path_train_the_same_candidates(monkeypatch):
    """``auto`` is one definition: the same families, settings, weights and names in both."""
    monkeypatch.setattr(BoosterFactory, "steps", lambda factory, optimizer: 16)  # of 2000 trees
    random = np.random.default_rng(0)
    x, a = random.standard_normal((150, 4)), random.standard_normal((150, 2))
    x[:, 0] += a[:, 0]
    y = x[:, 0] + x[:, 1] + 0.3 * random.standard_normal(150)
    path = FairnessPath(optimizer=Adam(0.005, steps=10), device="cpu", random_state=0).fit(x, y, sensitive_features=a)
    protocol = replace(PROTOCOLS["medium"], optimizer=Adam(0.005, steps=10))
    problem = SyntheticDataset(SyntheticDesign(), rows=200).problem(0, protocol)
    setup = TrainingSetup(MLP(), protocol.optimizer, 0, "cpu", protocol.rate_scale)
    rows = CandidateRows(AllRows(problem.training))
    study = METHODS["auto"].source.train(rows, setup, protocol.limits, lambda share: None)
    columns = ["candidate", "family", "setting", "weight", "learning_rate"]
    pd.testing.assert_frame_equal(path.candidates_[columns], study.table[columns])
    trained = study.table[~study.table["family"].str.contains("after|constant")]
    boosters, solved = (trained["predictor"] == "boosting").sum(), trained["predictor"].ne("boosting")
    assert boosters + 2 * trained.loc[solved, "setting"].nunique() <= protocol.limits.models  # two bodies for each head
    assert set(trained["predictor"]) == {"boosting", "network", "random_features", "linear"}


def test_a_penalty_from_outside_in_a_study(monkeypatch):
    use_few_profiles(monkeypatch)
    grid = PenaltyGrid.over(SquaredCovariance(), (0, 0.3, 1, 3, 10, 30))
    monkeypatch.setitem(METHODS, "covariance", Method("covariance", "covariance", grid))
    protocol = replace(SOME, optimizer=Adam(steps=60), diagnostic=MLPMean(optimizer=GradientDescent(0.1, steps=30)))
    task = Task(SyntheticDataset(SyntheticDesign(), rows=300), 0, "covariance", protocol, "cpu")
    rows = task()
    assert set(rows["method"]) == {"covariance"}
    trained = rows[rows["combiner"] == "best"]
    assert np.isfinite(trained["dpvar_val"]).all()
    assert trained["dpvar_val"].iloc[-1] < trained["dpvar_val"].iloc[0]
