"""Discrete attributes with many cells: penalised and free ones, with weights, continuous columns and factors."""

import numpy as np

from fairlevel.conditional_mean import Features, GroupMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors
from fairlevel.conditional_mean.protocol import indicators

ROWS = 400
ALL_CELLS = GroupMean(least_rows=1)


class WrittenOut(GroupMean):
    """Levels as columns like any others."""

    def feature_map(self, sensitive, row_weight, seed):
        features = super().feature_map(sensitive, row_weight, seed)

        def written_out(rows):
            free, penalised, level, levels, _ = features(rows)
            return Features(np.hstack([indicators(level, levels), free]), penalised)

        return written_out


def drawn(levels, rows=ROWS, seed=0):
    random = np.random.default_rng(seed)
    return np.stack([random.integers(0, count, rows) for count in levels], axis=1).astype(float)


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


UNEVEN = np.random.default_rng(3).uniform(0.2, 3, ROWS)
FREE_CASES = {
    "free": lambda: Attributes(few_profiles()),
    "free, few cells": lambda: Attributes(few_profiles(20)),
    "free, weights": lambda: Attributes(few_profiles(), row_weight=UNEVEN),
    "free, one continuous column": lambda: Attributes(np.hstack([few_profiles(), numbers()]), row_weight=UNEVEN),
}
"""Levels, which are counted."""
CASES = FREE_CASES | {
    "discrete": lambda: Attributes(drawn((12, 12, 9))),
    "weights": lambda: Attributes(drawn((12, 12, 9)), row_weight=UNEVEN),
    "one continuous column": lambda: Attributes(np.hstack([drawn((12, 12, 9)), numbers()])),
    "columns penalised": lambda: Attributes(drawn((12, 12, 12, 12, 11, 12, 12, 12, 12, 12, 12, 12))),
    "continuous factor": lambda: within(numbers()),
    "discrete factor": lambda: within(drawn((4,), seed=5)),
    "free, continuous factor": lambda: within(numbers(), UNEVEN, few_profiles()),
    "free, discrete factor": lambda: within(few_profiles()[:, 2:], UNEVEN, few_profiles()[:, [0, 1, 1]]),
}
