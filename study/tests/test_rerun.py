"""Rows of the study are made again from their table and seed, on a CPU."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairlevel_study.datasets import resolve_datasets
from fairlevel_study.protocol import resolve_protocol
from fairlevel_study.rows import kept_rows
from fairlevel_study.sources import FOLDER_VARIABLE, resolve_source
from fairlevel_study.task import run_method

pytestmark = pytest.mark.study
ROWS = Path(__file__).parents[2] / "docs/results/study.parquet"
METHODS = ("r2", "gdp", "relevel", "plain_boosting")
KEYS = ["setting", "weight", "family"]
FIGURES = ["mse_val", "dpvar_val"]


@pytest.mark.parametrize("method", METHODS)
def test_one_table_and_seed_again(method):
    """The smallest table of the study. A GPU rounds otherwise than a CPU, and a thousand steps carry that on: most of
    the weights are the same, and errors of the same weights agree to 0.02 for nine in ten. Gradient descent on a
    hundred rows is chaotic for the others: no model is further off than twice what a change of the features by 1e-5
    does to the most sensitive one on the same CPU.
    """
    if not ROWS.exists() or not os.environ.get(FOLDER_VARIABLE):
        pytest.skip(f"needs {ROWS.name} and {FOLDER_VARIABLE}")
    kept = kept_rows(ROWS)
    kept = kept[(kept["method"] == method) & (kept["combiner"] == "best")]
    first = kept.sort_values(["rows", "dataset", "seed"]).iloc[0]
    old = by_weight(kept[(kept["dataset"] == first["dataset"]) & (kept["seed"] == first["seed"])])
    new, nudged = (by_weight(trained_again(first, method, change)) for change in (0.0, 1e-5))
    difference, moved = (between(new, other) for other in (old, nudged))
    print(
        f"{method} on {first['dataset']}: {len(difference)} of {len(old)} weights are the same; largest difference "
        f"{difference.max():.2g}, after a change of 1e-5 {moved.max():.2g}"
    )
    assert len(difference) >= 0.6 * len(old)
    assert (difference <= 0.02).mean() >= 0.9
    assert difference.max() <= 0.02 + 2 * moved.max()


def trained_again(first, method, change):
    """Rows of single models, trained on features that are multiplied by 1 + change × normal numbers."""
    protocol = resolve_protocol(first["protocol"].rpartition("-")[0])
    assert protocol.id == first["protocol"]
    (dataset,) = resolve_datasets([first["dataset"]], resolve_source(None))
    problem = dataset.problem(int(first["seed"]), protocol)
    x = problem.training.x
    factors = 1 + change * np.random.default_rng(1).standard_normal(x.shape)
    rows = run_method(replace(problem, training=replace(problem.training, x=x * factors)), method, protocol, "cpu")
    return rows[rows["combiner"] == "best"]


def by_weight(rows):
    rounded = rows.assign(weight=rows["weight"].astype("float32").round(5))
    return rounded.drop_duplicates(KEYS).set_index(KEYS)[FIGURES]


def between(one, other):
    """Largest difference of each model's two figures, for weights that both have."""
    return (one - other).abs().dropna().max(axis=1).to_numpy()
