"""Write the tables on variants of the study into docs/results/study.md: python docs/support/variants_page.py

One line per variant: the share of datasets that each of the paper's six methods wins, single models.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from fairlevel.report.numbers import percent
from fairlevel_study.analysis.comparison import COMPARISONS, compared_rows, complete, points_on_test, win_rates
from fairlevel_study.methods import METHODS, PAPER_METHODS, VARIANT_METHODS
from fairlevel_study.points import SHARES
from fairlevel_study.rows import kept_rows

FOLDER = Path(__file__).parents[1] / "results"
STUDY, SCREENED, PAGE = FOLDER / "study.parquet", FOLDER / "variants.parquet", FOLDER / "study.md"
BIAS_FREE = FOLDER / "bias_free.parquet"
BEGIN = "<!-- numbers from variants, study and bias_free.parquet: python docs/support/variants_page.py -->"
END = "<!-- end of variants -->"
LABELS = {name: METHODS[name].label for name in PAPER_METHODS}
HEADER = (
    *("variant", "datasets × seeds"),
    *(f"{budget}: {' / '.join(LABELS.values())}" if budget == "tight" else budget for budget in SHARES),
    "diverged: FBO, ITD, others at most",
)


def variant_numbers(study: pd.DataFrame, screened: pd.DataFrame, bias_free: pd.DataFrame) -> str:
    """All tables, as Markdown."""
    return "\n\n".join(
        (
            "Variants of the protocol, beside `small+descent` on the same tables and seeds:",
            _table(_of_protocol(screened)),
            "Other readings of a method, in its place among the six, protocol `paper2k`:",
            _table(_of_methods(study)),
            "The synthetic design without biases, ten draws of its networks, protocol `paper2k`:",
            _table(_of_bias_free(bias_free)),
        )
    )


def _of_protocol(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """A line for each variant, and for the protocol itself on each group of tables that a variant was run on."""
    names = rows["protocol"].str.rpartition("-")[0]
    plain = rows[names == "small+descent"]
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in dict.fromkeys(names[names != "small+descent"]):
        groups.setdefault(tuple(sorted(rows.loc[names == name, "dataset"].unique())), []).append(name)
    for tables, members in groups.items():
        yield "none", plain[plain["dataset"].isin(tables)]
        for name in members:
            yield f"`{name.removeprefix('small+descent+')}`", rows[names == name]


def _of_methods(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The paper's six on the tables and seeds of the variants, then with one of them replaced at a time."""
    both = complete(rows, [*PAPER_METHODS, *VARIANT_METHODS])
    yield "none", both
    for name in VARIANT_METHODS:
        original = next(each for each in PAPER_METHODS if name.startswith(each))
        others = both[both["method"] != original]
        yield f"`{name}`", others.assign(method=others["method"].replace(name, original))


def _of_bias_free(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each strength of the interaction, with DPVar by the paper's diagnostic and as it is by simulation."""
    for beta, own in rows.groupby(rows["dataset"].str.extract(r"beta(\d+)", expand=False).astype(int)):
        yield f"β = {beta}, paper's diagnostic", own
        yield f"β = {beta}, true DPVar", own.assign(dpvar_test=own["dpvar_true"])


def _table(lines: Iterator[tuple[str, pd.DataFrame]]) -> str:
    cells = [HEADER, tuple("---" for _ in HEADER), *(_cells(name, rows) for name, rows in lines)]
    return "\n".join("| " + " | ".join(each) + " |" for each in cells)


def _cells(name: str, rows: pd.DataFrame) -> tuple[str, ...]:
    methods = list(PAPER_METHODS)
    used = complete(rows, methods)
    single = compared_rows(used, methods, COMPARISONS["single"].combiner_of)
    won = win_rates(points_on_test(single), methods).pivot(index="budget", columns="method", values="share")
    diverged = (single["status"] == "diverged").groupby(single["method"]).mean()
    others = diverged.drop(["fbo", "itd"]).max()
    pairs = used[["dataset", "seed"]].drop_duplicates()
    return (
        name,
        f"{pairs['dataset'].nunique()} ({len(pairs)} pairs)",
        *(" / ".join(f"{share:.2f}".removeprefix("0") for share in won.loc[budget, methods]) for budget in SHARES),
        f"{percent(diverged['fbo'])}, {percent(diverged['itd'])}, {percent(others)}",
    )


def main() -> None:
    """Write the tables between the marks."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    inside = variant_numbers(*map(kept_rows, (STUDY, SCREENED, BIAS_FREE)))
    PAGE.write_text(f"{before}{BEGIN}\n\n{inside}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
