"""Dates as text: which format a column has, and days since 1970."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array

_ISO = r"\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?"
_DAYS = (
    ("%Y/%m/%d",),
    ("%d.%m.%Y",),
    ("%d.%m.%y",),
    ("%d/%m/%Y", "%m/%d/%Y"),
    ("%d-%m-%Y", "%m-%d-%Y"),
    ("%d/%m/%y", "%m/%d/%y"),
    ("%d %b %Y",),
    ("%d-%b-%Y",),
    ("%d-%b-%y",),
    ("%d %B %Y",),
    ("%b %d, %Y",),
    ("%B %d, %Y",),
)
"""Formats of days; those in one row look alike."""
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S")


class AmbiguousDates(ValueError):
    """All cells are dates in two patterns that mean different days."""

    def __init__(self, example: str) -> None:
        super().__init__(example)
        self.example = example


def date_pattern(values: Any) -> str | None:
    """The format in which all values are dates: "" for ISO 8601; None where they are none."""
    if np.isfinite(read_dates(values, "")).all():
        return ""
    first = next((value for value in values if isinstance(value, str)), "")
    for alike in _DAYS:
        for time in _TIMES:
            patterns = [day + time for day in alike if any(_fits(first, other + time) for other in alike)]
            found = {pattern: read_dates(values, pattern) for pattern in patterns}
            whole = {pattern: days for pattern, days in found.items() if np.isfinite(days).all()}
            if len(whole) == 2:
                one, other = whole.values()
                if (one != other).any():
                    raise AmbiguousDates(str(values[int(np.argmax(one != other))]))
            if whole:
                return next(iter(whole))
    return None


def read_dates(values: Any, pattern: str) -> Array:
    """Days since 1970 of dates and of text in a format or in ISO 8601, (value,); NaN for anything else."""
    cells = pd.Series(list(values), dtype=object)
    days = np.full(len(cells), np.nan)
    words = cells.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=bool)
    text = cells[words].astype(str).str.strip()
    iso = text.str.fullmatch(_ISO).to_numpy(dtype=bool)
    parsed = np.full(len(text), np.nan)
    parsed[iso] = days_since_1970(pd.to_datetime(text[iso], format="ISO8601", utc=True, errors="coerce"))
    if pattern and not iso.all():
        parsed[~iso] = days_since_1970(pd.to_datetime(text[~iso], format=pattern, utc=True, errors="coerce"))
    days[words] = parsed
    objects = cells.map(lambda cell: hasattr(cell, "isoformat") and hasattr(cell, "year")).to_numpy(dtype=bool)
    if objects.any():
        days[objects] = days_since_1970(pd.to_datetime(cells[objects], utc=True, errors="coerce"))
    return days


def dates_as_text(days: Array, pattern: str) -> list[str | None]:
    """The text of days since 1970 in a format; None where they are missing."""
    dates = pd.to_datetime(pd.Series(days), unit="D", utc=True)
    known = days[np.isfinite(days)]
    iso = "%Y-%m-%d" if (known == np.floor(known)).all() else "%Y-%m-%d %H:%M:%S.%f"
    return [None if pd.isna(date) else date.strftime(pattern or iso) for date in dates]


def _fits(text: str, pattern: str) -> bool:
    try:
        datetime.strptime(text.strip(), pattern)
    except ValueError:
        return False
    return True


def days_since_1970(dates: pd.Series) -> Array:
    """Of dates in UTC, (row,); NaN where they are missing."""
    days = (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(days, dtype=np.float64)
