"""A fitted path as a page: choose a model on the front, see what it does along the attributes, load it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import pandas as pd

from fairlevel.arrays import Array
from fairlevel.estimators.front_figures import FrontFigures
from fairlevel.fronts.points import point_name
from fairlevel.metrics.profile import MeanProfile
from fairlevel.metrics.reliability import Reliability
from fairlevel.report.charts.front import FrontPoints, front_drawing, range_chart
from fairlevel.report.charts.profiles import charts_of_attributes, profile_chart, shared_axis, spread_of
from fairlevel.report.charts.reliability import reliability_chart
from fairlevel.report.numbers import attributes_in_words, number, percent
from fairlevel.report.page import Block, Chart, Chooser, Code, Headline, Notes, Option, Page, Section
from fairlevel.report.provenance import Provenance

SHOWN_AT_ONCE = 6
"""Attributes; the others are behind a line to click on."""


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

    def reliabilities(self) -> list[Reliability]: ...

    def provenance(self) -> Provenance: ...

    def seen_by_an_audit(self) -> str | None: ...


def front_page(
    path: Front,
    target: str,
    folders: Sequence[str] | None = None,
    notes: Sequence[str] = (),
    provenance: Provenance | None = None,
    before: str = "most accurate model",
    within: tuple[str, int] | None = None,
) -> Page:
    """All figures come from rows that set nothing. ``folders`` are where the models of the front were saved, ``before``
    is what the last model is called, and ``within`` names the model within a user's budget, with its row.
    """
    classes = getattr(path, "classes_", None)
    event = "" if classes is None else str(classes[-1])
    shown = FrontFigures(path.to_frame(), target, before, not path.front_["mse"].isna().all(), event)
    names = [point_name(row) for row in range(len(shown))]
    knee = path.knee_index_
    roles = (("most level", 0), ("knee", knee), (before, len(shown) - 1), *(() if within is None else (within,)))
    first = knee if within is None else within[1]
    options = tuple(_option(shown, row, name, _role(row, roles), folders) for row, name in enumerate(names))
    chooser = Chooser(
        "Choose a model",
        _front_chart(shown, names, knee, first),
        options,
        first,
        ("most level", before),
        roles,
        _following(path, names, target, before, first),
        "Move the slider, click on a point, or use the arrow keys: all figures and charts follow, and the address of "
        "the page keeps the choice.",
    )
    opens = "it" if within is None else "the model within the budget"
    meaning = (
        "Each point is one model. The knee is the point where the front bends: beyond it, less disparity costs more "
        "accuracy than before; "
        f"the page opens with {opens}."
    )
    if len(shown) == 1:
        meaning = "The front has one model: without a disparity there is nothing to trade off."
    sections = (
        Section("Choose a trade-off", (meaning,), (chooser,)),
        Section("What to know", (), (Notes((*notes, *_standing_notes(path))),)),
    )
    origin = path.provenance() if provenance is None else provenance
    return Page(
        f"Trade-offs for {target}",
        _summary(shown, path, target),
        sections,
        (_headline(shown),),
        provenance=replace(origin, method=(*origin.method, *_METHOD)),
    )


_METHOD = (
    "± is the square root of DPVar, the variance of the average prediction across profiles, without the upward bias of "
    "a plain estimate; its interval covers the truth in 95 % of tables. The share is DPVar as a part of the "
    "prediction's variance.",
)


def _role(row: int, roles: Sequence[tuple[str, int]]) -> str:
    return ", ".join(name for name, at in roles if at == row)


def _option(shown: FrontFigures, row: int, name: str, role: str, folders: Sequence[str] | None) -> Option:
    blocks: list[Block] = [shown.tiles(row), shown.table(row)]
    if folders is not None:
        lines = ("from fairlevel import load", f"model = load({folders[row]!r})")
        blocks.append(Code("Load this model (from the folder of this page)", lines))
    heading = f"{name} ({role})" if role else name
    return Option(name, heading, f"{heading}: {shown.in_words(row)}", tuple(blocks))


def _front_chart(shown: FrontFigures, names: Sequence[str], knee: int, first: int) -> Chart:
    last = len(shown) - 1
    alt = (
        f"Front of {len(shown)} models, from {shown.error_name} {number(shown.error[0], 3)} at ± "
        f"{number(shown.moves[0], 3)} to {number(shown.error[last], 3)} at ± {number(shown.moves[last], 3)}"
    )
    points = FrontPoints(shown.moves, shown.moves_low, shown.moves_high, shown.error, _titles(shown, names))
    return Chart(
        "Error against disparity",
        front_drawing(points, knee, first, alt),
        across=f"average prediction moves by ± this much across profiles {shown.unit}",
        up=shown.error_label,
        note="Bars are 95 % intervals. Lower is more accurate, further left is more level.",
        table=shown.all_models(names),
    )


def _titles(shown: FrontFigures, names: Sequence[str]) -> list[str]:
    return [f"{name}: {shown.in_words(row)}" for row, name in enumerate(names)]


def _following(path: Front, names: Sequence[str], target: str, before: str, first: int) -> tuple[Block, ...]:
    """Charts with one layer per model."""
    profiles = path.profiles()
    spread = range_chart(
        f"Average prediction of {target} across profiles",
        path.conditional_means(),
        before,
        names,
        first,
        "average prediction for rows with the same attributes",
    )
    order = sorted(profiles, key=lambda name: -spread_of(profiles[name][-1]))
    axis = shared_axis([each for along in profiles.values() for each in along])
    along = tuple(profile_chart(name, profiles[name][-1], axis, before, names, profiles[name], first) for name in order)
    found = path.reliabilities()
    reliable = (reliability_chart(found[-1], before, names, found, first),) if found else ()
    text = (
        f"On one scale; first the attributes along which the {before} moves most. Bands and whiskers are 95 % "
        "intervals, the dotted line is the average of all rows."
    )
    return spread, *reliable, charts_of_attributes(along, SHOWN_AT_ONCE, text)


def _headline(shown: FrontFigures) -> Headline:
    low, high = number(shown.moves_low[-1], 3), number(shown.moves_high[-1], 3)
    if shown.moves_low[-1] > 0:
        sentence = (
            f"Its average prediction moves by ± {number(shown.moves[-1], 3)} across profiles (95 % interval {low} to "
            f"{high}); 0 would be level."
        )
        return Headline("notice", f"The {shown.before} is not level", sentence)
    sentence = f"0 is within the 95 % interval of how far the average prediction moves (0 to ± {high})."
    return Headline("good", f"No disparity was found in the {shown.before}", sentence)


def _summary(shown: FrontFigures, path: Front, target: str) -> str:
    """For readers who will not look at a chart."""
    names, knee, last = list(path.profiles()), path.knee_index_, len(shown) - 1
    who = f"people who differ in {attributes_in_words(names)}"
    first = f"Predictions of {target} were compared between {who}. "
    if shown.moves_low[last] <= 0:
        found = f"at most ± {number(shown.moves_high[last], 3)} {shown.unit} is compatible with these rows"
        first += f"With the {shown.before}, no difference between their averages was found: {found}. "
    else:
        first += (
            f"With the {shown.before}, the average prediction moves by ± {number(shown.moves[last], 3)} {shown.unit} "
            f"from profile to profile: {percent(shown.share[last])} of the variation of its predictions goes along "
            "with these attributes. "
        )
    if knee == last:
        return first + f"Its {shown.error_name} is {number(shown.error[last], 3)}."
    return (
        first + f"The model at the knee, {point_name(knee)}, lowers this to ± {number(shown.moves[knee], 3)} "
        f"({percent(shown.share[knee])}), while the {shown.error_name} goes from {number(shown.error[last], 3)} to "
        f"{number(shown.error[knee], 3)}{shown.change(knee)}."
    )


def _standing_notes(path: Front) -> tuple[str, ...]:
    notes = [
        "Only averages are compared. A model with ± 0 may still predict with another spread or other tails for some "
        "profiles."
    ]
    if "r2" in path.front_ and path.front_["r2"].max() <= 0:
        notes.insert(0, "No model errs less on unseen rows than the average alone would (R² is not above 0).")
    more = path.seen_by_an_audit()
    if more is not None:
        notes.insert(0, more)
    if path.cross_fitted_:
        notes.append("Figures come from cross-validation; the saved models are trained on all rows.")
    if path.reliabilities():
        notes.append("Level probabilities do not imply level decisions: see the row on decisions.")
    return tuple(notes)
