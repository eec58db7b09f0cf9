"""``fairlevel compare`` and the options of ``fairlevel audit`` for factors, groups and thresholds."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.terminal import run_here


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(0)
    a, x, factor = random.standard_normal((3, 400))
    frame = pd.DataFrame({"age": a, "old": x + a, "new": x + 0.2 * a, "degree": factor, "person": np.arange(400) // 2})
    frame["weight"], frame["probability"], frame["y"] = (
        random.integers(1, 4, 400),
        1 / (1 + np.exp(-a - x)),
        (x > 0) * 1,
    )
    path = tmp_path_factory.mktemp("compare") / "rows.csv"
    frame.to_csv(path, index=False)
    return path


def test_compare_prints_a_sentence_and_json(table):
    words = ("compare", table, "--predictions", "old,new", "--sensitive", "age", "--given", "degree")
    said = run_here(*words, "--weight", "weight", "--groups", "person")
    assert said.returncode == 0, said.stderr
    assert "B is more level" in " ".join(said.stdout.split())
    found = json.loads(run_here(*words, "--json").stdout)
    assert found["high"] < 0
    assert found["predictions"] == ["old", "new"]


def test_compare_needs_two_columns(table):
    said = run_here("compare", table, "--predictions", "old", "--sensitive", "age")
    assert said.returncode == 2
    assert "--predictions names 1 different columns; two are needed" in " ".join(said.stderr.split())


@pytest.mark.parametrize("option", ["--sensitive", "--given"])
def test_a_prediction_is_no_attribute(table, option):
    """Its DPVar across itself was its variance, without a word; ``audit`` refuses it, too."""
    words = {"--sensitive": "age", "--given": "degree"} | {option: "old"}
    said = run_here("compare", table, "--predictions", "old,new", *(word for pair in words.items() for word in pair))
    assert said.returncode == 2
    assert f"--predictions old is also named in {option}; a column has one role." in " ".join(said.stderr.split())


def test_audit_within_factors_by_groups_with_a_threshold(table):
    said = run_here(
        *("audit", table, "--prediction", "probability", "--sensitive", "age", "--given", "degree", "--target", "y"),
        *("--groups", "person", "--weight", "weight", "--threshold", "0.5", "--json"),
    )
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["given"] == ["degree"]
    assert {"decisions", "equal opportunity", "mean error"} <= set(found["questions"])
    assert found["dpvar_without_given"]["low"] > 0


def test_audit_shows_predictions_by_another_column(table):
    """--by changed nothing on the screen."""
    said = run_here("audit", table, "--prediction", "probability", "--sensitive", "age", "--by", "y")
    assert said.returncode == 0, said.stderr
    frame = pd.read_csv(table)
    shown = said.stdout[said.stdout.index("Predictions by y") :]
    for _, rows in frame.groupby("y"):
        assert f"{rows['probability'].mean():.4f}" in shown
        assert str(len(rows)) in shown


@pytest.mark.parametrize("name", ["prediction_ja", "probability"])
def test_a_target_of_two_words_says_which_is_one(table, tmp_path, name):
    """The probability of "ja" was compared with "nein"; its AUC was the wrong way round."""
    frame = pd.read_csv(table).rename(columns={"probability": name})
    frame.assign(y=np.where(frame["y"] == 1, "ja", "nein")).to_csv(tmp_path / "rows.csv", index=False)
    words = ("audit", tmp_path / "rows.csv", "--prediction", name, "--sensitive", "age", "--target", "y", "--json")
    said = run_here(*words)
    assert (json.loads(said.stdout)["accuracy"]["auc"] > 0.5) == (name == "prediction_ja")
    zero, one = ("nein", "ja") if name == "prediction_ja" else ("ja", "nein")
    assert f"y: {zero} counts as 0, {one} as 1" in said.stderr


@pytest.mark.parametrize(("budget", "outcome", "code"), [(0.99, "pass", 0), (0.5, "cannot tell", 4), (0.1, "fail", 1)])
def test_the_exit_code_of_an_audit_is_its_answer(table, budget, outcome, code):
    words = ("audit", table, "--prediction", "old", "--sensitive", "age", "--max-share", budget)
    said = run_here(*words, "--json")
    assert said.returncode == code
    (verdict,) = json.loads(said.stdout)["verdicts"]
    assert verdict["outcome"] == outcome
    assert f"{outcome}: max_share of at most {budget:g}, " in said.stderr
    assert ("rows would settle it" in said.stderr) == (verdict["rows_needed"] is not None)
