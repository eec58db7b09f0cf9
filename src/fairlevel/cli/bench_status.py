"""``fairlevel bench status``: show the progress of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fairlevel.cli.talk import Json, Quiet, Talk

EXAMPLE = "fairlevel bench status --out bench"


def bench_status(
    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path("bench"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show which tasks of a run are finished."""
    from fairlevel.benchmark.store import Store

    store = Store(out)
    plan = store.plan()
    counts = {
        dataset: {
            method: sum(store.finished((dataset, seed, method)) for seed in plan["seeds"]) for method in plan["methods"]
        }
        for dataset in plan["datasets"]
    }
    done = sum(sum(row.values()) for row in counts.values())
    total = len(plan["datasets"]) * len(plan["seeds"]) * len(plan["methods"])
    talk = Talk(quiet, as_json)
    talk.result(finished=done, tasks=total, **plan, counts=counts)
    talk.say(f"{done} of {total} tasks finished; protocol {plan['protocol']}; source {plan['source']}")
    table = Table()
    table.add_column("dataset")
    for method in plan["methods"]:
        table.add_column(method, justify="right")
    for dataset, row in counts.items():
        table.add_row(dataset, *(f"{count}/{len(plan['seeds'])}" for count in row.values()))
    talk.say(table)
