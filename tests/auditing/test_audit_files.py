"""Rows in Parquet files: the same answer as in memory, whoever reads the parts, stopped or not, in months to come."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from fairlevel import audit, audit_files, dpvar_interval
from fairlevel.auditing import answer as module
from fairlevel.auditing import reads, stored_sample, survey
from fairlevel.auditing.near_profiles import near_profiles
from fairlevel.auditing.side_figures import SideFigures
from fairlevel.auditing.sums_file import AuditSums
from fairlevel.data import parquet_parts
from fairlevel.exceptions import FairLevelError
from fairlevel.executors import ThisProcess
from fairlevel.metrics import linear_estimators

COLUMNS = ["age", "income", "town"]


def people(rows, seed=0, slope=0.3):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 10, rows),
            "income": random.gamma(3, 2, rows),
            "town": random.choice(["a", "b", "c"], rows),
            "degree": random.integers(0, 3, rows),
            "weight": random.uniform(0.5, 2, rows),
        }
    )
    frame["old"] = (
        np.sin(frame["age"] / 10) + slope * (frame["town"] == "a") * frame["income"] + random.normal(size=rows)
    )
    frame["new"] = random.normal(size=rows)
    frame["y"] = frame["old"] + random.normal(size=rows)
    return frame


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small parts and samples; side figures have tests of their own."""
    monkeypatch.setattr(parquet_parts, "PART_ROWS", 300)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 800)
    monkeypatch.setattr(survey, "_BATCH", 128)
    monkeypatch.setattr(reads, "BLOCK", 100)
    monkeypatch.setattr(stored_sample, "SIDE_ROWS", 150)
    monkeypatch.setattr(SideFigures, "tasks", staticmethod(few_tasks))


def few_tasks(side, frame, seed):
    assert len(side) == len(frame) <= 150
    empty = pd.DataFrame({"attribute": [], "alone": [], "lost": []})
    return (lambda: (), lambda: (0.0, 0.0), lambda: empty, dict, pd.DataFrame, lambda: near_profiles(side, seed))


@pytest.fixture(autouse=True)
def no_flags(monkeypatch):
    monkeypatch.setattr(module, "find_flags", lambda *figures: ())


@pytest.fixture
def folder(tmp_path):
    table = people(2000)
    for number, part in enumerate(np.array_split(np.arange(2000), 3)):
        table.iloc[part].to_parquet(tmp_path / f"{number}.parquet", row_group_size=170)
    return tmp_path, table


def in_memory(table, monkeypatch, **options):
    monkeypatch.setattr(linear_estimators, "MOST_AT_ONCE", 900)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 800)
    return dpvar_interval(table["old"], sensitive_features=table[COLUMNS], **options)


def assert_same(one, other, rel=1e-9):
    for name in ("estimate", "low", "high", "share", "share_low", "share_high", "p_value"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=rel, abs=1e-13), name
    assert one.regressor == other.regressor


def test_the_answer_is_that_of_rows_in_memory(folder, monkeypatch):
    path, table = folder
    found = audit_files(
        path, predictions=["old", "new"], sensitive_features=COLUMNS, sample_weight="weight", y_true="y"
    )
    assert_same(found["old"].interval, in_memory(table, monkeypatch, sample_weight=table["weight"]))
    error = (table["y"] - table["old"]) ** 2
    assert found["old"].accuracy["mse"] == pytest.approx(np.average(error, weights=table["weight"]), rel=1e-12)
    assert [each.name for each in found["old"].questions] == ["mean error", "squared error", "under-prediction"]
    assert (found["new"].rows, found["new"].side_rows) == (2000, 150)


def test_datasets_lists_and_patterns_are_the_same_rows(folder):
    path, _ = folder
    options = {"predictions": "new", "sensitive_features": ["age"]}
    expected = audit_files(path, **options)["new"].interval
    for source in (pa.dataset.dataset(path), sorted(path.glob("*")), str(path / "*.parquet")):
        assert audit(source, **options)["new"].interval == expected


def test_a_file_without_rows_changes_nothing(folder):
    path, table = folder
    options = {"predictions": "new", "sensitive_features": ["age"]}
    expected = audit_files(path, **options)["new"].interval
    for name in ("before", "zlast"):
        table.iloc[:0].to_parquet(path / f"{name}.parquet")
    assert audit_files(path, **options)["new"].interval == expected


class Elsewhere(ThisProcess):
    """Parts are read by other processes in any order: here through pickles, the last first."""

    def run(self, tasks):
        import pickle

        for number in reversed(range(len(tasks))):
            yield number, pickle.loads(pickle.dumps(tasks[number]))()


def test_who_reads_the_parts_makes_no_difference(folder):
    path, _ = folder
    options = {"predictions": ["old"], "sensitive_features": COLUMNS, "given": ["degree"]}
    here, there = (audit_files(path, executor=each, **options)["old"] for each in (None, Elsewhere()))
    assert here.interval == there.interval


class Killed(Exception):
    pass


class Stops(ThisProcess):
    """Is killed after some parts."""

    def __init__(self, after):
        object.__setattr__(self, "left", [after])

    def run(self, tasks):
        for number, answer in super().run(tasks):
            if not self.left[0]:
                raise Killed
            self.left[0] -= 1
            yield number, answer


@pytest.mark.parametrize("after", [8, 14, 19])  # parts: 6 in each of three reads
def test_a_run_that_was_killed_goes_on_with_the_same_answer(folder, tmp_path, monkeypatch, after):
    path, _ = folder
    monkeypatch.setattr(reads, "SECONDS_BETWEEN_WRITES", 0.0)
    options = {"predictions": ["old"], "sensitive_features": COLUMNS, "state": tmp_path / "state"}
    parts, done = len(parquet_parts.open_parquet(path).parts), []
    after = min(after, 3 * parts - 1)
    with pytest.raises(Killed):
        audit_files(path, executor=Stops(after), **options)
    found = audit_files(path, done=lambda read, count, total: done.append(read), **options)
    assert len(done) == 3 * parts - max(after - parts, 0)  # the first read is made again
    assert not (tmp_path / "state").exists()
    assert found["old"].interval == audit_files(path, **options | {"state": None})["old"].interval


def test_sums_of_other_rows_are_not_used(folder, tmp_path, monkeypatch):
    path, table = folder
    monkeypatch.setattr(reads, "SECONDS_BETWEEN_WRITES", 0.0)
    options = {"predictions": ["old"], "sensitive_features": ["age"], "state": tmp_path / "state"}
    with pytest.raises(Killed):
        audit_files(path, executor=Stops(9), **options)
    table.iloc[::-1].to_parquet(path / "0.parquet")
    assert (
        audit_files(path, **options)["old"].interval == audit_files(path, **options | {"state": None})["old"].interval
    )
    (tmp_path / "state").write_text("nothing", encoding="utf-8")
    with pytest.raises(FairLevelError, match="no state of an audit"):
        audit_files(path, **options)


def test_gaps_and_weights_of_zero_are_left_out_and_counted(folder, monkeypatch):
    path, table = folder
    table = people(2000)
    table.loc[::50, "age"] = np.nan
    table.loc[1::40, "weight"] = 0.0
    table.loc[::90, "town"] = None
    for each in path.glob("*.parquet"):
        each.unlink()
    table.to_parquet(path / "all.parquet", row_group_size=400)
    found = audit_files(path, predictions="old", sensitive_features=COLUMNS, sample_weight="weight")
    zero = int(((table["weight"] == 0) & table["age"].notna()).sum())
    assert found.left_out == {"age": 40, "weight 0": zero}
    kept = table[table["age"].notna() & (table["weight"] > 0)]
    assert found["old"].rows == len(kept)
    expected = dpvar_interval(kept["old"], sensitive_features=kept[COLUMNS], sample_weight=kept["weight"])
    assert found["old"].interval.estimate == pytest.approx(expected.estimate, rel=0.02)
    assert found.sums.rows.names == ("age", "income", "town=(missing)", "town=a", "town=b", "town=c")


def test_a_category_that_the_sample_misses_is_measured(tmp_path):
    """All disparity is in four rows of one town, outside the sample."""
    table = people(2000, slope=0.0)
    drawn = survey.sampled_numbers(2000, 0)
    rare = np.setdiff1d(np.arange(2000), drawn)[[3, 300, 700, 1100]]
    table.loc[rare, "town"] = "z"
    table["old"] = table["new"] + 100.0 * (table["town"] == "z")
    table.to_parquet(tmp_path / "t.parquet", row_group_size=250)
    found = audit_files(tmp_path, predictions="old", sensitive_features=["town"])["old"].interval
    assert found.estimate == pytest.approx(100.0**2 * 0.002 * 0.998, rel=0.05)


def test_decisions_and_outcomes_may_be_true_or_false(tmp_path):
    """They were refused as categories; rows in memory take them."""
    table = people(700)
    table = table.assign(hired=table["old"] > 1, good=table["y"] > 1, senior=table["age"] > 45)
    table.to_parquet(tmp_path / "t.parquet")
    columns = {"predictions": "hired", "sensitive_features": ["income", "senior"], "y_true": "good"}
    found = audit_files(tmp_path, **columns)["hired"]
    expected = dpvar_interval(table["hired"], sensitive_features=table[["income", "senior"]])
    assert found.interval.estimate == pytest.approx(expected.estimate, rel=1e-6)
    assert found.accuracy["mse"] == pytest.approx(np.mean(table["hired"] != table["good"]))


def test_within_factors_as_in_memory(tmp_path):
    """With all rows in the sample, functions of L and of A are those of rows in memory."""
    table = people(780)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=200)
    found = audit_files(tmp_path, predictions="old", sensitive_features=COLUMNS, given="degree")["old"].interval
    expected = dpvar_interval(table["old"], sensitive_features=table[COLUMNS], given=table["degree"])
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-6)
    assert found.low == pytest.approx(expected.low, rel=1e-5)


def test_drift_uses_the_functions_of_the_baseline(folder, tmp_path):
    path, _ = folder
    options = {"predictions": ["old", "new"], "sensitive_features": COLUMNS}
    first = audit_files(path, **options)
    first.sums.save(tmp_path / "sums.json")
    again = audit_files(path, baseline=tmp_path / "sums.json", **options)
    assert again["old"].interval == first["old"].interval
    assert again.drift["old"].difference == 0
    month = tmp_path / "month"
    month.mkdir()
    people(1500, seed=1, slope=0.6).to_parquet(month / "0.parquet")
    later = audit_files(month, baseline=AuditSums.load(tmp_path / "sums.json"), **options)
    drift = later.drift["old"]
    assert drift.found
    assert 0 < drift.low < drift.difference < drift.high
    assert drift.then.estimate == first["old"].interval.estimate
    assert drift.difference == pytest.approx(later["old"].interval.estimate - first["old"].interval.estimate)
    assert "has risen" in str(drift)
    assert not later.drift["new"].found
    text = (tmp_path / "sums.json").read_text()
    assert json.loads(text)["rows"] == 2000
    assert len(text) < 100_000  # no rows
    with pytest.raises(FairLevelError, match="measured with sensitive"):
        audit_files(month, baseline=tmp_path / "sums.json", **options | {"sensitive_features": ["age"]})
    table = people(400).assign(town="elsewhere")
    table.to_parquet(month / "0.parquet")
    with pytest.raises(FairLevelError, match="'elsewhere', which is not among the known"):
        audit_files(month, baseline=tmp_path / "sums.json", **options)


def test_a_file_that_is_no_baseline(tmp_path, folder):
    path, _ = folder
    for text in ("{", "{}", '{"what": "sums of an audit", "format": 9}'):
        (tmp_path / "sums.json").write_text(text, encoding="utf-8")
        with pytest.raises(FairLevelError, match="holds no sums of an audit"):
            audit_files(path, predictions="old", sensitive_features="age", baseline=tmp_path / "sums.json")


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"predictions": "older"}, "Did you mean 'old'"),
        ({"old": np.nan}, {}, "missing, infinite or huge"),
        ({"weight": -1.0}, {"sample_weight": "weight"}, "weights that are missing"),
        ({"age": np.inf}, {}, "infinite"),
        ({"age": 1.0}, {}, "single value"),
        ({"old": "text"}, {}, "numbers are needed"),
        ({"age": ["2020-01-02", "2021-03-04"] * 200}, {}, "as text"),
        ({"age": [[1]] * 400}, {}, "holds values of type"),
        ({}, {"groups": "town"}, "needs all rows in memory"),
        ({}, {"sensitive_features": ["old"]}, "one role"),
        ({}, {"threshold": 0.5}, "outside"),
    ],
)
def test_what_cannot_be_measured_is_refused(tmp_path, change, options, sentence):
    people(400).assign(**change).to_parquet(tmp_path / "t.parquet", row_group_size=90)
    with pytest.raises(FairLevelError, match=sentence):
        audit(tmp_path, **{"predictions": "old", "sensitive_features": ["age"]} | options)


@pytest.mark.parametrize("options", [{}, {"predictions": "old"}], ids=["arrays", "files"])
def test_unknown_arguments_are_named(tmp_path, options):
    people(400).to_parquet(tmp_path / "t.parquet")
    source = tmp_path if options else np.arange(400.0)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'treshold'\. Did you mean 'threshold'\?"):
        audit(source, sensitive_features=["age"], treshold=0.5, **options)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzz'$"):
        audit(source, sensitive_features=["age"], zzz=0.5, **options)


def test_arguments_of_files_are_refused_for_arrays_by_name():
    with pytest.raises(TypeError, match="categories= is for rows in Parquet files, but ndarray was given"):
        audit(np.arange(400.0), sensitive_features=np.arange(400.0), categories=["age"])


def test_files_that_disagree_are_refused(tmp_path):
    people(200).to_parquet(tmp_path / "0.parquet")
    people(200).assign(age="young").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(FairLevelError, match="in some files but category values in"):
        audit_files(tmp_path, predictions="old", sensitive_features="age")
    with pytest.raises(FairLevelError, match="holds no Parquet file"):
        audit_files(tmp_path / "nothing", predictions="old", sensitive_features="age")


def test_columns_named_by_folders_are_attributes(tmp_path):
    for region in ("north", "south"):
        (tmp_path / f"region={region}").mkdir()
        table = people(300, seed=len(region))
        table["old"] = table["new"] + (region == "north")
        table.to_parquet(tmp_path / f"region={region}" / "t.parquet")
    found = audit_files(tmp_path, predictions="old", sensitive_features="region")
    assert found["old"].interval.estimate == pytest.approx(0.25, abs=0.1)


def test_parts_are_fixed_by_the_rows_alone(folder):
    path, _ = folder
    table = parquet_parts.open_parquet(path)
    assert [part.rows for part in table.parts] == [340, 327, 340, 327, 340, 326]  # row groups of 170, files of 667
    assert [part.start for part in table.parts] == [0, 340, 667, 1007, 1334, 1674]
