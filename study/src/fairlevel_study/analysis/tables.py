"""What the paper says of its study and what these rows say; datasets, costs, prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from fairlevel_study.analysis.comparison import best_by_budget, bootstrap, dataset_wins, regrets_by_pair, seed_wins
from fairlevel_study.methods import METHODS
from fairlevel_study.points import SHARES
from fairlevel_study.rows import KEY

SMALLEST_RANGE = 0.1  # of MSE and of DPVar on VAL, in standardised units, of a dataset that counts: the paper's filter


def validation_ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Range of MSE and DPVar on VAL over the selected single models of all methods, by dataset: median over seeds.
    ``informative`` says whether both ranges are at least 0.1.
    """
    chosen = rows[rows["selected"].to_numpy(dtype=bool) & (rows["combiner"] == "best").to_numpy()]
    by_seed = chosen.groupby(["dataset", "seed"])[["mse_val", "dpvar_val"]]
    ranges = (by_seed.max() - by_seed.min()).groupby("dataset").median()
    return ranges.assign(informative=(ranges >= SMALLEST_RANGE).all(axis=1))


def attribute_table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset: numbers of rows, features and attributes, features that copy an attribute, and how many
    different sets of attributes were constructed over the seeds.
    """
    by_seed = rows.drop_duplicates(["dataset", "seed"])
    table = by_seed.groupby("dataset").agg(
        rows=("rows", "first"),
        features=("features", "median"),
        attributes=("attributes", "median"),
        copies=("copies", "max"),
        seeds=("seed", "nunique"),
        sets=("sensitive", "nunique"),
    )
    return table.reset_index()


def cost_table(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """One row per method: tasks, models per task, share of models that diverged, seconds per task (median and sum) and
    the largest memory on a GPU (median over tasks, in MiB; missing on a CPU).
    """
    single = rows[rows["combiner"] == "best"]
    tasks = single.drop_duplicates(list(KEY))
    models = single.groupby("method").size()
    diverged = (single["status"] == "diverged").groupby(single["method"]).sum()
    by_method = tasks.groupby("method")
    table = pd.DataFrame(
        {
            "tasks": by_method.size(),
            "models per task": models / by_method.size(),
            "diverged": diverged / models,
            "seconds": by_method["seconds"].median(),
            "hours in all": by_method["seconds"].sum() / 3600,
            "memory (MiB)": by_method["memory"].median(),
        }
    )
    return table.reindex([name for name in methods if name in table.index]).rename_axis("method").reset_index()


def price_table(points: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset: R² of the most accurate model, R² of the most accurate one with at most half of its
    DPVar, and the part of R² that this costs; medians over seeds. Points of one method, errors in
    units of the constant's.
    """
    prices = []
    for (dataset, seed), front in points.groupby(["dataset", "seed"], sort=False):
        best = front.sort_values("mse").iloc[0]
        errors = front.loc[front["dpvar"] <= 0.5 * best["dpvar"], "mse"]
        accuracy, within = 1 - float(best["mse"]), 1 - float(errors.min()) if len(errors) else 0.0
        prices.append((dataset, seed, accuracy, within, 1 - within / accuracy if accuracy > 0 else np.nan))
    table = pd.DataFrame(prices, columns=["dataset", "seed", "R2", "R2 within", "cost"])
    return table.drop(columns="seed").groupby("dataset", sort=False).median().reset_index()


Verdict = Literal["reproduced", "not reproduced", "cannot be told"]
INFORMATIVE, TABLES = 27, 60  # of the paper
TOLERANCE = 0.05  # between the paper's share of tables and ours, for it to count as reproduced


class Claim(NamedTuple):
    """A sentence of the paper, its number or words, ours, and the verdict."""

    claim: str
    paper: str
    here: str
    verdict: Verdict


def win_claims(points: pd.DataFrame, methods: Sequence[str]) -> list[Claim]:
    """FBO wins most tables at Tight and Mid, GDP at Loose."""
    by_dataset = dataset_wins(seed_wins(best_by_budget(points, methods)))
    claims = []
    for budget, winner in (("tight", "fbo"), ("mid", "fbo"), ("loose", "gdp")):
        here = by_dataset[by_dataset["budget"] == budget]
        won = here.pivot(index="dataset", columns="method", values="won").reindex(columns=list(methods)).fillna(0)
        sentence = f"{METHODS[winner].label} wins most tables at {budget.capitalize()}"
        claims.append(_claim(sentence, f"{METHODS[winner].label} first", won, winner, "{:.2f}, {} {:.2f}"))
    return claims


def regret_claims(points: pd.DataFrame, methods: Sequence[str]) -> list[Claim]:
    """FBO and ITD have the lowest or near-lowest mean regret."""
    table = regrets_by_pair(points, methods)
    table = table.assign(mean=table[list(SHARES)].mean(axis=1))
    regrets = table.pivot_table(index="dataset", columns="method", values="mean", aggfunc="mean")
    return [
        _claim(
            f"{METHODS[name].label} has the lowest or near-lowest regret",
            "no number",
            -regrets,
            name,
            "{:.3f}, best other {} {:.3f}",
        )
        for name in ("fbo", "itd")
    ]


def _claim(sentence: str, paper: str, scores: pd.DataFrame, name: str, figures: str) -> Claim:
    """Whether a method has the largest score, (dataset, method), on average. Its lead over the best other method
    decides, with a 95 % bootstrap interval over datasets: above 0 the claim is reproduced, below 0 not.
    """
    rival = str(scores.drop(columns=name).mean().idxmax())
    low, high = (float(end[0]) for end in bootstrap((scores[name] - scores[rival]).to_numpy(dtype=np.float64)[:, None]))
    shown = figures.format(abs(scores[name].mean()), METHODS[rival].label, abs(scores[rival].mean()))
    lead = f"lead {low:.3f} to {high:.3f}".replace("-", "−")
    verdict: Verdict = "reproduced" if low > 0 else "not reproduced" if high < 0 else "cannot be told"
    return Claim(sentence, paper, f"{METHODS[name].label} {shown}; {lead}", verdict)


def informative_claim(informative: int, tables: int) -> Claim:
    """How many tables have a trade-off; reproduced where the shares agree, not where tables are too few to tell them
    apart. Fewer tables than the paper's were chosen, and tell nothing.
    """
    ours, theirs = informative / tables, INFORMATIVE / TABLES
    verdict: Verdict = "reproduced" if abs(ours - theirs) <= TOLERANCE else "not reproduced"
    return Claim(
        "tables with a range of at least 0.1 in both figures",
        f"{INFORMATIVE} of {TABLES}",
        f"{informative} of {tables}; shares {ours:.2f} and {theirs:.2f}, tolerance {TOLERANCE:.2f}",
        verdict if tables >= TABLES else "cannot be told",
    )
