"""Functions of A that are learnt from a prediction: they find what smooth means miss, and nothing where nothing is."""

import numpy as np
import pytest

from fairlevel import compare, dpvar, dpvar_interval
from fairlevel.conditional_mean.learnt import learnt_functions

LEVELS = np.random.default_rng(3).standard_normal(300)
CODES = np.random.default_rng(1).integers(10_000, 99_999, 300)


def codes(random):
    """300 codes without an order."""
    level = random.integers(0, 300, 2000)
    return LEVELS[level], CODES[level].astype(float)


def nearly_equal_columns(random):
    first, difference = random.standard_normal((2, 1000))
    return difference, np.column_stack([first, first + 1e-6 * difference])


def product_of_three_signs(random):
    sensitive = random.standard_normal((1500, 6))
    return np.sign(sensitive[:, :3].prod(axis=1)), sensitive


def fields(random):
    """A chessboard of 12 × 12 fields."""
    sensitive = random.random((2500, 2))
    return (12 * sensitive).astype(int).sum(axis=1) % 2.0, sensitive


@pytest.mark.parametrize("design", [codes, nearly_equal_columns, product_of_three_signs, fields])
def test_differences_without_a_smooth_shape_are_found(design):
    """Smooth means found shares of .24, .00, .15 and .00 of .67."""
    random = np.random.default_rng(0)
    h, sensitive = design(random)
    f = h + h.std() / 2**0.5 * random.standard_normal(len(h))
    found = dpvar_interval(f, sensitive_features=sensitive)
    assert 0.5 * h.var() < found.estimate < 1.1 * h.var()
    assert found.low > 0.4 * h.var()
    assert "learnt from the prediction" in found.regressor
    assert dpvar(None, f, sensitive_features=sensitive) == pytest.approx(found.estimate, rel=1e-9)
    assert dpvar_interval(f, sensitive_features=sensitive) == found  # the same bits
    other = compare(f, h.std() * random.standard_normal(len(h)), sensitive_features=sensitive)
    assert other.high < 0
    assert other.dpvar_a > 0.5 * h.var()


@pytest.mark.parametrize("curve", [np.zeros_like, np.sin, np.abs])
def test_nothing_joins_where_a_smooth_mean_says_it_all(curve):
    """Otherwise chance would choose some."""
    found = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        sensitive = random.standard_normal((300, 2))
        f = curve(2 * sensitive[:, 0]) + random.standard_normal(300)
        found.append(dpvar_interval(f, sensitive_features=sensitive).regressor)
    assert [words for words in found if "learnt" in words] == []


def test_groups_are_learnt_from_as_a_whole():
    """Every person has a habit, and attributes of her own: other visits of a person tell her habit, other people do
    not.
    """
    random = np.random.default_rng(1)
    person = np.repeat(np.arange(300), 5)
    sensitive, habit = random.standard_normal((300, 2))[person], random.standard_normal(300)[person]
    f = habit + 0.3 * random.standard_normal(1500)
    residual = f - f.mean()
    apart = learnt_functions(f, residual, sensitive, np.ones(1500), None, 0)
    together = learnt_functions(f, residual, sensitive, np.ones(1500), person, 0)
    assert apart.shape[1] > 0
    assert together.shape[1] == 0
    assert dpvar_interval(f, sensitive_features=sensitive, groups=person).low == 0


def test_a_row_does_not_see_its_own_prediction():
    """The function of one row stays as it is where the prediction of that row changes."""
    random = np.random.default_rng(2)
    sensitive = random.random((400, 1))
    f = np.where(sensitive[:, 0] * 10 % 2 < 1, 1.0, -1.0) + 0.3 * random.standard_normal(400)
    changed = f.copy()
    changed[7] += 0.5
    before, after = (learnt_functions(each, each, sensitive, np.ones(400), None, 0) for each in (f, changed))
    assert before.shape == after.shape
    assert before.shape[1] > 0
    assert np.array_equal(before[7], after[7])
    assert not np.array_equal(before, after)


def test_weights_say_which_rows_count():
    """The half of the rows with a pattern has nearly no weight."""
    random = np.random.default_rng(4)
    sensitive = random.random((1000, 1))
    pattern = np.where(sensitive[:, 0] * 20 % 2 < 1, 1.0, -1.0)
    second = np.arange(1000) >= 500
    f = np.where(second, pattern, 0.0) + 0.5 * random.standard_normal(1000)
    counted, ignored = (np.where(second, weight, 1.0) for weight in (1.0, 1e-6))
    assert learnt_functions(f, f, sensitive, counted, None, 0).shape[1] > 0
    assert learnt_functions(f, f, sensitive, ignored, None, 0).shape[1] == 0
