"""Averages in leaves against the same sums written row by row."""

import numpy as np

from fairlevel.candidates.columns import LeafColumns
from fairlevel.candidates.corrections import Disparity
from fairlevel.releveling.leaf_averages import EMPTY_ROWS, LONGEST, leaf_averages

RANDOM = np.random.default_rng(0)
ROWS, SIZES = 30, (3, 4)
LEAVES = np.column_stack([RANDOM.integers(0, size, ROWS) for size in SIZES]).astype(np.int32)
FITTED = np.arange(4, 26)
WEIGHT = RANDOM.uniform(0.5, 2, len(FITTED))
WEIGHT /= WEIGHT.sum()
F = RANDOM.standard_normal(ROWS) + 3
FUNCTIONS = RANDOM.standard_normal((len(FITTED), 2))
FUNCTIONS -= WEIGHT @ FUNCTIONS
DISPARITY = Disparity(WEIGHT[:, None] * FUNCTIONS * (1.0, 0.6), WEIGHT)


def first_column(row):
    """The first step at one row, before its length: sums over leaves and the rows in them, the row itself left out."""
    explained = FUNCTIONS * (1.0, 0.6) @ DISPARITY.coefficients(F[FITTED])  # h = P f
    weight, total = len(FITTED) * WEIGHT, 0.0
    for tree in range(len(SIZES)):
        inside = LEAVES[FITTED, tree] == LEAVES[row, tree]
        others = inside & (row != FITTED)
        total -= (weight * explained)[others].sum() / (weight[inside].sum() + EMPTY_ROWS) / len(SIZES)
    return total


def test_the_first_step_averages_what_functions_of_a_explain():
    found = leaf_averages(LeafColumns.of(LEAVES, SIZES), F, FITTED, DISPARITY)
    column = np.array([first_column(row) for row in range(ROWS)])
    here, along = DISPARITY.coefficients(F[FITTED]), DISPARITY.coefficients(column[FITTED])
    step = np.clip(-(here @ along) / (along @ along), 0, LONGEST)
    assert step > 0
    np.testing.assert_allclose(found.columns[:, 0], step * column, rtol=1e-10)


def test_columns_of_new_rows_are_sums_of_the_values_of_their_leaves():
    found = leaf_averages(LeafColumns.of(LEAVES, SIZES), F, FITTED, DISPARITY)
    new = np.setdiff1d(np.arange(ROWS), FITTED)
    by_leaf = found.values[:, LEAVES[new, 0]] + found.values[:, 3 + LEAVES[new, 1]]
    np.testing.assert_allclose(found.columns[new], by_leaf.T, rtol=1e-10)


def test_no_step_raises_the_disparity_of_the_rows():
    found = leaf_averages(LeafColumns.of(LEAVES, SIZES), F, FITTED, DISPARITY)
    moved = F[FITTED, None] + np.cumsum(np.column_stack([np.zeros(len(FITTED)), found.columns[FITTED]]), axis=1)
    left = (DISPARITY.functions.T @ moved) ** 2
    assert (np.diff(left.sum(axis=0)) <= 1e-12).all()


def test_a_shift_of_the_prediction_changes_nothing():
    plain, shifted = (leaf_averages(LeafColumns.of(LEAVES, SIZES), F + by, FITTED, DISPARITY) for by in (0, 50))
    np.testing.assert_allclose(plain.values, shifted.values, atol=1e-10)
