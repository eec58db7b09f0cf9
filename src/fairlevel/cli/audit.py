"""``fairlevel audit``: measure the disparity of given predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairlevel.cli.audit_answer import end_by, show_audits, write_page_of
from fairlevel.cli.audit_columns import AuditColumns
from fairlevel.cli.checks import refuse_table_name, require_columns
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

if TYPE_CHECKING:
    from fairlevel.auditing.audit import Verdict
    from fairlevel.auditing.stored_audit import StoredAudit

EXAMPLE = "fairlevel audit predictions.csv --prediction f --sensitive age"


def audit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="CSV or Parquet file with predictions and sensitive columns; or several Parquet files, a folder, or a "
            "pattern in quotes."
        ),
    ],
    prediction: Annotated[str, typer.Option(help="Column with the predictions; several by commas.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the true values; of two words, 1 is the one that the prediction's name ends with "
            "(prediction_yes), else the second in the alphabet."
        ),
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
        str,
        typer.Option(
            help="Columns that hold categories although they look like numbers, or in which NA and None are names, "
            "comma-separated."
        ),
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
    rows: Annotated[int, typer.Option(min=2, help="Of more rows, this many are sampled at random.")] = 200_000,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure how much the average prediction varies with the sensitive attributes. With a budget, the exit code is
    0 where the confidence interval is within it, 1 where it is above, and 4 where these rows cannot tell.
    """
    talk = Talk(quiet, as_json)
    if html is not None:  # before the work
        refuse_table_name("--html", html, ".html")
        require_writable(html)
    columns = AuditColumns.read(
        files, prediction, sensitive, given, categories, target=target, by=by, weight=weight, groups=groups
    )
    if html is not None and len(columns.predictions) > 1:
        raise InvalidInput(
            f"--html writes the page of one prediction, but {len(columns.predictions)} are named; name one."
        )
    csv = _only_csv(files)
    if csv is not None or (len(files) == 1 and not _stands_for_several(files[0])):
        require_columns(Path(files[0]), [*columns.used, *columns.categories])
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.auditing.stored_audit import audit_stored
        from fairlevel.cli.audit_rows import gaps_in_words, rows_and_words

        stage("reading the file")
        source, words = rows_and_words(files, csv, columns)
        if words is not None:
            talk.say(f"{columns.target}: {words[0]} counts as 0, {words[1]} as 1")
        stage("measuring disparity")
        found = audit_stored(source, columns.roles(None if words is None else words[1]), threshold, rows, seed)
        verdicts = {name: own.check(max_share=max_share, max_dpvar=max_dpvar) for name, own in found.audits.items()}
        for sentence in gaps_in_words(found):
            talk.say(sentence)
        if html is not None:
            stage("writing the report")
            write_page_of(found, verdicts, files, html)
    show_audits(talk, found, verdicts, columns.by is not None, html)
    talk.result(**_for_programs(found, verdicts), report=html, warnings=warned)
    end_by(verdict for own in verdicts.values() for verdict in own)


def _for_programs(found: StoredAudit, verdicts: Mapping[str, tuple[Verdict, ...]]) -> dict[str, Any]:
    """The only audit itself, or several by prediction."""
    plain = found.to_dict()
    results = {name: [verdict.to_dict() for verdict in own] for name, own in verdicts.items()}
    if len(results) > 1:
        return {**plain, "verdicts": results}
    ((name, only),) = plain.pop("predictions").items()
    return {**plain, **only, "verdicts": results[name]}


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
