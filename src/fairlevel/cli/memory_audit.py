"""``fairlevel audit`` of one file, all rows in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlevel.cli.audit_answer import end_by, show_audit, show_groups
from fairlevel.cli.audit_columns import AuditColumns
from fairlevel.cli.talk import Talk
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

if TYPE_CHECKING:
    import pandas as pd

    from fairlevel.auditing.audit import Audit, Verdict
    from fairlevel.data.learning_table import Gaps


def audit_in_memory(
    talk: Talk,
    file: Path,
    columns: AuditColumns,
    budgets: Mapping[str, float | None],
    html: Path | None,
    threshold: float | None,
    seed: int,
) -> None:
    """Audit the only prediction, write a page where one is asked for, and say what was found."""
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.auditing.audit import audit
        from fairlevel.cli.files import read_predictions, two_words

        stage("reading the file")
        table, gaps = _read(file, columns)
        for sentence in gaps.sentences():
            talk.say(sentence)
        if columns.target is not None and (words := two_words(table[columns.target], columns.predictions[0])):
            talk.say(f"{columns.target}: {words[0]} counts as 0, {words[1]} as 1")
        stage("measuring disparity")
        prediction = read_predictions(table, columns.predictions[0])
        found = audit(prediction, **_roles(table, columns), threshold=threshold, random_state=seed)
        verdicts = found.check(**budgets)
        if html is not None:
            stage("writing the report")
            _write_page(found, verdicts, file, columns, gaps, html)
    show_audit(talk, found, verdicts, html)
    if columns.by is not None:
        show_groups(talk, *list(found.groups.items())[-1])
    results = [verdict.to_dict() for verdict in verdicts]
    talk.result(**found.to_dict(), verdicts=results, rows_left_out=gaps.rows_left_out, report=html, warnings=warned)
    end_by(verdicts)


def _read(file: Path, columns: AuditColumns) -> tuple[pd.DataFrame, Gaps]:
    """The rows that have every value they need, and what the others lack."""
    from fairlevel.cli.files import read_columns
    from fairlevel.data.learning_table import FEWEST_ROWS, Gaps

    table = read_columns(file, columns.used, words=columns.categories)
    table = table.astype({name: "category" for name in columns.categories if name in table})
    gaps = Gaps.of(table, columns.needed, (*columns.sensitive, *columns.given))
    table = table.loc[gaps.complete]
    if len(table) < FEWEST_ROWS:
        raise InvalidInput(
            f"Only {len(table)} rows have all of {', '.join((*columns.needed, *columns.sensitive))}; at least "
            f"{FEWEST_ROWS} are needed."
        )
    return table, gaps


def _roles(table: pd.DataFrame, columns: AuditColumns) -> dict[str, Any]:
    """The columns beside the prediction, as the arguments of ``audit``."""
    from fairlevel.cli.files import read_numbers, read_target

    return {
        "sensitive_features": table[list(columns.sensitive)],
        "y_true": None if columns.target is None else read_target(table, columns.target, columns.predictions[0]),
        "sample_weight": None if columns.weight is None else read_numbers(table, columns.weight),
        "by": None if columns.by is None else table[columns.by],
        "given": table[list(columns.given)] if columns.given else None,
        "groups": None if columns.groups is None else table[columns.groups],
    }


def _write_page(
    found: Audit, verdicts: tuple[Verdict, ...], file: Path, columns: AuditColumns, gaps: Gaps, html: Path
) -> None:
    """The page, with the file and the roles of its columns."""
    from fairlevel.auditing.page import audit_page
    from fairlevel.report.render import write_page

    roles = {
        "prediction": columns.predictions[0],
        "target": columns.target,
        "weight": columns.weight,
        "group": columns.groups,
    }
    named = {role: (column,) for role, column in roles.items() if column is not None}
    provenance = replace(
        found.provenance,
        file=file.name,
        rows_in_file=len(gaps.complete),
        rows_dropped=len(gaps.complete) - found.rows,
        why_dropped="a value is missing, or weight 0",
        columns=named | dict(found.provenance.columns),
    )
    write_page(audit_page(found, verdicts, provenance), html)
