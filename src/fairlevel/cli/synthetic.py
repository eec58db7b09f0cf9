"""``fairlevel synthetic``: write a table of the paper's synthetic design."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.options import as_option
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path

EXAMPLE = "fairlevel synthetic --out rows.csv --rows 2000"


def synthetic(
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet.")],
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 5000,
    beta_int: Annotated[
        float, typer.Option(help="Strength of the interaction between sensitive and other features.")
    ] = 1.0,
    attributes: Annotated[int, typer.Option(help="Number of sensitive attributes.")] = 5,
    features: Annotated[int, typer.Option(help="Number of features.")] = 10,
    c_a: Annotated[float, typer.Option(help="Weight of the sensitive part of the features.")] = 1.0,
    c_z: Annotated[float, typer.Option(help="Weight of the other part of the features.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Strength of the direct effect of the first attribute.")] = 1.0,
    noise: Annotated[float, typer.Option(help="Standard deviation of the noise in features and target.")] = 0.1,
    network_seed: Annotated[int, typer.Option(help="Seed of the fixed random networks.")] = 123,
    seed: Annotated[int, typer.Option(help="Seed of the rows.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a table of the paper's synthetic design: a1… (sensitive), x1… (features), y."""
    from fairlevel.cli.files import write_table
    from fairlevel.data.synthetic import SyntheticDesign

    design = SyntheticDesign(
        beta_int=beta_int,
        attributes=attributes,
        features=features,
        c_a=c_a,
        c_z=c_z,
        delta=delta,
        noise_x=noise,
        noise_y=noise,
        network_seed=network_seed,
    )
    write_table(design.sample(rows, seed).to_frame(), out)
    talk = Talk(quiet, as_json)
    talk.say(f"{rows:,} rows, {attributes} sensitive attributes, {features} features: {shown_path(out)}")
    sensitive = as_option(f"a{number}" for number in range(1, attributes + 1))
    talk.next("fairlevel", "front", out, "--target", "y", "--sensitive", sensitive)
    talk.result(rows=rows, attributes=attributes, features=features, out=out)
