"""``fairlevel front``: train models along the trade-off on a user's table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.checks import refuse_existing, require_columns
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.estimators.budget import Budget
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

EXAMPLE = "fairlevel front rows.csv --target price --sensitive age,income"


@dataclass(frozen=True)
class FrontColumns:
    """Names of columns by their role; columns without one are features, those in ``dropped`` are left out."""

    target: str
    sensitive: tuple[str, ...]
    given: tuple[str, ...]
    weight: str | None
    dropped: tuple[str, ...]
    categories: tuple[str, ...]

    @classmethod
    def read(
        cls, target: str, sensitive: str, given: str, weight: str | None, drop: str, categories: str
    ) -> FrontColumns:
        """From the text of the options, in which names are separated by commas."""
        return cls(
            target, read_sensitive(sensitive), read_names(given), weight, read_names(drop), read_names(categories)
        )

    def require_in(self, file: Path) -> None:
        """Raise an error if a column is not in the file."""
        require_columns(file, (self.target, *self.sensitive, *self.given, self.weight, *self.dropped, *self.categories))


def front(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file: one row per case, one column per value.")],
    target: Annotated[str, typer.Option(help="Column to predict: numbers, or two classes.")],
    sensitive: Annotated[
        str, typer.Option(help="Sensitive columns, comma-separated: predictions shall be level across them.")
    ],
    given: Annotated[
        str, typer.Option(help="Legitimate factors, comma-separated: only rows that share them are compared.")
    ] = "",
    weight: Annotated[str | None, typer.Option(help="Column that says how many rows each row counts for.")] = None,
    drop: Annotated[str, typer.Option(help="Columns to leave out, such as ids, comma-separated.")] = "",
    method: Annotated[
        str,
        typer.Option(
            help="What makes models level: auto tries several; or boosting, relevel, spectral, or one penalty, such as "
            "fbo_closed."
        ),
    ] = "auto",
    predictor: Annotated[
        str | None,
        typer.Option(
            help="What predicts: boosting (trees), mlp (a network), linear or random_features; by default, what the "
            "method uses."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("front"),
    max_share: Annotated[
        float | None,
        typer.Option(
            help="Budget: also save the best model of which at most this share of the variance depends on the "
            "sensitive columns, such as 0.05."
        ),
    ] = None,
    categories: Annotated[
        str,
        typer.Option(
            help="Columns that hold categories although they look like numbers, or in which NA and None are names, "
            "comma-separated."
        ),
    ] = "",
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="In columns of numbers or dates, count cells that cannot be read as missing."),
    ] = False,
    threshold: Annotated[
        float,
        typer.Option(help="Of two classes: the second one is decided for where its probability is at least this."),
    ] = 0.5,
    sensitive_inputs: Annotated[
        bool, typer.Option("--sensitive-inputs", help="Let models read the sensitive columns, too.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if it exists.")] = False,
    most_rows: Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits and networks.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train models along the trade-off between accuracy and level predictions; write models, a table and a report. The
    exit code is 1 where no model is within --max-share.
    """
    talk = Talk(quiet, as_json)
    columns = FrontColumns.read(target, sensitive, given, weight, drop, categories)
    Budget.read("auto", None, max_share)
    refuse_existing(out, force)
    if most_rows < 100:
        raise InvalidInput(f"--most-rows {most_rows} was given; at least 100 are needed.")
    columns.require_in(file)

    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.front_folder import write_front
        from fairlevel.cli.front_training import FrontRows, front_result, show_front
        from fairlevel.data.encoder import TableEncoder
        from fairlevel.estimators.fairness_path import FairnessPath
        from fairlevel.predictors import resolve_predictor

        if predictor is not None:
            resolve_predictor(predictor)  # an unknown name is refused before any work
        stage("reading the file")
        rows = FrontRows.read(
            talk, file, columns, most_rows=most_rows, seed=seed, lenient=lenient, sensitive_inputs=sensitive_inputs
        )
        path = FairnessPath(
            solver=method,
            predictor=predictor,
            threshold=threshold,
            random_state=seed,
            encoder=TableEncoder(),
            max_share=max_share,
        )
        rows.fit(path)
        chosen = write_front(path, target, out, rows.notes, force, rows.provenance(path))
    show_front(talk, path, chosen, rows, out)
    talk.result(**front_result(path, chosen, rows, out, warned))
    if max_share is not None and path.budget_index_ is None:
        raise typer.Exit(1)
