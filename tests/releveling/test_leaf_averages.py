"""Averages in leaves against the same sums written row by row."""

import numpy as np
import pytest

from fairlevel.corrections.closed_form import Disparity
from fairlevel.releveling.existing import LogOdds, Response
from fairlevel.releveling.tree_model import (
    EMPTY_ROWS,
    LONGEST,
    Averages,
    counts_of_leaves,
    leaf_averages,
    towards_target,
)
from fairlevel.trees.protocol import leaf_columns

RANDOM = np.random.default_rng(0)
ROWS, SIZES = 30, (3, 4)
LEAVES = np.column_stack([RANDOM.integers(0, size, ROWS) for size in SIZES]).astype(np.int32)
FITTED = np.arange(4, 26)
VALUES = [np.array([0.0, 1.0, 3.0]), np.array([0.5, -0.5, 0.2, 1.0])]
WEIGHT = RANDOM.uniform(0.5, 2, len(FITTED))
WEIGHT /= WEIGHT.sum()
COLUMNS = leaf_columns(LEAVES, SIZES)
COUNTS = counts_of_leaves(COLUMNS, FITTED, WEIGHT, VALUES)
AVERAGES = Averages(COLUMNS, FITTED, COUNTS, len(FITTED) * WEIGHT)
F = RANDOM.standard_normal(ROWS) + 3
FUNCTIONS = RANDOM.standard_normal((len(FITTED), 2))
FUNCTIONS -= WEIGHT @ FUNCTIONS
DISPARITY = Disparity(WEIGHT[:, None] * FUNCTIONS * (1.0, 0.6), WEIGHT)


def tree_counts():
    """How much each tree counts: the standard deviation of what it adds, over its mean."""
    added = np.column_stack([values[LEAVES[FITTED, tree]] for tree, values in enumerate(VALUES)])
    spread = np.sqrt([np.cov(column, aweights=WEIGHT, ddof=0) for column in added.T])
    return spread / spread.mean()


TREE_COUNTS = tree_counts()


def test_leaves_count_by_how_far_their_tree_tells_rows_apart():
    np.testing.assert_allclose(COUNTS, np.repeat(TREE_COUNTS, SIZES), rtol=1e-12)
    assert TREE_COUNTS[0] > 1.5 * TREE_COUNTS[1]


def test_trees_that_tell_no_rows_apart_count_the_same():
    assert (counts_of_leaves(COLUMNS, FITTED, WEIGHT, [np.ones(size) for size in SIZES]) == 1).all()


def first_column(row):
    """The first step at one row, before its length: sums over leaves and the rows in them, the row itself left out."""
    explained = FUNCTIONS * (1.0, 0.6) @ DISPARITY.coefficients(F[FITTED])  # h = P f
    weight, total = len(FITTED) * WEIGHT, 0.0
    for tree in range(len(SIZES)):
        inside = LEAVES[FITTED, tree] == LEAVES[row, tree]
        others = inside & (row != FITTED)
        average = (weight * explained)[others].sum() / (weight[inside].sum() + EMPTY_ROWS)
        total -= TREE_COUNTS[tree] * average / len(SIZES)
    return total


def test_the_first_step_averages_what_functions_of_a_explain():
    found = leaf_averages(AVERAGES, F, DISPARITY)
    column = np.array([first_column(row) for row in range(ROWS)])
    here, along = DISPARITY.coefficients(F[FITTED]), DISPARITY.coefficients(column[FITTED])
    step = np.clip(-(here @ along) / (along @ along), 0, LONGEST)
    assert step > 0
    np.testing.assert_allclose(found.columns[:, 0], step * column, rtol=1e-10)


def test_columns_of_new_rows_are_sums_of_the_values_of_their_leaves():
    found = leaf_averages(AVERAGES, F, DISPARITY)
    new = np.setdiff1d(np.arange(ROWS), FITTED)
    by_leaf = found.values[:, LEAVES[new, 0]] + found.values[:, 3 + LEAVES[new, 1]]
    np.testing.assert_allclose(found.columns[new], by_leaf.T, rtol=1e-10)


def test_no_step_raises_the_disparity_of_the_rows():
    found = leaf_averages(AVERAGES, F, DISPARITY)
    moved = F[FITTED, None] + np.cumsum(np.column_stack([np.zeros(len(FITTED)), found.columns[FITTED]]), axis=1)
    left = (DISPARITY.functions.T @ moved) ** 2
    assert (np.diff(left.sum(axis=0)) <= 1e-12).all()


def test_a_shift_of_the_prediction_changes_nothing():
    plain, shifted = (leaf_averages(AVERAGES, F + by, DISPARITY) for by in (0, 50))
    np.testing.assert_allclose(plain.values, shifted.values, atol=1e-10)


def by_hand(response, target):
    """The first step towards y at each row, the row itself left out, and its length by Newton's rule."""
    weight = len(FITTED) * WEIGHT
    error, mass = weight * (target - response.prediction(F[FITTED])), weight * response.curvature(F[FITTED])
    column = np.zeros(ROWS)
    for row in range(ROWS):
        for tree in range(len(SIZES)):
            inside = LEAVES[FITTED, tree] == LEAVES[row, tree]
            others = inside & (row != FITTED)
            room = mass[inside].sum() + EMPTY_ROWS * mass.mean()
            column[row] += TREE_COUNTS[tree] * error[others].sum() / room / len(SIZES)
    here = column[FITTED]
    return np.clip((here @ error) / (mass @ here**2), 0, LONGEST) * column


@pytest.mark.parametrize("response", [Response(), LogOdds()])
def test_the_first_step_towards_the_target_averages_errors(monkeypatch, response):
    monkeypatch.setattr("fairlevel.releveling.tree_model.STEPS", 1)
    middle = (LEAVES[FITTED].sum(axis=1) > 2).astype(float)
    target = middle + 3 if type(response) is Response else middle
    averages = Averages(COLUMNS, FITTED, COUNTS, len(FITTED) * WEIGHT * response.curvature(F[FITTED]))
    found = towards_target(averages, F, target, WEIGHT, response)
    expected = by_hand(response, target)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found.columns[:, 0], expected, rtol=1e-10)


def test_leaves_stay_where_the_target_is_noise():
    target = F[FITTED] + np.random.default_rng(8).permutation(np.repeat([-1.0, 1.0], len(FITTED) // 2))
    alone = leaf_columns(np.arange(ROWS, dtype=np.int32)[:, None], (ROWS,))  # every row has a leaf of its own
    averages = Averages(alone, FITTED, np.ones(ROWS), len(FITTED) * WEIGHT)
    assert not towards_target(averages, F, target, WEIGHT, Response()).columns.any()
