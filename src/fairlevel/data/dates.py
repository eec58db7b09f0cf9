"""Dates as text: which format a column has, and days since 1970."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput

_ISO = r"\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?"
_DAYS = (
    *("%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S")
_PATTERNS = ("", *(day + time for day in _DAYS for time in _TIMES))

_UNCLEAR = tuple(date(year, 1, 1).toordinal() - date(1970, 1, 1).toordinal() for year in (2030, 2069))
"""Days since 1970 between which a year of two digits may as well be that of a hundred years before."""

_LOOKED_AT = 40  # values
_ORDER = (
    "of which day and month cannot be told apart; write them as 2020-12-31, or convert them with "
    "pandas.to_datetime(..., dayfirst=True) or (dayfirst=False)."
)
_CENTURY = "of which the century is not known; write years with four digits, such as 2020-12-31."


def date_pattern(name: str, values: Any) -> str | None:
    """The format in which most values of a column are dates: "" for ISO 8601; None where fewer than half of some of the
    texts are dates in any format. Dates that may mean different days are refused.
    """
    texts = [value.strip() for value in values if isinstance(value, str)]
    looked_at = texts[:: -(-len(texts) // _LOOKED_AT)]
    fits = {pattern: np.array([_fits(text, pattern) for text in looked_at]) for pattern in _PATTERNS}
    most = max(map(np.count_nonzero, fits.values()))
    if most == 0 or np.any(list(fits.values()), axis=0).mean() < 0.5:
        return None
    days = {pattern: read_dates(values, pattern) for pattern, fitting in fits.items() if fitting.sum() == most}
    pattern = max(days, key=lambda candidate: int(np.isfinite(days[candidate]).sum()))
    first, turned = days[pattern], re.sub("%[dm]", lambda sign: "%m" if sign[0] == "%d" else "%d", pattern)
    second = days.get(turned, first)
    either = np.isfinite(first) & np.isfinite(second) & (first != second)
    if either.any() and np.isfinite(first).sum() == np.isfinite(second).sum():
        raise InvalidInput(f"Column {name!r} holds dates such as {str(values[either][0])!r}, {_ORDER}")
    unclear = (first >= _UNCLEAR[0]) & (first < _UNCLEAR[1])
    if "%y" in pattern and unclear.any():
        raise InvalidInput(f"Column {name!r} holds dates such as {str(values[unclear][0])!r}, {_CENTURY}")
    return pattern


def _fits(text: str, pattern: str) -> bool:
    if not pattern:
        return _is_iso(text)
    if not (text[-1:].isdigit() or (pattern.endswith("%p") and any(map(str.isdigit, text)))):
        return False  # sooner than by an error
    try:
        datetime.strptime(text, pattern)
    except ValueError:
        return False
    return True


def read_dates(values: Any, pattern: str) -> Array:
    """Days since 1970 of dates and of text in a format or in ISO 8601, (value,); NaN for anything else."""
    cells = [value.strip() if isinstance(value, str) else value for value in values]
    days = np.full(len(cells), np.nan)
    ways: dict[str, Callable[[Any], bool]] = {"ISO8601": _is_iso, pattern: _is_other_text}
    ways["mixed"] = lambda cell: isinstance(cell, date) and not pd.isna(cell)
    for how, suits in ways.items():
        chosen = [number for number, cell in enumerate(cells) if how and suits(cell)]
        if chosen:
            some = pd.Series([cells[number] for number in chosen], dtype=object)
            days[chosen] = days_since_1970(pd.to_datetime(some, format=how, utc=True, errors="coerce"))
    return days


def _is_iso(cell: Any) -> bool:
    return isinstance(cell, str) and re.fullmatch(_ISO, cell) is not None


def _is_other_text(cell: Any) -> bool:
    """pandas reads "now" and "today" as such, in any format."""
    return isinstance(cell, str) and cell.isprintable() and any(map(str.isdigit, cell)) and not _is_iso(cell)


def days_since_1970(dates: pd.Series) -> Array:
    """Of dates in UTC, (row,); NaN where they are missing."""
    moments = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]")  # nanoseconds end in the year 2262
    days: Array = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return days


def dates_as_text(days: Array, pattern: str) -> list[str | None]:
    """The text of days since 1970 in a format; None where they are missing."""
    dates = pd.to_datetime(pd.Series(days), unit="D", utc=True).dt.round("us")
    known = days[np.isfinite(days)]
    iso = "%Y-%m-%d" if (known == np.floor(known)).all() else "%Y-%m-%d %H:%M:%S.%f"
    return [None if pd.isna(moment) else moment.strftime(pattern or iso) for moment in dates]
