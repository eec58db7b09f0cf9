"""Columns that are numbers or dates but for some cells: those cells are named, wherever the column is read."""

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairRegressor, TableEncoder, audit
from fairlevel.data.columns import Dates, MostlyReadable, Texts, kind_of
from fairlevel.exceptions import InvalidInput

ROWS = 700
RANDOM = np.random.default_rng(0)
AGES = pd.Series(RANDOM.integers(20, 38, ROWS).astype(str))
DAYS = pd.Series(pd.date_range("1990-01-13", periods=ROWS))
NUMBERS = RANDOM.standard_normal(ROWS)
READERS = {
    "attribute": lambda column: audit(NUMBERS, sensitive_features=column.rename("c")),
    "factor": lambda column: audit(NUMBERS, sensitive_features=NUMBERS**2, given=column.rename("c")),
    "encoder": lambda column: TableEncoder().fit(pd.DataFrame({"c": column})),
    "feature": lambda column: FairRegressor(0).fit(pd.DataFrame({"c": column, "u": NUMBERS}), NUMBERS),
}


def with_cells(column, **cells):
    changed = column.astype(object)
    for row, value in cells.items():
        changed[int(row.removeprefix("row")) - 1] = value
    return changed


def two_styles(first, second):
    """Every third day in another style."""
    styles = np.where(np.arange(ROWS) % 3 == 2, DAYS.dt.strftime(second), DAYS.dt.strftime(first))
    return pd.Series(styles)


HALF_READ = {
    "two words among few numbers": (with_cells(AGES, row4="unknown", row78="?"), "'unknown' (row 4), '?' (row 78)"),
    "numbers beside words": (with_cells(AGES.astype(int), row9="old"), "'old' (row 9)"),
    "two styles of days": (two_styles("%d.%m.%Y", "%d-%b-%Y"), "'15-Jan-1990' (row 3), '18-Jan-1990' (row 6)"),
    "two styles of moments": (two_styles("%m/%d/%Y %H:%M", "%d.%m.%Y"), "'15.01.1990' (row 3), '18.01.1990' (row 6)"),
    "a word among dates": (with_cells(DAYS.dt.strftime("%d.%m.%Y"), row2="today"), "'today' (row 2)"),
    "a word among ISO dates": (with_cells(DAYS.dt.strftime("%Y-%m-%d"), row2="today"), "'today' (row 2)"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", HALF_READ)
def test_cells_that_cannot_be_read_are_named(case, reader):
    """They made categories: 20 of an age, 1,853 of a date."""
    column, cells = HALF_READ[case]
    with pytest.raises(MostlyReadable) as refused:
        READERS[reader](column)
    assert f"Column 'c' is mostly {'numbers' if 'number' in case else 'dates'}, but holds {cells}" in str(refused.value)
    assert "name it in --categories" in str(refused.value)
    READERS[reader](with_cells(AGES, row4=None).astype("category"))  # what the message says to do


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "3 or more"],
        ["0", "1", "unknown"],
        ["Flat 3", "12 High Street", "7b"],
        ["a", "b", "1"],
        ["May", "April", "June 3"],
        ["A 1.1.2020", "B 2.2.2020", "C 3.3.2020"],
    ],
)
def test_words_stay_words(cells):
    assert kind_of("c", pd.Series(cells * 40)) == Texts()


def test_a_few_dates_among_words_stay_words():
    assert (
        kind_of("c", pd.Series([f"note {k}" for k in range(60)] + list(DAYS[:30].dt.strftime("%d.%m.%Y")))) == Texts()
    )


def test_the_style_of_most_dates_reads_the_others_as_missing():
    column, _ = HALF_READ["two styles of days"]
    with pytest.raises(MostlyReadable) as refused:
        kind_of("c", column)
    assert refused.value.kind == Dates("%d.%m.%Y")
    kind = refused.value.kind
    np.testing.assert_array_equal(np.flatnonzero(kind.unreadable(column, kind.read(column))), np.arange(2, ROWS, 3))


def test_day_and_month_that_cannot_be_told_apart_are_refused_beside_another_style():
    days = [f"0{k % 9 + 1}/0{k % 8 + 1}/2020" for k in range(60)]
    with pytest.raises(InvalidInput, match="day and month cannot be told apart"):
        kind_of("c", pd.Series([*days, "yesterday"]))


def test_years_of_two_digits_need_a_century_beside_another_style():
    """They were read as those of this century, once the other cells were left out."""
    days = [f"{k % 28 + 1:02d}.03.{k % 90:02d}" for k in range(90)]
    with pytest.raises(InvalidInput, match="the century is not known"):
        kind_of("c", pd.Series([*days, "yesterday"]))
