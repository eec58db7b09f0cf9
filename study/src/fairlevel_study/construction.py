"""Choose columns of a table as sensitive attributes, as in appendix D of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput

POOL = 200  # number of most informative columns that may become sensitive
LEAST_CORRELATION = 0.02
PROXIES = 128  # other columns tried as proxies of a column
SHARE = 0.25  # part of the pool that becomes sensitive
COPY = 0.999  # a feature with a larger correlation counts as a copy of an attribute


def construct_sensitive(x: Array, y: Array, origin: Sequence[int], seed: int) -> Index:
    r"""Columns of x that become the sensitive attribute A, ascending.

    .. math:: c_j = |\mathrm{corr}(x_j, y)|, \qquad p_j = \max_{i \ne j} \mathrm{corr}(x_i, x_j)^2, \qquad
              s_j = c_j (1 + p_j)

    The pool holds the columns with the 200 largest c_j of at least 0.02 (or the 200 largest if none reaches 0.02). p_j
    compares with up to 128 other columns, drawn by ``seed``. The quarter of the pool with the largest s_j becomes
    sensitive, at least one column and never the whole pool. Indicators of one text column (equal ``origin``) stay
    together. Of equal scores the first column is taken. Shapes: x (row, column), training rows only; y (row,); origin
    (column,).
    """
    informative = np.abs(_correlation(x, y[:, None])[:, 0])
    pool = _pool(informative)
    if len(pool) < 2:
        raise InvalidInput(
            "The table has only one usable column; at least two are needed: one sensitive, one to predict from."
        )
    score = (informative[pool] * (1 + _proxy(x, pool, seed))).round(
        12
    )  # rounded, so that ties are the same on every machine
    wanted = min(max(round(SHARE * len(pool)), 1), len(pool) - 1)
    groups = np.asarray(origin)
    taken = np.zeros(x.shape[1], dtype=bool)
    for column in pool[np.lexsort((pool, -score))]:
        if taken[pool].sum() >= wanted:
            break
        together = taken | (groups == groups[column])
        if not together[pool].all():  # at least one informative column stays in x
            taken = together
    if not taken.any():
        raise InvalidInput(
            "All usable columns of the matrix come from one column of the table; a second one is needed."
        )
    return np.flatnonzero(taken)


def copies(x: Array, sensitive: Array) -> Index:
    """Columns of x that are (nearly) copies of an attribute; the paper keeps such perfect proxies."""
    return np.flatnonzero((np.abs(_correlation(x, sensitive)) > COPY).any(axis=1))


def _pool(informative: Array) -> Index:
    """Positions of the most informative columns, by descending correlation with the target."""
    order = np.argsort(-informative.round(12), kind="stable")
    above = order[informative[order] >= LEAST_CORRELATION]
    return (above if len(above) else order)[:POOL]


def _proxy(x: Array, pool: Index, seed: int) -> Array:
    """p_j for each column of the pool, (pool,): the largest squared correlation with one of the other columns."""
    columns = x.shape[1]
    squared = _correlation(x, x[:, pool]) ** 2
    squared[pool, np.arange(len(pool))] = 0.0
    if columns - 1 > PROXIES:
        random = np.random.default_rng(seed)
        for position, column in enumerate(pool):
            others = np.delete(np.arange(columns), column)
            left_out = random.permutation(others)[PROXIES:]
            squared[left_out, position] = 0.0
    best: Array = squared.max(axis=0)
    return best


def _correlation(x: Array, other: Array) -> Array:
    """Correlations, (row, a), (row, b) -> (a, b); those of a constant column are 0."""
    left, right = _unit(x), _unit(other)
    result: Array = left.T @ right
    return result


def _unit(values: Array) -> Array:
    centred = values - values.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    scaled: Array = centred / np.where(length > 0, length, 1.0)
    return scaled
