"""The study's parts on a protocol small enough for a test."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import torch

from fairlevel import MLPMean
from fairlevel.candidates import PenaltyGrid
from fairlevel.data.sensitive import Sensitive
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.data.table import Table
from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel_study.analysis.comparison import budget_table, points_on_test
from fairlevel_study.datasets import Problem, SyntheticDataset, scaled_parts, split_rows, synthetic_datasets
from fairlevel_study.executors import Executor, LocalExecutor
from fairlevel_study.methods import MAP_METHODS, METHODS, SUITES, resolve_methods
from fairlevel_study.protocol import PROTOCOLS, VARIANTS, Protocol, resolve_protocol
from fairlevel_study.task import rows_of_tasks, run_method, seen_by, tasks_of, train_candidates
from study.tests.quick_studies import FewProfilesEach, use_few_profiles

TINY = Protocol(
    "tiny",
    optimizer=Adam(steps=25),
    rate_scale=0.1,
    settings=2,
    weights=4,
    coarse=2,
    rounds=2,
    diagnostic=MLPMean(optimizer=GradientDescent(0.1, steps=20)),
)
FEW_STEPS = replace(TINY, optimizer=Adam(steps=8))


@pytest.fixture
def few_profiles(monkeypatch):
    use_few_profiles(monkeypatch)


@pytest.fixture(scope="module")
def problem():
    return SyntheticDataset(SyntheticDesign(attributes=3), 200).problem(0, TINY)


def split_problem(name, seed, x, y, a, protocol):
    table = Table(x, y, Sensitive(a, tuple(f"a{k}" for k in range(a.shape[1]))))
    parts, _ = scaled_parts(table, split_rows(name, len(y), seed, protocol), protocol)
    return Problem(name, seed, *parts)


def test_split_scales_by_training_rows_only():
    random = np.random.default_rng(0)
    x, y, a = random.standard_normal((200, 4)), random.standard_normal(200), random.standard_normal((200, 2))
    plain = split_problem("table", 3, x, y, a, TINY)
    order = np.random.default_rng(3).permutation(200)
    moved = x.copy()
    moved[order[120:]] += 100  # VAL and TEST rows
    other = split_problem("table", 3, moved, y, a, TINY)
    np.testing.assert_array_equal(plain.training.x, other.training.x)
    assert (other.test.x == TINY.clip).all()
    assert [len(part) for part in (plain.training, plain.validation, plain.test)] == [120, 40, 40]
    np.testing.assert_allclose(plain.training.y.std(), 1)


def test_too_few_rows_say_how_many_are_needed():
    with pytest.raises(InvalidInput, match="at least 40 are needed"):
        split_problem("small", 0, np.ones((30, 2)), np.arange(30.0), np.ones((30, 1)), TINY)


def test_more_attributes_than_rows_are_refused():
    random = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match=r"70 columns .* for 60 training rows"):
        split_problem("wide", 0, random.standard_normal((100, 2)), np.arange(100.0), np.ones((100, 70)), TINY)


COVERED = {"boosting", "plain_boosting", "relevel"}  # families of auto, and of tests/candidates
"""Methods whose many candidates would take most of the time, and whose families other tests train."""


@pytest.mark.usefixtures("few_profiles")
@pytest.mark.parametrize("name", sorted({*METHODS} - COVERED))
def test_every_method_trains_within_its_budget_of_models(problem, name):
    found = run_method(problem, name, FEW_STEPS, "cpu")
    rows, mixtures = (found[found["combiner"] == combiner] for combiner in ("best", "stacked"))
    trained = rows[~rows["family"].str.contains("after|constant|reweighted")]  # the others cost nothing
    assert len(rows) >= 3
    assert (
        len(trained) <= FEW_STEPS.limits.models + (name == "auto") * 8
    )  # heads of its spectral paths are solved, not trained
    assert not rows.duplicated(["family", "setting", "weight"]).any()
    assert (trained.groupby("setting")["weight"].nunique() <= FEW_STEPS.weights).all()
    assert name == "relevel" or 0.0 in set(rows["weight"])
    assert mixtures["selected"].all()
    truth = [] if METHODS[name].uses_attributes else ["dpvar_true"]  # fresh rows of the design carry no A
    assert mixtures[["mse_test", "dpvar_test", "zeta", *truth]].notna().all(axis=None)
    assert mixtures["networks"].between(1, len(rows)).all()
    chosen = rows["selected"]
    assert chosen.any()
    assert rows.loc[chosen, ["mse_test", "dpvar_test", "dpvar_debiased_test", *truth]].notna().all(axis=None)
    assert rows.loc[~chosen, ["mse_test", "dpvar_test", "dpvar_true"]].isna().all(axis=None)
    assert set(rows["protocol"]) == {FEW_STEPS.id}


@pytest.mark.usefixtures("few_profiles")
def test_test_rows_do_not_reach_training_or_choice(problem):
    blind = replace(problem, test=replace(problem.test, y=problem.test.y + 100))
    one, other = (run_method(each, "fbo_closed", TINY, "cpu") for each in (problem, blind))
    kept = ["combiner", "setting", "weight", "zeta", "mse_val", "dpvar_val", "selected", "dpvar_test"]
    pd.testing.assert_frame_equal(one[kept], other[kept])
    assert (other.loc[other["selected"], "mse_test"] > 1000).all()


def test_true_dpvar_of_many_models_is_that_of_each():
    design = SyntheticDesign(attributes=2)
    weights = np.random.default_rng(0).standard_normal((3, 10))
    together = design.true_dpvar(lambda x: weights @ x.T, profiles=200)
    for number, row in enumerate(weights):
        alone = design.true_dpvar(lambda x, row=row: x @ row, profiles=200)
        assert together.value[number] == pytest.approx(alone.value, rel=1e-10)
        assert together.standard_error[number] == pytest.approx(alone.standard_error, rel=1e-10)


@pytest.mark.usefixtures("few_profiles")
def test_a_grid_with_diverged_members_goes_on(problem):
    wild = replace(TINY, optimizer=GradientDescent(steps=60), rate_scale=3.0)
    rows = run_method(problem, "fbo", wild, "cpu")
    diverged = rows["status"] == "diverged"
    assert diverged.any()
    assert rows.loc[diverged, "mse_val"].isna().all()
    assert not rows.loc[diverged, "selected"].any()


def test_candidates_predict_what_they_were_trained_to(problem):
    found = train_candidates(problem, "auto", TINY, "cpu")
    predictions = found.predict(problem.validation.x)
    mse = ((predictions - problem.validation.y) ** 2).mean(axis=1)
    np.testing.assert_allclose(mse, found.table["mse"], rtol=1e-6)
    some = found.only([2, 0])
    np.testing.assert_allclose(some.predict(problem.validation.x), predictions[[2, 0]], rtol=1e-6, atol=1e-7)


@dataclass(frozen=True)
class LastTaskFirst:
    """Tasks in the opposite order; one process, which imports PyTorch once, is enough to see it."""

    executor: Executor

    def run(self, tasks):
        last = len(tasks) - 1
        return ((last - number, outcome) for number, outcome in self.executor.run(tasks[::-1]))


def test_processes_and_order_of_tasks_change_nothing(monkeypatch):
    protocol = replace(TINY, rounds=0, settings=1, weights=2)
    tasks = tasks_of(synthetic_datasets((1.0,), rows=120), (0, 1), ["fbo_closed"], protocol, "cpu")
    calls = []
    elsewhere = LastTaskFirst(FewProfilesEach(LocalExecutor(1)))
    together = rows_of_tasks(tasks, elsewhere, calls.append)
    torch.set_num_threads(1)
    use_few_profiles(monkeypatch)
    here = pd.concat([task() for task in tasks], ignore_index=True)
    pd.testing.assert_frame_equal(together.drop(columns="seconds"), here.drop(columns="seconds"), rtol=1e-4)
    assert calls[-1] == 1


def test_budget_table_of_hand_made_rows():
    rows = pd.DataFrame(
        [
            ("d", 0, "fbo", True, 0.5, 0.0),
            ("d", 0, "fbo", True, 0.2, 1.0),
            ("d", 1, "fbo", True, 0.7, 0.2),
            ("d", 0, "r2", True, 0.4, 0.5),
            ("d", 1, "r2", True, 0.3, 0.6),
            ("d", 1, "r2", True, 0.9, 0.8),  # dominated
            ("d", 1, "r2", False, 0.0, 0.0),  # not selected: never seen
        ],
        columns=["dataset", "seed", "method", "selected", "mse_test", "dpvar_test"],
    )
    assert len(points_on_test(rows)) == 5
    table = budget_table(rows, ["fbo", "r2"]).set_index(["method", "budget"])
    assert table["limit"].unique().tolist() == [0.25, 0.5, 0.75]
    assert table.loc[("fbo", "tight"), ["median", "low", "high", "feasible"]].tolist() == [0.6, 0.5, 0.7, 2]
    assert table.loc[("r2", "tight"), "feasible"] == 0
    assert np.isnan(table.loc[("r2", "tight"), "median"])
    assert table.loc[("r2", "mid"), ["median", "feasible"]].tolist() == [0.4, 1]
    assert table.loc[("r2", "loose"), ["median", "low", "high"]].tolist() == pytest.approx([0.35, 0.3, 0.4])


def test_protocol_ids_follow_their_values():
    paper = PROTOCOLS["paper"]
    assert paper.id == replace(paper).id
    last_digits = tuple(float(np.nextafter(zeta, 2 * zeta)) for zeta in paper.zetas)
    assert replace(paper, zetas=last_digits).id == paper.id
    assert replace(paper, zetas=tuple(1.000001 * zeta for zeta in paper.zetas)).id != paper.id
    assert len({resolve_protocol(name).id for name in PROTOCOLS}) == len(PROTOCOLS)
    assert replace(TINY, clip=4.0).id != TINY.id
    assert PROTOCOLS["paper"].limits.models == 96


def test_every_variant_is_a_protocol_of_its_own():
    names = ["paper2k", *(f"paper2k+{variant}" for variant in VARIANTS)]
    found = [replace(resolve_protocol(name), name="same") for name in names]
    assert len({protocol.id for protocol in found}) == len(names) - 1  # descent is what paper2k does anyway
    both = resolve_protocol("small+descent+listed_weights")
    assert (both.name, both.rounds, both.optimizer.steps) == ("small+descent+listed_weights", 0, 1000)
    with pytest.raises(UnknownName, match="variant of a protocol"):
        resolve_protocol("small+fast")


def test_unknown_names_list_the_known():
    with pytest.raises(UnknownName, match="Did you mean 'hsic'"):
        resolve_methods(["hsik"])
    with pytest.raises(UnknownName, match="Known: adam, medium, paper, paper2k, small"):
        resolve_protocol("big")
    with pytest.raises(InvalidInput, match="No seeds"):
        tasks_of(synthetic_datasets(), (), ["fbo"], TINY)


def test_suites_stand_for_their_methods():
    assert [method.name for method in resolve_methods(["hsic", "map", "gedi"])] == ["hsic", *MAP_METHODS]
    assert [method.name for method in resolve_methods(["paper", "fbo"])] == list(SUITES["paper"])
    with pytest.raises(UnknownName, match=r"Did you mean 'map'\?.*, paper,"):
        resolve_methods(["maps"])


@pytest.mark.parametrize("name", MAP_METHODS)
def test_methods_of_the_map_train_without_diverging(problem, name):
    found = train_candidates(seen_by(problem, name), name, replace(TINY, rounds=0, settings=1), "cpu").table
    assert (found["status"] != "diverged").all()


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if isinstance(method.source, PenaltyGrid)])
def test_every_grid_offers_what_the_paper_allows(name):
    grid = METHODS[name].source
    assert len(grid.settings) == 8
    assert len(grid.weights) == 12
    assert grid.weights[0] == 0


@pytest.mark.parametrize(
    "protocol", [PROTOCOLS["paper"], PROTOCOLS["medium"], PROTOCOLS["small"]], ids=lambda each: each.name
)
def test_families_train_no_more_models_than_others(problem, protocol):
    quick = replace(protocol, optimizer=Adam(steps=2))
    found = train_candidates(problem, "auto_networks", quick, "cpu").table
    assert set(found["family"]) == {"fbo_root", "gdp", "spectral"}
    assert len(found) <= protocol.limits.models
    assert found.groupby("family").size().max() <= protocol.limits.models / 3
