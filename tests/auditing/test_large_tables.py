"""Stored rows: a fair sample, counts of all rows, and the answer of rows in memory where all of them are sampled."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import fairlevel
from fairlevel import audit
from fairlevel.data import stored_rows
from fairlevel.data.stored_rows import Roles, sample_rows
from fairlevel.exceptions import FairLevelError
from tests.quick_audits import without_side_figures

COLUMNS = ["age", "income", "town"]


def people(rows, seed=0, slope=0.3):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 10, rows),
            "income": random.gamma(3, 2, rows),
            "town": random.choice(["a", "b", "c"], rows),
            "degree": random.integers(0, 3, rows),
            "person": random.integers(0, rows // 3, rows),
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
    """Small batches."""
    monkeypatch.setattr(stored_rows, "_BATCH", 128)
    without_side_figures(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    table = people(900)
    for number, part in enumerate(np.array_split(np.arange(900), 3)):
        table.iloc[part].to_parquet(tmp_path / f"{number}.parquet", row_group_size=170)
    return tmp_path, table


def in_memory(table, prediction, **roles):
    others = {role: table[name] for role, name in roles.items()}
    return audit(table[prediction], sensitive_features=table[COLUMNS], **others).to_dict()


@pytest.mark.parametrize(
    "roles",
    [{"y_true": "y", "sample_weight": "weight"}, {"given": "degree"}, {"groups": "person", "by": "degree"}],
    ids=", ".join,
)
def test_all_rows_give_the_answer_of_rows_in_memory(folder, roles):
    path, table = folder
    found = audit(path, predictions=["old", "new"], sensitive_features=COLUMNS, **roles)
    assert list(found.audits) == ["old", "new"]
    for name in ("old", "new"):
        assert found[name].to_dict() == in_memory(table, name, **roles)
    assert "sampled" not in " ".join(found["old"].provenance.method)


def test_datasets_lists_and_patterns_are_the_same_rows(folder):
    path, _ = folder
    options = {"predictions": "new", "sensitive_features": ["age"], "rows": 400}
    expected = audit(path, **options)["new"].interval
    for source in (pa.dataset.dataset(path), sorted(path.glob("*")), str(path / "*.parquet")):
        assert audit(source, **options)["new"].interval == expected


def test_datasets_may_have_a_filter_or_another_format(folder, tmp_path):
    path, table = folder
    options = {"predictions": "new", "sensitive_features": ["age"]}
    young = table[table["age"] < 40]
    young.to_csv(tmp_path / "_young.csv", index=False)
    expected = audit(young["new"], sensitive_features=young[["age"]]).interval
    for source in (
        pa.dataset.dataset(path, format="parquet").filter(pa.dataset.field("age") < 40),
        pa.dataset.dataset(tmp_path / "_young.csv", format="csv"),
        pa.dataset.dataset(pa.Table.from_pandas(young)),
    ):
        assert audit(source, **options)["new"].interval == expected


def test_a_file_without_rows_changes_nothing(folder):
    path, table = folder
    options = {"predictions": "new", "sensitive_features": ["age"]}
    expected = audit(path, **options)["new"].interval
    for name in ("before", "zlast"):
        table.iloc[:0].to_parquet(path / f"{name}.parquet")
    assert audit(path, **options)["new"].interval == expected


ROLES = Roles(("f",), ("row",))


def numbered(tmp_path, rows):
    pd.DataFrame({"row": np.arange(rows), "f": 0.5}).to_parquet(tmp_path / "t.parquet", row_group_size=330)
    return tmp_path / "t.parquet"


def test_every_row_has_the_same_chance(tmp_path):
    """Each of 1000 rows came up in about 200 * 300 / 1000 of 200 samples of 300, wherever it is."""
    path = numbered(tmp_path, 1000)
    drawn = np.zeros(1000)
    for seed in range(200):
        frame = sample_rows(path, ROLES, 300, seed).frame
        assert len(frame) == frame["row"].nunique() == 300
        drawn[frame["row"]] += 1
    sd = (200 * 0.3 * 0.7) ** 0.5
    assert np.abs(drawn - 60).max() < 5 * sd
    assert drawn.std() == pytest.approx(sd, rel=0.15)
    assert np.abs(drawn.reshape(10, 100).mean(axis=1) - 60).max() < 5 * sd / 10  # no part of the file is preferred


def test_a_seed_is_a_sample_whatever_the_batches(tmp_path, monkeypatch):
    path = numbered(tmp_path, 1000)
    first = sample_rows(path, ROLES, 300, 7)
    monkeypatch.setattr(stored_rows, "_BATCH", 1000)
    assert sample_rows(path, ROLES, 300, 7).frame.equals(first.frame)
    assert not sample_rows(path, ROLES, 300, 8).frame.equals(first.frame)
    assert (first.rows, first.used, first.sampled) == (1000, 1000, True)


MEMORY = """
import resource, sys
from fairlevel.data.stored_rows import Roles, sample_rows
sample_rows(sys.argv[1], Roles(("f",), ("a", "b")), 1000, 0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """6 million rows of one row group need 144 MB as numbers."""
    peaks = []
    for rows in (60_000, 6_000_000):
        values = pa.array(np.random.default_rng(0).standard_normal(rows))
        pa.parquet.write_table(pa.table({"a": values, "b": values, "f": values}), tmp_path / "t.parquet", rows)
        run = [sys.executable, "-c", MEMORY, tmp_path / "t.parquet"]
        peaks.append(float(subprocess.run(run, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 100


def test_the_answer_of_a_sample_says_so(folder):
    path, _ = folder
    found = audit(path, predictions="new", sensitive_features="age", rows=400, random_state=3)["new"]
    assert (found.rows, found.provenance.rows_in_file, found.provenance.rows_dropped) == (400, 900, 0)
    sentence = "DPVar and every table come from 400 of 900 rows, sampled at random (seed 3)."
    assert sentence in found.provenance.method
    found.to_html(path / "page.html")
    assert sentence in (path / "page.html").read_text()


def test_gaps_and_weights_of_zero_are_left_out_and_counted_in_all_rows(tmp_path):
    table = people(2000)
    table.loc[::50, "age"] = np.nan
    table.loc[1::40, "weight"] = 0.0
    table.loc[::90, "town"] = None
    table.loc[7::100, "y"] = np.nan
    table.to_parquet(tmp_path / "all.parquet", row_group_size=400)
    options = {"predictions": "old", "sensitive_features": COLUMNS, "sample_weight": "weight", "y_true": "y"}
    found = audit(tmp_path, **options)
    known = table["age"].notna() & table["y"].notna()
    kept = table[known & (table["weight"] > 0)].reset_index(drop=True)
    assert found.left_out == {"y": 20, "age": 40, "weight 0": int(((table["weight"] == 0) & known).sum())}
    assert (found.rows_left_out, found["old"].provenance.rows_dropped) == (60, 2000 - len(kept))
    assert found.missing == {"town": int(kept["town"].isna().sum())}
    assert found["old"].to_dict() == in_memory(kept, "old", sample_weight="weight", y_true="y")
    part = audit(tmp_path, rows=500, **options)
    assert (part.left_out, part.missing) == (found.left_out, found.missing)
    assert part["old"].rows < 500


def test_categories_that_the_sample_misses_are_named(tmp_path):
    table = people(2000, slope=0.0)
    table.loc[1990:1993, "town"] = "z"
    table["town"] = table["town"].astype("category")
    table["old"] = table["new"] + 100.0 * (table["town"] == "z")
    table.to_parquet(tmp_path / "t.parquet", row_group_size=250)
    options = {"predictions": "old", "sensitive_features": ["town", "age"]}

    def flags(rows):
        found = audit(tmp_path, rows=rows, **options)["old"].flags
        return [flag.sentence for flag in found if flag.name == "not_sampled"]

    (sentence,) = flags(400)
    assert "hardly any row: town = z (4). Nothing" in sentence
    assert flags(2000) == []


@pytest.mark.parametrize("kind", [object, "category", bool])
def test_every_kind_of_category_is_counted(tmp_path, kind):
    table = people(600)
    table["town"] = (table["town"] == "a") if kind is bool else table["town"].astype(kind)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=250)
    counts = sample_rows(tmp_path, Roles(("old",), ("town",)), 100, 0).levels["town"]
    assert counts == table["town"].value_counts().to_dict()
    found = audit(tmp_path, predictions="old", sensitive_features=COLUMNS)["old"]
    assert found.to_dict() == in_memory(table, "old")


def test_numbers_may_be_named_as_categories(tmp_path):
    table = people(600)
    table.to_parquet(tmp_path / "t.parquet")
    found = audit(tmp_path, predictions="old", sensitive_features="degree", categories="degree")["old"]
    expected = audit(table["old"], sensitive_features=table[["degree"]].astype("category"))
    assert found.to_dict() == expected.to_dict()
    assert found.interval.regressor.startswith("groups")


def test_text_of_very_many_values_is_refused_and_dates_as_text_are_read(tmp_path):
    table = people(4000)
    table["code"] = [f"code {number // 3}" for number in range(4000)]
    table["day"] = (pd.Timestamp("1900-01-01") + pd.to_timedelta(np.arange(4000), unit="D")).strftime("%Y-%m-%d")
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FairLevelError, match=r"'code' of sensitive_features has \d+ categories on 300 rows"):
        audit(tmp_path, predictions="old", sensitive_features="code", rows=300)
    table[:900].to_parquet(tmp_path / "t.parquet")  # few enough values to be counted
    found = audit(tmp_path, predictions="old", sensitive_features="day", rows=300)["old"]
    assert found.rows == 300
    assert "not_sampled" not in [flag.name for flag in found.flags]


def test_dates_are_read_as_in_memory(tmp_path):
    table = people(600)
    day = pd.Timestamp("1990-01-01") + pd.to_timedelta((table["age"] * 100).astype(int), unit="D")
    for born in (day, day.dt.date):
        dated = table.assign(born=born)
        dated.loc[3, "born"] = None
        dated.to_parquet(tmp_path / "t.parquet")
        found = audit(tmp_path / "t.parquet", predictions="old", sensitive_features="born")
        known = dated.drop(index=3)
        assert found["old"].interval == audit(known["old"], sensitive_features=known[["born"]]).interval
        assert found.left_out == {"born": 1}


def test_decisions_and_outcomes_may_be_true_or_false(tmp_path):
    """They were refused as categories; rows in memory take them."""
    table = people(700)
    table = table.assign(hired=table["old"] > 1, good=table["y"] > 1)
    table.to_parquet(tmp_path / "t.parquet")
    found = audit(tmp_path, predictions="hired", sensitive_features=COLUMNS, y_true="good")["hired"]
    assert found.to_dict() == in_memory(table, "hired", y_true="good")


def test_decimals_are_numbers(tmp_path):
    table = people(500).round(2)
    stored = pa.Table.from_pandas(table[["old", "age"]])
    fields = [pa.field(name, pa.decimal128(12, 2)) for name in ("old", "age")]
    pa.parquet.write_table(stored.cast(pa.schema(fields)), tmp_path / "t.parquet")
    found = audit(tmp_path, predictions="old", sensitive_features="age")["old"]
    expected = audit(table["old"], sensitive_features=table[["age"]])
    assert found.interval.estimate == pytest.approx(expected.interval.estimate, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"predictions": "older"}, "Did you mean 'old'"),
        ({"old": np.nan}, {}, "missing, infinite or huge"),
        ({"y": np.inf}, {"y_true": "y"}, "Fewer than 2 rows"),
        ({"y": 1e200}, {"y_true": "y"}, "missing, infinite or huge"),
        ({"weight": -1.0}, {"sample_weight": "weight"}, "negative or huge weights"),
        ({"weight": 0.0}, {"sample_weight": "weight"}, "Fewer than 2 rows"),
        ({"age": np.inf}, {}, "infinite"),
        ({"age": 1.0}, {}, "single value"),
        ({"old": "text"}, {}, "numbers are needed"),
        ({"old": pd.Timestamp("2020")}, {}, "numbers are needed"),
        ({"age": [*map(str, range(399)), "?"]}, {}, "mostly numbers"),
        ({"age": [[1]] * 400}, {}, "holds values of type"),
        ({}, {"sensitive_features": ["old"]}, "one role"),
        ({}, {"threshold": 0.5}, "outside"),
        ({}, {"rows": 1}, "a whole number of at least 2"),
        ({}, {"predictions": ()}, "Stored rows need predictions="),
    ],
)
def test_what_cannot_be_measured_is_refused(tmp_path, change, options, sentence):
    people(400).assign(**change).to_parquet(tmp_path / "t.parquet", row_group_size=90)
    with pytest.raises(FairLevelError, match=sentence):
        audit(tmp_path, **{"predictions": "old", "sensitive_features": ["age"]} | options)


@pytest.mark.parametrize("column", ["old", "age"])
def test_a_number_that_cannot_be_used_is_found_outside_the_sample(tmp_path, column):
    table = people(400)
    missed = np.setdiff1d(np.arange(400), np.random.default_rng(0).choice(400, 50, replace=False))[-1]
    table.loc[missed, column] = np.inf
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FairLevelError, match=f"{column!r} holds 1 missing, infinite or huge"):
        audit(tmp_path, predictions="old", sensitive_features="age", rows=50)


@pytest.mark.parametrize("options", [{}, {"predictions": "old"}], ids=["arrays", "files"])
def test_unknown_arguments_are_named(tmp_path, options):
    people(400).to_parquet(tmp_path / "t.parquet")
    source = tmp_path if options else np.arange(400.0)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'treshold'\. Did you mean 'threshold'\?"):
        audit(source, sensitive_features=["age"], treshold=0.5, **options)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzz'$"):
        audit(source, sensitive_features=["age"], zzz=0.5, **options)


@pytest.mark.parametrize("name", ["baseline", "state", "executor", "done"])
def test_arguments_that_are_gone_say_what_to_use(name):
    with pytest.raises(TypeError, match=rf"audit\({name}=\) is gone since version 0.3: .*(sample|since)"):
        audit("rows.parquet", predictions="old", sensitive_features="age", **{name: None})


def test_a_function_that_is_gone_says_what_to_use():
    with pytest.raises(
        AttributeError, match=r"audit\(path, predictions=\.\.\., sensitive_features=\.\.\.\) reads files"
    ):
        fairlevel.audit_files  # noqa: B018
    assert not hasattr(fairlevel, "audit_files")


@pytest.mark.parametrize("option", [{"categories": ["age"]}, {"predictions": "old"}])
def test_arguments_of_files_are_refused_for_arrays_by_name(option):
    with pytest.raises(TypeError, match=f"{next(iter(option))}= is for stored rows, but ndarray was given"):
        audit(np.arange(400.0), sensitive_features=np.arange(400.0), **option)


def test_files_may_store_a_column_in_several_types(tmp_path):
    """Whole numbers and others, no value and some, short codes of categories and long ones."""
    table = people(600).assign(town=lambda frame: frame["town"].astype("category"))
    table["degree"] = table["degree"].astype(float) + 0.5 * (table.index >= 300)
    table[:300].astype({"degree": int}).to_parquet(tmp_path / "0.parquet")
    later = pa.Table.from_pandas(table[300:], preserve_index=False)
    codes = later["town"].combine_chunks().cast(pa.dictionary(pa.int32(), pa.string()))
    pa.parquet.write_table(later.set_column(2, "town", codes), tmp_path / "1.parquet")
    found = audit(tmp_path, predictions="old", sensitive_features=["degree", "town"])["old"]
    assert found.interval == audit(table["old"], sensitive_features=table[["degree", "town"]]).interval


def test_files_that_disagree_are_refused(tmp_path):
    people(200).to_parquet(tmp_path / "0.parquet")
    people(200).assign(age="young").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(FairLevelError, match=r"do not agree on a column: .*age"):
        audit(tmp_path, predictions="old", sensitive_features="age")
    assert audit(tmp_path, predictions="old", sensitive_features="income")["old"].rows == 400
    people(200).drop(columns="income").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(FairLevelError, match="Unknown column of the Parquet files 'income'"):
        audit(tmp_path, predictions="old", sensitive_features="income")
    with pytest.raises(FairLevelError, match="holds no Parquet file"):
        audit(tmp_path / "nothing", predictions="old", sensitive_features="age")
    (tmp_path / "0.parquet").write_text("nothing", encoding="utf-8")
    with pytest.raises(FairLevelError, match="cannot be read"):
        audit(tmp_path, predictions="old", sensitive_features="income")


def test_columns_named_by_folders_are_attributes(tmp_path):
    for region in ("north", "south"):
        (tmp_path / f"region={region}").mkdir()
        table = people(300, seed=len(region))
        table["old"] = table["new"] + (region == "north")
        table.to_parquet(tmp_path / f"region={region}" / "t.parquet")
    found = audit(tmp_path, predictions="old", sensitive_features="region")
    assert found["old"].interval.estimate == pytest.approx(0.25, abs=0.1)


def test_drift_is_the_difference_of_two_audits():
    def month(seed, slope):
        table = people(1500, seed, slope)
        return audit(table["old"], sensitive_features=table[COLUMNS])

    first, same, later = month(0, 0.3), month(1, 0.3), month(2, 0.6)
    assert not same.since(first).found
    assert "the rows show no change" in str(same.since(first))
    drift = later.since(first)
    assert drift.found
    assert "has risen" in str(drift)
    then, now = first.interval, later.interval
    assert drift.difference == now.estimate - then.estimate
    assert drift.low == drift.difference - np.hypot(now.estimate - now.low, then.high - then.estimate)
    assert drift.high == drift.difference + np.hypot(now.high - now.estimate, then.estimate - then.low)
    back = first.since(later)
    assert (back.low, back.high) == (-drift.high, -drift.low)
    assert "has fallen" in str(back)
    other = audit(people(300)["old"], sensitive_features=people(300)[["age"]])
    with pytest.raises(FairLevelError, match="earlier audit is of age, income, town, this one of age;"):
        other.since(first)
