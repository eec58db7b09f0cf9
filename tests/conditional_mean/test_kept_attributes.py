"""Attributes that keep what was computed from them."""

import numpy as np

from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes, KeptAttributes

VALUES = np.random.default_rng(0).standard_normal((120, 2))
WEIGHT = np.random.default_rng(1).uniform(1, 2, 120)
SOME = np.arange(0, 120, 3)


def test_kept_attributes_factor_once_and_give_the_same_bits():
    plain = Attributes(VALUES, row_weight=WEIGHT)
    kept, mean = KeptAttributes.of(plain), RandomFeaturesMean()
    assert mean.prepare(kept, seed=0) is RandomFeaturesMean().prepare(kept, seed=0)
    assert mean.prepare(kept.take(SOME), seed=0) is mean.prepare(kept.take(SOME), seed=0)
    first = mean.prepare(plain, seed=0)
    assert mean.prepare(plain, seed=0) is first
    mean.prepare(plain, seed=1)
    assert mean.prepare(plain, seed=0) is not first  # only the last one is kept
    for own, same in ((kept, plain), (kept.take(SOME), plain.take(SOME))):
        np.testing.assert_array_equal(mean.prepare(own, seed=0).fit_basis, mean.prepare(same, seed=0).fit_basis)


def test_other_rows_seeds_and_settings_are_kept_apart():
    kept = KeptAttributes.of(Attributes(VALUES))
    found = [
        RandomFeaturesMean().prepare(kept, seed=0),
        RandomFeaturesMean().prepare(kept, seed=1),
        RandomFeaturesMean(bandwidth=2.0).prepare(kept, seed=0),
        RandomFeaturesMean().prepare(kept.take(SOME), seed=0),
        RandomFeaturesMean().prepare(kept.take(SOME + 1), seed=0),
    ]
    assert len({id(each) for each in found}) == 5
    assert kept.take(np.arange(120)) is kept
