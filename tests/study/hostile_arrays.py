"""Random arrays of many types, sizes and extremes for X, y, A and what goes with them."""

import numpy as np
import pandas as pd
from scipy import sparse

from tests.study.hostile_columns import any_column, pick


def _extreme_cell(random, values):
    values = np.array(values, dtype=np.float64)
    if values.size:
        values.flat[random.integers(values.size)] = pick(random, [np.nan, np.inf, 1e200, 1e-320, -1e149, 1e12])
    return values


VALUES = [
    lambda random, shape: random.standard_normal(shape),
    lambda random, shape: random.standard_normal(shape),
    lambda random, shape: random.standard_normal(shape),
    lambda random, shape: random.standard_normal(shape) * 10.0 ** random.integers(-160, 160),
    lambda random, shape: random.standard_normal(shape) + 10.0 ** random.integers(0, 16),
    lambda random, shape: random.standard_cauchy(shape) ** 3,
    lambda random, shape: random.integers(0, 2, shape),
    lambda random, shape: random.integers(-3, 4, shape),
    lambda random, shape: np.full(shape, float(random.integers(-1, 2))),
    lambda random, shape: np.where(random.random(shape) < 0.1, 1.0, 0.0),
    lambda random, shape: _extreme_cell(random, random.standard_normal(shape)),
]
"""Numbers of a shape."""

TYPES = [
    lambda values: values,
    lambda values: values,
    lambda values: values,
    lambda values: values.astype(np.float32),
    lambda values: values.astype(np.float16),
    lambda values: np.nan_to_num(values).clip(-100, 100).astype(np.int8),
    lambda values: np.nan_to_num(values).clip(0, 1e18).astype(np.uint64),
    lambda values: np.nan_to_num(values) > 0,
    lambda values: values.astype(object),
    lambda values: values.astype(str),
    lambda values: np.asfortranarray(values),
    lambda values: np.repeat(values, 2, axis=0)[::2],
    lambda values: values.tolist(),
    lambda values: _read_only(values),
    lambda values: _framed(values),
    lambda values: _framed(values).astype(pd.Float64Dtype()),
    lambda values: np.ma.masked_invalid(values),
    lambda values: values + 0j,
    lambda values: values[..., None],
    lambda values: values[: len(values) // 2],
    lambda values: sparse.csr_array(np.nan_to_num(values)) if values.ndim == 2 else values,
    lambda values: np.datetime64("2020-01-01") + np.nan_to_num(values).clip(-1e4, 1e4).astype("timedelta64[D]"),
]
"""The same as another type, order or container."""


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _framed(values):
    return pd.DataFrame(values) if values.ndim == 2 else pd.Series(values)


def any_array(random, *shape, tame=0.6):
    """An array that is mostly (``tame``) just numbers, and otherwise anything."""
    values = pick(random, VALUES)(random, shape) if random.random() > tame else random.standard_normal(shape)
    if shape[0] and random.random() < 0.1:
        values = values[random.integers(0, max(shape[0] // 8, 1), shape[0])]  # repeated rows
    return values if random.random() < tame else pick(random, TYPES)(np.asarray(values, dtype=np.float64))


def any_frame(random, rows, columns, tame=0.6):
    """Like :func:`any_array`, or a table of columns of any kind."""
    if random.random() < 0.25:
        return pd.DataFrame({f"c{k}": any_column(random, rows) for k in range(columns)})
    return any_array(random, rows, columns, tame=tame)


def any_rows(random):
    return int(pick(random, [0, 1, 2, 3, 5, 8, 13, 20, 20, 30, 30, 40, 40, 60, 60, 100, 250]))
