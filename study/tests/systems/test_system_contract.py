"""What every system of the table keeps to."""

from dataclasses import fields, replace
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

import fairlevel_study.systems
from fairlevel.candidates.protocol import CandidateRows, Limits
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.losses import Logistic
from fairlevel.predictors import Boosting
from fairlevel.training.rows import AllRows, TrainingRows
from fairlevel_study.methods import METHODS, SUITES, SYSTEM_METHODS
from fairlevel_study.systems.protocol import System, SystemGrid
from study.tests.systems.rows import SETUP, data

SYSTEMS = {name: type(METHODS[name].source.settings[0]) for name in SYSTEM_METHODS}
STRENGTHS = (0.0, 0.5, 1.0)
LIMITS = Limits(models=3, settings=1, weights=3)
BINNED = sorted(name for name, system in SYSTEMS.items() if "bins" in {field.name for field in fields(system)})


def rows_of(given, system, **changes):
    x = np.hstack([given.x, given.a]) if system.uses_attributes else given.x
    return TrainingRows(x, given.y, Attributes(given.a), **changes)


def trained(name, rows, setup=SETUP):
    grid = SystemGrid((SYSTEMS[name](),), STRENGTHS)
    return grid.train(CandidateRows(AllRows(rows)), setup, LIMITS, lambda share: None)


def test_every_system_has_a_row_in_the_study():
    found = set()
    for file in iter_modules(fairlevel_study.systems.__path__):
        module = import_module(f"{fairlevel_study.systems.__name__}.{file.name}")
        found |= {
            value
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and {"name", "fit"} <= set(vars(value))
        }
    assert found == set(SYSTEMS.values())
    assert all(isinstance(system(), System) and system.name == name for name, system in SYSTEMS.items())
    assert set(SYSTEM_METHODS) < set(SUITES["map"])
    for name in SYSTEM_METHODS:
        assert METHODS[name].source.name == name
        assert METHODS[name].uses_attributes == SYSTEMS[name].uses_attributes
        assert ("(A to predict)" in METHODS[name].label) == SYSTEMS[name].uses_attributes


@pytest.mark.parametrize("attributes", [1, 3])
@pytest.mark.parametrize("name", SYSTEMS)
def test_one_finite_model_per_strength_and_the_same_again(name, attributes):
    given = data(attributes=attributes)
    rows = rows_of(given, SYSTEMS[name])
    first, again = trained(name, rows), trained(name, rows)
    assert len(first) == len(STRENGTHS)
    assert first.usable.all()
    assert first.table["family"].unique().tolist() == [name]
    predictions = first.predict(rows.x)
    assert predictions.shape == (len(STRENGTHS), len(given.y))
    assert np.isfinite(predictions).all()
    assert np.array_equal(predictions, again.predict(rows.x))
    assert np.ptp(predictions, axis=0).max() > 1e-4  # strengths make a difference
    assert np.array_equal(first.only([1]).predict(rows.x)[0], predictions[1])


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_read_a_only_where_they_say_so(name):
    given = data(attributes=2)
    found = trained(name, rows_of(given, SYSTEMS[name]))
    if not SYSTEMS[name].uses_attributes:
        assert found.predict(given.x).shape == (3, len(given.y))
        return
    here, elsewhere = (found.predict(np.hstack([given.x, a])) for a in (given.a, given.a[::-1]))
    assert np.abs(here - elsewhere).max() > 1e-3


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_it_cannot_do_is_refused_by_name(name):
    given, system = data(), SYSTEMS[name]
    rows, grid = rows_of(given, system), SystemGrid((SYSTEMS[name](),), STRENGTHS)

    def refuses(match, changed=rows, setup=SETUP, **more):
        with pytest.raises(InvalidInput, match=match) as error:
            grid.train(CandidateRows(AllRows(changed), **more), setup, LIMITS, lambda share: None)
        assert name in str(error.value)
        assert isinstance(error.value, FairLevelError)

    refuses("takes a regression", setup=replace(SETUP, loss=Logistic()))
    refuses("with sensitive attributes", replace(rows, attributes=None))
    refuses("without row weights", replace(rows, row_weight=np.ones(len(rows))))
    within = Attributes(given.a, given=np.ones((len(rows), 1)))
    refuses("legitimate factors; use a penalty", replace(rows, attributes=within))
    refuses("numbers without gaps", gaps=True)
    if system.uses_attributes:
        refuses("needs A to predict, and a model of fairlevel gets X alone", replace(rows, x=given.x))


@pytest.mark.parametrize("name", [name for name in BINNED if name != "grouping"])
def test_continuous_attributes_without_bins_are_refused(name):
    message = rf"{name} compares groups, and A has 160 different values.*bins=4, or use penalty='fbo_closed'"
    with pytest.raises(InvalidInput, match=message):
        SYSTEMS[name](bins=None).fit(data(), STRENGTHS, SETUP)


@pytest.mark.parametrize("name", ["fairbatch", "bifair", "fairbinn", "reductions", "badr", "barycentre", "grouping"])
def test_only_networks_are_trained(name):
    with pytest.raises(InvalidInput, match="trains networks, and predictor='boosting' is none"):
        SYSTEMS[name]().fit(data(60), STRENGTHS, replace(SETUP, predictor=Boosting(rounds=2)))


@pytest.mark.parametrize("name", ["cod", "barycentre", "barycentre_continuous", "grouping"])
def test_shares_beyond_one_are_refused(name):
    with pytest.raises(InvalidInput, match="each must be between 0 and 1"):
        SYSTEMS[name]().fit(data(60), (0.0, 2.0), SETUP)


def test_models_of_systems_have_no_file():
    found = trained("cod", rows_of(data(60), SYSTEMS["cod"]))
    with pytest.raises(InvalidInput, match="no file format; use a penalty"):
        found.groups[0].written()
