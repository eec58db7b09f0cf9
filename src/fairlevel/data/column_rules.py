"""How one column of a table becomes columns of a matrix: one class per rule, and one row each in the table of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import FEW_LEVELS, MISSING, Kind, Numbers, Texts, kind_from, plain_kind

MOST_INDICATORS = FEW_LEVELS  # categories of a text column that has one indicator for each
MOST_OWN = 80  # of a text column with more: categories with an indicator of their own,
ROWS_FOR_OWN = 40  # training rows that such a category has at least;
ROWS_FOR_BUCKET, MOST_BUCKETS = 150, 16  # the others share indicators

Values = Any
"""A column as read: float64 with NaN, or text with None, (row,)."""


@dataclass(frozen=True)
class NumberRule:
    """A column of numbers, dates or truths; missing values become the median of the training rows."""

    name: str
    median: float
    reads: Kind = Numbers()

    @classmethod
    def learn(cls, name: str, values: Array, reads: Kind) -> Self | None:
        """None where the column is empty or constant."""
        known = values[np.isfinite(values)]
        return cls(name, float(np.median(known)), reads) if known.size and np.ptp(known) > 0 else None

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, 1)."""
        return np.where(np.isfinite(values), values, self.median)[:, None]

    def unseen(self, values: Values) -> int:
        """Any number will do."""
        return 0

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class TextRule:
    """A text column with the categories of its training rows, in alphabetical order."""

    name: str
    categories: tuple[str, ...]

    def unseen(self, values: Values) -> int:
        """How many cells hold a category that the training rows lack; gaps are none."""
        text = pd.Series(values, dtype=object)
        return int((text.notna() & ~text.isin(self.categories)).sum())


@dataclass(frozen=True)
class IndicatorRule(TextRule):
    """A text column with few categories: one column of zeros and ones per category; an unseen category is all zeros."""

    reads: Kind = Texts()

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, category)."""
        return _indicators(filled(values), self.categories)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True)
class FrequentRule(TextRule):
    r"""A text column with many categories. The 80 most frequent ones with at least 40 training rows have an indicator
    each; each other category has the indicator :math:`h(\text{category}) \bmod m` for a fixed hash h and m ≤ 16. A last
    column holds :math:`\log n`, with n the number of training rows of the category. An unseen category has its hash and
    the smallest n of all.
    """

    counts: tuple[int, ...]
    reads: Kind = Texts()

    @cached_property
    def buckets(self) -> int:
        """How many indicators the other categories share: one for every 150 of their training rows."""
        known = set(self.own)
        rows = sum(count for category, count in zip(self.categories, self.counts, strict=True) if category not in known)
        return min(max(rows // ROWS_FOR_BUCKET, 1), MOST_BUCKETS)

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Categories with an indicator of their own, alphabetically."""
        order = sorted(zip([-count for count in self.counts], self.categories, strict=True))
        return tuple(sorted(category for count, category in order[:MOST_OWN] if -count >= ROWS_FOR_OWN))

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, own indicators + buckets + 1)."""
        number, known = pd.factorize(filled(values))
        counts = dict(zip(self.categories, self.counts, strict=True))
        own = _indicators(known, self.own)
        shared = np.eye(self.buckets)[[_hash(category) % self.buckets for category in known]].reshape(-1, self.buckets)
        shared[own.any(axis=1)] = 0.0
        frequency = np.log([counts.get(category, min(self.counts)) for category in known])
        encoded: Array = np.column_stack([own, shared, frequency])[number]
        return encoded

    @property
    def outputs(self) -> tuple[str, ...]:
        own = (f"{self.name}={category}" for category in self.own)
        return (*own, *(f"{self.name}#{bucket}" for bucket in range(self.buckets)), f"{self.name} frequency")


@dataclass(frozen=True)
class OrdinalRule(TextRule):
    """A text column with many categories, numbered in alphabetical order; an unseen category gets the middle number.
    For the study, whose protocol says so.
    """

    reads: Kind = Texts()

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, 1)."""
        numbers = {category: float(number) for number, category in enumerate(self.categories)}
        middle = (len(self.categories) - 1) / 2
        return np.array([numbers.get(category, middle) for category in filled(values)])[:, None]

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)


Rule = NumberRule | IndicatorRule | FrequentRule | OrdinalRule
RULES: dict[str, Any] = {
    "number": NumberRule,
    "indicator": IndicatorRule,
    "frequent": FrequentRule,
    "ordinal": OrdinalRule,
}

MANY = ("frequent", "ordinal")
"""Rules for text with more than 20 categories."""


def rule_for(name: str, kind: Kind, values: Values, many: str) -> Rule | None:
    """The rule for a column that was read as ``kind``; None where it is empty or constant. ``many`` names the rule for
    text with more than 20 categories.
    """
    if not kind.is_text:
        return NumberRule.learn(name, values, kind)
    categories, counts = np.unique(filled(values).astype(str), return_counts=True)
    if len(categories) < 2:
        return None
    known = tuple(map(str, categories))
    if len(known) <= MOST_INDICATORS:
        return IndicatorRule(name, known)
    return FrequentRule(name, known, tuple(map(int, counts))) if many == "frequent" else OrdinalRule(name, known)


def plain_rule(rule: Rule) -> dict[str, Any]:
    """Plain values, ready for JSON."""
    (kind,) = (name for name, own in RULES.items() if own is type(rule))
    return {"kind": kind, **asdict(rule), "reads": plain_kind(rule.reads)}


def rule_from(values: Mapping[str, Any]) -> Rule:
    """The rule that :func:`plain_rule` described."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    rule: Rule = RULES[str(given.pop("kind"))](**(given | {"reads": kind_from(values["reads"])}))
    return rule


def filled(values: Values) -> Any:
    """Text with a category of its own for missing values."""
    text = np.array(values, dtype=object)
    text[pd.isna(text)] = MISSING
    return text


def _indicators(text: Any, categories: tuple[str, ...]) -> Array:
    number = pd.Index(categories, dtype=object).get_indexer(pd.Index(text, dtype=object))
    found = np.zeros((len(text), len(categories)))
    rows = np.flatnonzero(number >= 0)
    found[rows, number[rows]] = 1.0
    return found


def _hash(category: str) -> int:
    return int.from_bytes(blake2b(category.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
