"""The study of the paper's map: the tables of three pages of the documentation, from the rows in docs/results.

The rows are made by ``fairlevel-study run --methods paper,map,fbo_closed,plain_network --protocol tiny --out FOLDER``
and ``fairlevel-study keep --out FOLDER --into docs/results/map.parquet``; docs/results/map.md has the whole command.
"""

from pathlib import Path

import pandas as pd

from fairlevel_study.analysis.comparison import (
    COMPARISONS,
    best_by_budget,
    compared_rows,
    complete,
    in_units_of_the_constant,
    points_on_test,
    regret_table,
    win_rates,
)
from fairlevel_study.methods import METHODS
from fairlevel_study.rows import kept_rows

DOCS = Path(__file__).parents[1] / "docs"
ROWS = DOCS / "results" / "map.parquet"
BUDGETS = ("tight", "mid", "loose")
BOXES = {
    "bounded errors of groups: reductions": ("reductions",),
    "approximate demographic parity: HSIC, information, adversarial": ("hsic", "mine", "adversarial", "r2"),
    "optimal transport": ("barycentre", "barycentre_continuous"),
    "continuous A: HGR, grouping, distances": ("hgr_chi2", "hgr", "hgr_kernel", "grouping", "eipm"),
    "conditional means: GDP, CoD": ("gdp", "gedi", "cod"),
    "bilevel: mechanisms, architectures": ("fairbatch", "bifair", "fairbinn", "badr"),
    "the paper's, and its closed form": ("fbo", "itd", "fbo_closed"),
    "reference": ("plain_network",),
}
"""The boxes of the paper's figure 2 with our names. Its box of direct demographic parity has none here: reductions, as
they run in the study, bound errors."""


def few_groups(dataset: str) -> bool:
    """Whether A of a dataset is sex or race."""
    return dataset.partition("@")[2] in ("sex", "race")


def known(rows: pd.DataFrame) -> list[str]:
    """Methods with rows, in the order of the boxes."""
    return [name for box in BOXES.values() for name in box if name in set(rows["method"])]


def without_a(methods: list[str]) -> list[str]:
    """Methods that do not need A to predict."""
    return [name for name in methods if not METHODS[name].uses_attributes]


def single_models() -> pd.DataFrame:
    """The stored rows of single models, and of the plain network shrunk towards its mean."""
    rows = in_units_of_the_constant(kept_rows(ROWS))
    _, combiner_of = COMPARISONS["single"]
    return compared_rows(rows, known(rows), combiner_of)


def summary(rows: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """One row per method: wins, regret, share of pairs with a model within Tight; on pairs that all have finished."""
    used = complete(rows, methods).query("method in @methods")
    points = points_on_test(used)
    best = best_by_budget(points, methods)
    regrets = regret_table(points, methods).set_index("method")
    wins = win_rates(points, methods).pivot(index="method", columns="budget", values="pairs")
    tight = best[best["budget"] == "tight"].groupby("method")["mse"].apply(lambda mse: mse.notna().mean())
    seconds = used.drop_duplicates(["dataset", "seed", "method"]).groupby("method")["seconds"].median()
    columns = {f"regret {name}": regrets[name] for name in BUDGETS} | {f"wins {name}": wins[name] for name in BUDGETS}
    return pd.DataFrame({**columns, "within tight": tight, "seconds": seconds}).reindex(methods)


def three(row: pd.Series, kind: str) -> str:
    """Numbers at the three budgets."""
    return " / ".join(f"{row[f'{kind} {budget}']:.3f}" for budget in BUDGETS)


def section(rows: pd.DataFrame, title: str) -> str:
    """Two tables: methods that predict from X alone, then everybody."""
    lines = [f"## {title}", ""]
    methods = known(rows)
    for heading, names in (("Predicting from X alone.", without_a(methods)), ("With those that need A.", methods)):
        used = complete(rows, names)
        pairs, tables = used.drop_duplicates(["dataset", "seed"]), used["dataset"].nunique()
        lines += [f"{heading} {len(pairs)} pairs of table and seed, {tables} tables.", ""]
        if pairs.empty:
            continue
        lines += [
            "| method | regret Tight / Mid / Loose | pairs won | within Tight | seconds |",
            "|---|---|---|---|---|",
        ]
        for name, row in summary(rows, names).iterrows():
            mark = " (A)" if METHODS[str(name)].uses_attributes else ""
            cells = (f"`{name}`{mark}", three(row, "regret"), three(row, "wins"))
            lines.append(f"| {' | '.join(cells)} | {row['within tight']:.0%} | {row['seconds']:.0f} |")
        lines.append("")
    return "\n".join(lines)


def page(rows: pd.DataFrame) -> str:
    """docs/results/map.md."""
    per_task = rows[rows["combiner"] == "best"].groupby(["dataset", "seed", "method"]).size()
    tables = sorted(rows["dataset"].unique())
    diverged = (rows["status"] == "diverged").groupby(rows["method"]).mean()
    failing = ", ".join(f"`{name}` {share:.0%}" for name, share in diverged[diverged > 0].items())
    few = len(rows[rows["dataset"].map(few_groups)].drop_duplicates(["dataset", "seed"]))
    head = f"""# The paper's map, measured

The three methods with the smallest regret (0 is best) at three budgets on DPVar:

{choices(rows)}

- `plain_network` is the reference: networks that know nothing of A, shrunk towards their mean until they meet a budget.
  Where it comes first, no other method beats shrinking on average. It meets no budget on the *share* of DPVar in
  Var f, which shrinking leaves as it is.
- Single models are compared, small ones on few rows. With sex or race there are {few} pairs of table and seed only: a
  hint, no ranking. [What these rows say](../methods.md#which-did-best-where).

## How it was measured

{len(tables)} tables, {rows["seed"].nunique()} seeds, {rows["method"].nunique()} methods,
at most {per_task.max()} models per method; protocol {", ".join(rows["protocol"].unique())},
commits {", ".join(rows["commit"].unique())}. Rows: `map.parquet` beside this page. Made again by:

```
fairlevel-study run --protocol tiny --seeds 0-2 --methods paper,map,fbo_closed,plain_network --out FOLDER \\
  --suite {",".join(tables)}
fairlevel-study keep --out FOLDER --into docs/results/map.parquet
python -m benchmarks.map
python -m docs.pictures.map_measured
```

- *Tight*, *Mid* and *Loose* are a quarter, half and three quarters of the range of DPVar on test rows of a table.
- *Regret* is the distance to the smallest error of any method in the table, as a share of what can be gained over the
  constant. A method without a model within the budget gets the error of the constant. The tables *from X alone* and
  *with those that need A* have different smallest errors, so their regrets cannot be compared.
- *Pairs won* is the share of pairs of table and seed on which a method has the smallest error, at the three budgets.
- *Within Tight* is the share of pairs on which a method has a model within that budget at all.
- *Seconds* are the median wall time of one task, the judgement of its models included, with many tasks side by side:
  an order of magnitude.
- *(A)* marks systems that need A to predict. The others never see A at prediction.
- Systems that know groups only get 2 to 8 bins of A (quantiles of one attribute, k-means of several), or sex and race
  as they are.
- Diverged models: {failing or "none"}.
- Fronts of every table: `fairlevel-study report --rows docs/results/map.parquet --out FOLDER`.
"""
    real = rows["dataset"].map(few_groups)
    parts = [head, section(rows[~real], "Continuous A"), section(rows[real], "A is sex or race")]
    return "\n".join(parts).rstrip() + "\n"


def rows_by_box(rows: pd.DataFrame) -> str:
    """The table of docs/map.md: regret of every system, in the order of figure 2."""
    real, methods = rows["dataset"].map(few_groups), known(rows)
    parts = [summary(part, methods) for part in (rows[~real], rows[real])]
    lines = [
        "| system | continuous A: regret Tight / Mid / Loose | A is sex or race | within Tight |",
        "|---|---|---|---|",
    ]
    for name in methods:
        here, there = (part.loc[name] for part in parts)
        within = f"{here['within tight']:.0%}, {there['within tight']:.0%}"
        lines.append(f"| `{name}` | {three(here, 'regret')} | {three(there, 'regret')} | {within} |")
    return "\n".join(lines)


def choices(rows: pd.DataFrame) -> str:
    """The list of docs/methods.md: the methods with the smallest regret, by what is known of A."""
    real, methods = rows["dataset"].map(few_groups), known(rows)
    lines = []
    for part, what in ((rows[~real], "continuous A"), (rows[real], "A is sex or race")):
        for names, how in ((without_a(methods), "X alone"), (methods, "X and A")):
            table = summary(part, names)
            best = [
                ", ".join(f"`{name}` {value:.3f}" for name, value in table[f"regret {budget}"].nsmallest(3).items())
                for budget in BUDGETS
            ]
            lines.append(f"| {what} | {how} | {' | '.join(best)} |")
    head = ["| A | predicted from | Tight | Mid | Loose |", "|---|---|---|---|---|"]
    return "\n".join([*head, *lines])


def put(path: Path, text: str) -> None:
    """Replace what stands between the two marks of a page."""
    before, _, rest = path.read_text(encoding="utf-8").partition("<!-- measured -->\n")
    _, end, after = rest.partition("<!-- /measured -->")
    if not end:
        raise ValueError(f"{path} has no marks <!-- measured --> and <!-- /measured -->.")
    path.write_text(f"{before}<!-- measured -->\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Write the tables of the pages."""
    rows = single_models()
    (DOCS / "results" / "map.md").write_text(page(rows), encoding="utf-8")
    put(DOCS / "map.md", rows_by_box(rows))
    put(DOCS / "methods.md", choices(rows))


if __name__ == "__main__":
    main()
