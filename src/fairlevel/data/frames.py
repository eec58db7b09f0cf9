"""From the numbers that a fit works with back to the columns that the user gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import Dates, Kind, Truths
from fairlevel.data.dates import dates_as_text
from fairlevel.data.native_columns import NativeColumns


@dataclass(frozen=True)
class GivenColumns:
    """How X looked: ``template`` is the frame without its rows, or None for an array; ``native`` numbers categories."""

    template: pd.DataFrame | None
    native: NativeColumns | None = None

    @classmethod
    def of(cls, X: Any, native: NativeColumns | None) -> GivenColumns:
        """Of what ``fit`` was given."""
        if not hasattr(X, "columns"):
            return cls(None, native)
        frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        return cls(frame.iloc[:0], native)

    def restore(self, x: Array) -> Any:
        """Rows as they were given, (row, feature): a frame with the same names and types, or the array itself.
        Categories that ``fit`` did not know are missing.
        """
        if self.template is None:
            return x
        columns = {}
        for number, (name, kind) in enumerate(self.template.dtypes.items()):
            known = None if self.native is None else self.native.categories[number]
            holds = None if self.native is None else self.native.kinds[number]
            columns[name] = _column(x[:, number], kind, known, holds)
        return pd.DataFrame(columns, columns=self.template.columns)


def _column(values: Array, kind: Any, known: tuple[Any, ...] | None, holds: Kind | None) -> pd.Series:
    missing = np.isnan(values)
    if isinstance(holds, Dates) and not pd.api.types.is_datetime64_any_dtype(kind):
        return pd.Series(dates_as_text(values, holds.pattern), dtype=object).astype(kind)
    if isinstance(holds, Truths) and not pd.api.types.is_bool_dtype(kind):
        return pd.Series([None if gap else bool(value) for gap, value in zip(missing, values, strict=True)], dtype=kind)
    if known is not None:
        names = np.array([*known, None], dtype=object)
        return pd.Series(names[np.where(missing, len(known), values).astype(int)], dtype=object).astype(kind)
    if pd.api.types.is_datetime64_any_dtype(kind):
        dates = pd.to_datetime(pd.Series(values), unit="D", utc=True)
        zone = getattr(kind, "tz", None)
        return (dates.dt.tz_localize(None) if zone is None else dates.dt.tz_convert(zone)).astype(kind)
    column = pd.Series(values)
    return column if missing.any() and not pd.api.types.is_extension_array_dtype(kind) else column.astype(kind)
