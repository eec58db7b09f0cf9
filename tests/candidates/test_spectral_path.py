"""The spectral path on its two trained members."""

import numpy as np
import pytest

from fairlevel.candidates.protocol import CandidateRows, Limits, TrainingSetup
from fairlevel.candidates.spectral_path import Head, SpectralPath
from fairlevel.conditional_mean import RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.training.rows import AllRows, TrainingRows

FOUR = Limits(models=4, settings=1, weights=4)


def path(learning_rate):
    """Candidates at four weights, on rows whose target depends on A."""
    random = np.random.default_rng(0)
    a, x = random.standard_normal((200, 1)), random.standard_normal((200, 3))
    x[:, 0] += a[:, 0]
    y = x[:, 0] + 0.5 * x[:, 1]
    source = SpectralPath((0.0, 1.0, 10.0, 1000.0), (Head(1e-3, learning_rate),), mean=RidgeMean(ridge=0.1))
    setup = TrainingSetup(MLP(), GradientDescent(steps=50), 0, "cpu")
    rows = CandidateRows(AllRows(TrainingRows(x, y, Attributes(a))))
    return source.train(rows, setup, FOUR, lambda share: None), x, y, a


@pytest.mark.parametrize(("learning_rate", "members"), [(0.1, 2), (0.4, 1)])
def test_a_member_that_diverged_is_left_out(learning_rate, members):
    found, x, y, a = path(learning_rate)
    assert found.usable.all()
    assert found.proportions.shape == (4, 4 * members)
    predictions = found.predict(x, "cpu")
    errors = ((predictions - y) ** 2).mean(axis=1)
    assert errors[0] < 0.2 * y.var()
    assert (np.diff(errors) > 0).all()
    level = np.abs([np.corrcoef(row, a[:, 0])[0, 1] for row in predictions])
    assert level[-1] < 0.05 < 0.5 < level[0]


def test_the_step_size_is_halved_where_both_members_diverge():
    found, x, *_ = path(3.2)
    assert found.table["learning_rate"].tolist() == [0.4] * 4
    assert found.usable.all()
    np.testing.assert_array_equal(found.predict(x, "cpu"), path(0.4)[0].predict(x, "cpu"))


def test_candidates_diverge_where_both_members_do_at_every_step_size():
    found, *_ = path(1e4)
    assert not found.usable.any()
