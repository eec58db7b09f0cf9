"""What is said about missing values: one rule for every command."""

import numpy as np
import pandas as pd

from fairlevel.data.learning_table import Gaps, LearningTable


def test_categories_are_counted_over_the_rows_that_are_used():
    """Rows without a target counted, too."""
    table = pd.DataFrame(
        {"town": [None, None, None, "a", "b"], "age": [1.0, 2, 3, 4, 5], "y": [np.nan, np.nan, 3, 4, 5]}
    )
    gaps = Gaps.of(table, ["y"], ["town", "age"])
    assert gaps.complete.tolist() == [False, False, True, True, True]
    assert (gaps.left_out, gaps.as_category, gaps.rows_left_out) == ({"y": 2}, {"town": 1}, 2)
    assert gaps.sentences() == [
        "2 rows left out, without a value in: y (2)",
        "missing categories count as the category (missing): town (1)",
    ]


def test_rows_without_a_number_of_an_attribute_train_accuracy_alone():
    table = pd.DataFrame({"age": [np.nan, np.nan, 3, 4, 5], "y": [1.0, np.inf, 3, 4, 5], "x": range(5)})
    rows = LearningTable.of(table, "y", ["age"], [], False)
    assert (rows.gaps.rows_left_out, rows.gaps.rows_for_accuracy_only) == (1, 1)
    assert rows.gaps.sentences() == [
        "1 row left out, without a value in: y (1)",
        "1 rows count for accuracy only, without a value in: age (1)",
    ]
    assert list(rows.features) == ["x"]
    assert len(rows.features) == len(rows.target) == len(rows.sensitive) == 4
