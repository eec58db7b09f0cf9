"""Scaling of columns, and random splits of rows."""

import numpy as np
import pytest

from fairlevel.data.scaling import Scaler
from fairlevel.data.splitting import folds, split_off
from fairlevel.exceptions import InvalidInput


def test_scaler_centres_scales_clips_and_comes_back():
    values = np.random.default_rng(0).normal([5.0, -100.0], [2.0, 30.0], (500, 2))
    scaler = Scaler.fit(values)
    scaled = scaler.transform(values)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(scaler.inverse(scaled), values)
    assert np.abs(Scaler.fit(values, clip=1.5).transform(values)).max() == 1.5


def test_scaler_of_a_constant_gives_zero_and_comes_back_exactly():
    scaler = Scaler.fit(np.full(10, 0.1))
    assert not scaler.transform(np.array([0.1, 7.0])).any()
    assert (scaler.inverse(np.array([3.0, -1.0])) == scaler.mean).all()


def test_scaler_weights_are_repetitions():
    values, times = np.array([1.0, 2.0, 5.0]), np.array([1, 3, 2])
    assert Scaler.fit(values, times.astype(float)).scale == pytest.approx(Scaler.fit(np.repeat(values, times)).scale)


def test_folds_are_balanced_and_splits_partition():
    assert sorted(np.bincount(folds(103, 5, seed=0))) == [20, 20, 21, 21, 21]
    kept, held = split_off(103, 0.2, seed=0)
    assert sorted([*kept, *held]) == list(range(103))
    assert len(held) == 21
    with pytest.raises(InvalidInput, match="rows are needed"):
        split_off(1, 0.5, seed=0)
