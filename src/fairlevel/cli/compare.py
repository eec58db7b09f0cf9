"""``fairlevel compare``: which of two predictions has less disparity."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlevel.cli.checks import require_columns
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.exceptions import InvalidInput


def compare(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with both predictions and sensitive columns.")],
    predictions: Annotated[str, typer.Option(help="The two columns with predictions, A and B, comma-separated.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    given: Annotated[
        str | None, typer.Option(help="Legitimate factors, comma-separated: compare only rows that share them.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column with survey weights.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column with the same label for rows that belong together, such as a person.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the interval.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random features.")] = 0,
) -> None:
    """Compare two predictions for the same rows: DPVar of each, and their difference with a confidence interval."""
    pair, names, factors = read_names(predictions), read_sensitive(sensitive), read_names(given or "")
    if len(pair) != 2:
        raise InvalidInput(f"--predictions names {len(pair)} columns; two are needed, such as --predictions old,new.")
    others = [column for column in (weight, groups, *factors) if column is not None]
    require_columns(file, [*pair, *names, *others])

    from fairlevel.cli.files import read_columns, read_numbers
    from fairlevel.data.learning_table import Gaps
    from fairlevel.metrics.compare import compare as run_compare

    table = read_columns(file, [*pair, *names, *others])
    gaps = Gaps.of(table, (), (*names, *factors))
    table = table.loc[gaps.complete]
    for sentence in gaps.sentences():
        Console(stderr=as_json).print(sentence, markup=False, highlight=False, soft_wrap=True)
    first, second = (read_numbers(table, column) for column in pair)
    found = run_compare(
        first,
        second,
        sensitive_features=table[list(names)],
        given=table[list(factors)] if factors else None,
        sample_weight=None if weight is None else read_numbers(table, weight),
        groups=None if groups is None else table[groups],
        level=level,
        random_state=seed,
    )
    if as_json:
        print(json.dumps(asdict(found) | {"predictions": list(pair)}))
        return
    console = Console(markup=False)
    console.print(f"A is {pair[0]}, B is {pair[1]}.", highlight=False, markup=False)
    console.print(str(found), style="bold", highlight=False)
    console.print(f"p = {found.p_value:.2g}; conditional mean: {found.regressor}", highlight=False)
