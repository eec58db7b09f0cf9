"""Rows of the study are made again from their table and seed, on a CPU, up to what a nudge of their starts does."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from fairlevel.networks.network import Network
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
NUDGES, NUDGE = 3, 1e-5
ROUNDING = 0.01  # of a thousand steps: the stored rows are those of a GPU


@pytest.mark.parametrize("method", METHODS)
def test_one_table_and_seed_again(method):
    """The smallest table of the study. Descent on its hundred rows is chaotic for some models, in which a start that
    differs by a hundred-thousandth ends elsewhere, and settled for the others: each model has a spread of its own, the
    largest change over three runs from nudged starts. Nine in ten stored models lie within twice that and rounding.
    """
    if not ROWS.exists() or not os.environ.get(FOLDER_VARIABLE):
        pytest.skip(f"needs {ROWS.name} and {FOLDER_VARIABLE}")
    rows = kept_rows(ROWS)
    rows = rows[(rows["method"] == method) & (rows["combiner"] == "best")]
    first = rows.sort_values(["rows", "dataset", "seed"]).iloc[0]
    stored = by_weight(rows[(rows["dataset"] == first["dataset"]) & (rows["seed"] == first["seed"])])
    new = trained_again(first)
    nudged = [trained_again(first, nudge=seed) for seed in range(1, NUDGES + 1)]
    spread = pd.concat([between(run, new) for run in nudged], axis=1).max(axis=1)

    def reproduced(other):
        """The share of models that both have in which they differ by no more than the spread says."""
        difference, known = between(stored, other).align(spread, join="inner")
        print(f"{method} on {first['dataset']}: {len(difference)} models, {(difference > 0.02).mean():.2f} beyond 0.02")
        return (difference <= ROUNDING + 2 * known).mean()

    found = reproduced(new)
    print(f"{method}: {found:.2f} within the spread, whose quartiles are {spread.quantile([0.25, 0.5, 0.75]).tolist()}")
    assert len(between(stored, new)) >= 0.9 * min(len(between(run, new)) for run in nudged)  # weights are chosen anew
    assert found >= 0.9
    if method in ("r2", "gdp"):
        assert reproduced(trained_again(first, rate=1.1)) < 0.75  # a wrong step size is noticed
    if method != "plain_boosting":
        assert reproduced(at_the_next_weight(new)) < 0.75  # and so is a wrong weight


def trained_again(first, nudge=None, rate=1.0):
    """Figures of single models, from starts that are multiplied by 1 + 1e-5 × normal numbers of this seed."""
    protocol = resolve_protocol(first["protocol"].rpartition("-")[0])
    assert protocol.id == first["protocol"]
    protocol = replace(protocol, rate_scale=rate * protocol.rate_scale)
    (dataset,) = resolve_datasets([first["dataset"]], resolve_source(None))
    problem, init = dataset.problem(int(first["seed"]), protocol), Network.init

    def nudged(network, *arguments):
        start = init(network, *arguments)
        noise = torch.randn(start.shape, generator=torch.Generator().manual_seed(nudge), dtype=start.dtype)
        return start * (1 + NUDGE * noise)

    with pytest.MonkeyPatch.context() as patch:
        if nudge is not None:
            patch.setattr(Network, "init", nudged)
        rows = run_method(problem, first["method"], protocol, "cpu")
    return by_weight(rows[rows["combiner"] == "best"])


def by_weight(rows):
    rounded = rows.assign(weight=rows["weight"].astype("float32").round(5))
    return rounded.drop_duplicates(KEYS).set_index(KEYS)[FIGURES].sort_index()


def at_the_next_weight(figures):
    """As if every model had been trained with the next weight of its setting."""
    return figures.groupby(level=["family", "setting"]).shift(-1)


def between(one, other):
    """Largest difference of each model's two figures, for weights that both have."""
    return (one - other).abs().dropna().max(axis=1)
