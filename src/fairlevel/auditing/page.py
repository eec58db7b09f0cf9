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
"""Share of the variance above which rows that show no difference cannot rule one out."""
_OF_NUMBERS = {"rmse": "RMSE", "r2": "R²", "mse": "MSE"}
_OF_CLASSES = {"log_loss": "log-loss", "auc": "AUC", "brier": "Brier score", "accuracy": "accuracy"}
_BUDGETS = {"max_share": "share of the prediction's variance", "max_dpvar": "DPVar"}


def audit_page(findings: Audit, verdicts: tuple[Verdict, ...] = (), provenance: Provenance | None = None) -> Page:
    """Verdict, summary, warnings, attributes, errors, groups, all numbers, and where they come from."""
    sections = [
        Section("What to know", (), (Notes(_to_know(findings, verdicts)),)),
        Section("Which attributes it comes from", (_ATTRIBUTES,), (_shares(findings), *_profiles(findings))),
    ]
    if findings.questions:
        sections.append(Section("Errors and decisions", (_ERRORS,), (_questions(findings),)))
    if findings.reliability is not None:
        chart = reliability_chart(findings.reliability, "prediction")
        sections.append(Section("Calibration", (), (Charts((chart,)),)))
    if len(findings.worst):
        sections.append(
            Section("Worst profiles", (_WORST,), (TableBlock.of(_as_written(findings.worst), "Worst profiles"),))
        )
    if findings.groups:
        tables = tuple(TableBlock.of(table, f"Predictions by {name}") for name, table in findings.groups.items())
        sections.append(Section("By group", (), tables))
    sections.append(
        Section("All numbers", _notes(findings), (_numbers(findings), *_budgets(verdicts), _measures(findings)))
    )
    return Page(
        "Audit: is the average prediction level?",
        _summary(findings, verdicts),
        tuple(sections),
        _headlines(findings, verdicts),
        _tiles(findings),
        findings.provenance if provenance is None else provenance,
    )


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


def _headlines(findings: Audit, verdicts: tuple[Verdict, ...]) -> tuple[Headline, ...]:
    """One per budget; without budgets, whether there is a difference."""
    interval = findings.interval
    if verdicts:
        return tuple(_of_budget(findings, verdict) for verdict in verdicts)
    upper, confidence = percent(interval.share_high), _confidence(findings)
    if interval.p_value <= SIGNIFICANT:
        sentence = (
            f"It moves by ± {number(findings.moves_by, 3)}, {percent(interval.share)} of the prediction's variance "
            f"({confidence} interval {percent(interval.share_low)} to {upper}), {p_phrase(interval.p_value)}."
        )
        return (Headline("notice", f"The average prediction differs between profiles{_within(findings)}", sentence),)
    sentence = (
        f"{p_phrase(interval.p_value)} in {findings.rows:,} rows. At most {upper} of the prediction's variance goes "
        f"along with the attributes (upper end of the {confidence} interval)."
    )
    if interval.share_high > UNCERTAIN:
        word = "No difference was found, but these rows cannot rule one out"
        return (Headline("notice", word, sentence),)
    return (Headline("good", f"No difference between profiles was found{_within(findings)}", sentence),)


def _shown(verdict: Verdict) -> Callable[[float], str]:
    """How the number of a budget is written."""
    return percent if verdict.budget == "max_share" else number


def _of_budget(findings: Audit, verdict: Verdict) -> Headline:
    name = _BUDGETS[verdict.budget]
    shown = _shown(verdict)
    source = f"{_confidence(findings)} interval"
    sentence = (
        f"The {name} is between {shown(verdict.lower)} and {shown(verdict.upper)} ({source}; estimate "
        f"{shown(verdict.estimate)}). At most {shown(verdict.most)} was allowed."
    )
    if verdict.outcome == PASS:
        return Headline("good", f"Passed: {name} within the budget{_within(findings)}", sentence)
    if verdict.outcome == FAIL:
        return Headline("bad", f"Failed: {name} above the budget{_within(findings)}", sentence)
    return Headline(
        "notice",
        f"Cannot tell whether the {name} is within the budget{_within(findings)}",
        sentence + _rows_needed(verdict),
    )


def _rows_needed(verdict: Verdict) -> str:
    """How many rows would settle it."""
    if verdict.rows_needed is None:
        return " The estimate is too near to the budget for any number of rows to be named."
    return f" About {verdict.rows_needed:,} rows such as these {verdict.rows:,} would settle it."


def _confidence(findings: Audit) -> str:
    return f"{findings.interval.level:.0%}".replace("%", " %")


def _within(findings: Audit) -> str:
    return f" within {', '.join(findings.given)}" if findings.given else ""


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
    share = f"95 %: {percent(interval.share_low)} to {percent(interval.share_high)}"
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


def _shares(findings: Audit) -> TableBlock:
    shown = findings.attributes.assign(
        alone=findings.attributes["alone"].map(percent), lost=findings.attributes["lost"].map(percent)
    )
    return TableBlock.of(shown, "Attributes")


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
            each.asks,
            number(each.moves_by),
            f"{number(each.interval.low**0.5)} to {number(each.interval.high**0.5)}",
            p_cell(each.interval.p_value),
            f"{each.rows:,}",
        )
        for each in findings.questions
    )
    headings = ("question", "moves by ±", f"{_confidence(findings)} interval", "p", "rows")
    return TableBlock("Questions", headings, rows)


def _notes(findings: Audit) -> tuple[str, ...]:
    if findings.side_rows == findings.rows:
        return (f"Conditional mean: {findings.interval.regressor}.",)
    return (
        f"Conditional mean: {findings.interval.regressor}. DPVar, its interval and the test use all {findings.rows:,} "
        f"rows; the other figures {findings.side_rows:,} of them, drawn at random.",
    )


def _numbers(findings: Audit) -> TableBlock:
    interval = findings.interval
    share = f"{percent(interval.share_low, 2)} to {percent(interval.share_high, 2)}"
    moves = f"{number(interval.low**0.5)} to {number(interval.high**0.5)}"
    rows = [
        *((name, number(value), "") for name, value in accuracy_figures(findings)),
        ("average prediction moves by ±", number(findings.moves_by), moves),
        ("share of the prediction's variance", percent(interval.share, 2), share),
        ("test of no difference, p", p_cell(interval.p_value), ""),
        ("DPVar, debiased", number(interval.estimate), f"{number(interval.low)} to {number(interval.high)}"),
        *_paper(findings),
        *_without_factors(findings),
    ]
    return TableBlock("Figures", ("figure", "value", f"{_confidence(findings)} interval"), tuple(rows))


def _paper(findings: Audit) -> tuple[tuple[str, str, str], ...]:
    if findings.plug_in is None or findings.floor is None:
        return ()
    chance = ("the paper's estimate by chance alone", number(findings.floor), "")
    return (("DPVar, the paper's estimate", number(findings.plug_in), ""), chance)


def _without_factors(findings: Audit) -> tuple[tuple[str, str, str], ...]:
    overall = findings.overall
    if overall is None:
        return ()
    name = f"DPVar without regard to {', '.join(findings.given)}"
    return ((name, number(overall.estimate), f"{number(overall.low)} to {number(overall.high)}"),)


def _budgets(verdicts: tuple[Verdict, ...]) -> tuple[TableBlock, ...]:
    if not verdicts:
        return ()
    rows = tuple(
        (
            _BUDGETS[verdict.budget],
            *map(_shown(verdict), (verdict.most, verdict.lower, verdict.upper)),
            verdict.outcome,
        )
        for verdict in verdicts
    )
    return (TableBlock("Budgets", ("budget", "allowed", "from", "to", "verdict"), rows),)


def _measures(findings: Audit) -> TableBlock:
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
    return TableBlock.of(table, "Other measures of dependence", "chance: 95 % of random pairings stay below", digits=3)
