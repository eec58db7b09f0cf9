"""What ``fairlevel front`` says about a trained path, to people and to programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlevel.cli.checks import column_names
from fairlevel.cli.front_folder import WITHIN, NamedModel, how_measured, named_rows
from fairlevel.cli.front_table import KNEE, front_table
from fairlevel.cli.front_training import FrontRows
from fairlevel.cli.talk import Talk, shown_path
from fairlevel.estimators.fairness_path import FairnessPath


def show_front(talk: Talk, path: FairnessPath, chosen: Mapping[str, NamedModel], rows: FrontRows, out: Path) -> None:
    """The trade-offs, where the models are, and the command that may follow."""
    factors, figures = rows.columns.given, named_rows(path, chosen)
    within = f" within {', '.join(factors)}" if factors else ""
    talk.say(f"trade-offs for {rows.columns.target}{within}, {how_measured(path)}", style="bold")
    talk.say(front_table(figures if len(path.front_) > 1 else {"only model": path.front_.iloc[0]}))
    for label, choice in zip(figures, chosen.values(), strict=True):
        talk.say(f"{label}: {shown_path(out / 'models' / choice.folder)}")
    talk.say(f"report: {shown_path(out / 'report.html')}")
    best = out / "models" / chosen[WITHIN if WITHIN in chosen else KNEE].folder
    taken = ("--column", "new_prediction") if "prediction" in column_names(rows.file) else ()
    talk.next("fairlevel", "predict", best, rows.file, "--out", "predictions.csv", *taken)


def front_result(
    path: FairnessPath, chosen: Mapping[str, NamedModel], rows: FrontRows, out: Path, warned: Sequence[str]
) -> dict[str, Any]:
    """The same for programs."""
    figures = named_rows(path, chosen)
    return rows.counts | {
        "measured": "cross-validation" if path.cross_fitted_ else "held-out rows",
        "report": out / "report.html",
        "models": {
            label: {"folder": out / "models" / choice.folder, **row}
            for (label, row), choice in zip(figures.items(), chosen.values(), strict=True)
        },
        "front": path.to_frame(),
        "budget_met": None if path.max_share is None else path.budget_index_ is not None,
        "warnings": warned,
    }
