"""What ``front`` says about columns and rows that people overlook, and words such as NA that are names."""

import numpy as np
import pandas as pd
import pytest

from fairlevel.data.learning_table import LearningTable
from fairlevel.exceptions import InvalidType, UnknownName
from tests.terminal import run_here as run

FAST = ("--method", "fbo_closed", "--force")


def own_table(rows=300):
    """Pay follows age and, where it is known by name, the garage."""
    random = np.random.default_rng(0)
    age = random.integers(18, 66, rows)
    garage = random.choice(["NA", "None", "yes"], rows)
    return pd.DataFrame(
        {
            "number": 7 * np.arange(rows) + 100_003,
            "age": age,
            "born": (pd.Timestamp("2026-01-01") - pd.to_timedelta(age * 365, unit="D")).strftime("%d.%m.%Y"),
            "garage": garage,
            "empty": np.nan,
            "land": "here",
            "skill": random.standard_normal(rows).round(4),
            "skill ": random.standard_normal(rows).round(4),
            "code": random.choice(["012", "345"], rows),
            "Gehalt brutto €": 20 + 0.3 * age + 40 * (garage == "NA") + random.normal(0, 2, rows),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table in a file with two columns of one name and three repeated rows, and in a binary one."""
    folder, table = tmp_path_factory.mktemp("overlooked"), own_table()
    repeated = pd.concat([table, table.iloc[:3]])
    repeated.to_parquet(folder / "own.parquet")
    text = repeated.to_csv(index=False).replace("skill ,", "skill,", 1)
    (folder / "own.csv").write_text(text, encoding="utf-8")
    return folder


def test_the_command_says_what_people_overlook(folder):
    target = ("--target", "Gehalt brutto €", "--sensitive", "age")
    said = run("front", folder / "own.csv", *target, "--out", folder / "front", *FAST)
    assert said.returncode == 0, said.stderr
    for sentence in (
        "columns that share a name: skill; give each column a name of its own",
        "3 rows repeat others in every column: models are judged on rows that they have seen",
        "read as missing in garage: ",
        "values that differ in every row (leave out ids with --drop): number",
        "left out, as they are empty: empty",
        "left out, as they hold one value: land",
        "dates: born",
    ):
        assert sentence in said.stdout
    assert "born ~ age" in said.stderr
    quiet = run(
        *("front", folder / "own.parquet", *target, "--drop", "number,skill ,empty,land,born", "--out"),
        *(folder / "binary", "--categories", "garage", *FAST),
    )
    assert "numbers written as text, read as categories: code" in quiet.stdout
    for word in ("share a name", "differ in every row", "left out", "read as missing", "copies"):
        assert word not in quiet.stdout + quiet.stderr


def test_words_that_mean_missing_are_counted_and_can_be_names(folder, tmp_path):
    table, own = own_table(), tmp_path / "own.csv"
    table[["age", "garage", "skill", "Gehalt brutto €"]].to_csv(own, index=False)
    target, counts = ("--target", "Gehalt brutto €", "--sensitive", "age"), table["garage"].value_counts()
    counted = ", ".join(f"'{word}' ({counts[word]})" for word in counts.index if word != "yes")
    front = tmp_path / "front"
    said = run("front", own, *target, "--out", front, *FAST)
    assert f"read as missing in garage: {counted}; if these are names, pass --categories garage" in said.stdout
    said = run("front", own, *target, "--out", front, "--categories", "garage", *FAST)
    assert "read as missing" not in said.stdout
    predicted = tmp_path / "predicted.csv"
    said = run("predict", front / "models" / "most-accurate", own, "--out", predicted)
    assert said.returncode == 0, said.stderr
    levels = pd.read_csv(predicted, keep_default_na=False).groupby("garage")["prediction"].mean()
    assert levels["NA"] - levels["None"] > 35  # 40 by design; one category of missing cells would make them equal


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a", "b", "c"], r"has 3 classes, such as 'a' \(row 1\), 'b' \(row 2\), 'c' \(row 3\); numbers or two"),
        (["a", "a", "a"], r"has 1 class, such as 'a' \(row 1\); numbers or two"),
        (["1", "2", "x"], r"holds 'x' \(row 3\), .*; numbers or two"),
    ],
)
def test_messages_about_targets_count_their_classes(classes, message):
    table = pd.DataFrame({"x": np.arange(9.0), "a": np.arange(9.0) % 4, "y": classes * 3})
    with pytest.raises(InvalidType, match=message):
        LearningTable.of(table, "y", ["a"], [], False)


@pytest.mark.parametrize("given", ["Gehalt", "gehalt", "brutto", "Gehalt_Brutto", "GEHALT BRUTTO €"])
def test_misspelt_names_find_longer_ones(given):
    with pytest.raises(UnknownName, match="Did you mean 'Gehalt brutto €'"):
        raise UnknownName("column", given, own_table().columns)


def test_nothing_like_a_name_is_suggested():
    assert "Did you mean" not in str(UnknownName("column", "xyz", own_table().columns))
    assert "Did you mean" not in str(UnknownName("column", "", own_table().columns))
