"""``python -m benchmarks.scaling``: how time and memory grow with rows, attributes and configurations, as exponents."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.alone import run_alone
from benchmarks.problems import ATTRIBUTES
from fairlevel.penalties import PENALTIES

ROWS = (1000, 10_000, 100_000, 1_000_000)
ATTRIBUTE_COUNTS = (1, 4, 16, 64, 256)
CONFIGURATIONS = (1, 10, 100, 1000)

STUDIES = {
    **{f"{name}, rows": (ROWS, lambda size, name=name: (name, size, ATTRIBUTES, 2)) for name in sorted(PENALTIES)},
    "hsic, rows": ((1000, 2000, 4000, 8000), lambda size: ("hsic", size, ATTRIBUTES, 2)),
    "fbo_closed, attributes, n=4000": (ATTRIBUTE_COUNTS, lambda size: ("fbo_closed", 4000, size, 2)),
    "fbo, attributes, n=4000": (ATTRIBUTE_COUNTS, lambda size: ("fbo", 4000, size, 2)),
    "fbo_closed, configurations, n=1000": (CONFIGURATIONS, lambda size: ("fbo_closed", 1000, ATTRIBUTES, size)),
    "fbo, configurations, n=1000": (CONFIGURATIONS, lambda size: ("fbo", 1000, ATTRIBUTES, size)),
}
"""Name -> sizes, and what is measured at a size: penalty, rows, attributes, configurations. Exact HSIC is quadratic."""


def exponent(sizes, values):
    """Slope of a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def main(
    only: Annotated[str, typer.Option(help="Studies whose name starts so; all of them by default.")] = "",
    out: Annotated[Path | None, typer.Option(help="JSON file.")] = None,
) -> None:
    """Seconds of a step and memory at the peak, each size in a process of its own."""
    found = {}
    for name, (sizes, measured) in STUDIES.items():
        if name.startswith(only):
            took, held = zip(*(run_alone("step", *measured(size)) for size in sizes), strict=True)
            found[name] = {
                "sizes": sizes,
                "ms": [1e3 * each for each in took],
                "GiB": held,
                "exponent": exponent(sizes, took),
            }
            each = zip(sizes, took, held, strict=True)
            figures = ", ".join(f"{size:,}: {1e3 * time:.3g} ms, {memory:.2f} GiB" for size, time, memory in each)
            print(f"{name}: {figures}; exponent {found[name]['exponent']:.2f}", flush=True)
    if out is not None:
        out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
