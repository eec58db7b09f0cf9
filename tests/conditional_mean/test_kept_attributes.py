"""Attributes that keep what was computed from them."""

import numpy as np

from fairlevel.candidates.fitting import Scaling
from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.sensitive import Sensitive
from fairlevel.data.table import Table
from fairlevel.training.rows import AllRows

VALUES = np.random.default_rng(0).standard_normal((120, 2))
WEIGHT = np.random.default_rng(1).uniform(1, 2, 120)
SOME = np.arange(0, 120, 3)


def test_attributes_factor_once():
    rows, mean = Attributes(VALUES, row_weight=WEIGHT), RandomFeaturesMean()
    assert mean.prepare(rows, seed=0) is RandomFeaturesMean().prepare(rows, seed=0)
    assert mean.prepare(rows.take(SOME), seed=0) is mean.prepare(rows.take(SOME), seed=0)
    assert rows.part(SOME) is not rows.part(SOME)
    found, expected = (mean.prepare(some, seed=0).functions.columns for some in (rows.take(SOME), rows.part(SOME)))
    np.testing.assert_array_equal(found, expected)


def test_other_rows_seeds_and_settings_are_kept_apart():
    kept = Attributes(VALUES)
    found = [
        RandomFeaturesMean().prepare(kept, seed=0),
        RandomFeaturesMean().prepare(kept, seed=1),
        RandomFeaturesMean(bandwidth=2.0).prepare(kept, seed=0),
        RandomFeaturesMean().prepare(kept.take(SOME), seed=0),
        RandomFeaturesMean().prepare(kept.take(SOME + 1), seed=0),
    ]
    assert len({id(each) for each in found}) == 5
    assert kept.take(np.arange(120)) is kept


def test_joined_rows_are_kept_and_are_those_of_both():
    kept = Attributes(VALUES, row_weight=WEIGHT)
    first, last = np.arange(80), np.arange(80, 120)
    there = kept.take(last)
    both = kept.take(first).joined(there)
    assert kept.take(first).joined(there) is both
    assert kept.take(first).joined(Attributes(there.values, row_weight=there.counts + 1)) is not both
    np.testing.assert_array_equal(both.values, VALUES)
    np.testing.assert_array_equal(both.counts, WEIGHT)


def test_candidates_that_train_on_the_same_rows_share_attributes():
    table = Table(VALUES, WEIGHT, Sensitive(VALUES, ("one", "two")))
    rows = AllRows(Scaling.of(table).rows(table, np.arange(120)))
    first, second = rows.limited(50).rows, rows.limited(50).rows
    assert first.attributes is second.attributes
    held = rows.rows.take(np.arange(50, 70))
    assert first.joined(held).attributes is second.joined(held).attributes
