"""From a file to predictions: columns are read by the rule of training, whatever a later file looks like."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairnessPath, FairRegressor, load
from fairlevel.cli.files import read_numbers, read_rows
from fairlevel.exceptions import InvalidType
from fairlevel.networks.optimizers import Adam
from tests.terminal import run_here as run

ROWS = 240
QUICK = ["--method", "spectral", "--predictor", "linear"]


def make_table(rows=ROWS, seed=0):
    """A target that follows a date, hours, a truth, a code and a job of 40; age is sensitive."""
    random = np.random.default_rng(seed)
    day, age = random.integers(0, 1000, rows), random.uniform(20, 65, rows)
    job = random.integers(0, 40, rows)
    frame = pd.DataFrame(
        {
            "age": age.round(1),
            "hours": (38 + 0.1 * age + random.normal(0, 5, rows)).round(1),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(day, unit="D"),
            "member": random.random(rows) < 0.5,
            "code": random.choice(["1", "2", "3"], rows),
            "job": [f"job {k}" for k in job],
        }
    )
    signal = 0.02 * day + 0.3 * frame["hours"] + 4 * frame["member"] + 2 * (frame["code"] == "2")
    frame["pay"] = signal + random.normal(0, 1, rows)
    return frame


@pytest.fixture(scope="module", autouse=True)
def few_points_and_steps():
    """Fronts of four models, trained by few and large steps, for speed."""
    quick = partial(FairnessPath, optimizer=Adam(0.05, steps=80))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairlevel.estimators.path_fit.POINTS", 4)
        patch.setattr("fairlevel.fronts.evaluation.SHARE_POINTS", 4)
        patch.setattr("fairlevel.estimators.fairness_path.FairnessPath", quick)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def fronts(folder):
    """Fronts of the same table as CSV and as Parquet."""
    make_table().to_csv(folder / "t.csv", index=False)
    make_table().to_parquet(folder / "t.parquet")
    for kind in ("csv", "parquet"):
        arguments = ["--target", "pay", "--sensitive", "age", *QUICK, "--categories", "code"]
        result = run("front", folder / f"t.{kind}", *arguments, "--out", folder / kind)
        assert result.returncode == 0, result.stderr
        assert "dates: when" in result.stdout
        assert "text with many categories: job (40)" in result.stdout
    return {kind: folder / kind for kind in ("csv", "parquet")}


@pytest.fixture(scope="module")
def later(folder):
    """New rows, and their predictions by the model trained on CSV."""
    frame = make_table(100, seed=1).drop(columns="age")
    frame.to_csv(folder / "later.csv", index=False)
    return frame


def predicted(model, frame, folder, *more, kind="csv"):
    path = folder / f"given.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    result = run("predict", model, path, "--out", folder / "out.parquet", *more)
    assert result.returncode == 0, result.stderr
    return pd.read_parquet(folder / "out.parquet")["prediction"].to_numpy(), result.stderr


def test_csv_and_parquet_give_the_same_front_and_predictions(fronts, later, folder):
    shown = [pd.read_csv(fronts[kind] / "front.csv") for kind in fronts]
    pd.testing.assert_frame_equal(*shown)
    assert shown[0]["mse"].iloc[-1] < 0.1 * make_table()["pay"].var()  # dates carry most of the target
    found = [
        predicted(fronts[trained] / "models" / "most-accurate", later, folder, kind=kind)[0]
        for trained in fronts
        for kind in ("csv", "parquet")
    ]
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], rtol=1e-9)  # sums round as tables lie in memory
    fresh = np.mean((found[0] - later["pay"]) ** 2)
    assert fresh < 1.2 * shown[0]["mse"].iloc[-1]  # the front was not too optimistic


def test_a_saved_model_takes_the_raw_table_in_python(fronts, later, folder):
    model = load(fronts["csv"] / "models" / "point-01")
    assert list(model.feature_names_in_) == ["hours", "when", "member", "code", "job"]
    from_python = model.predict(pd.read_csv(folder / "later.csv").assign(unused="x"))
    on_command_line, _ = predicted(fronts["csv"] / "models" / "point-01", later, folder)
    np.testing.assert_array_equal(from_python, on_command_line)
    with pytest.raises(ValueError, match=r"lacks 'hours', 'job'.*needs 'hours', 'when', 'member', 'code', 'job'"):
        model.predict(later.drop(columns=["job", "hours"]))
    with pytest.raises(InvalidType, match=r"'hours' holds 'abc' \(row 3\)"):
        model.predict(later.astype({"hours": object}).assign(hours=["1", "2", "abc", *["3"] * 97]))


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        ("hours", lambda hours: hours.astype(object).mask(hours.index == 3, "abc"), "'hours' holds 'abc' (row 4)"),
        ("hours", lambda hours: hours.astype(str).str.replace(".", ","), "and 97 more such cells"),
        ("hours", lambda hours: hours.astype(str) + "h", "finite numbers are needed"),
        ("hours", lambda hours: hours.mask(hours.index == 3, np.inf), "holds inf (row 4)"),
        ("member", lambda member: member.map({True: "yes", False: "no"}), "True or False are needed"),
        ("when", lambda when: when.dt.strftime("%d.%m.%Y"), "dates such as '2020-02-29' are needed"),
    ],
)
def test_predict_refuses_what_it_cannot_read(fronts, later, folder, column, change, said):
    later.assign(**{column: change(later[column])}).to_csv(folder / "strange.csv", index=False)
    model, out = fronts["csv"] / "models" / "knee", folder / "never.csv"
    result = run("predict", model, folder / "strange.csv", "--out", out)
    assert result.returncode == 2
    assert said in result.stderr
    assert "--lenient" in result.stderr
    assert not out.exists()


def test_lenient_imputes_and_counts(fronts, later, folder):
    model = fronts["csv"] / "models" / "knee"
    words = later["hours"].astype(object)
    words[[3, 8]] = "abc"
    found, said = predicted(model, later.assign(hours=words), folder, "--lenient")
    gaps, _ = predicted(model, later.assign(hours=later["hours"].mask(words == "abc")), folder)
    assert "'hours' 2 of 100 rows" in said
    np.testing.assert_array_equal(found, gaps)


def test_unseen_categories_are_counted_by_column(fronts, later, folder):
    found, said = predicted(fronts["csv"] / "models" / "knee", later.assign(job="x" + later["job"]), folder)
    assert "lack: 'job' 100 of 100 rows" in said
    usual, _ = predicted(fronts["csv"] / "models" / "knee", later, folder)
    assert np.std(found - usual) < 0.5 * usual.std()
    assert "lack" not in predicted(fronts["csv"] / "models" / "knee", later, folder)[1]


def test_codes_with_a_gap_and_rows_one_by_one(fronts, later, folder):
    model = fronts["parquet"] / "models" / "knee"
    usual, _ = predicted(model, later, folder)
    gap = later.astype({"code": float})  # as pandas reads whole numbers with a gap
    gap.loc[5, "code"] = np.nan
    for kind in ("parquet", "csv"):  # text of such a file is 1.0
        found, said = predicted(model, gap, folder, kind=kind)
        np.testing.assert_array_equal(np.delete(found, 5), np.delete(usual, 5))
        assert "lack" not in said
    one, _ = predicted(model, later.iloc[[7]], folder)
    np.testing.assert_allclose(one, usual[[7]], rtol=1e-12)


def test_a_budget_is_checked_first_and_shown(folder, fronts):
    arguments = ["front", folder / "t.csv", "--target", "pay", "--sensitive", "age", *QUICK, "--categories", "code"]
    refused = run(*arguments, "--max-share", "7", "--out", folder / "seven")
    assert refused.returncode == 2
    assert "rows" not in refused.stdout  # nothing was read
    none = run(*arguments, "--max-share", "1e-9", "--out", folder / "none")
    assert none.returncode == 1
    assert "out of reach" in none.stderr
    assert (folder / "none" / "models" / "knee").is_dir()
    assert "No model was found whose share" in (folder / "none" / "report.html").read_text()
    share = 0.06  # 200 rows cannot show much less
    kept = run(*arguments, "--max-share", f"{share:.3f}", "--out", folder / "kept")
    assert kept.returncode == 0, kept.stderr
    line = next(line for line in kept.stdout.splitlines() if f"share within {share:.3f}"[:17] in line)
    assert "–" not in line
    assert f"next: fairlevel predict {folder / 'kept' / 'models' / 'within-budget'} {folder / 't.csv'}" in kept.stdout
    front = pd.read_csv(folder / "kept" / "front.csv")
    assert len(front) == len(pd.read_csv(folder / "csv" / "front.csv")) + 1
    report = (folder / "kept" / "report.html").read_text()
    assert re.search(r"whose share of variance is at most [\d.]+ is point-\d+: RMSE [\d.,]+, share ", report)


def test_front_and_audit_treat_missing_attributes_alike(folder):
    table = make_table(200).assign(group=lambda frame: np.where(frame["age"] > 40, "old", "young"))
    table.loc[[3, 4], "group"] = None
    table.loc[9, "age"] = np.nan
    table.to_csv(folder / "gaps.csv", index=False)
    front = run(
        "front", folder / "gaps.csv", "--target", "pay", "--sensitive", "age,group", *QUICK, "--out", folder / "gaps"
    )
    audit = run("audit", folder / "gaps.csv", "--prediction", "pay", "--sensitive", "age,group")
    as_json = run("audit", folder / "gaps.csv", "--prediction", "pay", "--sensitive", "age,group", "--json")
    for result in (front, audit):
        assert result.returncode == 0, result.stderr
        assert "missing categories count as the category (missing): group (2)" in result.stdout
    assert "1 rows count for accuracy only, without a value in: age (1)" in front.stdout
    assert "1 row left out, without a value in: age (1)" in audit.stdout
    found = json.loads(as_json.stdout)
    assert {row["group"] for row in found["groups"]["group"]} == {"(missing)", "old", "young"}


def test_a_column_is_read_by_all_of_its_cells(tmp_path):
    """Pieces of a large file were read as numbers, others as text."""
    rows = 300_000
    pd.DataFrame({"g": ["1"] * rows + ["x"], "n": range(rows + 1)}).to_csv(tmp_path / "t.csv", index=False)
    table = read_rows(tmp_path / "t.csv", most=rows).table
    assert set(table["g"]) == {"1", "x"}
    assert table["n"].dtype.kind == "i"


def test_semicolons_and_decimal_commas(tmp_path):
    text = "a;b;c\n1,5;x;2\n2,25;y;3\n1.000,5;x;4\n"
    (tmp_path / "t.csv").write_text(text)
    table = read_rows(tmp_path / "t.csv", ["a", "c"]).table
    assert read_numbers(table, "a").tolist() == [1.5, 2.25, 1000.5]
    assert read_numbers(table, "c").tolist() == [2, 3, 4]
    tabs = text.replace(";", "\t")
    (tmp_path / "t.csv").write_text(tabs)
    assert list(read_rows(tmp_path / "t.csv").table.columns) == ["a", "b", "c"]


def test_numbers_with_words_among_them(folder, tmp_path):
    table = make_table(200).astype({"hours": object})
    table.loc[[3, 8], "hours"] = "?"
    table["pay"] = table["pay"].round(3).astype(str).str.replace(".", ",")
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["front", tmp_path / "t.csv", "--target", "pay", "--sensitive", "age", *QUICK]
    refused = run(*arguments, "--out", tmp_path / "out")
    assert refused.returncode == 2
    assert "'hours' is mostly numbers, but holds '?' (row 4), '?' (row 9)" in refused.stderr
    lenient = run(*arguments, "--lenient", "--out", tmp_path / "out")
    assert lenient.returncode == 0, lenient.stderr
    assert "2 cells of hours cannot be read and count as missing" in lenient.stdout
    income = table.assign(f=range(200))
    income.to_csv(tmp_path / "a.csv", index=False)
    audited = run("audit", tmp_path / "a.csv", "--prediction", "f", "--sensitive", "hours", "--max-share", "0.1")
    assert audited.returncode == 2
    assert "'?' (row 4)" in audited.stderr
    coded = table.assign(f=range(200), hours=[f"{k % 22}" if k % 40 else "V1" for k in range(200)])
    coded.to_csv(tmp_path / "a.csv", index=False)
    arguments = ["audit", tmp_path / "a.csv", "--prediction", "f", "--sensitive", "hours", "--json"]
    assert "mostly numbers" in run(*arguments).stderr
    found = json.loads(run(*arguments, "--categories", "hours").stdout)
    assert found["dpvar"]["regressor"].startswith("groups")


def test_a_model_of_named_numbers_takes_the_columns_it_needs(tmp_path):
    """A model that was fitted in Python, as those of the demo are; the file has more columns."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.standard_normal((80, 4)), columns=["age", "x", "z", "other"])
    y = table["x"] + table["z"]
    model = FairRegressor(1.0, predictor="linear", optimizer=Adam(steps=20), random_state=0)
    model.fit(table[["x", "z"]], y, sensitive_features=table[["age"]]).save(tmp_path / "model")
    table.assign(word="text").to_csv(tmp_path / "rows.csv", index=False)
    said = run("predict", tmp_path / "model", tmp_path / "rows.csv", "--out", tmp_path / "out.csv")
    assert said.returncode == 0, said.stderr
    found = pd.read_csv(tmp_path / "out.csv")["prediction"]
    np.testing.assert_allclose(found, model.predict(table[["x", "z"]]))
    table.drop(columns="z").to_csv(tmp_path / "less.csv", index=False)
    said = run("predict", tmp_path / "model", tmp_path / "less.csv", "--out", tmp_path / "more.csv")
    assert said.returncode == 2
    assert "lacks 1 of the 2 columns seen in fit: 'z'" in said.stderr
    table.to_csv(tmp_path / "commas.csv", index=False, sep=";", decimal=",")
    said = run("predict", tmp_path / "model", tmp_path / "commas.csv", "--out", tmp_path / "commas-out.csv")
    assert said.returncode == 0, said.stderr
    np.testing.assert_allclose(pd.read_csv(tmp_path / "commas-out.csv")["prediction"], found)
    table.astype({"x": object}).replace({"x": {table["x"][4]: "tall"}}).to_csv(tmp_path / "word.csv", index=False)
    said = run("predict", tmp_path / "model", tmp_path / "word.csv", "--out", tmp_path / "word-out.csv")
    assert "Column 'x' holds 'tall' (row 5)" in said.stderr


def test_a_column_that_is_there_twice_is_not_guessed(fronts, later, folder):
    """The first one was used."""
    twice = pd.concat([later, later["hours"] + 1], axis=1)
    twice.to_csv(folder / "twice.csv", index=False)
    said = run("predict", fronts["csv"] / "models" / "knee", folder / "twice.csv", "--out", folder / "never.csv")
    assert said.returncode == 2
    assert "2 columns named 'hours'" in said.stderr
    unused = pd.concat([later, *[pd.Series(0, index=later.index, name="note")] * 2], axis=1)
    assert len(predicted(fronts["csv"] / "models" / "knee", unused, folder)[0]) == len(later)


@pytest.mark.parametrize("write", ["{:,.0f}", "{:,.2f}"], ids=["63,133", "63,133.50"])
@pytest.mark.parametrize("role", ["target", "feature"])
def test_separators_of_thousands_are_refused(tmp_path, write, role):
    """A target of 63,133 was read as 63.133."""
    table = make_table(100).assign(salary=lambda frame: [write.format(20_000 + 977.5 * pay) for pay in frame["pay"]])
    table.to_csv(tmp_path / "table.csv", index=False)
    words = ["--target", "salary" if role == "target" else "pay", "--sensitive", "age", *QUICK]
    said = run("front", tmp_path / "table.csv", *words, "--out", tmp_path / "front")
    assert said.returncode == 2
    assert "salary" in said.stderr
    assert "thousands" in said.stderr
    assert not (tmp_path / "front").exists()


def test_the_rows_are_never_replaced_by_their_predictions(fronts, later, folder):
    later.to_csv(folder / "own.csv", index=False)
    (folder / "link.csv").unlink(missing_ok=True)
    (folder / "link.csv").symlink_to(folder / "own.csv")
    before = (folder / "own.csv").read_bytes()
    for out in ("own.csv", "link.csv"):
        said = run("predict", fronts["csv"] / "models" / "knee", folder / "own.csv", "--out", folder / out)
        assert said.returncode == 2
        assert "would replace it; choose another name" in said.stderr
    assert (folder / "own.csv").read_bytes() == before


def test_the_new_column_has_a_name(fronts, later, folder):
    """The next command could not name it."""
    later.to_csv(folder / "own.csv", index=False)
    words = ("--out", folder / "never.csv", "--column", " ")
    said = run("predict", fronts["csv"] / "models" / "knee", folder / "own.csv", *words)
    assert said.returncode == 2
    assert "--column ' ' is no name" in said.stderr
    assert not (folder / "never.csv").exists()


def test_a_folder_is_no_file_with_rows(fronts, folder):
    """It was said to end in '', or not to exist."""
    said = run("predict", fronts["csv"] / "models" / "knee", folder, "--out", folder / "never.csv")
    assert said.returncode == 2
    assert "is a folder; a file ending in .csv or .parquet is needed" in " ".join(said.stderr.split())


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8-sig"]
)
def test_byte_order_marks_tell_the_encoding(tmp_path, encoding):
    """A file in UTF-16 was taken for latin1."""
    mark = "\ufeff" if encoding.endswith("e") else ""
    (tmp_path / "t.csv").write_bytes(f"{mark}größe;b\n1,5;x\n2,25;é\n".encode(encoding))
    table = read_rows(tmp_path / "t.csv").table
    assert list(table.columns) == ["größe", "b"]
    assert read_numbers(table, "größe").tolist() == [1.5, 2.25]
    assert table["b"].tolist() == ["x", "é"]


@pytest.mark.parametrize("value", ["", "inf"])
def test_a_missing_prediction_is_named_with_its_row(tmp_path, value):
    rows = "".join(f"{k % 7},{k % 5},{value if k in (3, 8) else k % 11}\n" for k in range(40))
    (tmp_path / "t.csv").write_text("a,f,g\n,1,2\n" + rows)  # the first row has no attribute and is left out
    for command in (("audit", "--prediction", "g"), ("compare", "--predictions", "f,g")):
        said = run(command[0], tmp_path / "t.csv", *command[1:], "--sensitive", "a")
        assert said.returncode == 2
        assert "Column 'g' holds 2 missing or infinite values, the first in row 5" in said.stderr


def test_predict_copies_cells_as_they_are_written(fronts, later, folder):
    """Codes lost their zeros, long numbers their last digits, and the country NA its name."""
    rows = later.assign(id="000004", big="9007199254741001", country="NA")
    rows.loc[1, "big"] = None
    rows.to_csv(folder / "codes.csv", index=False)
    result = run("predict", fronts["csv"] / "models" / "knee", folder / "codes.csv", "--out", folder / "copied.csv")
    assert result.returncode == 0, result.stderr
    before, after = ((folder / name).read_text().splitlines() for name in ("codes.csv", "copied.csv"))
    assert [line.rpartition(",")[0] for line in after] == before


def test_a_target_of_truths_may_have_gaps(tmp_path):
    """True and False beside a gap are objects, which were all taken for missing."""
    table = pd.DataFrame({"f": np.arange(60.0) % 7, "a": np.arange(60.0) % 11, "y": np.arange(60) % 2 == 0})
    table.astype({"y": object}).assign(y=table["y"].where(table.index != 5)).to_csv(tmp_path / "t.csv", index=False)
    result = run("audit", tmp_path / "t.csv", "--prediction", "f", "--sensitive", "a", "--target", "y")
    assert result.returncode == 0, result.stderr
    assert "1 row left out" in result.stdout


def test_the_prediction_is_no_legitimate_factor(tmp_path):
    pd.DataFrame({"f": np.arange(60.0) % 7, "a": np.arange(60.0) % 11}).to_csv(tmp_path / "t.csv", index=False)
    result = run("audit", tmp_path / "t.csv", "--prediction", "f", "--sensitive", "a", "--given", "f")
    assert result.returncode == 2
    assert "--prediction f is also named in --given" in result.stderr
