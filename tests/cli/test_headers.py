"""The first line of a CSV file as other programs write it, and names of columns as people type them."""

import shlex
from pathlib import Path

import pandas as pd
import pytest

from fairlevel.cli.checks import column_names, require_columns, require_readable, separator
from fairlevel.cli.files import read_rows
from fairlevel.cli.options import as_option, read_names
from fairlevel.exceptions import InvalidInput
from tests.terminal import run_here


@pytest.mark.parametrize(
    ("header", "sign"),
    [
        ("age;income, yearly;f", ";"),
        ('"age; in years","income",f', ","),
        ("\n\nage;f", ";"),
        ('"age,1";f', ";"),
        ("age\tincome, yearly\tf", "\t"),
        ("\ufeffage,f", ","),
        ("age|income, yearly|f", "|"),
        ("age", ","),
    ],
)
def test_names_are_separated_by_the_most_frequent_sign(tmp_path, header, sign):
    """A comma within a name made one column of several."""
    file = tmp_path / "rows.csv"
    file.write_text(f"{header}\n" + 2 * f"{sign.join('1' * (1 + header.count(sign)))}\n", encoding="utf-8")
    assert separator(file) == sign
    assert list(read_rows(file).table.columns) == column_names(file)


def test_columns_without_a_name_can_be_named(tmp_path):
    """Row numbers of pandas could not be left out with --drop."""
    (tmp_path / "rows.csv").write_text(",age,\n0,1,2\n1,2,3\n", encoding="utf-8")
    assert column_names(tmp_path / "rows.csv") == ["Unnamed: 0", "age", "Unnamed: 2"]
    assert list(read_rows(tmp_path / "rows.csv").table.columns) == ["Unnamed: 0", "age", "Unnamed: 2"]


def test_spaces_around_a_name_are_pointed_out_and_can_be_typed(tmp_path):
    (tmp_path / "rows.csv").write_text("f, age\n1, 2\n2, 3\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"Did you mean ' age'"):
        require_columns(tmp_path / "rows.csv", read_names("f,age"))
    require_columns(tmp_path / "rows.csv", read_names('f," age"'))


@pytest.mark.parametrize("names", [("age", " age "), ('a "b"', "c,d"), ("first\nsecond", "x"), ('"', ",")])
def test_names_are_read_as_they_are_written(names):
    assert read_names(as_option(names)) == names


def test_a_line_for_spreadsheets_is_named(tmp_path):
    (tmp_path / "rows.csv").write_text("sep=;\nage;f\n1;2\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"begins with 'sep='.* delete that line"):
        column_names(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("cp1252", r"is not UTF-8 \(byte 2\); .*iconv -f cp1252 -t utf-8 .*rows.csv > rows-utf8.csv"),
        ("utf-16be", "holds bytes of 0, as UTF-16 or UTF-32 without a mark does; save it as CSV UTF-8"),
    ],
)
def test_other_encodings_are_refused_with_what_to_do(tmp_path, code, says):
    (tmp_path / "rows.csv").write_bytes("Größe,f\n1,2\n".encode(code))
    with pytest.raises(InvalidInput, match=says):
        column_names(tmp_path / "rows.csv")


def test_the_folder_of_a_front_holds_models(tmp_path):
    (tmp_path / "rows.csv").write_text("age,f\n1,2\n", encoding="utf-8")
    for name in ("knee", "point-01"):
        (tmp_path / "front" / "models" / name).mkdir(parents=True)
        (tmp_path / "front" / "models" / name / "model.json").write_text("{}", encoding="utf-8")
    said = run_here("predict", tmp_path / "front", tmp_path / "rows.csv", "--out", tmp_path / "new.csv")
    assert said.returncode == 2
    assert "pass one of its 2 models, such as " in said.stderr
    assert "models/knee." in said.stderr


def test_a_table_of_another_kind_is_refused_before_the_work(tmp_path):
    (tmp_path / "rows.csv").write_text("age,f\n1,2\n", encoding="utf-8")
    said = run_here("predict", tmp_path / "no model", tmp_path / "rows.csv", "--out", tmp_path / "new.xlsx")
    assert "a name ending in .csv or .parquet is needed" in said.stderr


def test_a_target_of_one_value_is_refused(tmp_path):
    rows = "".join(f"{number},7,{number % 5}\n" for number in range(120))
    (tmp_path / "rows.csv").write_text(f"age,pay,x\n{rows}", encoding="utf-8")
    out = tmp_path / "out"
    said = run_here("front", tmp_path / "rows.csv", "--target", "pay", "--sensitive", "age", "--out", out)
    assert said.returncode == 2
    assert "'pay' holds a single value, 7" in said.stderr
    assert not out.exists()


@pytest.mark.parametrize("name", ["my rows.csv.gz", "rows.zip"])
def test_a_packed_table_is_refused_with_the_command_that_converts_it(name, tmp_path):
    rows = pd.DataFrame({"age": [1, 2], "f": [3, 4]})
    rows.to_csv(tmp_path / name, index=False)
    with pytest.raises(InvalidInput, match=r"needed. To convert it: ") as said:
        require_readable(tmp_path / name)
    *python, code = shlex.split(str(said.value).partition("To convert it: ")[2])
    assert python == ["python", "-c"]
    exec(code, {})
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / f"{name.partition('.')[0]}.csv"), rows)


def test_a_table_of_another_ending_is_to_be_renamed(tmp_path):
    with pytest.raises(InvalidInput, match=r"separated by tabs, semicolons or commas are read: rename the file"):
        require_readable(tmp_path / "rows.tsv")
    with pytest.raises(InvalidInput, match=r"pandas.read_excel\(.*rows.xlsx'.*rows.csv'"):
        require_readable(tmp_path / "rows.xlsx")


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_refused_with_what_to_do(name):
    with pytest.raises(InvalidInput, match=r"has no ending; .*write the rows to a file first, such as rows\.csv"):
        require_readable(Path(name))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age;score\n48,7;2.741\n32,1;950\n", r"'score' holds '2\.741' beside the decimal commas of 'age'.*'2741'"),
        ("age;score\n48;2.741\n32;950\n51;1.195\n", r"'score' holds '2\.741' beside whole numbers such as '950'"),
        ('age,score\n"48,7",2.741\n"32,1",1.930\n', r"'score' holds '2\.741' beside the decimal commas of 'age'"),
    ],
)
def test_points_that_may_separate_thousands_are_refused(tmp_path, text, says):
    """Amounts became numbers below 1000 beside decimal commas, and an audit that should fail passed."""
    file = tmp_path / "rows.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=says):
        read_rows(file, ["age", "score"])


@pytest.mark.parametrize(
    "text",
    [
        "age;score\n48;2.741\n32;1.93\n51;7\n",  # a number with two decimals
        "age;score\n48;2.741\n32;0.951\n51;7\n",  # below one
        "age;score\n48;2.741\n32;950.000\n",  # always three decimals
        "age,score\n48,2.741\n32,950\n51,1.195\n",  # commas between columns, and no other notation
    ],
)
def test_points_of_decimals_are_read(tmp_path, text):
    file = tmp_path / "rows.csv"
    file.write_text(text, encoding="utf-8")
    assert read_rows(file).table["score"].iloc[0] == 2.741
