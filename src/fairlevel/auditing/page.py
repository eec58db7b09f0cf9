"""The findings of an audit as a page."""

from __future__ import annotations

import pandas as pd

from fairlevel.auditing.findings import Findings, Verdict
from fairlevel.report.charts import profile_chart
from fairlevel.report.page import Chart, Page, Section, TableBlock


def audit_page(findings: Findings, verdicts: tuple[Verdict, ...] = ()) -> Page:
    """Headline, flags, numbers, attributes, profiles, groups."""
    sections = [
        Section("What to know", tuple(flag.sentence for flag in findings.flags) or ("Nothing unusual.",)),
        Section("Numbers", _notes(findings), (_numbers(findings), *_verdict_table(verdicts), _measures(findings))),
        Section(
            "Which attributes carry it",
            (
                "alone: share of the prediction's variance that the average over this attribute explains by itself; "
                "lost: by how much the share of all attributes falls without it.",
            ),
            (TableBlock.of(findings.attributes, "Attributes"), *_profiles(findings)),
        ),
    ]
    if findings.questions:
        sections.append(Section("Errors and decisions", (_ERRORS,), (_questions(findings),)))
    if len(findings.worst):
        sections.append(Section("Worst profiles", (_WORST,), (TableBlock.of(findings.worst, "Worst profiles"),)))
    if findings.groups:
        tables = tuple(TableBlock.of(table, f"Predictions by {name}") for name, table in findings.groups.items())
        sections.append(Section("By group", (), tables))
    return Page("Audit: is the average prediction level?", str(findings), tuple(sections))


_ERRORS = (
    "Each row is a test of its own. The average of each quantity moves by ± this much across profiles; p is the chance "
    "of such a value where there is no difference."
)
_WORST = (
    "Profiles whose average prediction is surely furthest from the mean. The intervals hold for all profiles at once, "
    "so that picking the worst ones is allowed for."
)


def _questions(findings: Findings) -> TableBlock:
    rows = tuple(
        (
            each.asks,
            f"{each.moves_by:.4g}",
            f"{each.interval.low**0.5:.4g} to {each.interval.high**0.5:.4g}",
            f"{each.interval.p_value:.3g}",
            f"{each.rows:,}",
        )
        for each in findings.questions
    )
    level = f"{findings.interval.level:.0%} interval"
    return TableBlock("Questions", ("question", "moves by ±", level, "p", "rows"), rows)


def _notes(findings: Findings) -> tuple[str, ...]:
    if findings.side_rows == findings.rows:
        return (f"Conditional mean: {findings.interval.regressor}.",)
    return (
        f"Conditional mean: {findings.interval.regressor}. DPVar, its interval and the test use all {findings.rows:,} "
        f"rows; the other figures {findings.side_rows:,} of them, drawn at random.",
    )


def _numbers(findings: Findings) -> TableBlock:
    found = findings.interval
    share = f"{found.share_low:.2%} to {found.share_high:.2%}"
    rows = [
        ("DPVar, debiased", f"{found.estimate:.4g}", f"{found.low:.4g} to {found.high:.4g}"),
        ("average prediction moves by ±", f"{findings.moves_by:.4g}", f"{found.low**0.5:.4g} to {found.high**0.5:.4g}"),
        ("share of the prediction's variance", f"{found.share:.2%}", share),
        ("test of no difference, p", f"{found.p_value:.3g}", ""),
        ("DPVar, the paper's estimate", f"{findings.plug_in:.4g}", f"by chance alone {findings.floor:.4g}"),
        *_without_factors(findings),
        *((name, f"{value:.4g}", "") for name, value in findings.accuracy.items()),
    ]
    interval = f"{found.level:.0%} interval"
    return TableBlock("DPVar", ("figure", "value", interval), tuple(rows))


def _without_factors(findings: Findings) -> tuple[tuple[str, str, str], ...]:
    found = findings.overall
    if found is None:
        return ()
    name = f"DPVar without regard to {', '.join(findings.given)}"
    return ((name, f"{found.estimate:.4g}", f"{found.low:.4g} to {found.high:.4g}"),)


def _verdict_table(verdicts: tuple[Verdict, ...]) -> tuple[TableBlock, ...]:
    if not verdicts:
        return ()
    rows = tuple(
        (verdict.budget, f"{verdict.most:.4g}", f"{verdict.upper:.4g}", "passed" if verdict.passed else "failed")
        for verdict in verdicts
    )
    return (TableBlock("Budgets", ("budget", "allowed", "upper end of the interval", "verdict"), rows),)


def _measures(findings: Findings) -> TableBlock:
    table = pd.DataFrame(
        [
            {
                "measure": measure.name,
                "value": measure.value,
                "by chance, up to": measure.chance,
                "found": "yes" if measure.found else "no",
                "sees": measure.sees,
            }
            for measure in findings.measures
        ]
    )
    return TableBlock.of(table, "Other measures of dependence", "chance: 95 % of random pairings stay below", digits=4)


def _profiles(findings: Findings) -> tuple[Chart, ...]:
    return tuple(profile_chart({"prediction": profile}, name) for name, profile in findings.profiles.items())
