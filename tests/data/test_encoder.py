"""Tables of any kind as matrices, by rules that only training rows set."""

import json

import numpy as np
import pandas as pd
import pytest

from fairlevel.data.encoder import IndicatorRule, NumberRule, OrdinalRule, TableEncoder
from fairlevel.exceptions import InvalidInput


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
    encoder = TableEncoder.fit(frame)
    assert encoder.outputs == ("age", "town=(missing)", "town=a", "town=b", "joined", "member")
    assert encoder.origin == (0, 1, 1, 1, 2, 3)
    expected = [
        [20, 0, 0, 1, 1, 1],
        [40, 0, 1, 0, 2, 0],
        [40, 1, 0, 0, 2, 1],  # median of 20, 40, 60; median of days 1, 2, 4
        [60, 0, 0, 1, 4, 1],
    ]
    np.testing.assert_array_equal(encoder.transform(frame), expected)


def test_other_rows_set_nothing():
    training = pd.DataFrame({"age": [20.0, 40.0, np.nan], "town": ["a", "b", "a"]})
    later = pd.DataFrame({"age": [np.inf, 1e9], "town": ["never seen", "a"]})
    encoder = TableEncoder.fit(training)
    assert encoder.rules == (NumberRule("age", 30.0), IndicatorRule("town", ("a", "b")))
    np.testing.assert_array_equal(encoder.transform(later), [[30.0, 0, 0], [1e9, 1, 0]])


def test_many_categories_are_numbered():
    training = pd.DataFrame({"code": [f"c{k:02d}" for k in range(21)]})
    encoder = TableEncoder.fit(training)
    assert isinstance(encoder.rules[0], OrdinalRule)
    later = pd.DataFrame({"code": ["c00", "c20", "unknown"]})
    np.testing.assert_array_equal(encoder.transform(later)[:, 0], [0, 20, 10])


def test_json_round_trip(frame):
    encoder = TableEncoder.fit(frame)
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder


def test_files_of_the_first_version_are_still_read(frame):
    encoder = TableEncoder.fit(frame)
    written = json.dumps(encoder.to_dict())
    assert '"categories"' in written
    assert TableEncoder.from_dict(json.loads(written.replace('"categories"', '"levels"'))) == encoder


def test_bad_tables(frame):
    with pytest.raises(InvalidInput, match="None of the 1 columns varies"):
        TableEncoder.fit(frame[["constant"]])
    with pytest.raises(InvalidInput, match="lacks 'town'"):
        TableEncoder.fit(frame).transform(frame.drop(columns="town"))
    with pytest.raises(InvalidInput, match="'age' appears more than once"):
        TableEncoder.fit(frame[["age", "age"]])
