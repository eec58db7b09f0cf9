"""Tables of a folder as problems: what training rows decide, nobody else may."""

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.networks.optimizers import Adam
from fairlevel_study.catalogue import catalogue, suite
from fairlevel_study.datasets import TableDataset, resolve_datasets, split_rows
from fairlevel_study.protocol import PROTOCOLS, Protocol
from fairlevel_study.sources import FolderSource
from fairlevel_study.task import run_method

SMALL = PROTOCOLS["small"]


def make_folder(folder, **tables):
    for slug, frame in tables.items():
        frame.to_parquet(folder / f"{slug}.parquet")
    digests = [hashlib.sha256((folder / f"{slug}.parquet").read_bytes()).hexdigest() for slug in tables]
    manifest = pd.DataFrame({"slug": list(tables), "target": "y", "sha256": digests})
    manifest.to_csv(folder / "MANIFEST.csv", index=False)
    return FolderSource(folder)


def table(rows=120, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, 6))
    x[:, 1] += x[:, 0]
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(6)])
    frame["town"] = random.choice(["n", "s", None], rows)
    frame["nothing"] = np.nan
    frame["y"] = x @ [1, 0.5, 0.3, 0.2, 0.1, 0.05] + 0.1 * random.standard_normal(rows)
    return frame


def test_validation_and_test_rows_decide_nothing(tmp_path):
    original = table()
    order = np.random.default_rng(3).permutation(len(original))
    parts = split_rows("t", len(original), 3, SMALL)
    outside = order[np.concatenate(parts[2:])]  # VAL and TEST, as rows of the file
    moved = original.copy()
    moved.loc[outside, ["x0", "x3", "y"]] = np.random.default_rng(9).standard_normal((len(outside), 3)) * 50
    moved.loc[outside, "town"] = "never seen"
    moved.loc[outside, "nothing"] = 1.0
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one = TableDataset("t", make_folder(tmp_path / "a", t=original)).problem(3, SMALL)
    other = TableDataset("t", make_folder(tmp_path / "b", t=moved)).problem(3, SMALL)
    assert one.about == other.about
    np.testing.assert_array_equal(one.training.x, other.training.x)
    np.testing.assert_array_equal(one.training.attributes.values, other.training.attributes.values)
    assert not np.array_equal(one.test.x, other.test.x)
    assert one.about["attributes"] >= 1
    assert one.about["features"] + one.about["attributes"] == 9  # six numbers and three indicators


def test_large_tables_are_cut_by_seed(tmp_path):
    source = make_folder(tmp_path, t=table(500))
    cut = Protocol("cut", most_rows=200)
    one, other = (TableDataset("t", source).problem(seed, cut) for seed in (0, 1))
    assert one.about["rows"] == 200
    assert not np.array_equal(np.sort(one.training.y), np.sort(other.training.y))


def test_tables_that_cannot_be_built(tmp_path):
    one = table()[["x0", "nothing", "y"]]
    source = make_folder(tmp_path, one=one, few=table(20))
    with pytest.raises(InvalidInput, match="only one usable column"):
        TableDataset("one", source).problem(0, SMALL)
    with pytest.raises(InvalidInput, match="few has 20 rows; at least 40 are needed"):
        TableDataset("few", source).problem(0, SMALL)


def test_names_of_datasets(tmp_path):
    source = make_folder(tmp_path, mine=table())
    assert [dataset.name for dataset in resolve_datasets(["mine", "synthetic", "mine"], source)] == [
        "mine",
        "synthetic-beta1-k5",
        "synthetic-beta3-k5",
        "synthetic-beta10-k5",
    ]
    assert [dataset.name for dataset in resolve_datasets(["all"], source)] == ["mine"]
    with pytest.raises(UnknownName, match="Did you mean 'mine'"):
        resolve_datasets(["mime"], source)


def test_columns_can_be_named_as_sensitive(tmp_path):
    source = make_folder(tmp_path, mine=table(120))
    (dataset,) = resolve_datasets(["mine@x2+town"], source)
    problem = dataset.problem(0, SMALL)
    assert dataset.name == problem.name == "mine@x2+town"
    assert problem.about["sensitive"].startswith("x2, town")
    assert problem.about["features"] + problem.about["attributes"] == 9
    with pytest.raises(UnknownName, match="Unknown column of mine 'x9'"):
        TableDataset("mine", source, ("x9",)).problem(0, SMALL)
    everything = tuple(f"x{k}" for k in range(6))
    with pytest.raises(InvalidInput, match="names every column"):
        TableDataset("mine", make_folder(tmp_path, mine=table(120).drop(columns=["town"])), everything).problem(
            0, SMALL
        )


def test_named_attributes_are_those_of_the_catalogue(tmp_path):
    frame = pd.DataFrame({"age": np.arange(200.0) % 61, "sex": ["f", "m"] * 100, "bmi": np.arange(200.0) % 7})
    frame["y"] = frame["age"] + frame["bmi"]
    source = make_folder(tmp_path, insurance=frame)
    (dataset,) = resolve_datasets(["insurance-named"], source)
    assert dataset.attributes == ("age", "sex")
    problem = dataset.problem(0, SMALL)
    assert problem.name == "insurance-named"
    assert problem.about["sensitive"] == "age, sex=f, sex=m"
    assert problem.about["features"] == 1
    with pytest.raises(UnknownName, match="Unknown column of insurance 'sex'"):
        resolve_datasets(["insurance-named"], make_folder(tmp_path, insurance=frame.drop(columns="sex")))[0].problem(
            0, SMALL
        )


def test_methods_that_need_a_to_predict_get_it_and_others_do_not(tmp_path):
    problem = TableDataset("mine", make_folder(tmp_path, mine=table(120))).problem(0, SMALL)
    wider = problem.with_attributes_as_features()
    for part, own in ((wider.training, problem.training), (wider.test, problem.test)):
        np.testing.assert_array_equal(part.x, np.hstack([own.x, own.attributes.values]))
    protocol = replace(SMALL, optimizer=Adam(steps=3))
    rows = run_method(problem, "cod", protocol, "cpu")
    assert (rows["method"] == "cod").all()
    assert rows["features"].unique().tolist() == [problem.about["features"]]
    assert np.isfinite(rows.loc[rows["selected"], "mse_test"]).all()


def test_the_real_suite_says_what_is_sensitive_and_why():
    entries = [catalogue()[slug] for slug in suite("real", ())]
    assert len(entries) == 12
    assert all(1 <= len(entry.sensitive) <= 8 and len(entry.why) > 20 for entry in entries)


def test_indicators_move_together_or_one_by_one(tmp_path):
    random = np.random.default_rng(0)
    town = random.choice(["n", "s", "e", "w"], 400)
    frame = pd.DataFrame({"town": town, **{f"x{k}": random.standard_normal(400) for k in range(5)}})
    frame["y"] = 3.0 * (town == "n") + frame["x0"] + 0.5 * frame["x1"]
    dataset = TableDataset("t", make_folder(tmp_path, t=frame))
    together = dataset.problem(0, SMALL).about["sensitive"]
    apart = dataset.problem(0, replace(SMALL, indicators="apart")).about["sensitive"]
    assert together.count("town=") == 4
    assert 0 < apart.count("town=") < 4


def test_without_biases_the_interaction_stays_out_of_the_conditional_mean():
    """X_Z has mean zero, so E[<X_A, X_Z> | A] = <X_A, E X_Z> vanishes; with biases it does not."""
    share = {}
    for bias in (0.0, 0.5):
        design = SyntheticDesign(bias_sd=bias)
        z = np.random.default_rng(0).standard_normal((200_000, design.latents))
        mean = design.networks[1](z).mean(axis=0)
        share[bias] = float(np.var(design.networks[0](design.sample(2000).a) @ mean))
    assert share[0.0] < 1e-3 < share[0.5]
