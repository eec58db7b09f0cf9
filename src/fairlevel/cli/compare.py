"""``fairlevel compare``: which of two predictions has less disparity."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import refuse_two_roles, require_columns
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

EXAMPLE = "fairlevel compare rows.csv --predictions old,new --sensitive age"


def compare(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with both predictions and sensitive columns.")],
    predictions: Annotated[str, options.column_option("The two columns with predictions, A and B, comma-separated.")],
    sensitive: options.Sensitive,
    given: options.Given = "",
    weight: options.Weight = None,
    groups: options.Groups = None,
    level: Annotated[float, typer.Option(help="Confidence level of the interval.")] = 0.95,
    seed: options.Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare two predictions for the same rows: DPVar of each, and their difference with a confidence interval."""
    pair, names = options.read_names(predictions), options.read_sensitive(sensitive)
    factors = options.read_names(given)
    if len(pair) != 2:
        raise InvalidInput(
            f"--predictions names {len(pair)} different columns; two are needed, such as --predictions old,new."
        )
    refuse_two_roles("--predictions", pair, {"--sensitive": names, "--given": factors})
    used = [*pair, *names, *factors, *filter(None, (weight, groups))]
    require_columns(file, used)

    talk = Talk(quiet, as_json)
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import read_numbers, read_predictions, read_rows
        from fairlevel.data.learning_table import Gaps
        from fairlevel.metrics.compare import compare as run_compare
        from fairlevel.report.numbers import p_phrase

        stage("reading the file")
        table = read_rows(file, used).table
        gaps = Gaps.of(table, () if weight is None else (weight,), (*names, *factors))
        table = table.loc[gaps.complete]
        for sentence in gaps.sentences():
            talk.say(sentence)
        stage("comparing")
        first, second = (read_predictions(table, column) for column in pair)
        result = run_compare(
            first,
            second,
            sensitive_features=table[list(names)],
            given=table[list(factors)] if factors else None,
            sample_weight=None if weight is None else read_numbers(table, weight),
            groups=None if groups is None else table[groups],
            level=level,
            random_state=seed,
        )
    talk.say(f"A is {pair[0]}, B is {pair[1]}.")
    talk.say(str(result), style="bold")
    talk.say(f"{p_phrase(result.p_value)}; conditional mean: {result.regressor}")
    talk.result(**asdict(result), predictions=pair, rows_left_out=gaps.rows_left_out, warnings=warned)
