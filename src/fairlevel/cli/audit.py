"""``fairlevel audit``: measure the disparity of given predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import READERS, column_names, require_columns
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

EXAMPLE = "fairlevel audit predictions.csv --prediction f --sensitive age"
EXIT_CODES = {"fail": 1, "cannot tell": 4}
"""Of the outcomes of budgets; the first one that is there counts."""


def audit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="CSV or Parquet file with predictions and sensitive columns; or several Parquet files, a folder, or a "
            "pattern in quotes."
        ),
    ],
    prediction: Annotated[
        str, typer.Option(help="Column with the predictions; several by commas.", autocompletion=options.columns)
    ],
    sensitive: options.Sensitive,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the true values; of two words, 1 is the one that the prediction's name ends with "
            "(prediction_yes), else the second in the alphabet.",
            autocompletion=options.columns,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Another column: tabulate predictions by its values.", autocompletion=options.columns),
    ] = None,
    weight: options.Weight = None,
    given: options.Given = "",
    groups: options.Groups = None,
    categories: options.Categories = "",
    threshold: Annotated[
        float | None,
        typer.Option(help="Predictions are probabilities; a decision is positive where one is at least this."),
    ] = None,
    max_share: Annotated[
        float | None, typer.Option(help="Budget on DPVar as a share of the prediction's variance.")
    ] = None,
    max_dpvar: Annotated[float | None, typer.Option(help="Budget on DPVar.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    seed: options.Seed = 0,
    rows: Annotated[int, typer.Option(min=2, help="Of more rows, this many are sampled at random.")] = 200_000,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure how much the average prediction varies with the sensitive attributes. With a budget, the exit code is
    0 where the confidence interval is within it, 1 where it is above, and 4 where these rows cannot tell.
    """
    talk, factors, words = Talk(quiet, as_json), options.read_names(given), options.read_names(categories)
    if html is not None:  # before the work
        _refuse_page(html)
    whole = _in_file(files, prediction)
    predictions, names = (prediction,) if whole else options.read_names(prediction), options.read_sensitive(sensitive)
    _refuse_two_roles(predictions, names, factors, target)
    if html is not None and len(predictions) > 1:
        raise InvalidInput(f"--html writes the page of one prediction, but {len(predictions)} are named; name one.")
    csv = _only_csv(files)
    if csv is not None or (len(files) == 1 and not _stands_for_several(files[0])):
        others = (target, by, weight, groups)
        require_columns(Path(files[0]), [*predictions, *names, *others, *factors, *words])
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.auditing.stored_audit import audit_stored
        from fairlevel.cli.audit_answer import AuditRows, for_programs, gaps_in_words, show_audits, write_page_of
        from fairlevel.data.row_sample import Roles

        stage("reading the file")
        roles = Roles(
            predictions=predictions,
            sensitive=names,
            given=factors,
            target=target,
            weight=weight,
            by=by,
            groups=groups,
            categories=words,
            lenient=True,
        )
        stored = AuditRows.read(files, csv, roles)
        if stored.words is not None:
            talk.say(f"{target}: {stored.words[0]} counts as 0, {stored.words[1]} as 1")
            roles = replace(roles, positive=stored.words[1])
        stage("measuring disparity")
        answer = audit_stored(stored.source, roles, threshold, rows, seed)
        verdicts = {
            name: single.check(max_share=max_share, max_dpvar=max_dpvar) for name, single in answer.audits.items()
        }
        for sentence in gaps_in_words(answer):
            talk.say(sentence)
        if html is not None:
            stage("writing the report")
            write_page_of(answer, verdicts, files, html)
    show_audits(talk, answer, verdicts, by is not None)
    if html is not None:
        talk.say(f"report: {shown_path(html)}")
    talk.result(**for_programs(answer, verdicts), report=html, warnings=warned)
    outcomes = {verdict.outcome for several in verdicts.values() for verdict in several}
    for outcome, code in EXIT_CODES.items():
        if outcome in outcomes:
            raise typer.Exit(code)


def _refuse_page(html: Path) -> None:
    """A page could replace the rows, or not be written at all."""
    if html.suffix.lower() in READERS:
        raise InvalidInput(
            f"--html {str(html)!r} ends in {html.suffix!r}, as files with rows do, and could replace one; choose a "
            f"name such as {html.with_suffix('.html').name}."
        )
    require_writable(html)


def _in_file(files: Sequence[str], column: str) -> bool:
    """Whether a column of one file has this name, commas and all."""
    file = Path(files[0])
    return len(files) == 1 and file.is_file() and file.suffix.lower() in READERS and column in column_names(file)


def _refuse_two_roles(
    predictions: Sequence[str], sensitive: Sequence[str], given: Sequence[str], target: str | None
) -> None:
    if not predictions:
        raise InvalidInput("--prediction names no column; pass at least one, such as --prediction score.")
    for role, column in (("--target", target), *(("--prediction", name) for name in predictions)):
        if column in sensitive:
            raise InvalidInput(f"{role} {column} is also named in --sensitive; a column has one role.")
    for column in predictions:
        if column in given:
            raise InvalidInput(
                f"--prediction {column} is also named in --given; within rows of the same prediction nothing is left "
                "to compare: name legitimate factors, or leave --given out."
            )


def _stands_for_several(file: str) -> bool:
    """Whether this is a folder or a pattern."""
    return Path(file).is_dir() or (not Path(file).exists() and any(sign in file for sign in "*?["))


def _only_csv(files: Sequence[str]) -> Path | None:
    """The only file, where it is CSV; several files are Parquet."""
    name = next((name for name in files if name.lower().endswith(".csv")), None)
    if name is None or len(files) == 1:
        return None if name is None else Path(name)
    raise InvalidInput(
        f"{name!r} is a CSV file; several files are Parquet files. Pass one CSV file, or convert it in Python: "
        f"pandas.read_csv({name!r}).to_parquet({f'{name[:-4]}.parquet'!r})."
    )
