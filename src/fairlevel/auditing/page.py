"""The findings of an audit as a page: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from fairlevel.auditing.answer import FAIL, PASS, Audit, Verdict
from fairlevel.auditing.flags import SIGNIFICANT, UNCERTAIN
from fairlevel.report.charts.profiles import charts_of_attributes, profile_chart, shared_axis, spread_of
from fairlevel.report.charts.reliability import reliability_chart
from fairlevel.report.numbers import attributes_in_words, distinguishable, number, p_cell, p_phrase, percent
from fairlevel.report.page import Block, Charts, Headline, Notes, Page, Section, TableBlock, Tile, Tiles
from fairlevel.report.provenance import Provenance

SHOWN_AT_ONCE = 8
"""Attributes; the others are behind a line to click on."""
_OF_NUMBERS = {"rmse": "RMSE", "r2": "R²", "mse": "MSE"}
_OF_CLASSES = {"log_loss": "log-loss", "auc": "AUC", "brier": "Brier score", "accuracy": "accuracy"}
_BUDGETS = {"max_share": "share of the prediction's variance", "max_dpvar": "DPVar"}
_SHOW = {"max_share": percent, "max_dpvar": number}  # how the number of a budget is written
_ATTRIBUTES = (
    "alone: share of the prediction's variance that the average over this attribute explains by itself; lost: by how "
    "much the share of all attributes falls without it."
)
_ERRORS = (
    "Each row is a test of its own. The average of each quantity moves by ± this much across profiles; p is the chance "
    "of such a value where there is no difference."
)
_WORST = (
    "Profiles whose intervals reach furthest from 0. A difference was found where its interval leaves out 0: the "
    "intervals hold for all profiles at once, so that picking the worst ones is allowed for."
)


def audit_page(findings: Audit, verdicts: tuple[Verdict, ...] = (), provenance: Provenance | None = None) -> Page:
    """Verdict, summary, warnings, attributes, errors, groups, all numbers, and where they come from."""
    shares, worst, groups = findings.attributes, findings.worst, findings.groups
    shares = shares.assign(alone=shares["alone"].map(percent), lost=shares["lost"].map(percent))
    attributes = (TableBlock.of(shares, "Attributes"), *_profiles(findings))
    sections = [
        Section("What to know", (), (Notes(_to_know(findings, verdicts)),)),
        Section("Which attributes it comes from", (_ATTRIBUTES,), attributes),
    ]
    if findings.questions:
        sections.append(Section("Errors and decisions", (_ERRORS,), (_questions(findings),)))
    if findings.reliability is not None:
        chart = reliability_chart(findings.reliability, "prediction")
        sections.append(Section("Calibration", (), (Charts((chart,)),)))
    if len(worst):
        sections.append(Section("Worst profiles", (_WORST,), (TableBlock.of(_as_written(worst), "Worst profiles"),)))
    if groups:
        tables = tuple(TableBlock.of(table, f"Predictions by {name}") for name, table in groups.items())
        sections.append(Section("By group", (), tables))
    sections.append(
        Section("All numbers", (_rows_used(findings),), (_numbers(findings), *_budgets(verdicts), _measures(findings)))
    )
    return Page(
        "Audit: is the average prediction level?",
        _summary(findings, verdicts),
        tuple(sections),
        _headlines(findings, verdicts),
        _tiles(findings),
        findings.provenance if provenance is None else provenance,
    )


def _headlines(findings: Audit, verdicts: tuple[Verdict, ...]) -> tuple[Headline, ...]:
    """One per budget; without budgets, whether there is a difference."""
    interval, confidence = findings.interval, _confidence(findings)
    within = f" within {', '.join(findings.given)}" if findings.given else ""
    if verdicts:
        return tuple(_of_budget(verdict, confidence, within) for verdict in verdicts)
    share = _range(interval.share_low, interval.share_high, percent)
    if interval.p_value <= SIGNIFICANT:
        sentence = (
            f"It moves by ± {number(findings.moves_by, 3)}, {percent(interval.share)} of the prediction's variance "
            f"({confidence} interval {share}), {p_phrase(interval.p_value)}."
        )
        return (Headline("notice", f"The average prediction differs between profiles{within}", sentence),)
    sentence = (
        f"{p_phrase(interval.p_value)} in {findings.rows:,} rows. At most {percent(interval.share_high)} of the "
        f"prediction's variance goes along with the attributes (upper end of the {confidence} interval)."
    )
    if interval.share_high > UNCERTAIN:
        return (Headline("notice", "No difference was found, but these rows cannot rule one out", sentence),)
    return (Headline("good", f"No difference between profiles was found{within}", sentence),)


def _of_budget(verdict: Verdict, confidence: str, within: str) -> Headline:
    name, show = _BUDGETS[verdict.budget], _SHOW[verdict.budget]
    sentence = (
        f"The {name} is between {show(verdict.lower)} and {show(verdict.upper)} ({confidence} interval; estimate "
        f"{show(verdict.estimate)}). At most {show(verdict.most)} was allowed."
    )
    if verdict.outcome == PASS:
        return Headline("good", f"Passed: {name} within the budget{within}", sentence)
    if verdict.outcome == FAIL:
        return Headline("bad", f"Failed: {name} above the budget{within}", sentence)
    if verdict.rows_needed is None:
        sentence += " The estimate is too near to the budget for any number of rows to be named."
    else:
        sentence += f" About {verdict.rows_needed:,} rows such as these {verdict.rows:,} would settle it."
    return Headline("notice", f"Cannot tell whether the {name} is within the budget{within}", sentence)


def _confidence(findings: Audit) -> str:
    return f"{findings.interval.level:.0%}".replace("%", " %")


def _range(low: float, high: float, show: Callable[[float], str] = number) -> str:
    return f"{show(low)} to {show(high)}"


def _summary(findings: Audit, verdicts: tuple[Verdict, ...]) -> str:
    """For readers who will not look at a table."""
    interval, names = findings.interval, list(findings.provenance.columns.get("sensitive", ()))
    who = f"who differ in {attributes_in_words(names)}" if names else "of different sensitive attributes"
    same = f" and are alike in {', '.join(findings.given)}" if findings.given else ""
    first = f"{findings.rows:,} predictions were compared between people {who}{same}. "
    if interval.p_value <= SIGNIFICANT:
        text = (
            f"On average they are not treated alike: a typical profile gets {number(findings.moves_by, 3)} more or "
            f"less than the mean, and {percent(interval.share)} of the variation of the predictions goes along with "
            f"these attributes. Chance alone would hardly do this ({p_phrase(interval.p_value)})."
        )
    else:
        text = (
            "No difference between their averages was found that chance could not explain "
            f"({p_phrase(interval.p_value)})."
        )
    strongest = findings.attributes.iloc[0] if len(findings.attributes) > 1 else None
    if strongest is not None and interval.p_value <= SIGNIFICANT:
        text += f" Most of it comes from {strongest['attribute']}."
    if verdicts:
        outcomes = {verdict.outcome for verdict in verdicts}
        word = "is not met" if FAIL in outcomes else "is met" if outcomes == {PASS} else "may be met or not"
        text += f" The budget {word}."
    return first + text


def _to_know(findings: Audit, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Warnings, and nothing that contradicts the verdict."""
    sentences = [
        f"The budget on the {_BUDGETS[verdict.budget]} is not met." for verdict in verdicts if verdict.outcome == FAIL
    ]
    sentences += [flag.sentence for flag in findings.flags]
    if not findings.flags:
        differs = findings.interval.p_value <= SIGNIFICANT or sentences
        sentences.append(
            "Beside this difference, the checks for misleading figures found nothing."
            if differs
            else "Nothing unusual."
        )
    sentences.append(
        "Only averages are compared: predictions may still have another spread or other tails for some profiles."
    )
    return tuple(sentences)


def _tiles(findings: Audit) -> Tiles:
    interval = findings.interval
    moves = f"95 %: {number(interval.low**0.5, 3)} to {number(interval.high**0.5, 3)}"
    share = f"95 %: {_range(interval.share_low, interval.share_high, percent)}"
    tiles = [
        Tile("moves by ±", number(findings.moves_by, 3), moves),
        Tile("share of variance", percent(interval.share), share),
        Tile("test of no difference", p_phrase(interval.p_value), f"{findings.rows:,} rows"),
    ]
    tiles += [Tile(name, number(value, 3)) for name, value in accuracy_figures(findings) if name != "MSE"]
    return Tiles(tuple(tiles))


def accuracy_figures(findings: Audit) -> list[tuple[str, float]]:
    """How accurate predictions are, where y is known: probabilities and numbers have figures of their own."""
    shown = _OF_CLASSES if "log_loss" in findings.accuracy else _OF_NUMBERS
    return [(name, findings.accuracy[key]) for key, name in shown.items() if key in findings.accuracy]


def _profiles(findings: Audit) -> tuple[Block, ...]:
    if not findings.profiles:
        return ()
    axis = shared_axis(list(findings.profiles.values()))
    order = sorted(findings.profiles, key=lambda name: -spread_of(findings.profiles[name]))
    charts = tuple(profile_chart(name, findings.profiles[name], axis, "prediction") for name in order)
    text = "On one scale. Bands and whiskers are 95 % intervals, the dotted line is the average of all rows."
    return (charts_of_attributes(charts, SHOWN_AT_ONCE, text),)


def _as_written(table: pd.DataFrame) -> pd.DataFrame:
    """Attributes that are whole numbers without decimals, others with those that tell the profiles apart."""
    attributes = table.iloc[:, :-3].select_dtypes("number")
    whole = [name for name, column in attributes.items() if (column == column.round()).all()]
    others = {str(name): distinguishable(attributes[name].tolist()) for name in attributes.columns.difference(whole)}
    return table.astype(dict.fromkeys(whole, int)).assign(**others)


def _questions(findings: Audit) -> TableBlock:
    rows = tuple(
        (
            question.asks,
            number(question.moves_by),
            _range(question.interval.low**0.5, question.interval.high**0.5),
            p_cell(question.interval.p_value),
            f"{question.rows:,}",
        )
        for question in findings.questions
    )
    headings = ("question", "moves by ±", f"{_confidence(findings)} interval", "p", "rows")
    return TableBlock("Questions", headings, rows)


def _rows_used(findings: Audit) -> str:
    """The conditional mean, and how many rows are behind which figures."""
    mean = f"Conditional mean: {findings.interval.regressor}."
    if findings.side_rows == findings.rows:
        return mean
    return (
        f"{mean} DPVar, its interval and the test use all {findings.rows:,} rows; the other figures "
        f"{findings.side_rows:,} of them, drawn at random."
    )


def _numbers(findings: Audit) -> TableBlock:
    interval, overall = findings.interval, findings.overall
    share = f"{percent(interval.share_low, 2)} to {percent(interval.share_high, 2)}"
    rows = [
        *((name, number(value), "") for name, value in accuracy_figures(findings)),
        ("average prediction moves by ±", number(findings.moves_by), _range(interval.low**0.5, interval.high**0.5)),
        ("share of the prediction's variance", percent(interval.share, 2), share),
        ("test of no difference, p", p_cell(interval.p_value), ""),
        ("DPVar, debiased", number(interval.estimate), _range(interval.low, interval.high)),
    ]
    if overall is not None:
        name = f"DPVar without regard to {', '.join(findings.given)}"
        rows.append((name, number(overall.estimate), _range(overall.low, overall.high)))
    return TableBlock("Figures", ("figure", "value", f"{_confidence(findings)} interval"), tuple(rows))


def _budgets(verdicts: tuple[Verdict, ...]) -> tuple[TableBlock, ...]:
    rows = []
    for verdict in verdicts:
        figures = map(_SHOW[verdict.budget], (verdict.most, verdict.lower, verdict.upper))
        rows.append((_BUDGETS[verdict.budget], *figures, verdict.outcome))
    headings = ("budget", "allowed", "from", "to", "verdict")
    return (TableBlock("Budgets", headings, tuple(rows)),) if rows else ()


def _measures(findings: Audit) -> TableBlock:
    rows = [
        (each.name, each.value, each.chance, "yes" if each.found else "no", each.sees) for each in findings.measures
    ]
    table = pd.DataFrame(rows, columns=["measure", "value", "by chance, up to", "found", "sees"])
    return TableBlock.of(table, "Other measures of dependence", "chance: 95 % of random pairings stay below")
