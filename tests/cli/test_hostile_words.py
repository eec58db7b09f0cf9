"""Names, options and cells that end in one sentence or are taken as they are, never in a traceback."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairlevel.cli.checks import refuse_existing
from fairlevel.cli.files import read_numbers, read_rows, without_formulas, write_table
from fairlevel.cli.options import read_names
from fairlevel.cli.talk import CLOSED_PIPE, Talk
from fairlevel.data.whole_files import require_writable, whole_folder, write_whole
from fairlevel.exceptions import CannotWrite, FairLevelError, InvalidInput, InvalidType
from tests.terminal import run_here


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(0)
    a, f, g = random.standard_normal((3, 80))
    path = tmp_path_factory.mktemp("words") / "rows.csv"
    pd.DataFrame({"[/red]": a, "income, yearly": a + g, "f": f + a, "g": g}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("command", ["audit", "compare", "front", "relevel"])
def test_a_negative_seed_is_one_sentence(command, table, tmp_path):
    words = {
        "audit": (table, "--prediction", "f", "--sensitive", "g"),
        "compare": (table, "--predictions", "f,g", "--sensitive", "g"),
        "front": (table, "--target", "f", "--sensitive", "g"),
        "relevel": (table, table, "--sensitive", "g"),
    }[command]
    said = run_here(command, *words, "--seed", "-1")
    assert said.returncode == 2
    assert "seed" in said.stderr
    assert "Traceback" not in said.stderr


def test_names_with_brackets_and_commas(table):
    names = '[/red],"income, yearly"'
    said = run_here("compare", table, "--predictions", "f,g", "--sensitive", names)
    assert said.returncode == 0, said.stderr
    said = run_here("compare", table, "--predictions", "f,[/red]", "--sensitive", '"income, yearly"')
    assert said.returncode == 0, said.stderr
    assert "B is [/red]" in said.stdout
    said = run_here("audit", table, "--prediction", "f", "--sensitive", names, "--json")
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("command", ["audit", "front"])
def test_a_column_that_is_there_twice_is_not_guessed(command, tmp_path):
    """The first one was audited."""
    (tmp_path / "rows.csv").write_text("a,a,f\n1,2,3\n2,3,4\n3,1,2\n")
    role = "--prediction" if command == "audit" else "--target"
    said = run_here(command, tmp_path / "rows.csv", role, "f", "--sensitive", "a")
    assert said.returncode == 2
    assert "2 columns named 'a'" in said.stderr


def test_cells_do_not_become_formulas_and_numbers_in_any_notation_stay(tmp_path):
    """-13,4 got an apostrophe, and the file could not be read again."""
    numbers = ["-13,4", "+1,5", "-1.234,5", "-1,234.50", "-2", "-1e5", "-1,5e-3", " -3", "-inf"]
    formulas = ["-1+2", "-13,4,5", "=1,5", "-cmd", "-1;2", "+A1", "@x", "-", "=1+1", "\tc"]
    table = pd.DataFrame({"c": [*numbers, *formulas, "b=", None], "-2,5": -1.0, "=a": 1.0})
    safe = without_formulas(table)
    assert safe["c"].tolist()[:-1] == [*numbers, *(f"'{cell}" for cell in formulas), "b="]
    assert list(safe.columns) == ["c", "-2,5", "'=a"]
    assert table["c"].iloc[9] == "-1+2"
    assert safe["-2,5"].eq(-1).all()
    write_table(pd.DataFrame({"a": ["-13,4", "2,25", "-7,125"]}), tmp_path / "t.csv")
    assert read_numbers(read_rows(tmp_path / "t.csv").table, "a").tolist() == [-13.4, 2.25, -7.125]


def test_lists_of_names():
    assert read_names("") == read_names(" , ") == ()
    assert read_names("age, income,age") == ("age", "income")
    assert read_names('age,"income, yearly", "a ""b"""') == ("age", "income, yearly", 'a "b"')
    with pytest.raises(InvalidInput, match="in double quotes"):
        read_names('"age')


@pytest.mark.parametrize("page", ["", "/dev/full", "no/where.html"])
def test_pages_that_cannot_be_written_are_refused_before_the_work(table, tmp_path, page, monkeypatch):
    monkeypatch.setattr(
        "fairlevel.auditing.stored_audit.audit_stored", lambda *given, **more: pytest.fail("it has worked already")
    )
    said = run_here("audit", table, "--prediction", "f", "--sensitive", "g", "--html", tmp_path / page)
    assert said.returncode == 2
    assert "needed" in said.stderr or "does not exist" in said.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_audit_never_replaces_its_rows(table, tmp_path, ending):
    """A page took the place of the file with the predictions."""
    rows = tmp_path / f"rows.{ending}"
    write_table(pd.read_csv(table), rows)
    before = rows.read_bytes()
    said = run_here("audit", rows, "--prediction", "f", "--sensitive", "g", "--html", rows)
    assert said.returncode == 2
    assert "could replace one; choose a name such as rows." in " ".join(said.stderr.split())
    assert rows.read_bytes() == before


@pytest.mark.parametrize("start", [pd.Timestamp("2020"), pd.Timestamp("2020", tz="UTC"), pd.Timedelta(0)], ids=str)
@pytest.mark.parametrize("role", ["--prediction", "--target", "--weight"])
def test_dates_and_spans_are_no_numbers(tmp_path, role, start):
    """In Parquet files they were read as nanoseconds: DPVar 8e24."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"f": random.standard_normal(80), "g": random.standard_normal(80)})
    frame["day"] = start + pd.to_timedelta(random.integers(1, 900, 80), unit="D")
    frame.to_parquet(tmp_path / "rows.parquet")
    words = {"--prediction": "f", "--sensitive": "g"} | {role: "day"}
    said = run_here("audit", tmp_path / "rows.parquet", *(word for pair in words.items() for word in pair))
    assert said.returncode == 2
    assert "Column 'day' holds values of type" in said.stderr
    assert "numbers are needed" in " ".join(said.stderr.split())


def test_a_date_is_no_target(tmp_path):
    days = pd.Timestamp("2020") + pd.to_timedelta(np.arange(80), unit="D")
    frame = pd.DataFrame({"day": days, "age": np.arange(80.0), "x": np.arange(80.0) % 7})
    frame.to_parquet(tmp_path / "rows.parquet")
    said = run_here(
        "front", tmp_path / "rows.parquet", "--target", "day", "--sensitive", "age", "--out", tmp_path / "o"
    )
    assert said.returncode == 2
    assert "The target 'day' holds dates; numbers or two classes are needed." in " ".join(said.stderr.split())


def test_a_device_is_never_replaced(tmp_path):
    """As root, a report renamed itself to /dev/full."""
    (tmp_path / "link").symlink_to("/dev/null")
    with pytest.raises(InvalidInput, match="a device or a pipe"):
        write_whole(tmp_path / "link", lambda partial: partial.write_text("text"))
    assert not list(tmp_path.glob(".*"))


def test_files_are_written_whole(tmp_path):
    path = tmp_path / "report.html"
    write_whole(path, lambda partial: partial.write_text("first"))

    def fails(partial):
        partial.write_text("half")
        raise KeyError

    with pytest.raises(KeyError):
        write_whole(path, fails)
    assert path.read_text() == "first"
    (tmp_path / "link").symlink_to(path)
    write_whole(tmp_path / "link", lambda partial: partial.write_text("second"))
    assert (tmp_path / "link").is_symlink()
    assert path.read_text() == "second"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "report.html"]
    with pytest.raises(FairLevelError, match="is a folder"):
        require_writable(tmp_path)


def test_a_folder_that_appears_in_the_meantime_is_kept(tmp_path):
    """``front`` deleted it, without --force."""
    out = tmp_path / "front"

    def train(force):
        with whole_folder(out, lambda present: refuse_existing(present, force)) as partial:
            (partial / "front.csv").write_text("new")
            if not out.exists():
                out.mkdir()
                (out / "front.csv").write_text("of somebody else")

    with pytest.raises(InvalidInput, match="--force"):
        train(force=False)
    assert (out / "front.csv").read_text() == "of somebody else"
    train(force=True)
    assert (out / "front.csv").read_text() == "new"
    (out / "front.csv").unlink()
    with pytest.raises(InvalidInput, match="holds no front"):
        train(force=True)
    assert [each.name for each in tmp_path.iterdir()] == ["front"]


def test_an_output_that_cannot_be_made_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be written"):
        refuse_existing(tmp_path / "file" / "front", force=False)
    refuse_existing(tmp_path / "new" / "front", force=False)
    with pytest.raises(CannotWrite, match="cannot be written"), whole_folder(tmp_path / "file" / "x", print):
        pass


def test_an_index_in_a_parquet_file(tmp_path):
    """The first strange value was to be named by its label, which is no number; an index with a name was no column."""
    a, f = np.random.default_rng(0).standard_normal((2, 60))
    frame = pd.DataFrame({"a": a, "f": f}, index=[f"row {number}" for number in range(60)])
    frame.assign(f="x").to_parquet(tmp_path / "labels.parquet")
    frame.set_index(pd.Index(np.arange(60) ** 2, name="person")).to_parquet(tmp_path / "named.parquet")
    with pytest.raises(InvalidType, match=r"holds 'x' \(row 1\)"):
        read_numbers(read_rows(tmp_path / "labels.parquet").table, "f")
    found = read_rows(tmp_path / "named.parquet", ["f", "person"]).table
    assert found["person"].tolist() == [number**2 for number in range(60)]
    assert read_rows(tmp_path / "named.parquet", most=100).table.columns.tolist() == ["person", "a", "f"]


def test_one_row_is_enough_to_predict_for(tmp_path):
    pd.DataFrame({"a": [1.0]}).to_csv(tmp_path / "one.csv", index=False)
    assert len(read_rows(tmp_path / "one.csv", fewest=1).table) == 1
    with pytest.raises(InvalidInput, match="at least 2"):
        read_rows(tmp_path / "one.csv")


class Closed(io.StringIO):
    """Standard output whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError


@pytest.mark.parametrize("as_json", [False, True])
def test_a_reader_that_has_gone_is_no_budget_that_is_not_met(as_json, monkeypatch):
    """``| head -1`` gave exit code 1."""
    monkeypatch.setattr("sys.stdout", Closed())
    talk = Talk(False, as_json)
    with pytest.raises(SystemExit) as end:
        talk.result(rows=1) if as_json else talk.say("a sentence")
    assert end.value.code == CLOSED_PIPE


@pytest.mark.parametrize("words", [("--version",), ("--help",)])
def test_output_that_cannot_be_written_is_one_sentence(words):
    """It ended in a traceback, as an error of the package does."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", "from fairlevel.cli import app; app()", *words]
        said = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert said.returncode == 2
    assert said.stderr == "error: Standard output cannot be written: No space left on device.\n"


def test_what_libraries_print_is_no_json(capsys):
    talk = Talk(quiet=False, as_json=True)
    with talk.working():
        print("a library is talking")
    talk.result(rows=3)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ('{"rows": 3}\n', "a library is talking\n")
