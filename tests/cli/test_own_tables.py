"""A table of one's own, from CSV to predictions: front, predict, audit."""

import json
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairnessPath, load
from fairlevel.cli.files import read_rows
from fairlevel.networks.optimizers import Adam
from tests.terminal import run_here as run

CODE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from fairlevel.cli import app; app()"
"""In the background of a shell, programs ignore SIGINT otherwise."""


def make_table(rows=240):
    """Numbers, text, dates and gaps; income follows age, pay follows both."""
    random = np.random.default_rng(0)
    age = random.uniform(20, 65, rows)
    frame = pd.DataFrame(
        {
            "age": age.round(),
            "income": 20 + 0.5 * age + random.normal(0, 5, rows),
            "town": random.choice(["north", "süd", "east"], rows),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 1000, rows), unit="D"),
            "<img src=x onerror=alert(1)>": random.standard_normal(rows),
            "empty": np.nan,
            "id": np.arange(rows),
        }
    )
    for k in range(4):
        frame[f"x{k}"] = random.standard_normal(rows) + 0.02 * age
    frame.loc[::17, "x0"] = np.nan
    frame.loc[::23, "town"] = None
    frame["pay"] = 0.4 * frame["income"] + frame["x1"] + random.normal(0, 1, rows)
    frame.loc[5, "pay"] = np.nan
    return frame


@pytest.fixture(scope="module", autouse=True)
def few_steps():
    """Fronts are trained by few and large steps, for speed."""
    quick = partial(FairnessPath, optimizer=Adam(0.05, steps=80))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairlevel.estimators.fairness_path.FairnessPath", quick)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("own")
    make_table().to_csv(path / "table.csv", index=False)
    return path


@pytest.fixture(scope="module")
def trained(folder):
    arguments = ["--target", "pay", "--sensitive", "age", "--drop", "id", "--method", "spectral"]
    result = run("front", folder / "table.csv", *arguments, "--max-share", "0.9", "--out", folder / "front")
    assert result.returncode == 0, result.stderr
    return folder / "front", result.stdout


def test_front_writes_everything_and_says_so(trained):
    out, printed = trained
    assert "239 rows" in printed
    assert "1 row left out, without a value in: pay (1)" in printed
    assert "dates: joined" in printed
    assert "share within 0.9" in printed
    assert re.search(
        r"next: fairlevel predict \S+/models/within-budget \S+/table.csv --out", printed
    )  # the next command uses the model that was asked for
    assert "knee" in printed
    assert sorted(path.name for path in out.iterdir()) == ["front.csv", "models", "report.html"]
    front = pd.read_csv(out / "front.csv")
    assert len(front) == len(list((out / "models").glob("point-*")))
    assert {"most-accurate", "knee", "tightest", "within-budget"} <= {path.name for path in (out / "models").iterdir()}
    page = (out / "report.html").read_text()
    assert "<img src=x" not in page
    for fact in ("table.csv", "239 used", "1 dropped (without target", "240 in the file", "spectral"):
        assert fact in page


def test_predictions_of_a_saved_model(trained, folder):
    out, _ = trained
    result = run("predict", out / "models" / "knee", folder / "table.csv", "--out", folder / "predicted.csv")
    assert result.returncode == 0, result.stderr
    predicted = pd.read_csv(folder / "predicted.csv")
    assert len(predicted) == 240
    assert predicted["prediction"].notna().all()
    kept = predicted["pay"].notna()
    assert np.corrcoef(predicted["prediction"][kept], predicted["pay"][kept])[0, 1] > 0.5
    assert load(out / "models" / "knee").notes_["target"] == "pay"
    again = run("predict", out / "models" / "knee", folder / "predicted.csv", "--out", folder / "more.csv")
    assert again.returncode == 2
    assert "already has a column 'prediction'" in again.stderr


def test_audit_of_a_file_as_json_and_page(trained, folder):
    table = make_table().dropna(subset="pay").assign(f=lambda frame: frame["pay"])
    table["age"] = table["age"].where(table.index != table.index[0])
    table.to_parquet(folder / "audited.parquet")
    arguments = [
        folder / "audited.parquet",
        "--prediction",
        "f",
        "--sensitive",
        "age",
        "--target",
        "pay",
        "--by",
        "town",
    ]
    result = run("audit", *arguments, "--json", "--max-share", "0.01", "--html", folder / "audit.html")
    assert result.returncode == 1, result.stderr  # the budget is not met
    found = json.loads(result.stdout)
    assert found["verdicts"][0]["passed"] is False
    assert found["dpvar"]["p_value"] < 0.01
    assert {row["group"] for row in found["groups"]["town"]} == {"(missing)", "east", "north", "süd"}
    page = (folder / "audit.html").read_text()
    assert page.startswith("<!doctype html>")
    for fact in ("audited.parquet", "Failed: share of the prediction", "target column", "pay"):
        assert fact in page
    assert "238 used, 1 dropped (a value is missing, or weight 0), 239 in the file" in page
    printed = run("audit", *arguments)
    assert printed.returncode == 0
    assert "moves by ±" in printed.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--target", "pai", "--sensitive", "age"], "Did you mean 'pay'?"),
        (["--target", "pay", "--sensitive", "agee"], "Did you mean 'age'?"),
        (["--target", "pay", "--sensitive", "pay"], "a column has one role"),
        (["--target", "town", "--sensitive", "age"], "'town' has 3 classes"),
        (["--target", "pay", "--sensitive", "empty"], "Only 0 rows have a target and all sensitive values"),
        (["--target", "pay", "--sensitive", ","], "--sensitive names no column"),
        (["--target", "pay", "--sensitive", "age", "--method", "autp"], "Did you mean 'auto'?"),
    ],
)
def test_front_refuses_in_one_sentence(folder, tmp_path, arguments, sentence):
    result = run("front", folder / "table.csv", *arguments, "--out", tmp_path / "out")
    assert result.returncode == 2, result.stdout
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_front_refuses_a_sensitive_column_of_one_value(tmp_path):
    """It trained to the end, and showed an interval from 0 to 3.8."""
    make_table().assign(country="FR").to_csv(tmp_path / "table.csv", index=False)
    result = run(
        "front", tmp_path / "table.csv", "--target", "pay", "--sensitive", "country", "--out", tmp_path / "out"
    )
    assert result.returncode == 2, result.stdout
    assert "a single value per column" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2\n3,4,5\n", "line 3"),
        (b"a,b\n1,2,3\n4,5,6\n", "line 2 has more fields"),
        (b"a,b\n1,\xff\n2,3\n", "is not UTF-8"),
        (b"\xff\xfea\x00,\x00b\x00\n\x001", "begins as UTF-16, but is not"),
        (b"", "cannot be read"),
        (b"a,b\n", "has 0 rows"),
        (b"a,b\n1,2\n", "has 1 rows"),
        (b"a,b\n1,x\n2,y\n", "numbers are needed"),
    ],
)
def test_broken_files_are_reported(tmp_path, content, sentence):
    (tmp_path / "t.csv").write_bytes(content)
    result = run("audit", tmp_path / "t.csv", "--prediction", "b", "--sensitive", "a")
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_an_existing_folder_is_kept(trained, folder):
    out, _ = trained
    result = run("front", folder / "table.csv", "--target", "pay", "--sensitive", "age", "--out", out)
    assert result.returncode == 2
    assert "--force" in result.stderr
    mine = folder / "mine"
    mine.mkdir()
    arguments = ["--target", "pay", "--sensitive", "age", "--out", mine, "--force"]
    assert "holds no front" in run("front", folder / "table.csv", *arguments).stderr
    (mine / "diabetes").mkdir()
    assert "holds no front" in run("demo", "--out", mine).stderr


def test_rows_are_sampled_in_the_order_of_the_file(tmp_path):
    table = pd.DataFrame({"a": np.arange(1000), "text": ["x", "y"] * 500})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    first, second = (read_rows(tmp_path / name, most=200) for name in ("t.csv", "t.parquet"))
    assert first.in_file == second.in_file == 1000
    assert first.table["a"].tolist() == second.table["a"].tolist() == first.table.index.tolist()
    assert len(first.table) == first.table["a"].nunique() == 200
    assert first.table["a"].is_monotonic_increasing
    assert abs(first.table["a"].mean() - 499.5) < 4 * 288.7 / 200**0.5  # four standard errors of a fair draw
    assert read_rows(tmp_path / "t.parquet", most=5000).table["a"].tolist() == table["a"].tolist()


def test_interrupted_training_leaves_nothing(folder, tmp_path):
    arguments = ["front", folder / "table.csv", "--target", "pay", "--sensitive", "age", "--out", tmp_path / "out"]
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    loaded = Path(f"/proc/{process.pid}/maps")
    until = time.monotonic() + 60
    while "lib_lightgbm" not in loaded.read_text():  # the last import of weight
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(1)
    assert process.poll() is None  # it is training
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) != 0
    assert not list(tmp_path.iterdir())


def test_gaps_in_the_target_are_left_out_and_counted_on_the_page(folder, tmp_path):
    """An audit stopped at a row without a target, and its page counted rows left out as not in the file."""
    table = make_table().assign(f=lambda frame: frame["income"])
    table.loc[:2, "age"] = np.nan
    table.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ("--prediction", "f", "--sensitive", "age", "--target", "pay", "--html", tmp_path / "page.html")
    result = run("audit", tmp_path / "rows.csv", *arguments)
    assert result.returncode == 0, result.stderr
    assert "4 rows left out, without a value in: pay (1), age (3)" in result.stdout
    assert (
        "236 used, 4 dropped (a value is missing, or weight 0), 240 in the file" in (tmp_path / "page.html").read_text()
    )


def test_weights_with_a_decimal_comma_and_ids(tmp_path):
    """Weights were read only with a decimal point; an id became a feature without a word."""
    table = make_table().assign(code=lambda frame: [f"c{number}" for number in frame["id"]]).dropna(subset="pay")
    written = table.assign(w=np.where(table["age"] > 40, "0,5", "1,5"))
    written.to_csv(tmp_path / "comma.csv", sep=";", index=False)
    table.assign(w=np.where(table["age"] > 40, 0.5, 1.5)).to_csv(tmp_path / "point.csv", index=False)
    arguments = ("--target", "pay", "--sensitive", "age", "--weight", "w", "--method", "spectral", "--json")
    found = []
    for name in ("comma", "point"):
        out = ("--predictor", "linear", "--out", tmp_path / name)
        result = run("front", tmp_path / f"{name}.csv", *arguments, *out)
        assert result.returncode == 0, result.stderr
        assert "values that differ in every row (leave out ids with --drop): code" in result.stderr
        found.append(json.loads(result.stdout)["front"])
    assert found[0] == found[1]


def test_models_that_are_no_better_than_the_average_say_so(tmp_path):
    """Three equal rows, one of them called most accurate, had R² −.2."""
    pytest.importorskip("torch")
    random = np.random.default_rng(3)
    table = pd.DataFrame(random.standard_normal((150, 27)), columns=[*(f"x{k}" for k in range(25)), "age", "y"])
    table.to_csv(tmp_path / "noise.csv", index=False)
    arguments = ("--target", "y", "--sensitive", "age", "--method", "fbo_closed", "--predictor", "mlp")
    result = run("front", tmp_path / "noise.csv", *arguments, "--out", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert "No model errs less on unseen rows than the average of y" in result.stderr
    assert "No model errs less on unseen rows" in (tmp_path / "out" / "report.html").read_text()
    assert "only model" in result.stdout
    assert "knee  " not in result.stdout


def test_the_page_says_the_probability_of_which_class(tmp_path):
    """ "Average prediction of granted" was the probability of "refused"."""
    random = np.random.default_rng(4)
    table = pd.DataFrame(random.standard_normal((200, 2)), columns=["x", "age"])
    table["granted"] = np.where(table["x"] + table["age"] > 0, "granted", "refused")
    table.to_csv(tmp_path / "loans.csv", index=False)
    arguments = ("--target", "granted", "--sensitive", "age", "--method", "fbo_closed", "--predictor", "linear")
    result = run("front", tmp_path / "loans.csv", *arguments, "--sensitive-inputs", "--out", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert "(probability of granted = refused)" in (tmp_path / "out" / "report.html").read_text()
