"""A table whose columns have roles: the target, the sensitive columns, and the features to predict from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlevel.data.encoder import TableEncoder
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

FEWEST_ROWS = 2


@dataclass(frozen=True)
class LearningTable:
    """Features of any kind, a target of numbers or of two classes, sensitive attributes, and, if asked for, row weights
    and legitimate factors; ``dropped`` counts the rows that were left out because one of these was missing.
    """

    features: pd.DataFrame
    target: pd.Series
    sensitive: pd.DataFrame
    dropped: int
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
        known = [str(name) for name in table.columns]
        others = {
            "a sensitive column": sensitive,
            "named as a column to drop": drop,
            "the column of weights": () if weight is None else (weight,),
        }
        for name in (target, *sensitive, *drop, *given, *others["the column of weights"]):
            if name not in known:
                raise UnknownName("column", name, known)
        for role, names in others.items():
            if target in names:
                raise InvalidInput(f"The target {target!r} is also {role}; a column has one role.")
        y = _target(table[target])
        needed = table[[target, *sensitive, *given, *others["the column of weights"]]]
        usable = needed.notna().all(axis=1).to_numpy(copy=True)
        if y.dtype.kind == "f":
            usable &= np.isfinite(y.to_numpy())
        if usable.sum() < FEWEST_ROWS:
            raise InvalidInput(
                f"Only {int(usable.sum())} rows have a target and all sensitive values; "
                f"at least {FEWEST_ROWS} are needed."
            )
        out = {target, *drop, *others["the column of weights"]} | (set() if sensitive_inputs else set(sensitive))
        kept = table.loc[usable].reset_index(drop=True)
        features = kept[[name for name in table.columns if name not in out]]
        if not features.shape[1]:
            raise InvalidInput("No column is left to predict from; drop fewer columns.")
        return cls(
            features,
            y[usable].reset_index(drop=True),
            kept[list(sensitive)].infer_objects(),
            int((~usable).sum()),
            None if weight is None else kept[weight],
            kept[list(given)].infer_objects() if given else None,
        )

    def encoder(self) -> TableEncoder:
        """An encoder of the features, fitted on all rows of this table."""
        return TableEncoder.fit(self.features)


def _target(column: pd.Series) -> pd.Series:
    """Numbers, or the column itself where it is text with two values."""
    numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
    strange = column[numbers.isna() & column.notna()]
    if not len(strange):
        return numbers
    if strange.size == column.notna().sum() and column.nunique() == 2:
        return column.astype(object)
    where = int(strange.index[0]) + 1
    raise InvalidType(
        f"The target {str(column.name)!r} holds {strange.iloc[0]!r} (row {where}); numbers are needed, or two classes."
    )


def encoded(encoder: TableEncoder, features: pd.DataFrame) -> pd.DataFrame:
    """Features as numbers; columns are named as in ``encoder.outputs``."""
    return pd.DataFrame(encoder.transform(features), columns=list(encoder.outputs), index=features.index)
