"""Every class that can be chosen by name stands in its table: a new file without a row fails here."""

from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules

import numpy as np
import pytest

import fairlevel.conditional_mean
import fairlevel.members
import fairlevel.networks
import fairlevel.penalties
import fairlevel.predictors
from fairlevel.conditional_mean import LINEAR_MEANS, LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.estimators.fair_estimator import READ_GAPS
from fairlevel.members import MEMBERS, members_of
from fairlevel.networks import penalties as of_networks
from fairlevel.networks.mlp import MLP
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.torch_module import TorchModule
from fairlevel.penalties import NAMES, PENALTIES, WITH_NETWORKS, WITHIN_FACTORS, NoPenalty, Penalty, resolve_penalty
from fairlevel.predictors import PREDICTORS, Predictor, resolve_predictor


def classes(package):
    """Concrete classes that are defined in the files of a package and carry a name of their own."""
    for file in iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{file.name}")
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__ and not isabstract(value):
                yield value


def named(package, kind):
    found = {value for value in classes(package) if "name" in vars(value) and not getattr(value, "_is_protocol", False)}
    return {value for value in found if all(hasattr(value, member) for member in kind)}


def test_names_of_predictors_that_read_gaps_are_those_whose_class_says_so():
    assert set(READ_GAPS) == {name for name, predictor in PREDICTORS.items() if predictor.native}


def test_penalties_are_registered():
    assert named(fairlevel.penalties, ("prepare", "step")) == {*PENALTIES.values(), NoPenalty}
    assert named(of_networks, ("prepare", "step")) == {getattr(of_networks, kind) for kind in WITH_NETWORKS.values()}
    assert [resolve_penalty(name).name for name in NAMES] == list(NAMES)
    assert all(isinstance(resolve_penalty(name), Penalty) for name in NAMES)


def test_conditional_means_are_registered():
    linear = {value for value in classes(fairlevel.conditional_mean) if issubclass(value, LinearMean)}
    assert linear == set(LINEAR_MEANS.values())
    assert named(fairlevel.networks, ("fit",)) == {MLPMean}


def test_predictors_are_registered():
    assert named(fairlevel.predictors, ("prepare",)) == set(PREDICTORS.values())
    assert named(fairlevel.networks, ("prepare",)) == {MLP, TorchModule}
    assert all(isinstance(predictor(), Predictor) for predictor in PREDICTORS.values())
    assert resolve_predictor("mlp") == MLP()
    members = {value for value in classes(fairlevel.members) if "kind" in vars(value) and hasattr(value, "from_file")}
    assert {value.kind: value for value in members} == {kind: members_of(kind) for kind in MEMBERS if kind != "modules"}


def test_penalties_that_compare_rows_within_factors_are_named():
    rows = Attributes(np.random.default_rng(0).standard_normal((20, 1)))
    found = {name for name, penalty in PENALTIES.items() if penalty().prepare(rows, seed=0).within_factors}
    assert found == set(WITHIN_FACTORS)


@pytest.mark.parametrize("table", [PENALTIES, PREDICTORS, LINEAR_MEANS])
def test_names_are_the_keys(table):
    assert all(entry.name == name for name, entry in table.items())
