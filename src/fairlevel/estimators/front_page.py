"""A fitted path as a page: choose a model on the front, see what it does along the attributes, load it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import pandas as pd

from fairlevel.arrays import Array
from fairlevel.metrics.profile import MeanProfile
from fairlevel.report.charts import front_chart, profile_chart, spread_chart
from fairlevel.report.page import Block, Chooser, Code, Option, Page, Section, TableBlock

MOST_PROFILES = 8
T = TypeVar("T")

BEFORE = "most accurate model"


class Front(Protocol):
    """A front that can be shown: a fitted path, or that of a model that exists."""

    cross_fitted_: bool

    @property
    def front_(self) -> pd.DataFrame: ...

    @property
    def knee_index_(self) -> int: ...

    def to_frame(self) -> pd.DataFrame: ...

    def profiles(self) -> dict[str, list[MeanProfile]]: ...

    def conditional_means(self) -> Array: ...


def front_page(path: Front, target: str, folders: Sequence[str] | None = None, notes: Sequence[str] = ()) -> Page:
    """All figures come from rows that set nothing. ``folders`` are where the models of the front were saved."""
    front = path.to_frame()
    names = [f"point-{number:02d}" for number in range(1, len(front) + 1)]
    profiles, means = path.profiles(), path.conditional_means()
    options = []
    for row, name in enumerate(names):
        blocks: list[Block] = [_figures(path, row), spread_chart(_both(list(means), row, name), target)]
        for attribute, along in list(profiles.items())[:MOST_PROFILES]:
            blocks.append(profile_chart(_both(along, row, name), attribute))
        if folders is not None:
            lines = ("from fairlevel import load", f"model = load({folders[row]!r})")
            blocks.append(Code("Load this model (from the folder of this page)", lines))
        options.append(Option(_label(path, row, name), f"{name}: {_in_words(path, row)}", tuple(blocks)))
    chooser = Chooser("Choose a model", front_chart(front, names), tuple(options), path.knee_index_)
    measured = "by cross-validation, because the rows are few" if path.cross_fitted_ else "on rows kept apart for it"
    meaning = (
        f"Each point is one model. Its error and disparity were measured {measured}. DPVar is the variance of the "
        "average prediction across sensitive profiles, in squared units of the target. It says nothing about spread or "
        "tails: a model with DPVar 0 may still treat profiles differently."
    )
    how = "Click on a point, or choose below with the arrow keys; the page opens with the knee of the front."
    summary = f"{len(front)} models, level across {', '.join(profiles)}."
    return Page(f"Trade-offs for {target}", summary, (Section("The front", (meaning, *notes, how), (chooser,)),))


def _figures(path: Front, row: int) -> TableBlock:
    shown = path.to_frame()
    here, plain = shown.iloc[row], shown.iloc[-1]
    further = {"log_loss": "log-loss", "auc": "area under the ROC curve"}  # of classifiers
    rows = (
        ("mean squared error", f"{here['mse']:.4g}", f"{plain['mse']:.4g}"),
        *((name, f"{here[key]:.4g}", f"{plain[key]:.4g}") for key, name in further.items() if key in shown),
        ("DPVar", f"{here['dpvar']:.4g}", f"{plain['dpvar']:.4g}"),
        ("95 % interval of DPVar", _interval(here), _interval(plain)),
        ("average prediction moves by ±", f"{_moves(here):.4g}", f"{_moves(plain):.4g}"),
        ("share of the prediction's variance", f"{here['share']:.1%}", f"{plain['share']:.1%}"),
        ("models mixed", f"{here['members']:.0f}", f"{plain['members']:.0f}"),
    )
    return TableBlock("Figures", ("figure", "this model", BEFORE), rows)


def _both(values: Sequence[T], row: int, name: str) -> dict[str, T]:
    """The most accurate model and this one, or the one model where they are the same."""
    return {BEFORE: values[-1]} if row == len(values) - 1 else {BEFORE: values[-1], name: values[row]}


def _label(path: Front, row: int, name: str) -> str:
    roles = {0: "tightest", path.knee_index_: "knee", len(path.front_) - 1: "most accurate"}
    return f"{name} ({roles[row]})" if row in roles else name


def _in_words(path: Front, row: int) -> str:
    here = path.to_frame().iloc[row]
    return f"MSE {here['mse']:.4g}, average prediction moves by ± {_moves(here):.3g}, share {here['share']:.1%}"


def _interval(row: pd.Series) -> str:
    return f"{row['dpvar_low']:.4g} to {row['dpvar_high']:.4g}"


def _moves(row: pd.Series) -> float:
    return float(max(row["dpvar"], 0.0) ** 0.5)
