"""Rows of the study of the paper's map as one small file, and the tables of docs/results/map.md.

``fairlevel bench run --methods paper,map,fbo_closed,plain_network --protocol tiny --out FOLDER``, then
``python -m benchmarks.map --folder FOLDER --commit HASH``; without a folder the tables of the stored rows are printed.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from fairlevel.benchmark.analysis.budgets import best_by_budget
from fairlevel.benchmark.analysis.comparisons import complete, points_on_test
from fairlevel.benchmark.analysis.regrets import regret_table
from fairlevel.benchmark.analysis.wins import win_rates
from fairlevel.benchmark.methods import METHODS
from fairlevel.benchmark.store import Store

ROWS = Path(__file__).parents[1] / "docs" / "results" / "map.parquet"
COLUMNS = [
    *("dataset", "seed", "method", "combiner", "setting", "weight", "status", "selected"),
    *("mse_val", "dpvar_val", "mse_test", "dpvar_test", "attributes", "sensitive", "rows", "protocol", "seconds"),
]
BOXES = {
    "direct demographic parity: constraints, reductions": ("reductions",),
    "approximate: HSIC, information, adversarial": ("hsic", "mine", "adversarial", "r2"),
    "optimal transport": ("barycentre", "barycentre_continuous"),
    "continuous A: HGR, grouping, distances": ("hgr_chi2", "hgr", "hgr_kernel", "grouping", "eipm"),
    "conditional means: GDP, CoD": ("gdp", "gedi", "cod"),
    "bilevel: mechanisms, architectures": ("fairbatch", "bifair", "fairbinn", "badr"),
    "the paper's, and ours": ("fbo", "itd", "fbo_closed"),
    "reference": ("plain_network",),
}
"""The boxes of the paper's figure 2, with our names."""


def compact(folder: Path, commit: str) -> pd.DataFrame:
    """Rows of single models that validation selected, and one row for each other model without its figures."""
    rows = Store(folder).read()
    rows = rows[rows["combiner"] == "best"][COLUMNS]
    small = rows.astype(dict.fromkeys(rows.select_dtypes("float64"), np.float32))
    return small.assign(commit=commit)


def few_groups(dataset: str) -> bool:
    """Whether A of a dataset is sex or race."""
    return dataset.partition("@")[2] in ("sex", "race")


def summary(rows: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """One row per method: wins, regret, share of pairs with a model within Tight; on pairs that all have finished."""
    used = complete(rows, methods)
    points = points_on_test(used[used["method"].isin(methods)])
    best = best_by_budget(points, methods)
    tight = best[best["budget"] == "tight"].groupby("method")["mse"].apply(lambda mse: mse.notna().mean())
    wins = win_rates(points, methods).pivot(index="method", columns="budget", values="pairs")
    regrets = regret_table(points, methods).set_index("method")
    seconds = used.drop_duplicates(["dataset", "seed", "method"]).groupby("method")["seconds"].median()
    table = pd.DataFrame(
        {
            **{f"regret {name}": regrets[name] for name in ("tight", "mid", "loose")},
            **{f"wins {name}": wins[name] for name in ("tight", "mid", "loose")},
            "within tight": tight,
            "seconds": seconds,
        }
    )
    return table.reindex(methods)


def markdown(table: pd.DataFrame) -> str:
    """A table of the page."""
    lines = [
        "| method | A to predict | regret Tight / Mid / Loose | pairs won | within Tight | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in table.iterrows():
        regret, wins = (
            " / ".join(f"{row[f'{kind} {budget}']:.3f}".lstrip("0") for budget in ("tight", "mid", "loose"))
            for kind in ("regret", "wins")
        )
        oracle = "yes" if METHODS[name].uses_attributes else "no"
        lines.append(f"| `{name}` | {oracle} | {regret} | {wins} | {row['within tight']:.0%} | {row['seconds']:.0f} |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path | None, typer.Option(help="Folder of a run; without it, stored rows are read.")] = None,
    commit: Annotated[str, typer.Option(help="Commit that made the rows.")] = "",
) -> None:
    """Store the rows of a run, if one is given, and print the tables."""
    if folder is not None:
        compact(folder, commit).to_parquet(ROWS, index=False)
    rows = pd.read_parquet(ROWS)
    methods = [name for box in BOXES.values() for name in box if name in set(rows["method"])]
    legal = [name for name in methods if not METHODS[name].uses_attributes]
    real = rows["dataset"].map(few_groups)
    for title, part in (("continuous A", rows[~real]), ("few groups", rows[real])):
        for kind, names in (("without A to predict", legal), ("all", methods)):
            used = complete(part, names)
            pairs = used.drop_duplicates(["dataset", "seed"])
            print(f"\n{title}, {kind}: {len(pairs)} pairs, {used['dataset'].nunique()} tables\n")
            if len(pairs):
                print(markdown(summary(part, names)))


if __name__ == "__main__":
    typer.run(main)
