"""``python -m benchmarks``: one table, ratios measured side by side, rows kept as JSON."""

import json
import platform
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.measure import NotInstalled
from fairlevel import __version__


def main(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    only: Annotated[str, typer.Option(help="Cases, comma-separated; all of them by default.")] = "",
    out: Annotated[Path | None, typer.Option(help="JSON file for the rows.")] = None,
) -> None:
    """Measure and print."""
    if device == "cuda":
        from benchmarks.gpu_cases import CASES

        engine = f"{torch.cuda.get_device_name()}, Triton kernels"
    else:
        from benchmarks.cpu_cases import CASES

        engine = f"{torch.get_num_threads()} threads"
    console = Console()
    machine = (
        f"{platform.processor() or platform.machine()}; {engine}; torch {torch.__version__}; fairlevel {__version__}"
    )
    table = Table(title=machine, title_justify="left")
    for heading in ("case", "ours", "peer", "ratio", "target", "spread", ""):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    rows = {}
    for name in [each for each in only.split(",") if each] or CASES:
        try:
            row = CASES[name]()
        except NotInstalled as missing:
            console.print(f"{name}: left out, {missing}", highlight=False, markup=False)
            continue
        rows[name] = row.to_dict()
        console.print(
            f"{row.name}: {row.ours:.3g} {row.unit}, ratio {row.ratio:.3g}, target {row.target}", highlight=False
        )
        figures = (f"{row.ours:.3g} {row.unit}", f"{row.peer:.3g}", f"{row.ratio:.2f}", row.target, f"{row.spread:.0%}")
        table.add_row(row.name, *figures, "met" if row.met else "missed")
    console.print(table)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1, ensure_ascii=False) + "\n")


typer.run(main)
