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
    """Features of any kind, a numeric target and sensitive attributes; ``dropped`` counts the rows that were left out
    because the target or a sensitive value was missing.
    """

    features: pd.DataFrame
    target: pd.Series
    sensitive: pd.DataFrame
    dropped: int

    @classmethod
    def of(
        cls, table: pd.DataFrame, target: str, sensitive: Sequence[str], drop: Sequence[str], sensitive_inputs: bool
    ) -> LearningTable:
        """Give every column its role; with ``sensitive_inputs`` the sensitive columns are features, too."""
        known = [str(name) for name in table.columns]
        for name in (target, *sensitive, *drop):
            if name not in known:
                raise UnknownName("column", name, known)
        if target in sensitive:
            raise InvalidInput(f"The target {target!r} is also a sensitive column; a column has one role.")
        if target in drop:
            raise InvalidInput(f"The target {target!r} is also named as a column to drop; a column has one role.")
        y = pd.to_numeric(table[target], errors="coerce").astype(np.float64)
        strange = table[target][y.isna() & table[target].notna()]
        if len(strange):
            where = int(strange.index[0]) + 1
            raise InvalidType(f"The target {target!r} holds {strange.iloc[0]!r} (row {where}); numbers are needed.")
        usable = np.isfinite(y.to_numpy()) & table[list(sensitive)].notna().all(axis=1).to_numpy()
        if usable.sum() < FEWEST_ROWS:
            raise InvalidInput(
                f"Only {int(usable.sum())} rows have a target and all sensitive values; "
                f"at least {FEWEST_ROWS} are needed."
            )
        out = {target, *drop} if sensitive_inputs else {target, *drop, *sensitive}
        kept = table.loc[usable].reset_index(drop=True)
        features = kept[[name for name in table.columns if name not in out]]
        if not features.shape[1]:
            raise InvalidInput("No column is left to predict from; drop fewer columns.")
        return cls(
            features, y[usable].reset_index(drop=True), kept[list(sensitive)].infer_objects(), int((~usable).sum())
        )

    def encoder(self) -> TableEncoder:
        """An encoder of the features, fitted on all rows of this table."""
        return TableEncoder.fit(self.features)


def encoded(encoder: TableEncoder, features: pd.DataFrame) -> pd.DataFrame:
    """Features as numbers; columns are named as in ``encoder.outputs``."""
    return pd.DataFrame(encoder.transform(features), columns=list(encoder.outputs), index=features.index)
