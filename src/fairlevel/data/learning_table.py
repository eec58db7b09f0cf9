"""A table whose columns have roles: the target, the sensitive columns, and the features to predict from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlevel.data.columns import SHOWN, Dates, MostlyReadable, Numbers, cells_in_words, kind_of, numbers_of
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName


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
        used = table.loc[gaps.complete]
        judged = len(used) - gaps.rows_for_accuracy_only
        if judged < 2:
            raise InvalidInput(f"Only {judged} rows have a target and all sensitive values; at least 2 are needed.")
        features = used.drop(columns=[target, *drop, *weights, *(() if sensitive_inputs else sensitive)])
        if not features.shape[1]:
            raise InvalidInput("No column is left to predict from; drop fewer columns.")
        return cls(
            features,
            y[gaps.complete],
            used[list(sensitive)].infer_objects(),
            gaps,
            None if weight is None else used[weight],
            used[list(given)].infer_objects() if given else None,
        )


@dataclass(frozen=True)
class Gaps:
    """Missing values of a target, of weights and of attributes: one rule for every command, that of the estimators. A
    row without a number that it needs is left out; a missing category is a category of its own. In training, a row
    without a number of a sensitive attribute counts for accuracy only.

    ``complete`` says which rows are used, (row,). The rest counts missing values by column: ``left_out`` of all rows,
    ``for_accuracy`` and ``as_category`` of those that are used.
    """

    complete: pd.Series
    rows_for_accuracy_only: int
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
        missing = table[list(dict.fromkeys((*needed, *attributes)))].isna()
        for name in needed:
            if table[name].dtype.kind == "f":
                missing[name] |= np.isinf(table[name])
        others = [name for name in missing if name not in needed]
        categories = [name for name in others if _is_category(str(name), table[name])]
        numbers = {name for name in {*others} - {*categories} if table[name].dtype.kind in "iuf"}
        lenient = [name for name in others if name in numbers.intersection(for_accuracy)]
        strict = missing.drop(columns=[*categories, *lenient])
        complete = ~strict.any(axis=1).astype(bool)
        used = missing[complete]

        def counts(rows: pd.DataFrame) -> dict[str, int]:
            return {str(name): int(count) for name, count in rows.sum().items() if count}

        unknown = int(used[lenient].any(axis=1).sum())
        return cls(complete, unknown, counts(strict), counts(used[lenient]), counts(used[categories]))

    @property
    def rows_left_out(self) -> int:
        """How many rows are not used."""
        return int((~self.complete).sum())

    def sentences(self) -> list[str]:
        """What was done, in words; nothing where nothing is missing."""
        rows = "row" if self.rows_left_out == 1 else "rows"
        sentences = {
            f"{self.rows_left_out} {rows} left out, without a value in: ": self.left_out,
            f"{self.rows_for_accuracy_only} rows count for accuracy only, without a value in: ": self.for_accuracy,
            "missing categories count as the category (missing): ": self.as_category,
        }
        return [
            words + ", ".join(f"{name} ({missing})" for name, missing in counts.items())
            for words, counts in sentences.items()
            if counts
        ]


def _is_category(name: str, column: pd.Series) -> bool:
    """An empty column is none: it has no values to compare."""
    is_number = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    return not (is_number or column.isna().all()) and not isinstance(kind_of(name, column), Numbers | Dates)


def with_unreadable_as_missing(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Columns that are mostly numbers or dates, with their other cells as missing, and infinite numbers as missing; and
    how many cells that are, by column.
    """
    changed, counts = {}, {}
    for name, column in table.items():
        try:
            kind = kind_of(str(name), column)
        except MostlyReadable as error:
            kind = error.kind
        values = kind.read(column)
        unreadable = int(kind.unreadable(column, values).sum())
        if unreadable:
            values = pd.Series(values, index=column.index)
            changed[str(name)] = pd.to_datetime(values, unit="D") if isinstance(kind, Dates) else values
            counts[str(name)] = unreadable
    return table.assign(**changed), counts


def _target(column: pd.Series) -> pd.Series:
    """Numbers, or the column itself where it is text with two values."""
    numbers = numbers_of(column).astype(np.float64)
    strange = column[numbers.isna() & column.notna()]
    if not len(strange):
        return numbers
    known, classes = int(column.notna().sum()), column.nunique()
    if len(strange) == known and classes == 2:
        return column.astype(object)
    name, needed = str(column.name), "numbers or two classes are needed"
    if len(strange) < known and Numbers(",").unreadable(column, Numbers(",").read(column)).any():
        raise InvalidType(f"The target {name!r} holds {cells_in_words(strange)}; {needed}.")
    kind = kind_of(name, column)
    if kind == Numbers(","):
        return pd.Series(kind.read(column), index=column.index, name=column.name)
    if isinstance(kind, Dates):
        raise InvalidType(f"The target {name!r} holds dates; {needed}.")
    such = cells_in_words(strange.drop_duplicates().iloc[:SHOWN])
    raise InvalidType(
        f"The target {name!r} has {classes} {'class' if classes == 1 else 'classes'}, such as {such}; {needed}. In "
        "Python, FairClassifier takes more."
    )
