"""From the columns of a table to a matrix, by learnt rules: a class for each rule, without scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import (
    FEW_LEVELS,
    GAPS,
    Kind,
    Numbers,
    Texts,
    filled,
    indicators,
    kind_from,
    refuse_unreadable,
)
from fairlevel.data.features import named_columns
from fairlevel.exceptions import InvalidInput, UnreadableCells, UnseenLevels

MOST_OWN = 80  # of a text column with more: categories with an indicator of their own,
ROWS_FOR_OWN = 40  # training rows that such a category has at least;
ROWS_FOR_BUCKET, MOST_BUCKETS = 150, 16  # the others share indicators
MANY_UNSEEN = 0.05  # a larger share of rows with unseen categories is worth a warning

Values = Any
"""A column as read: float64 with NaN, or text with None, (row,)."""


@dataclass(frozen=True)
class Rule:
    """How one column is read, and encoded."""

    name: str
    reads: Kind = field(default=Numbers(), kw_only=True)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of its columns of the matrix."""
        return (self.name,)

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, output)."""
        raise NotImplementedError

    def unseen(self, values: Values) -> int:
        """How many cells hold a category that the training rows lack."""
        return 0


@dataclass(frozen=True)
class NumberRule(Rule):
    """A column of numbers, dates or truths; missing values become the median of the training rows."""

    median: float

    def encode(self, values: Values) -> Array:
        return np.where(np.isfinite(values), values, self.median)[:, None]


@dataclass(frozen=True)
class TextRule(Rule):
    """A text column with the categories of its training rows, in alphabetical order."""

    categories: tuple[str, ...]
    reads: Kind = field(default=Texts(), kw_only=True)

    def unseen(self, values: Values) -> int:
        text = pd.Series(values, dtype=object)
        return int((text.notna() & ~text.isin(self.categories)).sum())


@dataclass(frozen=True)
class IndicatorRule(TextRule):
    """A text column with few categories: one column of zeros and ones per category; an unseen category is all zeros."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories)

    def encode(self, values: Values) -> Array:
        return indicators(filled(values), self.categories)


@dataclass(frozen=True)
class FrequentRule(TextRule):
    r"""A text column with many categories. The 80 most frequent ones with at least 40 training rows have an indicator
    each; each other category has the indicator :math:`h(\text{category}) \bmod m` for a fixed hash h and m ≤ 16. A last
    column holds :math:`\log n`, with n the number of training rows of the category. An unseen category has its hash and
    the smallest n of all.
    """

    counts: tuple[int, ...]

    @cached_property
    def buckets(self) -> int:
        """How many indicators the other categories share: one for every 150 of their training rows."""
        rows = sum(count for category, count in self._count_of.items() if category not in self.frequent)
        return min(max(rows // ROWS_FOR_BUCKET, 1), MOST_BUCKETS)

    @cached_property
    def frequent(self) -> tuple[str, ...]:
        """Categories with an indicator of their own, alphabetically."""
        first = sorted(self.categories, key=lambda category: (-self._count_of[category], category))[:MOST_OWN]
        return tuple(sorted(category for category in first if self._count_of[category] >= ROWS_FOR_OWN))

    @cached_property
    def _count_of(self) -> dict[str, int]:
        return dict(zip(self.categories, self.counts, strict=True))

    def encode(self, values: Values) -> Array:
        number, known = pd.factorize(filled(values))
        frequent = indicators(known, self.frequent)
        hashed = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in known)
        shared = indicators([int.from_bytes(text, "big") % self.buckets for text in hashed], range(self.buckets))
        shared[frequent.any(axis=1)] = 0.0
        frequency = np.log([self._count_of.get(category, min(self.counts)) for category in known])
        encoded: Array = np.column_stack([frequent, shared, frequency])[number]
        return encoded

    @property
    def outputs(self) -> tuple[str, ...]:
        frequent = (f"{self.name}={category}" for category in self.frequent)
        return (*frequent, *(f"{self.name}#{bucket}" for bucket in range(self.buckets)), f"{self.name} frequency")


@dataclass(frozen=True)
class OrdinalRule(TextRule):
    """A text column with many categories, numbered in alphabetical order; an unseen category gets the middle number.
    For the study, whose protocol says so.
    """

    def encode(self, values: Values) -> Array:
        numbers = pd.Index(self.categories, dtype=object).get_indexer(pd.Index(filled(values), dtype=object))
        return np.where(numbers < 0, (len(self.categories) - 1) / 2, numbers)[:, None]


RULES: dict[str, Any] = {
    "number": NumberRule,
    "indicator": IndicatorRule,
    "frequent": FrequentRule,
    "ordinal": OrdinalRule,
}
MANY = ("frequent", "ordinal")  # rules for text with more than 20 categories


def rule_for(name: str, kind: Kind, values: Values, many: str) -> Rule | None:
    """The rule for a column that was read as ``kind``; None where it is empty or constant. ``many`` names the rule for
    text with more than 20 categories.
    """
    if not kind.is_text:
        known = values[np.isfinite(values)]
        return NumberRule(name, float(np.median(known)), reads=kind) if known.size and np.ptp(known) > 0 else None
    texts, counts = np.unique(filled(values).astype(str), return_counts=True)
    categories = tuple(map(str, texts))
    if len(categories) < 2:
        return None
    if len(categories) <= FEW_LEVELS:
        return IndicatorRule(name, categories)
    if many == "ordinal":
        return OrdinalRule(name, categories)
    return FrequentRule(name, categories, tuple(counts.tolist()))


class TableRules:
    """One rule per column that is used, ``rules_``; ``unreadable`` is "error", or "impute": such cells count as
    missing.
    """

    def __init__(self, rules: tuple[Rule, ...], unreadable: str = "error") -> None:
        self.rules_ = rules
        self.unreadable = unreadable

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return tuple(name for rule in self.rules_ for name in rule.outputs)

    @property
    def origin(self) -> tuple[int, ...]:
        """The number of the rule that each column of the matrix comes from."""
        return tuple(number for number, rule in enumerate(self.rules_) for _ in rule.outputs)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the columns that a table must have."""
        return tuple(rule.name for rule in self.rules_)

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that a file of text should hand over as written, because their rule is not that of plain numbers."""
        return tuple(rule.name for rule in self.rules_ if rule.reads != Numbers())

    @property
    def words(self) -> tuple[str, ...]:
        """Columns of text in which a word such as NA is a category, and no gap."""
        return tuple(rule.name for rule in self.rules_ if {*GAPS} & {*getattr(rule, "categories", ())})

    def transform(self, X: Any) -> Array:
        """(row, column of the table) -> (row, column of the matrix); columns that are not needed are ignored."""
        frame = named_columns(X)
        columns = self.read(frame)
        unreadable, unseen = {}, {}
        for rule in self.rules_:
            column, values = frame[rule.name], columns[rule.name]
            if self.unreadable == "error":
                refuse_unreadable(rule.name, rule.reads, column, values)
            unreadable[rule.name] = int(rule.reads.unreadable(column, values).sum())
            unseen[rule.name] = rule.unseen(values)
        warn_of_cells(UnreadableCells, "Cells that cannot be read count as missing", unreadable, len(frame))
        warn_of_unseen(unseen, len(frame))
        return self.encode(columns)

    def read(self, frame: pd.DataFrame) -> dict[str, Values]:
        """The columns that are needed, by name, each read by its rule."""
        missing = [name for name in self.needed if name not in frame]
        if missing:
            raise InvalidInput(
                f"The table lacks {', '.join(map(repr, missing))}, which the encoder was fitted on; it needs "
                f"{', '.join(map(repr, self.needed))}."
            )
        return {rule.name: rule.reads.read(frame[rule.name]) for rule in self.rules_}

    def encode(self, columns: Mapping[str, Values]) -> Array:
        """Columns that have been read -> (row, column of the matrix)."""
        return np.hstack([rule.encode(columns[rule.name]) for rule in self.rules_])

    def to_plain(self) -> list[Any]:
        """Plain values, ready for JSON."""
        names = {rule: name for name, rule in RULES.items()}
        return [{"kind": names[type(rule)], **asdict(rule), "reads": rule.reads.to_plain()} for rule in self.rules_]


def rules_from(values: Any) -> tuple[Rule, ...]:
    """What :meth:`TableRules.to_plain` wrote."""
    rules = []
    for described in values:
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in described.items()}
        fields["reads"] = kind_from(described["reads"])
        rules.append(RULES[str(fields.pop("kind"))](**fields))
    return tuple(rules)


def warn_of_unseen(counts: Mapping[str, int], rows: int) -> None:
    """Name the columns in which many rows hold categories that the training rows lack."""
    many = {name: count for name, count in counts.items() if count >= MANY_UNSEEN * rows}
    warn_of_cells(UnseenLevels, "Categories that the training rows lack", many, rows)


def warn_of_cells(category: type[Warning], what: str, counts: Mapping[str, int], rows: int) -> None:
    """Say how many rows of which columns; nothing where there are none."""
    said = [f"{name!r} {count} of {rows} rows" for name, count in counts.items() if count]
    if said:
        warnings.warn(f"{what}: {', '.join(said)}.", category, stacklevel=5)
