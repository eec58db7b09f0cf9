"""Tables of any kind as matrices, by rules that only training rows set."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlevel.data.columns import Dates, Numbers, Texts, Truths
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.table_rules import FrequentRule, IndicatorRule, NumberRule, OrdinalRule
from fairlevel.exceptions import InvalidInput, InvalidType, NumbersAsText, UnknownName, UnreadableCells, UnseenLevels


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [20.0, np.nan, 40.0, 60.0],
            "town": ["b", "a", None, "b"],
            "joined": pd.to_datetime(["1970-01-02", "1970-01-03", None, "1970-01-05"]),
            "member": [True, False, True, True],
            "constant": [7, 7, 7, 7],
            "empty": [np.nan] * 4,
            "same": ["x"] * 4,
        }
    )


def test_each_column_by_hand(frame):
    encoder = TableEncoder().fit(frame)
    assert encoder.outputs == ("age", "town=(missing)", "town=a", "town=b", "joined", "member")
    assert encoder.origin == (0, 1, 1, 1, 2, 3)
    assert encoder.needed == ("age", "town", "joined", "member")
    expected = [
        [20, 0, 0, 1, 1, 1],
        [40, 0, 1, 0, 2, 0],
        [40, 1, 0, 0, 2, 1],  # median of 20, 40, 60; median of days 1, 2, 4
        [60, 0, 0, 1, 4, 1],
    ]
    np.testing.assert_array_equal(encoder.transform(frame), expected)


def test_other_rows_set_nothing():
    training = pd.DataFrame({"age": [20.0, 40.0, np.nan], "town": ["a", "b", "a"]})
    later = pd.DataFrame({"age": [np.nan, 1e9], "town": ["never seen", "a"]})
    encoder = TableEncoder().fit(training)
    assert encoder.rules_ == (NumberRule("age", 30.0), IndicatorRule("town", ("a", "b")))
    with pytest.warns(UnseenLevels, match="'town' 1 of 2 rows"):
        np.testing.assert_array_equal(encoder.transform(later), [[30.0, 0, 0], [1e9, 1, 0]])


def test_alphabetical_numbers_of_the_study():
    training = pd.DataFrame({"code": [f"c{k:02d}" for k in range(21)]})
    encoder = TableEncoder(many="ordinal").fit(training)
    assert isinstance(encoder.rules_[0], OrdinalRule)
    later = pd.DataFrame({"code": ["c00", "c20", "unknown"]})
    with pytest.warns(UnseenLevels):
        np.testing.assert_array_equal(encoder.transform(later)[:, 0], [0, 20, 10])


def test_many_categories_have_indicators_buckets_and_a_frequency():
    often = [f"often {k}" for k in range(3) for _ in range(50 + k)]
    rare = [f"rare {k:02d}" for k in range(30) for _ in range(11)]
    encoder = TableEncoder().fit(pd.DataFrame({"job": often + rare}))
    (rule,) = encoder.rules_
    assert isinstance(rule, FrequentRule)
    assert rule.frequent == ("often 0", "often 1", "often 2")
    assert rule.buckets == 2  # 330 rows of rare ones, 150 for each
    later = pd.DataFrame({"job": ["often 1", "rare 07", "rare 07", "never seen"]})
    with pytest.warns(UnseenLevels, match="'job' 1 of 4 rows"):
        found = encoder.transform(later)
    np.testing.assert_array_equal(found[0], [0, 1, 0, 0, 0, np.log(51)])
    np.testing.assert_array_equal(found[1, :3], 0)
    assert found[1, 3:5].sum() == found[3, 3:5].sum() == 1
    np.testing.assert_array_equal(found[1], found[2])
    np.testing.assert_array_equal(found[1:, 5], np.log([11, 11, 11]))  # an unseen one counts as rare as the rarest
    assert len(set(encoder.outputs)) == 6


def test_json_round_trip(frame):
    frame = pd.concat([frame] * 8, ignore_index=True)
    frame["job"] = [f"job {k}" for k in range(32)]
    frame["when"] = [f"{k % 28 + 1:02d}.03.2020" for k in range(32)]
    frame["price"] = [f"{k},5" for k in range(32)]
    encoder = TableEncoder().fit(frame)
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.rules_ == encoder.rules_
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))


def test_bad_tables(frame):
    with pytest.raises(InvalidInput, match="None of the 1 columns varies"):
        TableEncoder().fit(frame[["constant"]])
    with pytest.raises(InvalidInput, match=r"lacks 'town'.*needs 'age', 'town', 'joined', 'member'"):
        TableEncoder().fit(frame).transform(frame.drop(columns="town"))
    with pytest.raises(InvalidInput, match="X has several columns named 'age'"):
        TableEncoder().fit(frame[["age", "age"]])
    with pytest.raises(UnknownName, match="frequent"):
        TableEncoder(many="some").fit(frame)


@pytest.fixture(scope="module")
def typed():
    rows = 60
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(rows) * 11, unit="D")
    return pd.DataFrame(
        {
            "hours": np.linspace(30, 45, rows).round(2),
            "when": day,
            "member": np.arange(rows) % 3 == 0,
            "code": pd.Series(np.arange(rows) % 4 + 1).astype(str),
        }
    )


def test_the_same_table_as_text_gives_the_same_matrix(typed):
    """CSV, Parquet, decimal commas and other ways to write dates: one rule each, learnt once."""
    expected = TableEncoder().fit_transform(typed)
    for pattern in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%b %d, %Y", "%Y/%m/%d 00:00"):
        text = typed.assign(when=typed["when"].dt.strftime(pattern))
        encoder = TableEncoder().fit(text)
        np.testing.assert_array_equal(encoder.transform(text), expected)
        np.testing.assert_array_equal(encoder.transform(typed), expected)  # fitted on CSV, used on Parquet
    fitted = TableEncoder().fit(typed)
    as_objects = typed.assign(when=typed["when"].dt.date, member=typed["member"].astype(object))
    as_text = typed.assign(when=typed["when"].astype(str), member=typed["member"].map({True: "TRUE", False: "false"}))
    as_numbers = typed.assign(code=typed["code"].astype(float), hours=typed["hours"].astype(str))  # codes with a gap
    for other in (as_objects, as_text, as_numbers):
        np.testing.assert_array_equal(fitted.transform(other), expected)
    comma = typed.assign(hours=typed["hours"].astype(str).str.replace(".", ","))
    encoder = TableEncoder().fit(comma)
    assert [rule.reads for rule in encoder.rules_] == [Numbers(","), Dates(), Truths(), Texts()]
    assert encoder.as_text == ("hours", "when", "member", "code")
    np.testing.assert_allclose(encoder.transform(comma), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("hours", "abc", r"'hours' holds 'abc' \(row 4\).*finite numbers"),
        ("hours", "40h", "'40h'"),
        ("hours", "40,5", "'40,5'"),
        ("hours", np.inf, r"holds inf \(row 4\)"),
        ("member", "yes", "'yes'.*True or False"),
        ("when", "03/04/2020", "dates such as '2020-02-29'"),
        ("when", 20200101, "20200101"),
    ],
)
def test_a_cell_of_another_kind_is_named_or_imputed(typed, column, value, said):
    later = typed.astype({column: object})
    later.loc[3, column] = value
    encoder = TableEncoder().fit(typed)
    with pytest.raises(InvalidType, match=said):
        encoder.transform(later)
    later.loc[7, column] = value
    with pytest.warns(UnreadableCells, match=f"'{column}' 2 of 60 rows"):
        found = clone(encoder).set_params(unreadable="impute").fit(typed).transform(later)
    without = typed.astype({column: object})
    without.loc[[3, 7], column] = None
    np.testing.assert_array_equal(found, encoder.transform(without))


def test_ambiguous_dates_and_columns_that_are_mostly_numbers_are_refused(typed):
    day = pd.Series([f"0{k % 9 + 1}/0{k % 8 + 1}/2020" for k in range(60)])
    with pytest.raises(InvalidInput, match="'when' holds dates such as '09/01/2020'"):
        TableEncoder().fit(typed.assign(when=day))
    hours = typed["hours"].astype(str)
    hours[[5, 9]] = ["unknown", "?"]
    with pytest.raises(InvalidType, match=r"'hours' is mostly numbers.*'unknown' \(row 6\), '\?' \(row 10\)"):
        TableEncoder().fit(typed.assign(hours=hours))
    assert isinstance(TableEncoder().fit(typed.assign(hours=hours.astype("category"))).rules_[0], FrequentRule)
    with pytest.raises(InvalidInput, match="decimal sign or separate"):
        TableEncoder().fit(typed.assign(hours=[f"{k % 9 + 1},{100 + k}" for k in range(60)]))
    few = typed.assign(hours=["1", "2", "3 or more"] * 20)
    assert isinstance(TableEncoder().fit(few).rules_[0], IndicatorRule)


@pytest.mark.parametrize(
    "cells", [["a", "\ud800", "b"], ["9999-12-31", "0001-01-01", None], [b"x", b"y", None], ["", "", "a"]]
)
def test_odd_cells_end_in_numbers(cells):
    frame = pd.DataFrame({"odd": pd.Series(cells, dtype=object), "x": [1.0, 2.0, 3.0]})
    assert np.isfinite(TableEncoder().fit_transform(frame)).all()


def test_lists_as_cells_are_named():
    lists, plain = (pd.DataFrame({"odd": pd.Series(cells, dtype=object)}) for cells in ([[1], [2]], [1, 2]))
    with pytest.raises(InvalidType, match="'odd' holds list objects"):
        TableEncoder().fit(lists)
    with pytest.raises(InvalidType, match=r"'odd' holds \[1\] \(row 1\)"):
        TableEncoder().fit(plain).transform(lists)


def test_a_real_transformer(frame):
    encoder = TableEncoder()
    out = clone(encoder).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list(encoder.fit(frame).get_feature_names_out())
    assert out.index.equals(frame.index)
    columns = ColumnTransformer([("table", TableEncoder(), ["town", "joined"]), ("age", StandardScaler(), ["age"])])
    matrix = columns.fit_transform(frame)
    assert list(columns.get_feature_names_out())[:2] == ["table__town=(missing)", "table__town=a"]
    assert matrix.shape == (4, 5)
    assert make_pipeline(TableEncoder(), Ridge()).fit(frame, [1, 2, 3, 4]).predict(frame).shape == (4,)
    assert list(encoder.feature_names_in_) == list(frame.columns)
    array = np.array([["a", 1.0], ["b", 2.0], ["a", 4.0]], dtype=object)
    np.testing.assert_array_equal(TableEncoder().fit_transform(array), [[1, 0, 1], [0, 1, 2], [1, 0, 4]])


def test_masked_cells_are_refused():
    """Their values were read."""
    masked = np.ma.masked_array([[1.0, 2.0], [2.0, 3.0]], mask=[[True, False], [False, False]])
    with pytest.raises(InvalidInput, match="X is a masked array with 1 masked values"):
        TableEncoder().fit(masked)


def test_numbers_beside_text_in_a_list_of_rows_are_numbers():
    """NumPy writes all cells of such a list as text: each number was a category."""
    rows = [[1, "a"], [2, "b"], [3, "a"], [2, "a"]]
    encoder = TableEncoder().fit(rows)
    assert [type(rule) for rule in encoder.rules_] == [NumberRule, IndicatorRule]
    np.testing.assert_array_equal(encoder.transform(rows), encoder.transform(np.array(rows, dtype=object)))


def test_years_of_two_digits_need_a_century():
    """03.03.68 was read as 2068: people born before 1969 were younger than all others."""
    with pytest.raises(InvalidInput, match=r"'03\.03\.68', of which the century is not known; write years with four"):
        TableEncoder().fit(pd.DataFrame({"born": ["01.01.92", "03.03.68", "05.06.12"]}))
    read = TableEncoder().fit_transform(pd.DataFrame({"born": ["01.01.92", "03.03.70", "05.06.12"]}))
    np.testing.assert_array_equal(read[:, 0], [8035, 61, 15496])


def test_amounts_written_as_text_are_warned_of():
    """Each was a category of its own, without a word."""
    amounts = pd.DataFrame({"income": [f"{1000 + 7.5 * k}" for k in range(40)]})
    with pytest.warns(NumbersAsText, match=r"'income' holds numbers written as text, such as '1000.0': 40 categories"):
        TableEncoder().fit(amounts)
    for codes in ([f"{10_000 + 37 * k}" for k in range(40)], [f"0{k}" for k in range(40)]):
        TableEncoder().fit(pd.DataFrame({"code": codes}))  # warnings are errors here


OF_0_2 = {
    "many": "frequent",
    "unreadable": "error",
    "rules": [
        {"kind": "number", "name": "age", "median": 40.0, "reads": {"holds": "numbers", "decimal": ","}},
        {"kind": "number", "name": "day", "median": 1.0, "reads": {"holds": "dates", "pattern": "%d.%m.%Y"}},
        {"kind": "number", "name": "member", "median": 1.0, "reads": {"holds": "truths"}},
        {"kind": "indicator", "name": "town", "categories": ["(missing)", "a"], "reads": {"holds": "texts"}},
        {"kind": "frequent", "name": "job", "categories": ["j", "k"], "counts": [50, 3], "reads": {"holds": "texts"}},
        {"kind": "ordinal", "name": "code", "categories": ["1", "2", "3"], "reads": {"holds": "texts"}},
    ],
}


def test_rules_that_version_0_2_wrote_are_read():
    encoder = TableEncoder.from_dict(OF_0_2)
    assert json.loads(json.dumps(encoder.to_dict())) == OF_0_2
    table = pd.DataFrame(
        {"age": ["1,5", None], "day": ["03.01.1970", None], "member": ["no such", "FALSE"], "town": [None, "a"]}
    ).assign(job=["j", "k"], code=[3.0, 1.0])
    found = TableEncoder.from_dict(OF_0_2 | {"unreadable": "impute"})
    with pytest.warns(UnreadableCells, match="'member' 1 of 2 rows"):
        matrix = found.transform(table)
    expected = [[1.5, 2, 1, 1, 0, 1, 0, np.log(50), 2], [40, 1, 0, 0, 1, 0, 1, np.log(3), 0]]
    np.testing.assert_array_equal(matrix, expected)
