"""``fairlevel audit`` of folders and patterns: several predictions, budgets, sums and baselines."""

import json

import numpy as np
import pandas as pd
import pytest

from fairlevel.auditing import answer
from fairlevel.auditing import audit_files as module
from fairlevel.auditing.near_profiles import NearProfiles
from fairlevel.auditing.side_figures import SideFigures
from tests.terminal import run_here


def test_an_audit_without_a_prediction_is_one_sentence(tmp_path):
    """It ended in a traceback."""
    pd.DataFrame({"age": [1.0, 2.0], "f": [1.0, 2.0]}).to_csv(tmp_path / "t.csv", index=False)
    result = run_here("audit", str(tmp_path / "t.csv"), "--prediction", "", "--sensitive", "age")
    assert result.returncode == 2
    assert "--prediction names no column" in result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Side figures have tests of their own."""
    empty = pd.DataFrame({"attribute": [], "alone": [], "lost": []})
    tasks = (lambda: (), lambda: (0.0, 0.0), lambda: empty, dict, pd.DataFrame, lambda: NearProfiles(0.0, np.inf, 0.0))
    monkeypatch.setattr(SideFigures, "tasks", staticmethod(lambda side, frame, seed: tasks))
    monkeypatch.setattr(answer, "find_flags", lambda *figures: ())
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


def test_several_predictions_sums_and_a_baseline(folder):
    first = audit(folder / "in" / "*.parquet", "--save-sums", folder / "sums.json", "--max-share", "0.1")
    assert first.returncode == 1
    assert "fail: old" in first.stdout
    assert "pass: new" in first.stdout
    again = audit(folder / "in", "--baseline", folder / "sums.json", "--json")
    found = json.loads(again.stdout)
    assert set(found["predictions"]) == {"old", "new"}
    assert found["drift"]["old"]["difference"] == 0
    assert found["drift"]["old"]["low"] < 0 < found["drift"]["old"]["high"]
    said = audit(folder / "in", "--baseline", folder / "sums.json")
    assert "the rows show no change" in said.stdout.replace("\n", " ")


def test_one_prediction_has_a_page(folder):
    said = run_here(
        *("audit", folder / "in" / "0.parquet", folder / "in" / "1.parquet", "--prediction", "old"),
        *("--sensitive", "age", "--html", folder / "page.html"),
    )
    assert said.returncode == 0, said.stderr
    assert "600 rows" in said.stdout
    assert "sampled at random; DPVar from all rows" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--groups", "town"), "--groups needs all rows in memory"),
        (("--html", "page.html"), "the page of one prediction"),
        (("--baseline", "nothing.json"), "does not exist"),
        (("--executor", "slurm"), "Known: local, ray"),
        (("--address", "auto"), "--address belongs to --executor ray"),
        (("--given", "twon"), "Did you mean 'town'"),
    ],
)
def test_mistakes_are_told_before_the_work(folder, monkeypatch, more, sentence):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(module, "surveyed", lambda *given: pytest.fail("it has worked already"))
    said = audit(folder / "in", *more)
    assert said.returncode == 2
    assert sentence in said.stderr.replace("\n", " ")


def test_an_address_without_an_executor_is_refused_for_files_in_memory_too(tmp_path):
    pd.DataFrame({"age": np.arange(30.0), "f": np.arange(30.0) % 7}).to_csv(tmp_path / "rows.csv", index=False)
    said = run_here("audit", tmp_path / "rows.csv", "--prediction", "f", "--sensitive", "age", "--address", "auto")
    assert said.returncode == 2
    assert "--address belongs to --executor ray" in said.stderr.replace("\n", " ")


@pytest.mark.parametrize("more", [("--save-sums", "sums.json"), ("--executor", "local"), ("second.csv",)])
def test_csv_files_are_not_read_part_by_part(tmp_path, monkeypatch, more):
    """They were opened as Parquet, with a message about magic bytes."""
    monkeypatch.chdir(tmp_path)
    for name in ("rows.csv", "second.csv"):
        pd.DataFrame({"age": [1.0, 2.0], "f": [1.0, 2.0]}).to_csv(name, index=False)
    result = run_here("audit", "rows.csv", "--prediction", "f", "--sensitive", "age", *more)
    assert result.returncode == 2
    assert "'rows.csv' is a CSV file" in result.stderr
    assert "pandas.read_csv('rows.csv').to_parquet('rows.parquet')" in result.stderr
