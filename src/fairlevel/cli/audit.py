"""``fairlevel audit``: measure the disparity of given predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.audit_answer import fail_unless_passed, show_audit
from fairlevel.cli.checks import READERS, column_names, require_columns
from fairlevel.cli.names import require_executor
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.cli.stored_audit import audit_in_parts, in_parts
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

EXAMPLE = "fairlevel audit predictions.csv --prediction f --sensitive age"


def audit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="CSV or Parquet file with predictions and sensitive columns; or Parquet files of any size: several, a "
            "folder, or a pattern in quotes."
        ),
    ],
    prediction: Annotated[str, typer.Option(help="Column with the predictions; of Parquet files, several by commas.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    target: Annotated[
        str | None, typer.Option(help="Column with the true values; of two words, the second in the alphabet is 1.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Another column: tabulate predictions by its values.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with survey weights.")] = None,
    given: Annotated[
        str | None, typer.Option(help="Legitimate factors, comma-separated: compare only rows that share them.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column with the same label for rows that belong together, such as a person.")
    ] = None,
    categories: Annotated[
        str, typer.Option(help="Columns that hold categories although they look like numbers, comma-separated.")
    ] = "",
    threshold: Annotated[
        float | None,
        typer.Option(help="Predictions are probabilities; a decision is positive where one is at least this."),
    ] = None,
    max_share: Annotated[
        float | None, typer.Option(help="Budget on DPVar as a share of the prediction's variance.")
    ] = None,
    max_dpvar: Annotated[float | None, typer.Option(help="Budget on DPVar.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of permutations and random features.")] = 0,
    baseline: Annotated[
        Path | None, typer.Option(help="Sums of an earlier audit of Parquet files: report how DPVar has changed.")
    ] = None,
    save_sums: Annotated[
        Path | None, typer.Option(help="Write the sums of Parquet files here, as a baseline for later ones.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="Keep sums here while Parquet files are read; the same command goes on.")
    ] = None,
    executor: Annotated[
        str | None, typer.Option(help="Where parts of Parquet files are read: local (processes) or ray.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="For ray: address of a cluster; else this machine.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure how much the average prediction varies with the sensitive attributes. With a budget, the exit code is 1
    unless the upper end of the confidence interval is within it.
    """
    talk = Talk(quiet, as_json)
    if executor is not None:
        require_executor(executor)
    for place in (html, save_sums, state):
        if place is not None:
            require_writable(place)  # before the work
    names, factors = read_sensitive(sensitive), read_names(given or "")
    measured = (prediction,) if _in_file(files, prediction) else read_names(prediction)
    for role, column in (("--target", target), *(("--prediction", each) for each in measured)):
        if column in names:
            raise InvalidInput(f"{role} {column} is also named in --sensitive; a column has one role.")
    file = Path(files[0])
    in_memory = (target, by, groups) != (None, None, None)
    parts_only = (baseline, save_sums, state, executor) != (None, None, None, None) or len(measured) > 1
    if parts_only or in_parts(files, in_memory):
        for option, value in (("--by", by), ("--groups", groups)):
            if value is not None:
                raise InvalidInput(f"{option} needs all rows in memory: pass one CSV or Parquet file, or leave it out.")
        if html is not None and len(measured) > 1:
            raise InvalidInput(f"--html writes the page of one prediction, but {len(measured)} are named; name one.")
        audit_in_parts(
            talk,
            files,
            {"max_share": max_share, "max_dpvar": max_dpvar},
            html,
            save_sums,
            executor,
            address,
            predictions=measured,
            sensitive_features=names,
            given=factors,
            y_true=target,
            sample_weight=weight,
            threshold=threshold,
            categories=read_names(categories),
            baseline=baseline,
            state=state,
            random_state=seed,
        )
        return
    others = [column for column in (target, by, weight, groups, *factors) if column is not None]
    require_columns(file, [prediction, *names, *others, *read_names(categories)])

    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.auditing.audit import audit as run_audit
        from fairlevel.auditing.page import audit_page
        from fairlevel.cli.files import read_columns, read_numbers, read_target
        from fairlevel.data.learning_table import FEWEST_ROWS, Gaps
        from fairlevel.report.render import write_page

        stage("reading the file")
        table = read_columns(file, [prediction, *names, *others], text=read_names(categories))
        table = table.astype({name: "category" for name in read_names(categories) if name in table})
        needed = [column for column in (target, weight) if column is not None]
        gaps = Gaps.of(table, needed, (*names, *factors))
        table = table.loc[gaps.complete]
        if len(table) < FEWEST_ROWS:
            raise InvalidInput(
                f"Only {len(table)} rows have all of {', '.join((*needed, *names))}; at least {FEWEST_ROWS} are needed."
            )
        for sentence in gaps.sentences():
            talk.say(sentence)
        stage("measuring disparity")
        found = run_audit(
            read_numbers(table, prediction),
            sensitive_features=table[list(names)],
            y_true=None if target is None else read_target(table, target),
            sample_weight=None if weight is None else read_numbers(table, weight),
            by=None if by is None else table[by],
            given=table[list(factors)] if factors else None,
            groups=None if groups is None else table[groups],
            threshold=threshold,
            random_state=seed,
        )
        verdicts = found.check(max_share=max_share, max_dpvar=max_dpvar)
        if html is not None:
            stage("writing the report")
            roles = {"prediction": prediction, "target": target, "weight": weight, "group": groups}
            columns = {role: (column,) for role, column in roles.items() if column is not None}
            provenance = replace(
                found.provenance,
                file=file.name,
                rows_in_file=len(gaps.complete),
                rows_dropped=len(gaps.complete) - found.rows,
                why_dropped="a value is missing, or weight 0",
                columns=columns | dict(found.provenance.columns),
            )
            write_page(audit_page(found, verdicts, provenance), html)
    show_audit(talk, found, verdicts, html)
    results = [verdict.to_dict() for verdict in verdicts]
    talk.result(**found.to_dict(), verdicts=results, rows_left_out=gaps.rows_left_out, report=html, warnings=warned)
    fail_unless_passed(verdicts)


def _in_file(files: list[str], column: str) -> bool:
    """Whether a column of one file has this name, commas and all."""
    file = Path(files[0])
    return len(files) == 1 and file.is_file() and file.suffix.lower() in READERS and column in column_names(file)
