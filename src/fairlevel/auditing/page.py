"""The findings of an audit as a page: the verdict first, then what it rests on; the terminal shows the same tables."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from fairlevel.auditing.answer import FAIL, PASS, Audit, Verdict
from fairlevel.auditing.flags import SIGNIFICANT, UNCERTAIN
from fairlevel.report.charts import Models, attribute_charts, reliability_chart
from fairlevel.report.numbers import attributes_in_words, distinguishable, number, p_cell, p_phrase, percent
from fairlevel.report.page import Charts, Headline, Notes, Page, Section, TableBlock, Tile, Tiles
from fairlevel.report.provenance import Provenance

_ACCURACY = {"log_loss": "log-loss", "auc": "AUC", "brier": "Brier score", "accuracy": "accuracy"}
_ACCURACY_OF_NUMBERS = {"rmse": "RMSE", "r2": "R²", "mse": "MSE"}
_BUDGETS = {"max_share": "share of the prediction's variance", "max_dpvar": "DPVar"}
_SHOW = {"max_share": percent, "max_dpvar": number}  # how the number of a budget is written
_BANDS = "On one scale. Bands and whiskers are 95 % intervals, the dotted line is the average of all rows."
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
    models = Models("prediction")
    charts = attribute_charts({name: [along] for name, along in findings.profiles.items()}, models, _BANDS)
    sections = [
        Section("What to know", (), (Notes(_to_know(findings, verdicts)),)),
        Section("Which attributes it comes from", (), (attributes_table(findings), *charts)),
    ]
    if findings.questions:
        sections.append(Section("Errors and decisions", (_ERRORS,), (questions_table(findings),)))
    if findings.reliability is not None:
        chart = reliability_chart([findings.reliability], models)
        sections.append(Section("Calibration", (), (Charts((chart,)),)))
    if len(findings.worst):
        worst = TableBlock.of(_as_written(findings.worst), "Worst profiles")
        sections.append(Section("Worst profiles", (_WORST,), (worst,)))
    if findings.groups:
        sections.append(Section("By group", (), tuple(group_table(findings, name) for name in findings.groups)))
    numbers = (figures_table(findings), *_budgets(verdicts), measures_table(findings))
    return Page(
        "Audit: is the average prediction level?",
        _summary(findings, verdicts),
        (*sections, Section("All numbers", (_rows_used(findings),), numbers)),
        _headlines(findings, verdicts),
        _tiles(findings),
        findings.provenance if provenance is None else provenance,
    )


def figures_table(findings: Audit) -> TableBlock:
    """The headline figures with their intervals."""
    interval, overall = findings.interval, findings.overall
    rows = [
        *((name, number(value), "") for name, value in _accuracy(findings)),
        ("average prediction moves by ±", number(findings.moves_by), _range(interval.low**0.5, interval.high**0.5)),
        (
            "share of the prediction's variance",
            percent(interval.share, 2),
            _range(interval.share_low, interval.share_high, lambda share: percent(share, 2)),
        ),
        ("test of no difference, p", p_cell(interval.p_value), ""),
        ("DPVar, debiased", number(interval.estimate), _range(interval.low, interval.high)),
    ]
    if overall is not None:
        name = f"DPVar without regard to {', '.join(findings.given)}"
        rows.append((name, number(overall.estimate), _range(overall.low, overall.high)))
    return TableBlock("Figures", ("figure", "value", f"{_confidence(findings)} interval"), tuple(rows))


def attributes_table(findings: Audit) -> TableBlock:
    """What each attribute explains alone, and what is lost without it."""
    shares = findings.attributes
    shown = shares.assign(alone=shares["alone"].map(percent), lost=shares["lost"].map(percent))
    return TableBlock.of(shown, "Attributes", _ATTRIBUTES)


def questions_table(findings: Audit) -> TableBlock:
    """Errors, decisions and other quantities whose averages may differ."""
    rows = []
    for question in findings.questions:
        interval = question.interval
        limits = _range(interval.low**0.5, interval.high**0.5)
        rows.append((question.asks, number(question.moves_by), limits, p_cell(interval.p_value), f"{question.rows:,}"))
    headings = ("question", "moves by ±", f"{_confidence(findings)} interval", "p", "rows")
    return TableBlock("Questions", headings, tuple(rows))


def measures_table(findings: Audit) -> TableBlock:
    """Other measures of dependence beside what chance gives."""
    headings = ["measure", "value", "by chance, up to", "found", "sees"]
    rows = [(m.name, m.value, m.chance, "yes" if m.found else "no", m.sees) for m in findings.measures]
    table = pd.DataFrame(rows, columns=headings)
    return TableBlock.of(table, "Other measures of dependence", "chance: 95 % of random pairings stay below")


def group_table(findings: Audit, name: str) -> TableBlock:
    """Predictions by the values of a column."""
    return TableBlock.of(findings.groups[name], f"Predictions by {name}", digits=4)


def _budgets(verdicts: tuple[Verdict, ...]) -> tuple[TableBlock, ...]:
    rows = []
    for verdict in verdicts:
        figures = map(_SHOW[verdict.budget], (verdict.most, verdict.lower, verdict.upper))
        rows.append((_BUDGETS[verdict.budget], *figures, verdict.outcome))
    headings = ("budget", "allowed", "from", "to", "verdict")
    return (TableBlock("Budgets", headings, tuple(rows)),) if rows else ()


def _accuracy(findings: Audit) -> list[tuple[str, float]]:
    """How accurate predictions are, where y is known: probabilities and numbers have figures of their own."""
    shown = _ACCURACY if "log_loss" in findings.accuracy else _ACCURACY_OF_NUMBERS
    return [(name, findings.accuracy[key]) for key, name in shown.items() if key in findings.accuracy]


def _as_written(table: pd.DataFrame) -> pd.DataFrame:
    """Attributes that are whole numbers without decimals, others with those that tell the profiles apart."""
    attributes = table.iloc[:, :-3].select_dtypes("number")
    whole = [name for name, column in attributes.items() if (column == column.round()).all()]
    others = {str(name): distinguishable(attributes[name].tolist()) for name in attributes.columns.difference(whole)}
    return table.astype(dict.fromkeys(whole, int)).assign(**others)


def _headlines(findings: Audit, verdicts: tuple[Verdict, ...]) -> tuple[Headline, ...]:
    """One per budget; without budgets, whether there is a difference."""
    interval, confidence = findings.interval, _confidence(findings)
    within = f" within {', '.join(findings.given)}" if findings.given else ""
    if verdicts:
        return tuple(_of_budget(verdict, confidence, within) for verdict in verdicts)
    if interval.p_value <= SIGNIFICANT:
        share = _range(interval.share_low, interval.share_high, percent)
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
    return f"{100 * findings.interval.level:.0f} %"


def _range(low: float, high: float, show: Callable[[float], str] = number) -> str:
    return f"{show(low)} to {show(high)}"


def _summary(findings: Audit, verdicts: tuple[Verdict, ...]) -> str:
    """For readers who will not look at a table."""
    interval, names = findings.interval, list(findings.provenance.columns.get("sensitive", ()))
    who = f"who differ in {attributes_in_words(names)}" if names else "of different sensitive attributes"
    same = f" and are alike in {', '.join(findings.given)}" if findings.given else ""
    text = f"{findings.rows:,} predictions were compared between people {who}{same}. "
    if interval.p_value <= SIGNIFICANT:
        text += (
            f"On average they are not treated alike: a typical profile gets {number(findings.moves_by, 3)} more or "
            f"less than the mean, and {percent(interval.share)} of the variation of the predictions goes along with "
            f"these attributes. Chance alone would hardly do this ({p_phrase(interval.p_value)})."
        )
        if len(findings.attributes) > 1:
            text += f" Most of it comes from {findings.attributes['attribute'].iloc[0]}."
    else:
        p = p_phrase(interval.p_value)
        text += f"No difference between their averages was found that chance could not explain ({p})."
    if verdicts:
        outcomes = {verdict.outcome for verdict in verdicts}
        word = "is not met" if FAIL in outcomes else "is met" if outcomes == {PASS} else "may be met or not"
        text += f" The budget {word}."
    return text


def _to_know(findings: Audit, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Warnings, and nothing that contradicts the verdict."""
    failed = [_BUDGETS[verdict.budget] for verdict in verdicts if verdict.outcome == FAIL]
    sentences = [f"The budget on the {budget} is not met." for budget in failed]
    sentences += [flag.sentence for flag in findings.flags]
    if not findings.flags:
        differs = failed or findings.interval.p_value <= SIGNIFICANT
        checks = "Beside this difference, the checks for misleading figures found nothing."
        sentences.append(checks if differs else "Nothing unusual.")
    averages = "Only averages are compared: predictions may still have another spread or other tails for some profiles."
    return (*sentences, averages)


def _tiles(findings: Audit) -> Tiles:
    interval = findings.interval
    moves = f"95 %: {number(interval.low**0.5, 3)} to {number(interval.high**0.5, 3)}"
    share = f"95 %: {_range(interval.share_low, interval.share_high, percent)}"
    return Tiles(
        (
            Tile("moves by ±", number(findings.moves_by, 3), moves),
            Tile("share of variance", percent(interval.share), share),
            Tile("test of no difference", p_phrase(interval.p_value), f"{findings.rows:,} rows"),
            *(Tile(name, number(value, 3)) for name, value in _accuracy(findings) if name != "MSE"),
        )
    )


def _rows_used(findings: Audit) -> str:
    """The conditional mean, and how many rows are behind which figures."""
    mean = f"Conditional mean: {findings.interval.regressor}."
    if findings.side_rows == findings.rows:
        return mean
    return (
        f"{mean} DPVar, its interval and the test use all {findings.rows:,} rows; the other figures "
        f"{findings.side_rows:,} of them, drawn at random."
    )
