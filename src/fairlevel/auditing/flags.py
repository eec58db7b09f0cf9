"""What a reader of an audit should not overlook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlevel.auditing.dependence import Measure
from fairlevel.auditing.questions import DECISIONS, ERRORS, OPPORTUNITY, Question
from fairlevel.conditional_mean.groups import ROWS_PER_CELL, discrete_columns
from fairlevel.data.sensitive import is_number
from fairlevel.metrics.inputs import EvaluationRows
from fairlevel.metrics.interval import DPVarInterval
from fairlevel.report.numbers import number

SIGNIFICANT = 0.05
NOTICEABLE = 0.02  # of the prediction's variance
MANY_COPIES = 0.05  # of the rows
UNCERTAIN = 0.1  # a larger share is not ruled out
UNCLEAR = 0.5  # a larger share is a finding, even if its upper limit is 1


@dataclass(frozen=True)
class Flag:
    """A short name for programs and a sentence for readers."""

    name: str
    sentence: str


def find_flags(interval: DPVarInterval, overall: DPVarInterval, measures: tuple[Measure, ...]) -> Iterator[Flag]:
    """Common misreadings, where they apply; ``overall`` is the interval without legitimate factors."""
    if interval.learnt:
        yield Flag(
            "lower_bound",
            "The average prediction changes along the attributes in a way that smooth curves and averages of groups "
            "miss, and that trees or nearest rows find in part: read the estimate as a lower bound.",
        )
    by_name = {measure.name: measure for measure in measures}
    not_found = overall.p_value > SIGNIFICANT
    no_disparity = not_found or overall.share_high < NOTICEABLE
    if no_disparity and by_name["HSIC"].found and by_name["maximal correlation"].found:
        average = "The average prediction differs little"
        if not_found:
            average = "No difference in the average prediction was found"
        yield Flag(
            "dependent_spread",
            f"{average} between profiles, but predictions depend on them: their spread or shape may differ. DPVar "
            "does not measure that: a small DPVar is no proof of full parity.",
        )
    if not no_disparity and overall.share > NOTICEABLE and by_name["linear R²"].value < overall.share / 2:
        yield Flag(
            "curved", "Most of the disparity is not a straight line: a linear check (correlation, R²) would miss it."
        )
    if interval.cannot_tell:
        yield Flag("cannot_tell", interval.cannot_tell)
    elif interval.p_value > SIGNIFICANT and interval.share_high > UNCERTAIN:
        yield Flag(
            "cannot_tell",
            f"No difference was found, but these rows cannot rule one out: up to {interval.share_high:.1%} of the "
            "prediction's variance is possible.",
        )
    if overall is not interval and not no_disparity and interval.share_high < overall.share / 2:
        yield Flag(
            "explained_by_factors",
            f"Between all rows the attributes explain {overall.share:.1%} of the prediction's variance, within the "
            f"factors given at most {interval.share_high:.1%}. A factor that stands in for an attribute hides "
            "disparity: check that each factor is a legitimate reason for a different prediction.",
        )


def repeated_rows(rows: EvaluationRows) -> Iterator[Flag]:
    """Rows that equal another in everything, where a continuous column says that this is no chance."""
    profiles = rows.sensitive if rows.factors is None else np.column_stack([rows.sensitive, rows.factors])
    if rows.groups is not None or discrete_columns(profiles).all():
        return
    many = MANY_COPIES * len(rows)
    if len(rows) - len(np.unique(rows.prediction)) < many:  # spares most audits the sorting of whole rows
        return
    copies = len(rows) - len(np.unique(np.column_stack([rows.prediction, profiles]), axis=0))
    if copies >= many:
        yield Flag(
            "repeated_rows",
            f"{copies:,} of {len(rows):,} rows repeat another row in the prediction and all attributes. If they are "
            "the same people, pass groups= with one label per person (--groups): copies are no new evidence, and "
            "without groups the interval is too narrow and p too small.",
        )


def rare_categories(interval: DPVarInterval, attributes: pd.DataFrame) -> Iterator[Flag]:
    """Categories of so few rows that nothing is known of their average, where that leaves the upper limit open."""
    if interval.share_high < 1 or interval.share > UNCLEAR:
        return
    rare = [
        f"{name} = {category} ({count})"
        for name, column in attributes.items()
        if not is_number(column.dtype)
        for category, count in column.value_counts(dropna=False).items()
        if 0 < count < ROWS_PER_CELL
    ]
    if rare:
        yield Flag(
            "rare_categories",
            f"The upper limit is 100 %: hardly anything is known of categories with fewer than {ROWS_PER_CELL} rows, "
            f"{_first_five(rare)}. Merge them with others, or leave their rows out.",
        )


def not_sampled(rows: Mapping[str, int]) -> Iterator[Flag]:
    """Categories of which a random sample has next to none, with their rows in all."""
    if rows:
        yield Flag(
            "not_sampled",
            "Of these categories the sample has hardly any row: "
            f"{_first_five([f'{category} ({count:,})' for category, count in rows.items()])}. Nothing is known of "
            "their averages: sample more rows, or audit theirs alone.",
        )


def _first_five(names: list[str]) -> str:
    return f"{', '.join(names[:5])}{' and others' if len(names) > 5 else ''}"


def question_flags(questions: tuple[Question, ...]) -> Iterator[Flag]:
    """Which questions are answered with yes; those about errors are three tests of one thing."""
    errors = [question for question in questions if question.name in ERRORS]
    differing = [question for question in errors if question.interval.p_value * len(errors) <= SIGNIFICANT]
    if differing:
        which = ", ".join(f"{question.name} (± {number(question.moves_by, 3)})" for question in differing)
        yield Flag("errors_differ", f"Errors differ between profiles: {which}.")
    different = {question.name: question.moves_by for question in questions if question.interval.p_value <= SIGNIFICANT}
    if DECISIONS in different:
        sentence = f"The share of positive decisions moves by ± {different[DECISIONS]:.1%} across profiles."
        yield Flag("decisions_differ", sentence)
    if OPPORTUNITY in different:
        moves = number(different[OPPORTUNITY], 3)
        sentence = f"Among rows with y = 1 the average prediction moves by ± {moves} across profiles."
        yield Flag("unequal_opportunity", sentence)
