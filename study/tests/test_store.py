"""Results on disk: whole or not at all, never mixed, never lost."""

import json
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import CannotWrite, InvalidInput
from fairlevel_study.rows import COLUMNS, SCHEMA, Store, read_rows, tidy

PLAN = ("paper-1", "folder", ["d"], [0, 1], ["r2"])


def some_rows(dataset="d", seed=0, method="r2", count=3):
    base = {"dataset": dataset, "seed": seed, "method": method, "rows": 9, "features": 2, "attributes": 1}
    return tidy(pd.DataFrame(base | {"mse_val": np.arange(count), "selected": True}))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_no_finished_task(store, share):
    """It counted as finished, and the report of the study then ended in an error."""
    with store.claimed("paper-1", "folder", ["d"], [0], ["fbo"]):
        store.write(("d", 0, "fbo"), some_rows("d", 0, "fbo"))
        whole = store.path(("d", 0, "fbo")).read_bytes()
        store.path(("d", 0, "fbo")).write_bytes(whole[: int(share * len(whole))])
        assert not store.finished(("d", 0, "fbo"))
        store.write(("d", 0, "fbo"), some_rows("d", 0, "fbo"))
        assert store.finished(("d", 0, "fbo"))


def test_rows_come_back_in_one_order(store):
    with store.claimed("paper-1", "folder", ["e", "d"], [0, 1], ["r2", "fbo"]):
        for key in [("e", 1, "fbo"), ("d", 0, "r2"), ("e", 0, "fbo"), ("d", 0, "fbo")]:
            assert not store.finished(key)
            store.write(key, some_rows(*key))
            assert store.finished(key)
    found = store.read()
    assert list(found.columns) == list(COLUMNS)
    assert found.drop_duplicates(["dataset", "seed", "method"])[["dataset", "seed", "method"]].to_numpy().tolist() == [
        ["d", 0, "fbo"],
        ["d", 0, "r2"],
        ["e", 0, "fbo"],
        ["e", 1, "fbo"],
    ]
    pd.testing.assert_frame_equal(found.iloc[:3].reset_index(drop=True), some_rows("d", 0, "fbo"), check_dtype=False)
    hive = pd.read_parquet(store.rows_folder)  # any reader of partitioned Parquet understands the folder
    assert len(hive) == len(found)


def test_a_plan_grows_but_never_mixes(store):
    with store.claimed(*PLAN):
        store.write(("d", 0, "r2"), some_rows())
    with store.claimed("paper-1", "folder", ["e"], [2], ["fbo"]):
        pass
    assert store.plan()["datasets"] == ["d", "e"]
    assert store.plan()["seeds"] == [0, 1, 2]
    before = store.plan_file.read_text()
    for other in (("small-2", *PLAN[1:]), ("paper-1", "openml", *PLAN[2:])):
        with pytest.raises(InvalidInput, match="nothing was changed"), store.claimed(*other):
            pass
    plan = store.plan() | {"schema": SCHEMA + 1}
    store.plan_file.write_text(json.dumps(plan))
    with pytest.raises(InvalidInput, match=f"schema {SCHEMA + 1}"), store.claimed(*PLAN):
        pass
    with pytest.raises(InvalidInput, match=f"schema {SCHEMA + 1}"):
        store.read()
    store.plan_file.write_text(before)
    assert len(store.read()) == 3


def test_one_run_at_a_time(store):
    with store.claimed(*PLAN):
        again = (
            "import sys; from pathlib import Path; from fairlevel_study.rows import Store\n"
            "with Store(Path(sys.argv[1])).claimed('paper-1', 'folder', ['d'], [0], ['r2']): pass"
        )
        result = subprocess.run(
            [sys.executable, "-c", again, str(store.folder)], capture_output=True, text=True, check=False
        )
        assert "Another run writes into" in result.stderr


def test_what_a_killed_run_left_is_removed(store):
    path = store.path(("d", 0, "r2"))
    partial = path.with_name(".rows.parquet.x7")
    with store.claimed(*PLAN):
        partial.mkdir(parents=True)
        (partial / "rows.parquet").write_bytes(b"half")
    with store.claimed(*PLAN):
        assert not partial.exists()
        assert not store.finished(("d", 0, "r2"))
        store.write(("d", 0, "r2"), some_rows())
    assert [file.name for file in path.parent.iterdir()] == ["rows.parquet"]


def test_a_full_disk_leaves_no_row(store):
    """A limit on the size of files stands for the disk: the write fails half-way, for real."""
    with store.claimed(*PLAN):
        store.write(("d", 0, "r2"), some_rows())
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
        try:
            with pytest.raises(CannotWrite, match="free space"):
                store.write(("d", 1, "r2"), some_rows(seed=1, count=100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not store.finished(("d", 1, "r2"))
    assert len(store.read()) == 3
    assert [path.name for path in store.folder.rglob("*") if path.is_file()].count("rows.parquet") == 1


def test_a_full_disk_keeps_the_plan(store):
    """run.json was emptied first and then written: a full disk in between refused the finished rows."""
    with store.claimed(*PLAN):
        store.write(("d", 0, "r2"), some_rows())
    before = store.plan_file.read_text()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    many = [f"dataset-{number}" for number in range(2000)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        with pytest.raises(CannotWrite), store.claimed("paper-1", "folder", many, [0], ["r2"]):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.plan_file.read_text() == before
    assert len(store.read()) == 3


@pytest.mark.parametrize("text", ["[]", "3", '"text"', '{"schema": %d}', '{"schema": %d, "seeds": "0"}', "[" * 100_000])
def test_malformed_plans_are_one_sentence(store, text):
    with store.claimed(*PLAN):
        pass
    store.plan_file.write_text(text.replace("%d", str(SCHEMA)))
    with pytest.raises(InvalidInput, match=r"run\.json"):
        store.plan()
    with pytest.raises(InvalidInput, match=r"run\.json"), store.claimed(*PLAN):
        pass


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot be written"), Store(tmp_path / "file" / "results").claimed(*PLAN):
        pass
    with pytest.raises(InvalidInput, match="holds no results"):
        Store(tmp_path).read()
    strange = Store(tmp_path / "strange")
    (strange.rows_folder / "dataset=d").mkdir(parents=True)
    with pytest.raises(InvalidInput, match=r"rows but no run\.json"), strange.claimed(*PLAN):
        pass


def test_damaged_files_are_named(store):
    with store.claimed(*PLAN):
        store.write(("d", 0, "r2"), some_rows())
        store.write(("d", 1, "r2"), some_rows(seed=1))
    store.path(("d", 1, "r2")).write_bytes(b"PAR1 broken")
    with pytest.raises(InvalidInput, match="damaged"):
        store.read()


def test_rows_in_one_file(store, tmp_path):
    with store.claimed(*PLAN):
        store.write(("d", 0, "r2"), some_rows())
    store.read().to_parquet(tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(read_rows(tmp_path / "rows.parquet"), store.read())
    store.read().drop(columns="zeta").to_parquet(tmp_path / "old.parquet")
    with pytest.raises(InvalidInput, match="lacks zeta"):
        read_rows(tmp_path / "old.parquet")
    pd.DataFrame({"seed": [0], "method": ["r2"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match=r"lacks dataset, \w+, \w+ and \d+ more columns; the file rows.parquet"):
        read_rows(tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_rows(tmp_path / "none.parquet")
