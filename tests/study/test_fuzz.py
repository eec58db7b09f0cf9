"""Hostile files and arrays by the thousand, in one process: each is answered plausibly or refused in a sentence."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairClassifier, FairnessPath, FairRegressor, audit, compare, dpvar, dpvar_interval
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import Boosting
from tests.study.hostile_arrays import any_array, any_frame, any_rows
from tests.study.hostile_columns import any_column, any_table, pick, write
from tests.study.outcomes import MOST_WARNINGS, all_finite, one_sentence, plausible_interval, survey
from tests.terminal import run_here as run

pytestmark = pytest.mark.study

PREDICTED, AUDITED, TRAINED, ARRAYS = 2000, 2000, 200, 2000


def base_table(random, rows):
    """Numbers, gaps, text, dates, truths, codes and decimal commas; pay follows age."""
    age = random.uniform(20, 65, rows)
    return pd.DataFrame(
        {
            "age": age,
            "hours": np.where(random.random(rows) < 0.1, np.nan, random.uniform(0, 60, rows)),
            "town": random.choice(np.array(["north", "east", "west"], dtype=object), rows),
            "job": np.array([f"job {number}" for number in random.integers(0, 40, rows)], dtype=object),
            "joined": (pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, rows), unit="D")).strftime(
                "%Y-%m-%d"
            ),
            "member": random.choice(np.array(["True", "False"], dtype=object), rows),
            "score": [f"{value:.1f}".replace(".", ",") for value in random.uniform(0, 99, rows)],
            "code": random.integers(1, 9, rows),
            "pay": age + random.standard_normal(rows),
            "promoted": random.choice(np.array(["no", "yes"], dtype=object), rows),
        }
    )


def checked(result, written):
    """Whether a command answered; a refusal is one sentence and leaves no file."""
    assert result.returncode in (0, 1, 2), result
    assert "Traceback" not in result.stdout + result.stderr, result.stderr
    assert result.stdout.count("\n! ") <= MOST_WARNINGS, result.stdout
    if result.returncode == 2:
        *_, last = result.stderr.strip().splitlines()  # with --json, notes about missing values stand above
        assert last.startswith("error: "), result.stderr
        assert one_sentence(last), result.stderr
        assert not written.exists(), "a refused command left a file"
        return "refused"
    return "answered"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Three saved models: a linear one, boosters, and a classifier."""
    folder = tmp_path_factory.mktemp("models")
    base_table(np.random.default_rng(0), 300).to_csv(folder / "base.csv", index=False)
    ways = {
        "linear": ("pay", "spectral", "linear"),
        "trees": ("pay", "boosting", "boosting"),
        "classes": ("promoted", "r2", "linear"),
    }
    for name, (target, method, predictor) in ways.items():
        other = {"pay": "promoted", "promoted": "pay"}[target]
        words = [
            "--target",
            target,
            "--sensitive",
            "age",
            "--drop",
            other,
            "--method",
            method,
            "--predictor",
            predictor,
        ]
        result = run("front", folder / "base.csv", *words, "--out", folder / name)
        assert result.returncode == 0, result.stderr
    return [folder / name / "models" / "knee" for name in ways]


def damaged(random, table):
    """The table with columns or cells that are other than in training."""
    table = table.astype(object) if random.random() < 0.3 else table.copy()
    for name in list(table.columns):
        fate = random.random()
        if fate < 0.04:
            table = table.drop(columns=name)
        elif fate < 0.12:
            table[name] = any_column(random, len(table))
        elif fate < 0.25 and len(table):
            strange = any_column(random, len(table))
            which = random.random(len(table)) < 0.1
            table[name] = np.where(which, np.asarray(strange, dtype=object), np.asarray(table[name], dtype=object))
    if random.random() < 0.2:
        table["more"] = any_column(random, len(table))
    return table[list(random.permutation(table.columns))] if random.random() < 0.3 else table


def test_tables_to_predict_for(models, tmp_path):
    def case(number):
        random = np.random.default_rng([1, number])
        table = damaged(random, base_table(random, int(pick(random, [0, 1, 2, 10, 50]))))
        path, out = write(random, table, tmp_path, "new"), tmp_path / pick(random, ["out.csv", "out.parquet"])
        out.unlink(missing_ok=True)
        options = ["--lenient"] if random.random() < 0.5 else []
        outcome = checked(run("predict", pick(random, models), path, "--out", out, *options), out)
        if outcome == "answered":
            found = pd.read_csv(out, low_memory=False) if out.suffix == ".csv" else pd.read_parquet(out)
            column = found["prediction"] if found["prediction"].dtype.kind == "f" else found["prediction_yes"]
            assert np.isfinite(column.to_numpy()).all()
        return outcome

    survey(range(PREDICTED), case)


def test_tables_to_audit(tmp_path):
    def case(number):
        random = np.random.default_rng([2, number])
        rows = any_rows(random)
        table = any_table(random, rows, int(random.integers(1, 4)))
        names = ",".join(f'"{name}"' if "," in name else name for name in table.columns)
        age = random.uniform(20, 65, rows)
        table["f"] = age + random.standard_normal(rows) if random.random() < 0.7 else any_column(random, rows)
        options = []
        for option, column in (
            ("--target", "y"),
            ("--weight", "w"),
            ("--given", "L"),
            ("--groups", "g"),
            ("--by", "b"),
        ):
            if random.random() < 0.15:
                table[column] = random.uniform(0, 5, rows) if random.random() < 0.5 else any_column(random, rows)
                options += [option, column]
        options += pick(random, [[], ["--threshold", "0.5"], ["--max-share", "0.1"], ["--max-dpvar", "1"]])
        path, page = write(random, table, tmp_path, "table"), tmp_path / "page.html"
        page.unlink(missing_ok=True)
        how = pick(random, [["--json"], ["--json", "--html", page], ["--html", page], []])
        result = run("audit", path, "--prediction", "f", "--sensitive", names, *options, *how)
        outcome = checked(result, page)
        if outcome == "answered" and "--json" in how:
            found = json.loads(result.stdout)
            all_finite(found)
            plausible_interval(found["dpvar"], np.inf)
        if outcome == "answered" and page in how:
            assert "nan" not in page.read_text().lower().replace("nano", "").split("<main", 1)[-1].split(">nan<")[1:2]
        return outcome

    survey(range(AUDITED), case)


def test_tables_to_train_on(tmp_path):
    def case(number):
        random = np.random.default_rng([3, number])
        rows = int(pick(random, [5, 20, 40, 60, 60, 100, 100, 150]))
        table = (
            base_table(random, rows) if random.random() < 0.5 else any_table(random, rows, int(random.integers(2, 5)))
        )
        if "pay" not in table:
            table = table.assign(age=random.uniform(20, 65, rows), pay=random.standard_normal(rows), promoted="no")
        table = damaged(random, table) if random.random() < 0.5 else table
        path, out = write(random, table, tmp_path, "train"), tmp_path / "front"
        shutil.rmtree(out, ignore_errors=True)
        target = pick(random, ["pay", "pay", "pay", "promoted"])
        options = pick(
            random, [[], [], ["--lenient"], ["--sensitive-inputs"], ["--max-share", "0.1"], ["--given", "hours"]]
        )
        how = ("r2" if target == "promoted" else "spectral", "linear")
        words = ["--target", target, "--sensitive", pick(random, ["age", "age", "town", "age,town", "job"])]
        result = run("front", path, *words, "--method", how[0], "--predictor", how[1], "--out", out, *options)
        outcome = checked(result, out)
        if outcome == "answered":
            front = pd.read_csv(out / "front.csv")
            assert np.isfinite(front.select_dtypes("number").to_numpy()).all(), front
            assert (front["mse"] >= 0).all()
            assert front["share"].between(0, 1).all()
        return outcome

    survey(range(TRAINED), case)


def any_estimator(random):
    few = Adam(learning_rate=0.05, steps=40)
    ways = [
        {"predictor": "linear", "optimizer": few},
        {"predictor": Boosting(rounds=10)},
        {"predictor": "mlp", "optimizer": few},
    ]
    kind = pick(random, [FairRegressor, FairRegressor, FairRegressor, FairClassifier])
    if random.random() < 0.05:
        return FairnessPath(solver="spectral", predictor="linear", optimizer=few, random_state=0)
    return kind(**pick(random, ways), random_state=0)


def test_arrays_to_fit():
    def case(number):
        random = np.random.default_rng([4, number])
        rows = any_rows(random)
        x, y = any_frame(random, rows, int(random.integers(1, 4))), any_array(random, rows)
        estimator = any_estimator(random)
        if isinstance(estimator, FairClassifier) and random.random() < 0.7:
            y = random.integers(0, 3, rows)
        a = any_frame(random, rows, int(random.integers(1, 3))) if random.random() < 0.9 else None
        more = {}
        for name in ("sample_weight", "given", "groups", "time"):
            if random.random() < 0.1:
                more[name] = (
                    any_array(random, rows) if random.random() < 0.5 else random.integers(0, max(rows // 3, 1), rows)
                )
        estimator.fit(x, y, sensitive_features=a, **more)
        found = np.asarray(estimator.predict(x))
        if isinstance(estimator, FairClassifier):
            assert np.isin(found, np.asarray(y)).all()
            found = estimator.predict_proba(x)
            assert ((found >= 0) & (found <= 1)).all()
        assert np.isfinite(found.astype(float)).all()
        for figure in ("mse_", "brier_", "dpvar_"):
            assert np.isfinite(getattr(estimator, figure, 0.0)), figure
        return "answered"

    survey(range(ARRAYS), case)


def test_arrays_to_measure():
    def case(number):
        random = np.random.default_rng([5, number])
        rows = any_rows(random)
        f, a = any_array(random, rows, tame=0.7), any_frame(random, rows, int(random.integers(1, 4)))
        more = {}
        for name in ("sample_weight", "given", "groups"):
            if random.random() < 0.15:
                more[name] = (
                    any_array(random, rows) if random.random() < 0.5 else random.integers(0, max(rows // 3, 1), rows)
                )
        found = dpvar_interval(f, sensitive_features=a, **more)
        variance = np.inf if "sample_weight" in more else float(np.var(np.asarray(f, dtype=np.float64)))
        plausible_interval(vars(found), variance)
        assert dpvar(None, f, sensitive_features=a, **more) == pytest.approx(
            found.estimate, rel=1e-6, abs=1e-12 * variance
        )
        other = random.standard_normal(rows)
        paired = compare(f, other, sensitive_features=a, **more)
        assert np.isfinite([paired.difference, paired.low, paired.high]).all()
        assert paired.low <= paired.difference <= paired.high
        return "answered"

    survey(range(ARRAYS), case)


def test_arrays_to_audit():
    def case(number):
        random = np.random.default_rng([6, number])
        rows = min(any_rows(random), 60)
        f, a = any_array(random, rows, tame=0.7), any_frame(random, rows, int(random.integers(1, 4)))
        more = {}
        for name in ("sample_weight", "given", "groups", "y_true", "by"):
            if random.random() < 0.15:
                more[name] = any_array(random, rows) if random.random() < 0.5 else random.integers(0, 2, rows)
        if random.random() < 0.1:
            more["threshold"] = 0.5
        found = audit(f, sensitive_features=a, **more)
        all_finite(
            json.loads(
                json.dumps(
                    found.to_dict(), default=lambda value: value.item() if hasattr(value, "item") else str(value)
                )
            )
        )
        plausible_interval(vars(found.interval), np.inf)
        assert one_sentence(str(found))
        return "answered"

    survey(range(ARRAYS), case)
