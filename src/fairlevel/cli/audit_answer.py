"""What ``fairlevel audit`` says about one prediction, and about budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from fairlevel.cli.talk import Talk, shown_path

if TYPE_CHECKING:
    import pandas as pd

    from fairlevel.auditing.audit import Audit, Verdict
    from fairlevel.auditing.stored_audit import StoredAudit


STYLES = {"pass": "green", "fail": "red", "cannot tell": "yellow"}
EXIT_CODES = {"fail": 1, "cannot tell": 4}
"""Of the outcomes of budgets; the first one that is there counts."""


def show_audits(
    talk: Talk, found: StoredAudit, verdicts: Mapping[str, tuple[Verdict, ...]], by: bool, html: Path | None
) -> None:
    """One prediction in full, also ``by`` another column; or one row for each of several."""
    if len(found.audits) > 1:
        _show_several(talk, found, verdicts)
        return
    ((name, only),) = found.audits.items()
    _show_audit(talk, only, verdicts[name], html)
    if by:
        _show_groups(talk, *list(only.groups.items())[-1])


def write_page_of(
    found: StoredAudit, verdicts: Mapping[str, tuple[Verdict, ...]], files: Sequence[str], html: Path
) -> None:
    """The page of the only prediction, with the names of the files."""
    from fairlevel.auditing.page import audit_page
    from fairlevel.report.render import write_page

    ((name, only),) = found.audits.items()
    named = ", ".join(Path(file).name for file in files)
    write_page(audit_page(only, verdicts[name], replace(only.provenance, file=named)), html)


def _show_several(talk: Talk, found: StoredAudit, verdicts: Mapping[str, tuple[Verdict, ...]]) -> None:
    from fairlevel.report.numbers import number, p_cell

    table = Table(title=f"{next(iter(found.audits.values())).rows:,} rows", title_justify="left")
    for heading in ("prediction", "moves by ±", "share of variance", "95 % interval", "DPVar", "p"):
        table.add_column(heading, justify="left" if heading == "prediction" else "right")
    for name, audit in found.audits.items():
        each = audit.interval
        limits = f"{each.share_low:.1%} to {each.share_high:.1%}"
        cells = (number(audit.moves_by), f"{each.share:.1%}", limits, number(each.estimate), p_cell(each.p_value))
        table.add_row(name, *cells)
    talk.say(table)
    for name, own in verdicts.items():
        _show_verdicts(talk, own, name)


def _show_audit(talk: Talk, found: Audit, verdicts: tuple[Verdict, ...], html: Path | None) -> None:
    """The finding, warnings, figures, attributes and budgets."""
    from fairlevel.auditing.page import accuracy_figures
    from fairlevel.report.numbers import number, p_phrase

    talk.say(str(found), style="bold")
    for flag in found.flags:
        talk.say(f"! {flag.sentence}", style="yellow")
    interval = found.interval
    numbers = Table(box=None, show_header=False, pad_edge=False)
    for name, value in accuracy_figures(found):
        numbers.add_row(name, number(value), "")
    moves = f"95 % interval: {number(interval.low**0.5)} to {number(interval.high**0.5)}"
    numbers.add_row("average prediction moves by ±", number(found.moves_by), moves)
    limits = f"95 % interval: {number(interval.low)} to {number(interval.high)}"
    numbers.add_row("DPVar, debiased", number(interval.estimate), limits)
    if found.plug_in is not None and found.floor is not None:
        numbers.add_row("DPVar, the paper's estimate", number(found.plug_in), f"by chance alone: {number(found.floor)}")
    for measure in found.measures:
        numbers.add_row(measure.name, number(measure.value), f"by chance: up to {number(measure.chance)}")
    if found.overall is not None:
        numbers.add_row(
            f"DPVar without regard to {', '.join(found.given)}",
            number(found.overall.estimate),
            f"95 % interval: {number(found.overall.low)} to {number(found.overall.high)}",
        )
    for question in found.questions:
        numbers.add_row(f"{question.name}, moves by ±", number(question.moves_by), p_phrase(question.interval.p_value))
    talk.say(numbers)
    shares = Table(title="share of the prediction's variance, by attribute", title_justify="left")
    for heading in ("attribute", "explained by it alone", "lost without it"):
        shares.add_column(heading, justify="left" if heading == "attribute" else "right")
    for row in found.attributes.itertuples():
        shares.add_row(str(row.attribute), f"{row.alone:.1%}", f"{row.lost:.1%}")
    talk.say(shares)
    _show_verdicts(talk, verdicts)
    if html is not None:
        talk.say(f"report: {shown_path(html)}")


def _show_groups(talk: Talk, name: str, groups: pd.DataFrame) -> None:
    """Predictions by the values of one column."""
    from fairlevel.report.numbers import number

    shown = Table(title=f"predictions by {name}", title_justify="left")
    for heading in groups.columns:
        shown.add_column(name if heading == "group" else heading, justify="left" if heading == "group" else "right")
    for group, rows, *figures in groups.itertuples(index=False):
        shown.add_row(str(group), f"{rows:,}", *map(number, figures))
    talk.say(shown)


def _show_verdicts(talk: Talk, verdicts: Iterable[Verdict], prediction: str = "") -> None:
    """One sentence per budget, with the name of the prediction where there are several."""
    from fairlevel.report.numbers import number

    for verdict in verdicts:
        limit = f"{prediction and f'{prediction}, '}{verdict.budget} of at most {verdict.most:g}"
        figures = f"{number(verdict.lower)} to {number(verdict.upper)} by the interval"
        needed = verdict.rows_needed
        more = "" if needed is None else f"; about {needed:,} rows would settle it"
        talk.say(f"{verdict.outcome}: {limit}, {figures}{more}", style=STYLES[verdict.outcome])


def end_by(verdicts: Iterable[Verdict]) -> None:
    """End with the exit code of the worst outcome, where one is not met or not known."""
    outcomes = {verdict.outcome for verdict in verdicts}
    for outcome, code in EXIT_CODES.items():
        if outcome in outcomes:
            raise typer.Exit(code)
