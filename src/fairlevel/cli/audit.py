"""``fairlevel audit``: measure the disparity of given predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.audit_columns import AuditColumns
from fairlevel.cli.checks import refuse_table_name, require_columns
from fairlevel.cli.memory_audit import audit_in_memory
from fairlevel.cli.names import require_executor
from fairlevel.cli.stored_audit import audit_in_parts, in_parts, refuse_csv
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput

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
    """Measure how much the average prediction varies with the sensitive attributes. With a budget, the exit code is
    0 where the confidence interval is within it, 1 where it is above, and 4 where these rows cannot tell.
    """
    talk = Talk(quiet, as_json)
    if executor is not None:
        require_executor(executor)
    for option, place, ending in (
        ("--html", html, ".html"),
        ("--save-sums", save_sums, ".json"),
        ("--state", state, ".json"),
    ):
        if place is not None:  # before the work
            refuse_table_name(option, place, ending)
            require_writable(place)
    columns = AuditColumns.read(
        files, prediction, sensitive, given, categories, target=target, by=by, weight=weight, groups=groups
    )
    budgets = {"max_share": max_share, "max_dpvar": max_dpvar}
    if address is not None and executor is None:
        raise InvalidInput("--address belongs to --executor ray; add it, or leave the address out.")
    for_parts = (baseline, save_sums, state, executor) != (None, None, None, None) or len(columns.predictions) > 1
    if not for_parts and not in_parts(files, columns.need_all_rows):
        file = Path(files[0])
        require_columns(file, [*columns.used, *columns.categories])
        audit_in_memory(talk, file, columns, budgets, html, threshold, seed)
        return
    refuse_csv(files)
    columns.refuse_whole_rows()
    if html is not None and len(columns.predictions) > 1:
        raise InvalidInput(
            f"--html writes the page of one prediction, but {len(columns.predictions)} are named; name one."
        )
    audit_in_parts(
        talk,
        files,
        budgets,
        html,
        save_sums,
        executor,
        address,
        predictions=columns.predictions,
        sensitive_features=columns.sensitive,
        given=columns.given,
        y_true=target,
        sample_weight=weight,
        threshold=threshold,
        categories=columns.categories,
        baseline=baseline,
        state=state,
        random_state=seed,
    )
