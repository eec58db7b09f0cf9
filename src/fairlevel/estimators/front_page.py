"""A fitted path as a page: choose a model on the front, see what it does along the attributes, load it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from fairlevel.estimators.front_figures import FrontFigures
from fairlevel.fronts.points import point_name
from fairlevel.report.charts import Models, attribute_charts, front_drawing, range_chart, reliability_chart
from fairlevel.report.numbers import attributes_in_words, number, percent
from fairlevel.report.page import Block, Chart, Chooser, Code, Headline, Notes, Option, Page, Section
from fairlevel.report.provenance import Provenance

if TYPE_CHECKING:
    from fairlevel.estimators.fairness_path import FairnessPath
    from fairlevel.estimators.relevelled_front import RelevelledFront

Front: TypeAlias = "FairnessPath | RelevelledFront"

_METHOD = (
    "± is the square root of DPVar, the variance of the average prediction across profiles, without the upward bias of "
    "a plain estimate; its interval covers the truth in 95 % of tables. The share is DPVar as a part of the "
    "prediction's variance."
)


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
    knee = path.knee_index_
    first = knee if within is None else within[1]
    models = Models(before, [point_name(row) for row in range(len(shown))], first)
    roles = (("most level", 0), ("knee", knee), (before, len(shown) - 1), *(() if within is None else (within,)))
    options = []
    for row, name in enumerate(models.names):
        role = ", ".join(role for role, at in roles if at == row)
        heading = f"{name} ({role})" if role else name
        blocks: list[Block] = [shown.tiles(row), shown.table(row)]
        if folders is not None:
            lines = ("from fairlevel import load", f"model = load({folders[row]!r})")
            blocks.append(Code("Load this model (from the folder of this page)", lines))
        options.append(Option(name, heading, f"{heading}: {shown.in_words(row)}", tuple(blocks)))
    chooser = Chooser(
        "Choose a model",
        _front_chart(shown, models, knee),
        tuple(options),
        first,
        ("most level", before),
        roles,
        _following(path, models, target),
        "Move the slider, click on a point, or use the arrow keys: all figures and charts follow, and the address of "
        "the page keeps the choice.",
    )
    meaning = (
        "Each point is one model. The knee is the point where the front bends: beyond it, less disparity costs more "
        f"accuracy than before; the page opens with {'it' if within is None else 'the model within the budget'}."
    )
    if len(shown) == 1:
        meaning = "The front has one model: without a disparity there is nothing to trade off."
    sections = (
        Section("Choose a trade-off", (meaning,), (chooser,)),
        Section("What to know", (), (Notes((*notes, *_standing_notes(path))),)),
    )
    origin = path.provenance() if provenance is None else provenance
    origin = replace(origin, method=(*origin.method, _METHOD))
    summary = _summary(shown, path, target)
    return Page(f"Trade-offs for {target}", summary, sections, (_headline(shown),), provenance=origin)


def _front_chart(shown: FrontFigures, models: Models, knee: int) -> Chart:
    ends = [f"{number(shown.error[row], 3)} at ± {number(shown.moves[row], 3)}" for row in (0, -1)]
    points = pd.DataFrame({"disparity": shown.moves, "low": shown.moves_low, "high": shown.moves_high})
    points["error"] = shown.error
    points["name"] = [f"{name}: {shown.in_words(row)}" for row, name in enumerate(models.names)]
    alt = f"Front of {len(shown)} models, from {shown.error_name} {ends[0]} to {ends[1]}"
    return Chart(
        "Error against disparity",
        front_drawing(points, knee, models.first, alt),
        across=f"average prediction moves by ± this much across profiles {shown.unit}",
        up=shown.error_label,
        note="Bars are 95 % intervals. Lower is more accurate, further left is more level.",
        table=shown.all_models(models.names),
    )


def _following(path: Front, models: Models, target: str) -> tuple[Block, ...]:
    """Charts with one layer per model."""
    text = (
        f"On one scale; first the attributes along which the {models.label} moves most. Bands and whiskers are 95 % "
        "intervals, the dotted line is the average of all rows."
    )
    spread = range_chart(f"Average prediction of {target} across profiles", path.conditional_means(), models)
    reliabilities = path.reliabilities()
    reliable = (reliability_chart(reliabilities, models),) if reliabilities else ()
    return spread, *reliable, *attribute_charts(path.profiles(), models, text)


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
    text = f"Predictions of {target} were compared between people who differ in {attributes_in_words(names)}. "
    if shown.moves_low[last] <= 0:
        text += (
            f"With the {shown.before}, no difference between their averages was found: at most "
            f"± {number(shown.moves_high[last], 3)} {shown.unit} is compatible with these rows. "
        )
    else:
        text += (
            f"With the {shown.before}, the average prediction moves by ± {number(shown.moves[last], 3)} {shown.unit} "
            f"from profile to profile: {percent(shown.share[last])} of the variation of its predictions goes along "
            "with these attributes. "
        )
    error = number(shown.error[last], 3)
    if knee == last:
        return text + f"Its {shown.error_name} is {error}."
    return (
        text + f"The model at the knee, {point_name(knee)}, lowers this to ± {number(shown.moves[knee], 3)} "
        f"({percent(shown.share[knee])}), while the {shown.error_name} goes from {error} to "
        f"{number(shown.error[knee], 3)}{shown.change(knee)}."
    )


def _standing_notes(path: Front) -> tuple[str, ...]:
    no_better = "r2" in path.front_ and path.front_["r2"].max() <= 0
    notes = {
        path.seen_by_an_audit(): True,
        "No model errs less on unseen rows than the average alone would (R² is not above 0).": no_better,
        "Only averages are compared. A model with ± 0 may still predict with another spread or other tails for some "
        "profiles.": True,
        "Figures come from cross-validation; the saved models are trained on all rows.": path.cross_fitted_,
        "Level probabilities do not imply level decisions: see the row on decisions.": bool(path.reliabilities()),
    }
    return tuple(note for note, holds in notes.items() if note and holds)
