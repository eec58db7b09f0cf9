"""``python -m benchmarks.scaling``: how time grows with rows, attributes and configurations, as exponents."""

import json
import statistics
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.measure import per_step
from benchmarks.problems import engine
from fairlevel.penalties import PENALTIES

ROWS = (1000, 4000, 16_000, 64_000)
ATTRIBUTES = (1, 4, 16, 64)
CONFIGURATIONS = (2, 8, 32, 128)


def exponent(sizes, times):
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def main(out: Annotated[Path | None, typer.Option(help="JSON file.")] = None) -> None:
    """Time of a step of two configurations by rows, for every penalty but exact HSIC; of closed-form FBO also by
    attributes and by configurations.
    """
    found = {}

    def study(name, sizes, run):
        times = [statistics.median(per_step(run(size), 4) for _ in range(3)) for size in sizes]
        found[name] = {"sizes": sizes, "ms": [1e3 * each for each in times], "exponent": exponent(sizes, times)}
        told = ", ".join(f"{size}: {1e3 * each:.3g} ms" for size, each in zip(sizes, times, strict=True))
        print(f"{name}: {told}; exponent {found[name]['exponent']:.2f}", flush=True)

    for name in sorted(set(PENALTIES) - {"hsic"}):
        study(f"{name}, rows", ROWS, lambda rows, name=name: engine(PENALTIES[name](), rows, 2))
    closed = PENALTIES["fbo_closed"]()
    study("fbo_closed, attributes, n=4000", ATTRIBUTES, lambda count: engine(closed, 4000, 2, attributes=count))
    study("fbo_closed, configurations, n=1000", CONFIGURATIONS, lambda count: engine(closed, 1000, count))
    if out is not None:
        out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
