from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from fairlevel import ClosedFBO
from fairlevel.candidates import (
    CandidateSet,
    Families,
    Limits,
    OnPredictor,
    PenaltyGrid,
    ReweightedTrees,
    Setting,
    TrainingSetup,
    WithStages,
)
from fairlevel.candidates.candidate_set import NO_HISTORY
from fairlevel.candidates.protocol import CandidateRows
from fairlevel.candidates.sources import ON_ONE_PREDICTOR, SPECTRAL
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.corrections.closed_form import Disparity
from fairlevel.estimators.settings import NO_LIMITS
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.mlp import MLP
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.networks.torch_module import TorchModule
from fairlevel.predictors import Boosting
from fairlevel.training.rows import AllRows, TrainingRows
from tests.few_trees import auto_of_few_trees


def members(seeds):
    network = Network(3, (4,))
    return NetworkMembers(Layout(3, (4,)), InputMap(), np.stack([network.init(seed) for seed in seeds]))


@pytest.fixture
def candidates():
    """Three candidates of two members each, the second one diverged."""
    table = pd.DataFrame({"candidate": ["u", "v", "w"], "status": ["finished", "diverged", "stopped early"]})
    proportions = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    return CandidateSet(table, (members([0]), members([1, 2, 3])), proportions, (NO_HISTORY,) * 3)


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((7, 3))


def test_diverged_candidates_are_nan_and_touch_nobody(candidates, x):
    found, each = candidates.predict(x), members([0, 1, 2, 3]).predict(x)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[0], (each[0] + each[1]) / 2, rtol=1e-12)
    np.testing.assert_allclose(found[2], each[2] - each[3], rtol=1e-12)


def test_parts_and_unions_keep_predictions_and_drop_unused_members(candidates, x):
    last = candidates.only([2])
    assert sum(map(len, last.groups)) == 2
    np.testing.assert_array_equal(last.predict(x)[0], candidates.predict(x)[2])
    both = last.joined(candidates)
    np.testing.assert_array_equal(both.predict(x)[[0, 1, 3]], candidates.predict(x)[[2, 0, 2]])
    assert both.table["candidate"].tolist() == ["w", "u", "v", "w"]
    assert len(candidates.without_diverged()) == 2


def test_a_mixture_is_the_weighted_sum(candidates, x):
    groups, proportions = candidates.mixture(np.array([0.25, 0.75]))
    stacked = np.vstack([group.predict(x) for group in groups])
    expected = np.array([0.25, 0.75]) @ candidates.predict(x)[[0, 2]]
    np.testing.assert_allclose(proportions @ stacked, expected, rtol=1e-12)


def rows(count=40):
    random = np.random.default_rng(0)
    x, a = random.standard_normal((count, 3)), random.standard_normal((count, 2))
    return CandidateRows(AllRows(TrainingRows(x, x[:, 0] + a[:, 0], Attributes(a))))


LIMITS = Limits(models=24, settings=4, weights=6)


SMALL = MLP(hidden=(4,))


def trained(source, predictor=SMALL, rate=1.0):
    setup = TrainingSetup(predictor, GradientDescent(0.1, steps=5), seed=0, device="cpu", rate_scale=rate)
    return source.train(rows(), setup, LIMITS, lambda share: None)


def test_families_share_the_models_and_need_a_linear_head_for_the_spectral_one():
    found = trained(ON_ONE_PREDICTOR)
    assert found.table["family"].value_counts().to_dict() == {"fbo_root": 8, "gdp": 8, "spectral": 8}
    assert found.table["candidate"].is_unique
    module = TorchModule(torch.nn.Linear(3, 1))
    without = trained(ON_ONE_PREDICTOR, module)
    assert set(without.table["family"]) == {"fbo_root", "gdp"}
    with pytest.raises(InvalidInput, match="predictor='module' has none"):
        trained(SPECTRAL, module)
    assert Families.limits_of_one(LIMITS, 3) == Limits(models=8, settings=2, weights=4)


def test_candidates_on_diverged_members_have_diverged():
    found = trained(SPECTRAL, rate=1e8)
    assert not found.usable.any()
    assert np.isnan(found.predict(np.zeros((2, 3)))).all()


def test_progress_rises_to_one():
    seen = []
    setup = TrainingSetup(MLP(hidden=(4,)), GradientDescent(0.1, steps=5), seed=0, device="cpu")
    auto_of_few_trees().train(rows(), setup, LIMITS, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_a_penalty_in_place_of_settings_is_pointed_out():
    with pytest.raises(InvalidType, match=r"PenaltyGrid\.over\(penalty, weights\)"):
        PenaltyGrid(ClosedFBO(), (0.0, 1.0))
    assert PenaltyGrid.over(ClosedFBO(), (0.0, 1.0)) == PenaltyGrid((Setting(ClosedFBO()),), (0.0, 1.0))


def test_a_diverged_candidate_has_no_model(candidates):
    with pytest.raises(InvalidInput, match="diverged"):
        candidates.only([1])


def test_two_grids_of_one_penalty_have_names_of_their_own():
    weights = (0.0, 0.1234567, 0.1234568)
    found = trained(Families((PenaltyGrid.over(ClosedFBO(), weights), PenaltyGrid.over(ClosedFBO(), weights))))
    assert found.table["candidate"].is_unique
    assert found.table["setting"].tolist() == [0, 0, 0, 1, 1, 1]


def test_families_without_limits_train_everything():
    grid = PenaltyGrid(tuple(Setting(ClosedFBO(), rate) for rate in (0.1, 0.2)), tuple(range(6)))
    setup = TrainingSetup(SMALL, GradientDescent(0.1, steps=2), seed=0, device="cpu")
    found = Families((grid, grid)).train(rows(), setup, NO_LIMITS, lambda share: None)
    assert len(found) == 24
    assert found.table["setting"].unique().tolist() == [0, 1, 2, 3]


def test_auto_has_boosters_and_their_stages_networks_linear_models_and_the_constant():
    found = trained(auto_of_few_trees())
    assert found.table["candidate"].is_unique
    counts = found.table["family"].value_counts().to_dict()
    assert counts == {
        "fbo_root": 8,
        "fbo_root after 0.125": 8,
        "fbo_root after 0.25": 8,
        "fbo_root after 0.5": 8,
        "spectral": 12,
        "constant": 1,
    }
    x = rows().training.rows.x
    np.testing.assert_array_equal(found.predict(x)[-1], 0)


def test_stages_are_the_first_trees():
    source = WithStages(PenaltyGrid.over(ClosedFBO(), (0.0, 1.0)), (0.5,))
    few = trained(OnPredictor(Boosting(rounds=10, rows_in_leaf=4), source))
    half = trained(OnPredictor(Boosting(rounds=5, rows_in_leaf=4), PenaltyGrid.over(ClosedFBO(), (0.0, 1.0))))
    x = rows().training.rows.x
    np.testing.assert_allclose(few.predict(x)[2:], half.predict(x), rtol=1e-12)


def test_rows_with_gaps_are_left_to_families_that_read_them():
    given = rows(80)
    with_gaps = replace(given, gaps=True)
    setup = TrainingSetup(SMALL, GradientDescent(0.1, steps=5), seed=0, device="cpu")
    found = auto_of_few_trees().train(with_gaps, setup, LIMITS, lambda share: None)
    assert set(found.table["predictor"]) == {"boosting", "none"}


def test_reweighted_trees_leave_the_stated_disparity_on_the_rows_that_weight_them():
    given = rows(400)
    setup = TrainingSetup(SMALL, GradientDescent(0.1, steps=5), seed=0, device="cpu")
    found = ReweightedTrees(Boosting(rounds=60, rows_in_leaf=5)).train(given, setup, LIMITS, lambda share: None)
    new = given.training.rows.take(np.arange(280, 400))
    predictions = found.predict(new.x)
    disparity = Disparity.of(predictions[0], new.attributes, 0)
    left = [float(np.sum(disparity.coefficients(each) ** 2)) for each in predictions]
    first = found.table.index[found.table["setting"] == 0][1:]
    for row in first[:4]:
        assert left[row] / left[0] == pytest.approx(found.table["weight"].iloc[row], rel=0.1)
