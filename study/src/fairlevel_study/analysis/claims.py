"""What the paper says of its study, and what these rows say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel_study.analysis.budgets import best_by_budget
from fairlevel_study.analysis.regrets import regrets_by_pair
from fairlevel_study.analysis.wins import bootstrap, dataset_wins, seed_wins
from fairlevel_study.methods import METHODS
from fairlevel_study.points import SHARES

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
    """FBO wins most tables at Tight and Mid, GDP at Loose. The lead over the best other method decides, with its 95 %
    bootstrap interval over datasets: above 0 it is reproduced, below 0 not, otherwise it cannot be told.
    """
    by_dataset = dataset_wins(seed_wins(best_by_budget(points, methods)))
    found = []
    for budget, winner in (("tight", "fbo"), ("mid", "fbo"), ("loose", "gdp")):
        here = by_dataset[by_dataset["budget"] == budget]
        won = here.pivot(index="dataset", columns="method", values="won").reindex(columns=list(methods)).fillna(0)
        shares = won.mean()
        others = shares.drop(winner)
        rival = str(others.idxmax())
        low, high = _interval(won[winner] - won[rival])
        label, other = METHODS[winner].label, METHODS[rival].label
        found.append(
            Claim(
                f"{label} wins most tables at {budget.capitalize()}",
                f"{label} first",
                f"{label} {shares[winner]:.2f}, {other} {others.max():.2f}; {_lead(low, high)}",
                _verdict(low, high),
            )
        )
    return found


def regret_claims(points: pd.DataFrame, methods: Sequence[str]) -> list[Claim]:
    """FBO and ITD have the lowest or near-lowest mean regret: no other method's is lower beyond the 95 % bootstrap
    interval over datasets.
    """
    means = _regrets(points, methods)
    found = []
    for name in ("fbo", "itd"):
        rival = str(means.drop(columns=name).mean().idxmin())
        low, high = _interval(means[rival] - means[name])
        label, other = METHODS[name].label, METHODS[rival].label
        verdict: Verdict = "not reproduced" if high < 0 else "reproduced" if low > 0 else "cannot be told"
        found.append(
            Claim(
                f"{label} has the lowest or near-lowest regret",
                "no number",
                f"{label} {means[name].mean():.3f}, best other {other} {means[rival].mean():.3f}; {_lead(low, high)}",
                verdict,
            )
        )
    return found


def _lead(low: float, high: float) -> str:
    return f"lead {low:.3f} to {high:.3f}".replace("-", "−")


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


def _regrets(points: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Mean regret by dataset: dataset × method."""
    table = regrets_by_pair(points, methods)
    table = table.assign(mean=table[list(SHARES)].mean(axis=1))
    return table.pivot_table(index="dataset", columns="method", values="mean", aggfunc="mean")


def _interval(differences: pd.Series) -> tuple[float, float]:
    values: Array = differences.to_numpy(dtype=np.float64)[:, None]
    low, high = bootstrap(values)
    return float(low[0]), float(high[0])


def _verdict(low: float, high: float) -> Verdict:
    return "reproduced" if low > 0 else "not reproduced" if high < 0 else "cannot be told"
