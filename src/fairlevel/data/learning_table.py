"""A table whose columns have roles: the target, the sensitive columns, and the features to predict from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlevel.data.columns import SHOWN, Dates, Kind, MostlyReadable, Numbers, cells_in_words, kind_of, numbers_of
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

FEWEST_ROWS = 2


@dataclass(frozen=True)
class LearningTable:
    """Features of any kind, a target of numbers or of two classes, sensitive attributes, and, if asked for, row weights
    and legitimate factors. ``gaps`` says what was done about missing values of the latter. Row labels are those of the
    table.
    """

    features: pd.DataFrame
    target: pd.Series
    sensitive: pd.DataFrame
    gaps: Gaps
    weight: pd.Series | None = None
    given: pd.DataFrame | None = None

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        target: str,
        sensitive: Sequence[str],
        drop: Sequence[str],
        sensitive_inputs: bool,
        weight: str | None = None,
        given: Sequence[str] = (),
    ) -> LearningTable:
        """Give every column its role; with ``sensitive_inputs`` the sensitive columns are features, too. Legitimate
        factors stay features; the column of weights does not.
        """
        weights = () if weight is None else (weight,)
        known = [str(name) for name in table.columns]
        for name in (target, *sensitive, *drop, *given, *weights):
            if name not in known:
                raise UnknownName("column", name, known)
        others = {"a sensitive column": sensitive, "named as a column to drop": drop, "the column of weights": weights}
        for role, names in others.items():
            if target in names:
                raise InvalidInput(f"The target {target!r} is also {role}; a column has one role.")
        y = _target(table[target])
        gaps = Gaps.of(table.assign(**{target: y}), (target, *weights), (*sensitive, *given), for_accuracy=sensitive)
        kept = table.loc[gaps.complete]
        judged = len(kept) - gaps.rows_for_accuracy_only
        if judged < FEWEST_ROWS:
            raise InvalidInput(
                f"Only {judged} rows have a target and all sensitive values; at least {FEWEST_ROWS} are needed."
            )
        features = kept.drop(columns=[target, *drop, *weights, *(() if sensitive_inputs else sensitive)])
        if not features.shape[1]:
            raise InvalidInput("No column is left to predict from; drop fewer columns.")
        return cls(
            features,
            y[gaps.complete],
            kept[list(sensitive)].infer_objects(),
            gaps,
            None if weight is None else kept[weight],
            kept[list(given)].infer_objects() if given else None,
        )


@dataclass(frozen=True)
class Gaps:
    """Missing values of a target, of weights and of attributes: one rule for every command, that of the estimators. A
    row without a number that it needs is left out; a missing category is a category of its own. In training, a row
    without a number of a sensitive attribute counts for accuracy only.

    ``complete`` says which rows are used, (row,), and ``known`` which of them count for disparity; ``left_out``,
    ``for_accuracy`` and ``as_category`` count missing values by column.
    """

    complete: pd.Series
    known: pd.Series
    left_out: dict[str, int]
    for_accuracy: dict[str, int]
    as_category: dict[str, int]

    @classmethod
    def of(
        cls, table: pd.DataFrame, needed: Sequence[str], attributes: Sequence[str], for_accuracy: Sequence[str] = ()
    ) -> Gaps:
        """``needed`` columns must be there; attributes may be categories. Attributes of type number in
        ``for_accuracy`` may be missing: such a row trains accuracy alone.
        """
        names = list(dict.fromkeys((*needed, *attributes)))
        categories = [name for name in names if name not in needed and _is_category(name, table[name])]
        lenient = [
            name
            for name in names
            if name in for_accuracy and name not in (*needed, *categories) and table[name].dtype.kind in "iuf"
        ]
        strict = [name for name in names if name not in (*categories, *lenient)]
        missing = pd.DataFrame({name: table[name].isna() for name in names}, index=table.index)
        for name in needed:
            if table[name].dtype.kind == "f":
                missing[name] |= np.isinf(table[name])
        complete = ~missing[strict].any(axis=1).astype(bool)

        def counts(names: Sequence[str], rows: pd.DataFrame) -> dict[str, int]:
            return {name: int(rows[name].sum()) for name in names if rows[name].any()}

        return cls(
            complete,
            ~missing[lenient].any(axis=1).astype(bool),
            counts(strict, missing),
            counts(lenient, missing[complete]),
            counts(categories, missing),
        )

    @property
    def rows_left_out(self) -> int:
        """How many rows are not used."""
        return int((~self.complete).sum())

    @property
    def rows_for_accuracy_only(self) -> int:
        """How many rows that are used have no known attributes."""
        return int((self.complete & ~self.known).sum())

    def sentences(self) -> list[str]:
        """What was done, in words; nothing where nothing is missing."""

        def columns(counts: dict[str, int]) -> str:
            return ", ".join(f"{name} ({missing})" for name, missing in counts.items())

        rows = "row" if self.rows_left_out == 1 else "rows"
        sentences = {
            f"{self.rows_left_out} {rows} left out, without a value in: ": self.left_out,
            f"{self.rows_for_accuracy_only} rows count for accuracy only, without a value in: ": self.for_accuracy,
            "missing categories count as the category (missing): ": self.as_category,
        }
        return [said + columns(counts) for said, counts in sentences.items() if counts]


def _is_category(name: str, column: pd.Series) -> bool:
    """An empty column is none: it has no values to compare."""
    if column.isna().all() or (
        pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    ):
        return False
    return not isinstance(kind_of(name, column), Numbers | Dates)


def with_unreadable_as_missing(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Columns that are mostly numbers or dates, with their other cells as missing, and infinite numbers as missing; and
    how many cells that are, by column.
    """
    changed, counts = {}, {}
    for name, column in table.items():
        kind: Kind | None = Numbers() if column.dtype.kind == "f" else None
        try:
            if kind is None:
                kind_of(str(name), column)
        except MostlyReadable as error:
            kind = error.kind
        if kind is None:
            continue
        read = kind.read(column)
        unreadable = kind.unreadable(column, read)
        if unreadable.any():
            values = pd.Series(read, index=column.index)
            changed[str(name)] = pd.to_datetime(values, unit="D") if isinstance(kind, Dates) else values
            counts[str(name)] = int(unreadable.sum())
    return table.assign(**changed), counts


def _target(column: pd.Series) -> pd.Series:
    """Numbers, or the column itself where it is text with two values."""
    numbers = numbers_of(column).astype(np.float64)
    strange = column[numbers.isna() & column.notna()]
    if not len(strange):
        return numbers
    if strange.size == column.notna().sum() and column.nunique() == 2:
        return column.astype(object)
    name, needed = str(column.name), "numbers or two classes are needed"
    if np.isnan(Numbers(",").read(column)[column.notna()]).any() and strange.size < column.notna().sum():
        raise InvalidType(f"The target {name!r} holds {cells_in_words(strange)}; {needed}.")
    kind = kind_of(name, column)
    if kind == Numbers(","):
        return pd.Series(kind.read(column), index=column.index, name=column.name)
    if isinstance(kind, Dates):
        raise InvalidType(f"The target {name!r} holds dates; {needed}.")
    classes, such = column.nunique(), cells_in_words(strange.drop_duplicates().iloc[:SHOWN])
    raise InvalidType(
        f"The target {name!r} has {classes} {'class' if classes == 1 else 'classes'}, such as {such}; {needed}. In "
        "Python, FairClassifier takes more."
    )
