"""``fairlevel audit``: measure the disparity of given predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import READERS, is_parquet, refuse_two_roles, require_columns
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
    prediction: Annotated[str, options.column_option("Column with the predictions; several by commas.")],
    sensitive: options.Sensitive,
    target: Annotated[
        str | None,
        options.column_option(
            "Column with the true values; of two words, 1 is the one that the prediction's name ends with "
            "(prediction_yes), else the second in the alphabet."
        ),
    ] = None,
    by: Annotated[str | None, options.column_option("Another column: tabulate predictions by its values.")] = None,
    weight: options.Weight = None,
    given: options.Given = "",
    groups: options.Groups = None,
    categories: options.Categories = "",
    threshold: Annotated[
        float | None,
        typer.Option(help="Predictions are probabilities; a decision is positive where one is at least this."),
    ] = None,
    max_share: Annotated[
        float | None, options.budget_option("max_share", "Budget on DPVar as a share of the prediction's variance.")
    ] = None,
    max_dpvar: Annotated[float | None, options.budget_option("max_dpvar", "Budget on DPVar.")] = None,
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
    predictions, names = options.read_names(prediction), options.read_sensitive(sensitive)
    if not predictions:
        raise InvalidInput("--prediction names no column; pass at least one, such as --prediction score.")
    refuse_two_roles("--target", () if target is None else (target,), {"--sensitive": names})
    refuse_two_roles("--prediction", predictions, {"--sensitive": names, "--given": factors})
    if html is not None:
        _refuse_page(html, len(predictions))
    file = _one_file(files)
    if file is not None:
        require_columns(file, [*predictions, *names, *factors, target, by, weight, groups, *words])
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.auditing.page import audit_page
        from fairlevel.auditing.stored_audit import audit_stored
        from fairlevel.cli import audit_answer
        from fairlevel.data.stored_rows import Roles
        from fairlevel.report.render import write_page

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
        )
        source = files if file is None or is_parquet(file) else audit_answer.read_csv(file, roles)
        meanings = audit_answer.two_words(source, roles)
        if meanings:
            talk.say(f"{target}: {meanings[0]} counts as 0, {meanings[1]} as 1")
            roles = replace(roles, positive=meanings[1])
        stage("measuring disparity")
        answer = audit_stored(source, roles, threshold, rows, seed)
        verdicts = {
            name: of_prediction.check(max_share=max_share, max_dpvar=max_dpvar)
            for name, of_prediction in answer.audits.items()
        }
        for sentence in audit_answer.gaps_in_words(answer):
            talk.say(sentence)
        if html is not None:
            stage("writing the report")
            ((name, of_prediction),) = answer.audits.items()
            provenance = replace(of_prediction.provenance, file=", ".join(Path(file).name for file in files))
            write_page(audit_page(of_prediction, verdicts[name], provenance), html)
    audit_answer.show(talk, answer, verdicts, by is not None)
    if html is not None:
        talk.say(f"report: {shown_path(html)}")
    talk.result(**audit_answer.for_programs(answer, verdicts), report=html, warnings=warned)
    outcomes = {verdict.outcome for several in verdicts.values() for verdict in several}
    for outcome, code in EXIT_CODES.items():
        if outcome in outcomes:
            raise typer.Exit(code)


def _refuse_page(html: Path, predictions: int) -> None:
    """Before the work, a page that could replace the rows, or that is of several predictions or not to be written."""
    if html.suffix.lower() in READERS:
        raise InvalidInput(
            f"--html {str(html)!r} ends in {html.suffix!r}, as files with rows do, and could replace one; choose a "
            f"name such as {html.with_suffix('.html').name}."
        )
    require_writable(html)
    if predictions > 1:
        raise InvalidInput(f"--html writes the page of one prediction, but {predictions} are named; name one.")


def _one_file(files: Sequence[str]) -> Path | None:
    """The only file; None for several, which are Parquet files, or a folder or a pattern that stands for them."""
    path = Path(files[0])
    if len(files) == 1:
        return None if path.is_dir() or (not path.exists() and any(sign in files[0] for sign in "*?[")) else path
    for name in files:
        if name.lower().endswith(".csv"):
            raise InvalidInput(
                f"{name!r} is a CSV file; several files are Parquet files. Pass one CSV file, or convert it in Python: "
                f"pandas.read_csv({name!r}).to_parquet({f'{name[:-4]}.parquet'!r})."
            )
    return None
