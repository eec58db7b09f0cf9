"""What a column holds: decided once, on training rows, and then the rule by which every later column is read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Flags
from fairlevel.data.dates import date_pattern, dates_as_text, days_since_1970, read_dates
from fairlevel.data.numbers import Number
from fairlevel.exceptions import InvalidInput, InvalidType, NumbersAsText

FEW_LEVELS = 20  # a text column with so few values may hold numbers and words side by side, such as 1, 2, "3 or more",
NEARLY_ALL = 0.95  # unless so large a part of the cells are numbers
MISSING = "(missing)"  # the category of missing categories
SHOWN = 3  # cells that an error names
_NUMBER_GAPS = ("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN")
GAPS = ("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "None", "NULL", "null", *_NUMBER_GAPS)
"""What files of text may hold where a value is missing; those that pandas knows."""
_THOUSANDS = r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_WITH_COMMA = r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?|[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?"


@dataclass(frozen=True)
class Kind:
    """What a column holds, and how it is read."""

    is_text: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """As files and messages call it."""
        return type(self).__name__.lower()

    @property
    def wanted(self) -> str:
        """In words what its cells must be."""
        return {"numbers": "finite numbers", "truths": "True or False"}.get(self.name, self.name)

    def values(self, cells: Any) -> Any:
        """Distinct cells as numbers, NaN or infinite for those that cannot be read, or as text; (cell,)."""
        raise NotImplementedError

    def read(self, column: pd.Series) -> Any:
        """Numbers, NaN where missing or not readable, or text, NaN where missing; (row,)."""
        cells = [cell if isinstance(cell, Hashable) else str(cell) for cell in column.astype(object)]
        numbers, distinct = pd.factorize(pd.Series(cells, dtype=object))
        return np.append(self.values(distinct), np.nan)[numbers]

    def unreadable(self, column: pd.Series, values: Any) -> Flags:
        """Which cells of a column, read as these values, are neither missing nor readable; (row,)."""
        unreadable: Flags = pd.isna(values) & column.notna().to_numpy()
        return unreadable

    def to_plain(self) -> dict[str, str]:
        """Plain values for JSON."""
        return {"holds": self.name, **vars(self)}


@dataclass(frozen=True)
class Numbers(Kind):
    """Numbers; text is read with this decimal sign. Infinite values cannot be read."""

    decimal: str = "."

    def values(self, cells: Any) -> Array:
        text = pd.Series([_number_text(cell, self.decimal) for cell in cells], dtype=object)
        values: Array = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return values

    def read(self, column: pd.Series) -> Array:
        is_number = _is_real(column.dtype)
        values = column.to_numpy(dtype=np.float64, na_value=np.nan) if is_number else super().read(column)
        return np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True)
class Dates(Kind):
    """Days since 1970. Text is read in this pattern, or as ISO 8601, which an empty pattern stands for."""

    pattern: str = ""

    @property
    def wanted(self) -> str:
        return f"dates such as {dates_as_text(np.array([18321.0]), self.pattern)[0]!r}"

    def values(self, cells: Any) -> Array:
        return read_dates(cells, self.pattern)

    def read(self, column: pd.Series) -> Array:
        is_date = pd.api.types.is_datetime64_any_dtype(column.dtype)
        return days_since_1970(pd.to_datetime(column, utc=True)) if is_date else super().read(column)


@dataclass(frozen=True)
class Truths(Kind):
    """True and False as 1 and 0; also the words, in any case, and the numbers 1 and 0."""

    def values(self, cells: Any) -> Array:
        known = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        return np.array([known.get(text_of(cell).lower(), np.nan) for cell in cells], dtype=np.float64)


@dataclass(frozen=True)
class Texts(Kind):
    """Categories, as text; a whole number has no decimals, however it is stored or written."""

    is_text: ClassVar[bool] = True

    def values(self, cells: Any) -> Any:
        return np.array(list(map(text_of, cells)), dtype=object)


def kind_from(values: Mapping[str, Any]) -> Kind:
    """What :meth:`Kind.to_plain` wrote."""
    kinds: dict[str, Any] = {kind.__name__.lower(): kind for kind in (Numbers, Dates, Truths, Texts)}
    fields = dict(values)
    return kinds[str(fields.pop("holds"))](**fields)  # type: ignore[no-any-return]


class MostlyReadable(InvalidType):
    """A text column in which most cells are numbers or dates, but not all; ``kind`` reads those."""

    def __init__(self, name: str, kind: Kind, others: pd.Series) -> None:
        self.kind = kind
        super().__init__(
            f"Column {name!r} is mostly {kind.name}, but holds {cells_in_words(others)}; leave such cells empty, or "
            f"write them as {kind.wanted}. If the column holds categories, convert it with .astype('category'), or "
            "name it in --categories."
        )


class Unreadable(InvalidType):
    """Cells that are not of the kind that their column held in training."""


def refuse_unreadable(name: str, kind: Kind, column: pd.Series, values: Any) -> None:
    """Name the cells that are not of the kind that the column held in training; it was read as these values."""
    unreadable = kind.unreadable(column, values)
    if unreadable.any():
        raise Unreadable(
            f"Column {name!r} holds {cells_in_words(column[unreadable])}, which cannot be read; {kind.wanted} are "
            "needed, as in training. Correct these cells, or leave them empty to count as missing."
        )


def kind_of(name: str, column: pd.Series) -> Kind:
    """What a column of training rows holds. Its type decides where it says so: numbers, dates, truths, pandas' type
    ``category``. Text is dates or numbers with a decimal comma where all cells are, and otherwise categories; text that
    is mostly numbers or mostly dates, and dates of which day and month cannot be told apart, are refused.
    """
    types = pd.api.types
    if types.is_bool_dtype(column.dtype):
        return Truths()
    if _is_real(column.dtype):
        return Numbers()
    if types.is_datetime64_any_dtype(column.dtype):
        return Dates()
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Texts()
    if types.is_timedelta64_dtype(column.dtype) or types.is_complex_dtype(column.dtype):
        raise InvalidType(
            f"Column {name!r} holds values of type {column.dtype}; convert it to numbers, such as with "
            ".dt.total_seconds()."
        )
    cells = column.dropna()
    strange = next((cell for cell in cells if not isinstance(cell, Hashable)), None)
    if strange is not None:
        raise InvalidType(
            f"Column {name!r} holds {type(strange).__name__} objects; numbers, dates or text are needed: drop it, or "
            "make columns of its parts."
        )
    values = pd.unique(cells.astype(object))
    if len(values) == 0:
        return Texts()
    if all(text_of(value).lower() in ("true", "false") for value in values):
        return Truths()
    if any(isinstance(value, str) for value in values):
        return _kind_of_text(name, cells, values)
    if all(isinstance(value, Number) for value in values):
        return Numbers()
    return Dates() if np.isfinite(read_dates(values, "")).all() else Texts()


def _is_real(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _kind_of_text(name: str, cells: pd.Series, values: Any) -> Kind:
    """Of cells without gaps and their distinct values, some of which are text."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    readable: list[tuple[Kind, Flags]] = [(kind, np.isfinite(kind.values(values))) for kind in map(Numbers, ".,")]
    (_, points), (_, commas) = readable
    if points.all():
        if len(texts) < len(values):
            return Numbers()
        are_codes = all(map(str.isdigit, values)) and (  # all of one length, or some with a zero before other digits
            len(set(map(len, values))) == 1 or any(value.startswith("0") for value in values)
        )
        if len(values) > FEW_LEVELS and not are_codes:
            warnings.warn(
                f"Column {name!r} holds numbers written as text, such as {values[0]!r}: {len(values)} categories. If "
                "they are amounts, convert them with pandas.to_numeric.",
                NumbersAsText,
                stacklevel=2,
            )
        return Texts()
    if commas.all():
        with_comma = [text for text in texts if "," in text]
        if with_comma and all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", text) for text in with_comma):
            raise InvalidInput(
                f"Column {name!r} holds numbers such as {with_comma[0]!r}, whose comma may be a decimal sign or "
                "separate thousands; write them with a point, or without separators."
            )
        return Numbers(",")
    grouped = [text for text in texts if re.fullmatch(_THOUSANDS, text)]
    if len(grouped) > len(values) / 2:
        raise InvalidInput(
            f"Column {name!r} holds numbers such as {grouped[0]!r}, with separators of thousands; write them without "
            f"separators, such as {grouped[0].replace(',', '')!r}."
        )
    pattern = date_pattern(name, values)
    if pattern is not None:
        readable.append((Dates(pattern), np.isfinite(read_dates(values, pattern))))
        if readable[-1][1].all():
            return Dates(pattern)
    for kind, good in readable:
        good_cells = cells.isin(values[good])
        mostly = good.sum() > FEW_LEVELS and good_cells.mean() > 0.5
        nearly_all = good.sum() > 2 and good_cells.mean() > NEARLY_ALL
        if mostly or nearly_all or isinstance(kind, Dates):
            raise MostlyReadable(name, kind, cells[~good_cells])
    return Texts()


def cells_in_words(cells: pd.Series) -> str:
    """The first cells with their rows, counted from 1 where their labels are numbers, and how many more there are."""
    first = cells.iloc[:SHOWN]
    rows = first.index + 1 if pd.api.types.is_integer_dtype(cells.index.dtype) else first.index
    shown = [f"{cell!r} (row {row})" for cell, row in zip(first.astype(object).tolist(), rows, strict=True)]
    more = len(cells) - len(shown)
    return ", ".join(shown) + (f" and {more} more such cells" if more else "")


def filled(texts: Any) -> Any:
    """Text with a category of its own for missing values."""
    text = np.array(texts, dtype=object)
    text[pd.isna(text)] = MISSING
    return text


def indicators(values: Any, categories: Sequence[Any]) -> Array:
    """A column of zeros and ones for each category: (row,) -> (row, category)."""
    numbers = pd.Index(categories, dtype=object).get_indexer(pd.Index(values, dtype=object))
    columns: Array = np.eye(len(categories) + 1)[numbers, :-1]  # −1, for any other value, is the last row
    return columns


def text_of(value: Any) -> str:
    """A value as the name of a category: 1, 1.0, "1" and "1.0", as files hold whole numbers beside a gap, have the
    same.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value)
    return text.removesuffix(".0") if re.fullmatch(r"-?(?:0|[1-9]\d*)\.0", text) else text


def _number_text(cell: Any, decimal: str) -> Any:
    """Text as pandas reads numbers; "" where it is none in this notation."""
    if not isinstance(cell, str):
        return cell if isinstance(cell, Number) else ""
    cell = cell.strip()
    if decimal == ".":
        return cell if cell.isascii() else ""
    return cell.replace(".", "").replace(",", ".") if re.fullmatch(_WITH_COMMA, cell) else ""


def are_numbers(cells: pd.Series) -> Flags:
    """Which cells are numbers in some notation, also one that is refused where columns are read: -1.5, -1,5, -1.234,5
    and -1,234.5. Shapes: (row,) -> (row,).
    """
    grouped = [isinstance(cell, str) and re.fullmatch(_THOUSANDS, cell.strip()) is not None for cell in cells]
    points, commas = (~np.isnan(Numbers(decimal).values(cells)) for decimal in ".,")
    return np.array(grouped, dtype=bool) | points | commas


def numbers_of(column: pd.Series) -> pd.Series:
    """A column as numbers, also those that are written as text; all other cells are missing. Dates and spans of time,
    which pandas would count in nanoseconds, are no numbers.
    """
    cells = column.astype(str) if column.dtype.kind in "mM" else column
    return pd.to_numeric(cells, errors="coerce")
