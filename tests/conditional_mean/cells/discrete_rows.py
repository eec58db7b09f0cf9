"""Discrete attributes with many cells: penalised and free ones, with weights, continuous columns and factors."""

import numpy as np

from fairlevel.conditional_mean import GroupMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors

ROWS = 400
ALL_CELLS = GroupMean(least_rows=1)


def drawn(levels, rows=ROWS, seed=0):
    random = np.random.default_rng(seed)
    return np.stack([random.integers(0, count, rows) for count in levels], axis=1).astype(float)


def sparse_profiles():
    """Too few rows for a free average of each profile: 120 profiles of three rows, two of five, 30 of one row."""
    random = np.random.default_rng(0)
    known = random.permutation(np.unique(drawn((12, 12, 9)), axis=0))[:152]
    return random.permutation(np.repeat(known, np.repeat([3, 5, 1], [120, 2, 30]), axis=0))


def by_profile(values, rows):
    """A value for each row, the same for all rows of a profile."""
    profile = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return np.random.default_rng(2).choice(values, profile.max() + 1)[profile]


def numbers(rows=ROWS, seed=1):
    return np.random.default_rng(seed).standard_normal((rows, 1))


def few_profiles(count=75, rows=ROWS):
    """Three columns that form some of 100 possible profiles: enough rows for a free average of each."""
    random = np.random.default_rng(6)
    every = np.stack(np.meshgrid(np.arange(5), np.arange(5), np.arange(4), indexing="ij"), axis=-1).reshape(-1, 3)
    known = random.permutation(every)[:count]
    return known[np.r_[np.arange(count), random.integers(0, count, rows - count)]].astype(float)


def within(factors, weight=None, a=None):
    a = drawn((12, 12, 9)) if a is None else a
    return LegitimateFactors.of(factors, weight).attributes(a, factors, weight)


COUNTS = np.random.default_rng(2).integers(0, 4, ROWS).astype(float)
UNEVEN = np.random.default_rng(3).uniform(0.2, 3, ROWS)
EMPTY_CELLS = UNEVEN * (few_profiles()[:, :2].sum(axis=1) != 2)
CASES = {
    "discrete": lambda: Attributes(drawn((12, 12, 9))),
    "counted rows, some none": lambda: Attributes(drawn((12, 12, 9)), row_weight=COUNTS),
    "rows of any weight": lambda: Attributes(drawn((12, 12, 9)), row_weight=UNEVEN),
    "two weights": lambda: Attributes(drawn((12, 12, 9)), row_weight=np.where(COUNTS > 1, 0.7, 1.9)),
    "one continuous column": lambda: Attributes(np.hstack([drawn((12, 12, 9)), numbers()])),
    "columns penalised": lambda: Attributes(drawn((12, 12, 12, 12, 11, 12, 12, 12, 12, 12, 12, 12))),
    "continuous factor": lambda: within(numbers()),
    "discrete factor": lambda: within(drawn((4,), seed=5)),
    "continuous factor, counted rows": lambda: within(numbers(), COUNTS),
}
FREE_CASES = {
    "free": lambda: Attributes(few_profiles()),
    "free, few cells": lambda: Attributes(few_profiles(20)),
    "free, counted rows, some none": lambda: Attributes(few_profiles(), row_weight=COUNTS),
    "free, empty cells": lambda: Attributes(few_profiles(), row_weight=EMPTY_CELLS),
    "free, one continuous column": lambda: Attributes(np.hstack([few_profiles(), numbers()]), row_weight=UNEVEN),
    "free, continuous factor": lambda: within(numbers(), UNEVEN, few_profiles()),
    "free, discrete factor": lambda: within(few_profiles()[:, 2:], UNEVEN, few_profiles()[:, [0, 1, 1]]),
    "free, discrete factor, counted rows": lambda: within(few_profiles()[:, 2:], COUNTS, few_profiles()[:, [0, 1, 1]]),
}
CASES |= FREE_CASES
