"""``fairlevel audit`` of folders and patterns: several predictions, budgets, samples."""

import json

import numpy as np
import pandas as pd
import pytest

from fairlevel.auditing import stored_audit
from tests.quick_audits import without_side_figures
from tests.terminal import run_here


def test_an_audit_without_a_prediction_is_one_sentence(tmp_path):
    """It ended in a traceback."""
    pd.DataFrame({"age": [1.0, 2.0], "f": [1.0, 2.0]}).to_csv(tmp_path / "t.csv", index=False)
    result = run_here("audit", str(tmp_path / "t.csv"), "--prediction", "", "--sensitive", "age")
    assert result.returncode == 2
    assert "--prediction names no column" in result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    without_side_figures(monkeypatch)
    random = np.random.default_rng(0)
    table = pd.DataFrame({"age": random.normal(40, 10, 600), "town": random.choice(["a", "b"], 600)})
    table["old"] = table["age"] / 10 + random.standard_normal(600)
    table["new"] = random.standard_normal(600)
    (tmp_path / "in").mkdir()
    for number, part in enumerate((table[:350], table[350:])):
        part.to_parquet(tmp_path / "in" / f"{number}.parquet")
    return tmp_path


def audit(source, *more):
    return run_here("audit", source, "--prediction", "old,new", "--sensitive", "age,town", *more)


def test_several_predictions(folder):
    first = audit(folder / "in" / "*.parquet", "--max-share", "0.1")
    assert first.returncode == 1
    assert "600 rows" in first.stdout
    assert "fail: old" in first.stdout
    assert "pass: new" in first.stdout
    found = json.loads(audit(folder / "in", "--json").stdout)
    assert set(found) == {"predictions", "verdicts", "left_out", "rows_left_out", "report", "warnings"}
    assert set(found["predictions"]) == set(found["verdicts"]) == {"old", "new"}


def test_several_predictions_in_a_csv_file(folder):
    pd.read_parquet(folder / "in").to_csv(folder / "rows.csv", index=False)
    figures = [json.loads(audit(folder / each, "--json").stdout)["predictions"] for each in ("in", "rows.csv")]
    for one, other in zip(*(each.values() for each in figures), strict=True):
        assert one["dpvar"]["share"] == pytest.approx(other["dpvar"]["share"], rel=1e-9)


def test_one_prediction_has_a_page(folder):
    said = run_here(
        *("audit", folder / "in" / "0.parquet", folder / "in" / "1.parquet", "--prediction", "old"),
        *("--sensitive", "age", "--html", folder / "page.html", "--rows", 250),
    )
    assert said.returncode == 0, said.stderr
    assert "250 rows" in said.stdout
    page = (folder / "page.html").read_text()
    assert "DPVar and every table come from 250 of 600 rows, sampled at random (seed 0)." in page
    assert "0.parquet, 1.parquet" in page


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_sample_is_audited_by_groups_and_against_a_target_of_two_words(folder, ending):
    table = pd.read_parquet(folder / "in")
    table["person"] = np.arange(600) // 2
    table["hired"] = np.where(table["old"] > 4, "yes", "no")
    table.loc[:4, "hired"] = None
    table.loc[5:6, "age"] = np.nan
    table.to_csv(folder / "rows.csv", index=False)
    table.to_parquet(folder / "rows.parquet")
    roles = ("--target", "hired", "--by", "town", "--groups", "person")
    said = run_here(
        *("audit", folder / f"rows.{ending}", "--prediction", "old", "--sensitive", "age", *roles),
        *("--rows", 500, "--json"),
    )
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert "hired: no counts as 0, yes as 1" in said.stderr
    assert "7 rows left out, without a value in: " in said.stderr
    assert (found["rows_left_out"], found["left_out"]) == (7, {"age": 2, "hired": 5})
    assert 490 < found["rows"] <= 500
    assert {row["group"] for row in found["groups"]["town"]} == {"a", "b"}
    assert "squared error" in found["questions"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--html", "page.html"), "the page of one prediction"),
        (("--rows", "1"), "--rows"),
        (("--baseline", "old.json"), "audit --baseline is gone since version 0.3: in Python, compare two audits with"),
        (("--save-sums", "new.json"), "audit --save-sums is gone since version 0.3"),
        (("--state=state.json",), "audit --state is gone since version 0.3: --rows rows are sampled in one pass"),
        (("--executor", "ray"), "audit --executor is gone since version 0.3"),
        (("--address", "auto"), "audit --address is gone since version 0.3"),
        (("--given", "twon"), "Did you mean 'town'"),
    ],
)
def test_mistakes_are_told_before_the_work(folder, monkeypatch, more, sentence):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(stored_audit, "_audit", lambda *given: pytest.fail("it has worked already"))
    said = audit(folder / "in", *more)
    assert said.returncode == 2
    assert sentence in said.stderr.replace("\n", " ")


def test_several_csv_files_are_refused(tmp_path, monkeypatch):
    """They were opened as Parquet, with a message about magic bytes."""
    monkeypatch.chdir(tmp_path)
    for name in ("rows.csv", "second.csv"):
        pd.DataFrame({"age": [1.0, 2.0], "f": [1.0, 2.0]}).to_csv(name, index=False)
    result = run_here("audit", "rows.csv", "--prediction", "f", "--sensitive", "age", "second.csv")
    assert result.returncode == 2
    assert "'rows.csv' is a CSV file" in result.stderr
    assert "pandas.read_csv('rows.csv').to_parquet('rows.parquet')" in result.stderr
