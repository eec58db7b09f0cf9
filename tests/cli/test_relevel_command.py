"""``fairlevel relevel`` on files of LightGBM, XGBoost, CatBoost and ONNX."""

import json

import catboost
import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import xgboost as xgb
from onnx import TensorProto, helper

from fairlevel import FairRegressor, dpvar_interval
from fairlevel.networks.optimizers import Adam
from tests.terminal import run_here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three models, and rows that they have not seen."""
    here = tmp_path_factory.mktemp("models")
    random = np.random.default_rng(0)
    n = 900
    a = pd.DataFrame({"age": random.standard_normal(n)})
    x = pd.DataFrame(random.standard_normal((n, 4)), columns=list("uvwx"))
    x["u"] += a["age"]
    y = (x["u"] + np.sin(2 * x["v"]) + x["w"] * x["x"]).rename("price")
    seen, new = slice(0, 400), slice(400, None)
    lgb.train({"verbosity": -1, "num_leaves": 8}, lgb.Dataset(x[seen], y[seen]), 40).save_model(here / "model.txt")
    xgb.train({"max_depth": 3}, xgb.DMatrix(x[seen], y[seen]), 30).save_model(here / "model.json")
    settings = {"optimizer": Adam(0.02, steps=150), "validation_fraction": None, "random_state": 0}
    network = FairRegressor(0, predictor="mlp", **settings).fit(x[seen], y[seen])
    network.to_onnx(here / "model.onnx")
    settings = {"iterations": 30, "depth": 3, "verbose": 0, "allow_writing_files": False}
    catboost.CatBoostRegressor(**settings).fit(x[seen], y[seen]).save_model(here / "model.cbm")
    pd.concat([x, a, y], axis=1)[new].to_csv(here / "new.csv", index=False)
    return here


def write_classes(path):
    """A classifier in ONNX whose first output are labels: which feature is largest."""
    matrix = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [None])
    node = helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0)
    graph = helper.make_graph([node], "classes", [matrix], [label])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_counts(path):
    """A booster whose predictions are no sum of leaves."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.standard_normal((200, 4)), columns=list("uvwx"))
    settings = {"objective": "poisson", "verbosity": -1, "num_leaves": 4}
    lgb.train(settings, lgb.Dataset(rows, random.poisson(2, 200)), 3).save_model(path)


def predictions(path, rows):
    if path.suffix == ".txt":
        return lgb.Booster(model_file=path).predict(rows)
    if path.suffix == ".json":
        return xgb.Booster(model_file=path).predict(xgb.DMatrix(rows))
    if path.suffix == ".cbm":
        return catboost.CatBoost().load_model(path).predict(rows)
    session = onnxruntime.InferenceSession(path)
    return session.run(None, {session.get_inputs()[0].name: rows.to_numpy()})[0]


@pytest.mark.parametrize("name", ["model.txt", "model.json", "model.cbm", "model.onnx"])
def test_models_come_back_in_their_own_format(folder, tmp_path, name):
    arguments = ("--sensitive", "age", "--target", "price", "--max-share", "0.2", "--out", str(tmp_path / "out"))
    result = run_here("relevel", str(folder / name), str(folder / "new.csv"), *arguments, columns=200)
    assert result.returncode == 0, result.stderr
    assert "within-budget" in result.stdout
    ending = name.removeprefix("model")
    rows = pd.read_csv(folder / "new.csv")
    x, a = rows[list("uvwx")], rows[["age"]]
    share = {
        point: dpvar_interval(
            predictions(tmp_path / "out" / "models" / f"{point}{ending}", x), sensitive_features=a
        ).share
        for point in ("point-02", "within-budget", "point-12")
    }
    assert share["within-budget"] < 0.25 < share["point-12"]
    np.testing.assert_array_equal(
        predictions(tmp_path / "out" / "models" / f"point-12{ending}", x), predictions(folder / name, x)
    )
    front = pd.read_csv(tmp_path / "out" / "front.csv")
    assert len(front) == 12
    assert "as it was given" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        ("nothing.txt", ["--sensitive", "age"], "does not exist"),
        ("new.csv", ["--sensitive", "age"], "a model ending in"),
        (".", ["--sensitive", "age"], "is a folder; a model ending in"),
        ("model.txt", ["--sensitive", "agee"], "Did you mean 'age'"),
        ("model.txt", ["--sensitive", "age", "--drop", "u"], "lacks 1 of the 4 columns"),
        ("model.cbm", ["--sensitive", "age", "--drop", "u"], "lacks 1 of the 4 columns"),
        ("model.cbm", ["--sensitive", "u"], "reads the sensitive column 'u'; pass --sensitive-inputs"),
        ("model.txt", ["--sensitive", "age", "--method", "leafs"], "Did you mean 'leaves'"),
        ("broken.json", ["--sensitive", "age"], "xgboost cannot read 'broken.json' as a model"),
        ("broken.onnx", ["--sensitive", "age"], "onnxruntime cannot read 'broken.onnx' as a model"),
        ("model.txt", ["--sensitive", "age", "--method", "correction"], "a file of lightgbm holds its own trees only"),
        ("model.json", ["--sensitive", "age", "--method", "correction"], "a file of xgboost holds its own trees only"),
        ("model.cbm", ["--sensitive", "age", "--method", "correction"], "a file of catboost holds its own trees only"),
        (
            "poisson.txt",
            ["--sensitive", "age"],
            "relevel cannot yet change the trees of a model with objective='poisson'",
        ),
        ("poisson.txt", ["--sensitive", "age", "--method", "leaves"], "re-level its predict function in Python"),
        ("model.onnx", ["--sensitive", "age"], "'model.onnx' reads 4 columns, but 5 are left"),
        ("model.onnx", ["--sensitive", "age", "--drop", "u,price"], "'model.onnx' reads 4 columns, but 3 are left"),
        ("model.onnx", ["--sensitive", "age", "--method", "trees"], "use method='correction'"),
        ("classes.onnx", ["--sensitive", "age"], "gives tensor(int64) as its first output, 'label'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(folder, tmp_path, model, options, sentence):
    (folder / "broken.json").write_text("{}")
    (folder / "broken.onnx").write_text("{}")
    write_classes(folder / "classes.onnx")
    write_counts(folder / "poisson.txt")
    arguments = (str(folder / model), str(folder / "new.csv"), *options, "--out", str(tmp_path / "out"))
    result = run_here("relevel", *arguments, columns=300)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_error_of_the_package_itself_is_no_unmet_budget(folder, monkeypatch):
    """It ended with exit code 1, which says that a budget is not met."""
    monkeypatch.setattr("fairlevel.cli.relevel.require_model_file", lambda path: 1 / 0)
    result = run_here("relevel", str(folder / "model.txt"), str(folder / "new.csv"), "--sensitive", "age")
    assert result.returncode == 3
    assert "Traceback" in result.stderr
    assert "ZeroDivisionError" in result.stderr


def test_a_model_that_reads_a_sensitive_column_is_told_the_option(folder, tmp_path):
    """The error named a missing column of X, which stands in the file."""
    arguments = ("--sensitive", "u,age", "--target", "price", "--out", str(tmp_path / "out"))
    refused = run_here("relevel", str(folder / "model.txt"), str(folder / "new.csv"), *arguments, columns=200)
    assert refused.returncode == 2
    assert "reads the sensitive column 'u'; pass --sensitive-inputs" in refused.stderr


def test_early_stopped_boosters_are_written_with_all_their_trees(folder, tmp_path):
    """Read back as a regressor, a file used the trees up to the best iteration, and figures were those of all."""
    rows = pd.read_csv(folder / "new.csv")
    data = xgb.DMatrix(rows[list("uvwx")], rows["price"])
    noise = xgb.DMatrix(rows[list("uvwx")], np.random.default_rng(0).permutation(rows["price"]))
    stopped = {"evals": [(noise, "noise")], "early_stopping_rounds": 8, "verbose_eval": False}
    booster = xgb.train({"max_depth": 3}, data, 30, **stopped)
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    booster.save_model(tmp_path / "model.json")
    arguments = ("--sensitive", "age", "--target", "price", "--seen", "--out", tmp_path / "out")
    result = run_here("relevel", tmp_path / "model.json", folder / "new.csv", *arguments)
    assert result.returncode == 0, result.stderr
    for name in ("point-01.json", "point-12.json"):
        regressor = xgb.XGBRegressor()
        regressor.load_model(tmp_path / "out" / "models" / name)
        found = predictions(tmp_path / "out" / "models" / name, rows[list("uvwx")])
        np.testing.assert_allclose(regressor.predict(rows[list("uvwx")]), found, rtol=1e-6)


def test_a_sensitive_column_of_one_value_is_refused(folder, tmp_path):
    pd.read_csv(folder / "new.csv").assign(country="FR").to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--sensitive", "country", "--drop", "age,price", "--out", tmp_path / "out")
    result = run_here("relevel", folder / "model.txt", tmp_path / "new.csv", *arguments, columns=300)
    assert result.returncode == 2
    assert "a single value per column" in result.stderr
    assert not (tmp_path / "out").exists()


def test_columns_with_spaces_are_found_in_files(folder, tmp_path):
    """LightGBM stores them with underscores: a sensitive one was called missing, and decimal commas were not read."""
    table = pd.read_csv(folder / "new.csv").rename(columns={"u": "b mass"})
    model, rows = tmp_path / "model.txt", tmp_path / "new.csv"
    data = lgb.Dataset(table[["b mass", *"vwx"]], table["price"])
    lgb.train({"verbosity": -1, "num_leaves": 4}, data, 5).save_model(model)
    table.to_csv(rows, index=False, sep=";", decimal=",")
    arguments = ("--sensitive", "b mass,age", "--target", "price", "--seen", "--out", tmp_path / "out")
    refused = run_here("relevel", model, rows, *arguments, columns=200)
    assert "reads the sensitive column 'b mass'; pass --sensitive-inputs" in refused.stderr
    done = run_here("relevel", model, rows, *arguments, "--sensitive-inputs", columns=200)
    assert done.returncode == 0, done.stderr


def test_no_disparity_is_said_and_weights_may_have_a_decimal_comma(folder, tmp_path):
    """A front from a level model showed a 'most level' one with more disparity, without a word."""
    random = np.random.default_rng(1)
    table = pd.read_csv(folder / "new.csv")
    table = table.assign(height=random.standard_normal(len(table)), many=random.uniform(0.5, 2, len(table)))
    table["many"] = table["many"].map(lambda value: f"{value:.3f}".replace(".", ","))
    table.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--sensitive", "height", "--weight", "many", "--drop", "age", "--target", "price")
    out = ("--out", str(tmp_path / "out"))
    result = run_here("relevel", str(folder / "model.txt"), str(tmp_path / "new.csv"), *arguments, *out, columns=200)
    assert result.returncode == 0, result.stderr
    assert "No disparity was found in the model as it was given" in result.stdout


@pytest.mark.parametrize("name", ["model.txt", "model.json", "model.cbm", "model.onnx"])
def test_decimal_commas_are_read_as_by_other_commands(folder, tmp_path, name):
    """The library's own words about dtypes were all that was said."""
    fronts, some = [], pd.read_csv(folder / "new.csv")[:120]
    for sign in ".,":
        some.to_csv(tmp_path / "new.csv", index=False, sep=";", decimal=sign)
        out = tmp_path / f"out{sign}"
        arguments = ("--sensitive", "age", "--target", "price", "--out", str(out))
        result = run_here("relevel", str(folder / name), str(tmp_path / "new.csv"), *arguments, columns=200)
        assert result.returncode == 0, result.stderr
        fronts.append(pd.read_csv(out / "front.csv"))
    pd.testing.assert_frame_equal(*fronts, rtol=1e-9)


def test_a_word_among_numbers_is_named_with_its_row_of_the_file(folder, tmp_path):
    table = pd.read_csv(folder / "new.csv").astype({"v": object})
    table.loc[3, "age"], table.loc[7, "v"] = np.nan, "tall"
    table.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--sensitive", "age", "--out", str(tmp_path / "out"))
    result = run_here("relevel", str(folder / "model.txt"), str(tmp_path / "new.csv"), *arguments, columns=200)
    assert result.returncode == 2
    assert "Column 'v' holds 'tall' (row 8); numbers are needed" in result.stderr


def test_categories_come_from_parquet_files(folder, tmp_path):
    """Text in a CSV file was refused without a word about what to do."""
    rows = pd.read_csv(folder / "new.csv").assign(town=lambda frame: np.where(frame["w"] > 0, "north", "south"))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows = rows.astype({"town": "category"})
    model = lgb.LGBMRegressor(n_estimators=5, verbose=-1).fit(rows[["u", "v", "town"]], rows["price"])
    model.booster_.save_model(tmp_path / "model.txt")
    words = ("--sensitive", "age", "--target", "price", "--drop", "w,x", "--seen", "--out", tmp_path / "out")
    result = run_here("relevel", tmp_path / "model.txt", tmp_path / "rows.csv", *words)
    assert result.returncode == 2
    assert ".astype({'town': 'category'}).to_parquet('rows.parquet')" in " ".join(result.stderr.split())
    rows.to_parquet(tmp_path / "rows.parquet")
    result = run_here("relevel", tmp_path / "model.txt", tmp_path / "rows.parquet", *words)
    assert result.returncode == 0, result.stderr
    error = np.sqrt(np.mean((model.predict(rows[["u", "v", "town"]]) - rows["price"]) ** 2))
    assert f"{error:.4g}" in result.stdout


@pytest.mark.parametrize("name", ["model.txt", "model.json", "model.cbm"])
def test_columns_that_the_model_does_not_read_are_left_alone(folder, tmp_path, name):
    """CatBoost ended in a traceback, and its model was said to read age, which it does not."""
    pd.read_csv(folder / "new.csv").assign(town="Paris").to_csv(tmp_path / "new.csv", index=False)
    arguments = ("--sensitive", "age", "--sensitive-inputs", "--target", "price", "--out", str(tmp_path / "out"))
    result = run_here("relevel", str(folder / name), str(tmp_path / "new.csv"), *arguments, columns=200)
    assert result.returncode == 0, result.stderr
    assert "reads sensitive attributes" not in result.stdout


def test_a_budget_out_of_reach_keeps_the_front(folder, tmp_path):
    """Nothing was written, and the exit code was that of bad input."""
    arguments = ("--sensitive", "age", "--target", "price", "--max-share", "1e-7", "--json", "--out", tmp_path / "out")
    result = run_here("relevel", folder / "model.txt", folder / "new.csv", *arguments)
    assert result.returncode == 1, result.stderr
    assert "max_share=1e-07 is out of reach" in result.stderr
    found = json.loads(result.stdout)
    assert found["budget_met"] is False
    assert list(found["models"]) == ["most level", "knee", "as it was"]
    assert len(pd.read_csv(tmp_path / "out" / "front.csv")) == 12
    assert (tmp_path / "out" / "models" / "point-01.txt").is_file()
    assert not (tmp_path / "out" / "models" / "within-budget.txt").exists()
    assert "whose share of variance is at most 1e-07" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    refused = run_here("relevel", folder / "model.txt", folder / "new.csv", "--sensitive", "age", "--max-share", "-1")
    assert refused.returncode == 2
