"""``fairlevel audit``: measure the disparity of given predictions."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairlevel.cli import stored_audit
from fairlevel.cli.checks import READERS, column_names, require_columns
from fairlevel.cli.names import require_executor
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

if TYPE_CHECKING:
    from fairlevel.auditing.audit import Audit, Verdict
    from fairlevel.auditing.audit_files import StoredAudit

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
        float | None, typer.Option(help="Predictions are probabilities; decisions are positive from this number on.")
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
    if parts_only or stored_audit.in_parts(files, in_memory):
        for option, value in (("--by", by), ("--groups", groups)):
            if value is not None:
                raise InvalidInput(f"{option} needs all rows in memory: pass one CSV or Parquet file, or leave it out.")
        if html is not None and len(measured) > 1:
            raise InvalidInput(f"--html writes the page of one prediction, but {len(measured)} are named; name one.")
        with talk.working() as warned:
            stage("loading libraries")
            stored = stored_audit.measure(
                files,
                executor,
                address,
                save_sums,
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
            each = {name: own.check(max_share=max_share, max_dpvar=max_dpvar) for name, own in stored.audits.items()}
            if html is not None:
                stage("writing the report")
                stored_audit.write_audit_page(stored, each, files, html)
        _answer_stored(talk, stored, each, html, warned)
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
        rows_in_file, needed = len(table), [column for column in (target, weight) if column is not None]
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
                rows_in_file=rows_in_file,
                rows_dropped=gaps.rows_left_out,
                why_dropped="a value is missing",
                columns=columns | dict(found.provenance.columns),
            )
            write_page(audit_page(found, verdicts, provenance), html)
    _show(talk, found, verdicts, html)
    results = [asdict(verdict) | {"passed": verdict.passed} for verdict in verdicts]
    talk.result(**found.to_dict(), verdicts=results, rows_left_out=gaps.rows_left_out, report=html, warnings=warned)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)


def _in_file(files: list[str], column: str) -> bool:
    """Whether a column of one file has this name, commas and all."""
    file = Path(files[0])
    return len(files) == 1 and file.is_file() and file.suffix.lower() in READERS and column in column_names(file)


def _answer_stored(
    talk: Talk, found: StoredAudit, verdicts: dict[str, tuple[Verdict, ...]], html: Path | None, warned: list[str]
) -> None:
    stored_audit.show_left_out(found, talk)
    if len(found.audits) == 1:
        ((name, one),) = found.audits.items()
        _show(talk, one, verdicts[name], html)
    else:
        stored_audit.show_several(found, verdicts, talk)
    for drift in found.drift.values():
        talk.say(str(drift), style="bold")
    talk.result(**stored_audit.for_programs(found, verdicts), report=html, warnings=warned)
    if not all(verdict.passed for own in verdicts.values() for verdict in own):
        raise typer.Exit(1)


def _show(talk: Talk, found: Audit, verdicts: tuple[Verdict, ...], html: Path | None) -> None:
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
    for verdict in verdicts:
        word, style = ("passed", "green") if verdict.passed else ("failed", "red")
        limit = f"{verdict.budget} of at most {verdict.most:g} allowed"
        talk.say(f"{word}: {limit}, upper end of the interval {number(verdict.upper)}", style=style)
    if html is not None:
        talk.say(f"report: {shown_path(html)}")
