"""What is read as a sensitive attribute, and what is refused because it would measure nothing."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fairlevel import audit, dpvar, dpvar_interval
from fairlevel.conditional_mean.groups import MOST_CATEGORIES, ROWS_PER_CELL
from fairlevel.data import sensitive
from fairlevel.data.sensitive import encode_sensitive
from fairlevel.exceptions import InvalidInput, InvalidType

ROWS = 1000
INCOME = np.random.default_rng(0).lognormal(10, 0.5, ROWS).round(2)
PREDICTION = np.log(INCOME) + np.random.default_rng(1).normal(0, 0.1, ROWS)


def test_one_word_in_a_column_of_numbers_is_named():
    text = pd.Series(INCOME.astype(str), name="income")
    text[7] = "unknown"
    with pytest.raises(InvalidType, match=r"'income' is mostly numbers, but holds 'unknown' \(row 8\)"):
        audit(PREDICTION, sensitive_features=text)


def test_decimal_commas_are_read_as_numbers():
    text = pd.Series(INCOME.astype(str), name="income").str.replace(".", ",")
    found, expected = (dpvar_interval(PREDICTION, sensitive_features=a) for a in (text, INCOME))
    assert found.share_high == pytest.approx(expected.share_high)
    assert found.share > 0.9


def test_dates_are_days_however_they_are_written():
    day = pd.Series(pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(50), unit="D"), name="born")
    expected = 10957 + np.arange(50.0)
    for column in (day, day.astype(str), day.dt.date, day.dt.strftime("%d/%m/%Y")):
        np.testing.assert_array_equal(encode_sensitive(column).values[:, 0], expected)


def test_sensitive_columns_become_numbers():
    frame = pd.DataFrame({"age": [20, 30, 40], "race": ["b", "a", "b"], "member": [True, False, True]})
    encoded = encode_sensitive(frame)
    assert encoded.names == ("age", "race=a", "race=b", "member=False", "member=True")
    np.testing.assert_array_equal(encoded.values[:, :3], [[20, 0, 1], [30, 1, 0], [40, 0, 1]])
    assert encode_sensitive(frame["age"]).values.shape == (3, 1)
    assert encode_sensitive([1.0, 2.0]).values.shape == (2, 1)


def test_missing_categories_are_a_category_and_missing_numbers_an_error():
    found = encode_sensitive(pd.DataFrame({"g": ["b", None, "a"], "m": [True, None, False]}))
    assert found.names == ("g=(missing)", "g=a", "g=b", "m=(missing)", "m=False", "m=True")
    np.testing.assert_array_equal(found.values[:, :3], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(encode_sensitive(pd.Categorical(["x", None])).values, [[0, 1], [1, 0]])
    with pytest.raises(InvalidInput, match=r"1 missing values: age \(1\)"):
        encode_sensitive(pd.DataFrame({"g": ["b", None], "age": [1.0, np.nan]}))


@pytest.mark.parametrize("levels", [250, 999])
def test_categories_with_few_rows_each_are_refused(levels):
    """Their averages would be shrunk: at 3 rows each, a true share of .3 had upper limits of .03."""
    names = pd.Series(np.arange(ROWS) % levels).map("p{}".format)
    with pytest.raises(InvalidInput, match=f"{levels} categories on 1000 rows; at least 5 rows per category"):
        dpvar_interval(PREDICTION, sensitive_features=names)


def test_several_columns_share_the_rows():
    frame = pd.DataFrame({name: (np.arange(ROWS) // step % 70).astype(str) for name, step in (("g", 1), ("h", 7))})
    frame += "x"
    with pytest.raises(InvalidInput, match="have 140 categories on 1000 rows; at least 8 rows per category"):
        encode_sensitive(frame)
    assert encode_sensitive(frame["g"]).values.shape == (ROWS, 70)


def test_the_limits_are_those_of_group_averages():
    assert sensitive.ROWS_PER_CATEGORY == ROWS_PER_CELL
    assert sensitive.FEW_CATEGORIES == MOST_CATEGORIES


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_upper_limit_holds_at_the_fewest_rows(share):
    """5 rows per category: the interval of each of 8 designs reaches the true share."""
    covered = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        group, effect = np.arange(300) % 60, random.normal(0, 1, 60)
        prediction = np.sqrt(share) * effect[group] + random.normal(0, np.sqrt(1 - share), 300)
        found = dpvar_interval(prediction, sensitive_features=pd.Series(group).map("p{}".format))
        covered += found.high >= share * effect.var()
    assert covered >= 7


@pytest.mark.parametrize("argument", ["sensitive_features", "given"])
def test_columns_of_one_name_are_refused(argument):
    """Beside a column of text the last of them stood for all."""
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 2)), columns=["s", "s"]).assign(
        t=["u", "v"] * 25
    )
    rows = {"sensitive_features": np.arange(50.0), argument: frame}
    with pytest.raises(InvalidInput, match=f"{argument} has several columns named 's'"):
        dpvar(None, np.arange(50.0), **rows)


def test_decimals_are_numbers():
    """As databases and Parquet files give them."""
    ages = np.random.default_rng(0).integers(20, 60, 200)
    prediction = ages + np.random.default_rng(1).standard_normal(200)
    as_decimals = pd.DataFrame({"age": [Decimal(int(age)) for age in ages], "town": list("uv") * 100})
    found = [
        dpvar_interval(prediction, sensitive_features=frame).estimate
        for frame in (as_decimals, as_decimals.astype({"age": float}))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("rows", [list, tuple])
def test_numbers_beside_text_in_a_list_of_rows_are_numbers(rows):
    """NumPy writes all cells of such a list as text: age counted as 20 categories."""
    table = pd.DataFrame({"a0": np.tile(np.arange(20, 40), 10), "a1": np.repeat(["f", "m"], 100)})
    found = encode_sensitive([rows(row) for row in table.to_numpy().tolist()])
    assert found.names == ("a0", "a1=f", "a1=m")
    np.testing.assert_array_equal(found.values, encode_sensitive(table).values)


@pytest.mark.parametrize(
    "table",
    [{"age": [20, 30]}, [{"age": 20}, {"age": 30}], np.array([(20,), (30,)], dtype=[("age", float)])],
    ids=["dict", "list of dicts", "structured array"],
)
def test_names_without_a_table_say_what_to_pass(table):
    with pytest.raises(InvalidType, match=r"pass pandas\.DataFrame\(sensitive_features\)"):
        encode_sensitive(table)


def test_long_codes_differ():
    """Whole numbers of 16 digits counted as constant, since they differ by less than rounding would."""
    group = np.arange(ROWS) % 2
    prediction = 2 * group + np.random.default_rng(0).standard_normal(ROWS)
    expected = dpvar(None, prediction, sensitive_features=group)
    assert expected > 0.5
    for codes in (10**15 + group, 2**53 - 2 + group, pd.Series(2**60 + group).astype("category")):
        assert dpvar(None, prediction, sensitive_features=codes) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(InvalidInput, match=r"'a0' that differ beyond 16 digits.*astype\('category'\)"):
        dpvar(None, prediction, sensitive_features=2**60 + group)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint64", "Int64", "UInt8"])
def test_whole_numbers_of_any_type_are_read_without_a_warning(kind):
    group = 1 + np.arange(ROWS) % 3
    prediction = group + np.random.default_rng(0).standard_normal(ROWS)
    found = dpvar(None, prediction, sensitive_features=pd.Series(group).astype(kind))
    assert found == dpvar(None, prediction, sensitive_features=group)
