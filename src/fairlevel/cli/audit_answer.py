"""The rows that ``fairlevel audit`` reads, and what it says about them, about predictions, and about budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset

from fairlevel.auditing.answer import Audit, Verdict
from fairlevel.auditing.page import attributes_table, figures_table, group_table, measures_table, questions_table
from fairlevel.auditing.stored_audit import StoredAudit
from fairlevel.cli.files import read_numbers, read_predictions, read_rows
from fairlevel.cli.talk import Talk
from fairlevel.data.sensitive import as_frame
from fairlevel.data.stored_rows import WEIGHT_0, Roles, texts_of
from fairlevel.report.numbers import number, p_cell
from fairlevel.report.page import TableBlock

STYLES = {"pass": "green", "fail": "red", "cannot tell": "yellow"}
Verdicts = Mapping[str, tuple[Verdict, ...]]
"""By the name of the prediction."""


def read_csv(file: Path, roles: Roles) -> Any:
    """The rows of a CSV file, read by the rules of all commands, as stored rows."""
    table = read_rows(file, roles.names, words=roles.categories).table
    table = table.astype({name: "category" for name in roles.categories if name in table})
    known = as_frame(table[list(roles.attributes)])
    if roles.target is not None:
        text = table[roles.target].map(str, na_action="ignore")
        is_text = table[roles.target].dtype.kind not in "biuf" and len(_words(text.dropna().unique())) == 2
        known = known.assign(**{roles.target: text if is_text else read_numbers(table, roles.target)})
    if roles.weight is not None:
        known = known.assign(**{roles.weight: read_numbers(table, roles.weight)})
    complete = table.loc[known.notna().all(axis=1)]
    predictions = {name: read_predictions(complete, name) for name in roles.predictions}
    rows = table.assign(**{str(name): known[name] for name in known}, **predictions)
    stored = pa.Table.from_pandas(rows, preserve_index=False)
    return pa.dataset.dataset(stored.replace_schema_metadata())  # which says that words stay words


def two_words(source: Any, roles: Roles) -> list[str]:
    """The words that stand for 0 and 1 in a target that holds two, in this order; none if it does not. 1 is the word
    that the name of the prediction ends with, as in prediction_yes, else the second in the alphabet.
    """
    texts = None if roles.target is None else texts_of(source, roles.target)
    words = _words(texts or ())
    if len(words) != 2:
        return []
    return words[::-1] if roles.predictions[0].endswith(f"_{words[0]}") else words


def _words(texts: Any) -> list[str]:
    """In the order of the alphabet; none where some are numbers."""
    return sorted(texts) if pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").isna().all() else []


def gaps_in_words(answer: StoredAudit) -> Iterator[str]:
    """What was done about missing values; nothing where nothing is missing."""

    def columns(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{name} ({count:,})" for name, count in counts.items() if name != WEIGHT_0)

    if answer.rows_left_out:
        rows = "row" if answer.rows_left_out == 1 else "rows"
        yield f"{answer.rows_left_out:,} {rows} left out, without a value in: {columns(answer.left_out)}"
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


def show(talk: Talk, answer: StoredAudit, verdicts: Verdicts, by: bool) -> None:
    """One prediction in full, also ``by`` another column; or one row for each of several."""
    several = len(answer.audits) > 1
    if several:
        talk.show(_overview(answer))
    else:
        _show_audit(talk, *answer.audits.values())
    for name, of_prediction in verdicts.items():
        for verdict in of_prediction:
            limit = f"{f'{name}, ' * several}{verdict.budget} of at most {verdict.most:g}"
            limits = f"{number(verdict.lower)} to {number(verdict.upper)} by the interval"
            more = "" if verdict.rows_needed is None else f"; about {verdict.rows_needed:,} rows would settle it"
            talk.say(f"{verdict.outcome}: {limit}, {limits}{more}", style=STYLES[verdict.outcome])
    if by and not several:
        for audit in answer.audits.values():
            talk.show(group_table(audit, list(audit.groups)[-1]))


def _show_audit(talk: Talk, audit: Audit) -> None:
    """The finding, warnings, and the tables of the page."""
    talk.say(str(audit), style="bold")
    for flag in audit.flags:
        talk.say(f"! {flag.sentence}", style="yellow")
    talk.show(figures_table(audit))
    talk.show(attributes_table(audit))
    if audit.questions:
        talk.show(questions_table(audit))
    talk.show(measures_table(audit))


def _overview(answer: StoredAudit) -> TableBlock:
    rows = []
    for name, audit in answer.audits.items():
        interval, p = audit.interval, p_cell(audit.interval.p_value)
        limits = f"{interval.share_low:.1%} to {interval.share_high:.1%}"
        rows.append((name, number(audit.moves_by), f"{interval.share:.1%}", limits, number(interval.estimate), p))
    headings = ("prediction", "moves by ±", "share of variance", "95 % interval", "DPVar", "p")
    return TableBlock(f"{next(iter(answer.audits.values())).rows:,} rows", headings, tuple(rows))
