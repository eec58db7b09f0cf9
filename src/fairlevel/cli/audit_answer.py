"""The rows that ``fairlevel audit`` reads, and what it says about them, about predictions, and about budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
from rich.table import Table

from fairlevel.auditing.audit import Audit, Verdict
from fairlevel.auditing.page import accuracy_figures, audit_page
from fairlevel.auditing.stored_audit import StoredAudit
from fairlevel.cli.files import read_numbers, read_predictions, read_rows
from fairlevel.cli.talk import Talk
from fairlevel.data.sensitive import as_frame
from fairlevel.data.stored_rows import WEIGHT_0, Roles, texts_of
from fairlevel.report.numbers import number, p_cell, p_phrase
from fairlevel.report.render import write_page

STYLES = {"pass": "green", "fail": "red", "cannot tell": "yellow"}
Verdicts = Mapping[str, tuple[Verdict, ...]]
"""By the name of the prediction."""


@dataclass(frozen=True)
class AuditRows:
    """Stored rows, and the words of the target that count as 0 and 1, if it holds two words."""

    source: Any
    words: tuple[str, str] | None

    @classmethod
    def read(cls, files: Sequence[str], roles: Roles) -> Self:
        """Parquet files as they are."""
        texts = None if roles.target is None else texts_of(list(files), roles.target)
        words = None if texts is None else two_words(pd.Series(texts, dtype=object), roles.predictions[0])
        return cls(list(files), words)

    @classmethod
    def read_csv(cls, file: Path, roles: Roles) -> Self:
        """A CSV file, by the rules of all commands."""
        table, target = read_rows(file, roles.names, words=roles.categories).table, roles.target
        table = table.astype({name: "category" for name in roles.categories if name in table})
        known, words = as_frame(table[list(roles.attributes)]), None
        if target is not None:
            words = two_words(table[target], roles.predictions[0])
            text = table[target].map(str, na_action="ignore")
            values = read_numbers(table, target) if words is None else text.map({words[0]: 0.0, words[1]: 1.0})
            known = known.assign(**{target: values})
        if roles.weight is not None:
            known = known.assign(**{roles.weight: read_numbers(table, roles.weight)})
        complete = table.loc[known.notna().all(axis=1)]
        predictions = {name: read_predictions(complete, name) for name in roles.predictions}
        rows = table.assign(**{str(name): known[name] for name in known}, **predictions)
        return cls(pa.dataset.dataset(pa.Table.from_pandas(rows, preserve_index=False)), words)


def two_words(values: pd.Series, prediction: str) -> tuple[str, str] | None:
    """The words that stand for 0 and 1 in a column that holds two. 1 is the word that the name of the prediction ends
    with, as in prediction_yes, else the second in the alphabet.
    """
    words = sorted({str(value) for value in values.dropna().unique()}) if values.dtype.kind not in "biuf" else []
    if len(words) != 2 or pd.to_numeric(pd.Series(words), errors="coerce").notna().any():
        return None
    first, second = words
    return (second, first) if prediction.endswith(f"_{first}") else (first, second)


def gaps_in_words(answer: StoredAudit) -> Iterator[str]:
    """What was done about missing values; nothing where nothing is missing."""

    def columns(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{name} ({count:,})" for name, count in counts.items())

    if answer.rows_left_out:
        rows = "row" if answer.rows_left_out == 1 else "rows"
        lacking = {name: count for name, count in answer.left_out.items() if name != WEIGHT_0}
        yield f"{answer.rows_left_out:,} {rows} left out, without a value in: {columns(lacking)}"
    if answer.missing:
        yield f"missing categories count as the category (missing): {columns(answer.missing)}"


def for_programs(answer: StoredAudit, verdicts: Verdicts) -> dict[str, Any]:
    """The only audit itself, or several by prediction."""
    values = answer.to_dict()
    results = {name: [verdict.to_dict() for verdict in several] for name, several in verdicts.items()}
    if len(results) > 1:
        return {**values, "verdicts": results}
    ((name, only),) = values.pop("predictions").items()
    return {**values, **only, "verdicts": results[name]}


def write_page_of(answer: StoredAudit, verdicts: Verdicts, files: Sequence[str], html: Path) -> None:
    """The page of the only prediction, with the names of the files."""
    ((name, only),) = answer.audits.items()
    names = ", ".join(Path(file).name for file in files)
    write_page(audit_page(only, verdicts[name], replace(only.provenance, file=names)), html)


def show_audits(talk: Talk, answer: StoredAudit, verdicts: Verdicts, by: bool) -> None:
    """One prediction in full, also ``by`` another column; or one row for each of several."""
    if len(answer.audits) > 1:
        _show_several(talk, answer.audits)
        for name, several in verdicts.items():
            _show_verdicts(talk, several, f"{name}, ")
        return
    ((name, only),) = answer.audits.items()
    _show_audit(talk, only)
    _show_verdicts(talk, verdicts[name])
    if by:
        _show_groups(talk, *list(only.groups.items())[-1])


def _show_several(talk: Talk, audits: Mapping[str, Audit]) -> None:
    first = next(iter(audits.values()))
    table = _table(
        f"{first.rows:,} rows", "prediction", "moves by ±", "share of variance", "95 % interval", "DPVar", "p"
    )
    for name, audit in audits.items():
        interval = audit.interval
        limits = f"{interval.share_low:.1%} to {interval.share_high:.1%}"
        figures = (number(interval.estimate), p_cell(interval.p_value))
        table.add_row(name, number(audit.moves_by), f"{audit.interval.share:.1%}", limits, *figures)
    talk.say(table)


def _table(title: str, first: str, *others: str) -> Table:
    """An empty table of text and numbers, by their headings."""
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _show_audit(talk: Talk, audit: Audit) -> None:
    """The finding, warnings, figures and attributes."""
    talk.say(str(audit), style="bold")
    for flag in audit.flags:
        talk.say(f"! {flag.sentence}", style="yellow")
    interval = audit.interval
    figures = [(name, value, "") for name, value in accuracy_figures(audit)]
    moves = f"95 % interval: {number(interval.low**0.5)} to {number(interval.high**0.5)}"
    figures.append(("average prediction moves by ±", audit.moves_by, moves))
    figures.append(("DPVar, debiased", interval.estimate, _limits(interval)))
    figures += [
        (measure.name, measure.value, f"by chance: up to {number(measure.chance)}") for measure in audit.measures
    ]
    if audit.overall is not None:
        name = f"DPVar without regard to {', '.join(audit.given)}"
        figures.append((name, audit.overall.estimate, _limits(audit.overall)))
    figures += [
        (f"{question.name}, moves by ±", question.moves_by, p_phrase(question.interval.p_value))
        for question in audit.questions
    ]
    numbers = Table(box=None, show_header=False, pad_edge=False)
    for name, value, remark in figures:
        numbers.add_row(name, number(value), remark)
    talk.say(numbers)
    shares = _table(
        "share of the prediction's variance, by attribute", "attribute", "explained by it alone", "lost without it"
    )
    for row in audit.attributes.itertuples():
        shares.add_row(str(row.attribute), f"{row.alone:.1%}", f"{row.lost:.1%}")
    talk.say(shares)


def _limits(interval: Any) -> str:
    return f"95 % interval: {number(interval.low)} to {number(interval.high)}"


def _show_groups(talk: Talk, name: str, groups: pd.DataFrame) -> None:
    """Predictions by the values of one column."""
    table = _table(f"predictions by {name}", name, *groups.columns[1:])
    for group, rows, *figures in groups.itertuples(index=False):
        table.add_row(str(group), f"{rows:,}", *map(number, figures))
    talk.say(table)


def _show_verdicts(talk: Talk, verdicts: Iterable[Verdict], prediction: str = "") -> None:
    """One sentence per budget, with the name of the prediction where there are several."""
    for verdict in verdicts:
        limit = f"{prediction}{verdict.budget} of at most {verdict.most:g}"
        figures = f"{number(verdict.lower)} to {number(verdict.upper)} by the interval"
        more = "" if verdict.rows_needed is None else f"; about {verdict.rows_needed:,} rows would settle it"
        talk.say(f"{verdict.outcome}: {limit}, {figures}{more}", style=STYLES[verdict.outcome])
