"""Rows in one file that grows, and the analysis of them: figures against numbers worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel_study.analysis.comparison import (
    flipped,
    gain_table,
    in_units_of_the_constant,
    points_on_test,
    winners,
    with_shares,
)
from fairlevel_study.analysis.tables import cost_table, informative_claim, price_table, regret_claims, win_claims
from fairlevel_study.cli import run
from fairlevel_study.methods import PAPER_METHODS
from fairlevel_study.protocol import resolve_protocol
from fairlevel_study.rows import keep_rows, kept_rows, kept_tasks, tidy


def rows(dataset="wine", seed=0, method="fbo", protocol="p-1", **columns):
    """Models with (mse, dpvar) on TEST."""
    about = {"dataset": dataset, "seed": seed, "method": method, "protocol": protocol, "combiner": "best"}
    about |= {"family": method, "status": "finished", "selected": True, "source": "folder", "sensitive": "a"}
    about |= {"rows": 10, "features": 2, "attributes": 1, "version": "0", "device": "cpu", "seconds": 2.0}
    return tidy(pd.DataFrame(columns).assign(**about))


def points(*models, **about):
    """Points of one task as (mse, dpvar)."""
    mse, dpvar = zip(*models, strict=True)
    return points_on_test(rows(mse_test=mse, dpvar_test=dpvar, **about))


def test_a_file_grows_and_replaces_tasks(tmp_path):
    path = tmp_path / "study.parquet"
    assert kept_tasks(path, "p-1") == set()
    keep_rows(rows(mse_test=[0.123456789, 0.5], dpvar_test=[1.0, 2.0]), path)
    keep_rows(rows(seed=1, mse_test=[0.7], dpvar_test=[1.0]), path)
    keep_rows(
        pd.concat([rows(mse_test=[0.3], dpvar_test=[1.0]), rows(protocol="q-2", mse_test=[0.1], dpvar_test=[0.0])]),
        path,
    )
    found = kept_rows(path)
    assert found["mse_test"].tolist() == pytest.approx([0.3, 0.1, 0.7], rel=1e-6)
    assert found["commit"].tolist() == ["", "", ""]
    assert kept_tasks(path, "p-1") == {("wine", 0, "fbo"), ("wine", 1, "fbo")}
    with pytest.raises(InvalidInput, match="Parquet file"):
        keep_rows(found, tmp_path / "study.csv")


def test_a_run_without_tasks_left_says_so(tmp_path, capsys):
    kept = tmp_path / "study.parquet"
    keep_rows(rows(dataset="synthetic-beta1-k5", protocol=resolve_protocol("tiny").id, mse_test=[0.5]), kept)
    run("synthetic-beta1-k5", "0", "fbo", "tiny", kept=kept, out=tmp_path / "bench")
    assert "Nothing is left to run" in capsys.readouterr().out
    assert not (tmp_path / "bench").exists()


def test_gain_is_stated_against_the_plain_learner_of_the_same_kind():
    ours = pd.concat([points((0.8, 0.0), (0.4, 1.0)), points((0.6, 0.0), (0.2, 1.0), method="boosting")])
    plain = pd.concat(
        [
            points((0.9, 0.0), (0.5, 1.0), method="plain_network"),
            points((0.6, 0.6), (0.1, 1.0), method="plain_boosting"),
        ]
    )
    table = gain_table(ours, ["fbo", "boosting"], plain).set_index("method")
    np.testing.assert_allclose(table.loc["fbo", ["tight", "mid", "loose"]].astype(float), [1 / 9] * 3)
    # at Tight and Mid the plain booster has nothing: the constant stands for it
    np.testing.assert_allclose(table.loc["boosting", ["tight", "mid", "loose"]].astype(float), [0.4, 0.4, 0.0])
    assert gain_table(ours, ["fbo"], plain.iloc[:0])["mean"].isna().all()


def test_shares_are_of_the_predictions_variance():
    found = with_shares(rows(mse_test=[0.5, 0.9], dpvar_debiased_test=[0.1, 0.0], variance_test=[0.4, 1e-9]))
    assert found["share_test"].tolist()[0] == pytest.approx(0.25)
    assert np.isnan(found["share_test"].iloc[1])


def test_winners_change_with_the_definition():
    both = pd.concat([points((0.8, 0.5), (0.4, 1.0)), points((0.7, 0.8), (0.5, 0.9), method="gdp")])
    one, other = (winners(both, ["fbo", "gdp"], definition) for definition in ("range", "largest"))
    assert one.loc[("wine", "tight")] == "fbo"
    changes = flipped(one, other)
    # range: limits .625 .75 .875; largest: .25 .5 .75, where fbo alone has a model
    assert changes[["budget", "one", "other"]].to_numpy().tolist() == [["loose", "gdp", "fbo"]]


def test_costs_count_models_and_divergence():
    table = pd.concat([rows(mse_test=[0.1] * 4), rows(seed=1, mse_test=[0.1] * 4)])
    table.loc[(table["seed"] == 1) & (table.index == 0), "status"] = "diverged"
    found = cost_table(table, ["fbo"]).iloc[0]
    assert (found["tasks"], found["models per task"], found["diverged"], found["seconds"]) == (2, 4, 0.125, 2.0)


def test_the_price_of_half_the_disparity():
    found = price_table(points((0.2, 1.0), (0.3, 0.6), (0.4, 0.5), (0.9, 0.1))).iloc[0]
    assert (found["R2"], found["R2 within"]) == (pytest.approx(0.8), pytest.approx(0.6))
    assert found["cost"] == pytest.approx(0.25)


def test_errors_in_units_of_the_constant():
    """Test rows of seed 0 vary more than training rows; nobody has selected the constant at seed 1."""
    table = pd.concat([rows(mse_test=[0.4, 0.8, 1.6, np.nan]), rows(seed=1, mse_test=[0.4] * 4)], ignore_index=True)
    table.loc[2, "family"] = "constant"
    found = in_units_of_the_constant(table)["mse_test"]
    np.testing.assert_allclose(found, [0.25, 0.5, 1.0, np.nan, *[0.4] * 4])


@pytest.mark.parametrize(("ahead", "verdict"), [("fbo", "reproduced"), ("gdp", "not reproduced")])
def test_verdicts_follow_the_interval_of_the_lead(ahead, verdict):
    ours = {leads: points((0.9 - 0.3 * leads, 0.0), (0.5 - 0.3 * leads, 1.0)) for leads in (False, True)}
    parts = [ours[method == ahead].assign(method=method, dataset=name) for name in "abcdef" for method in PAPER_METHODS]
    tight = win_claims(pd.concat(parts), PAPER_METHODS)[0]
    assert tight.verdict == verdict
    assert regret_claims(pd.concat(parts), PAPER_METHODS)[0].verdict == verdict


@pytest.mark.parametrize(
    ("informative", "tables", "verdict"),
    [
        *((30, 60, "reproduced"), (24, 60, "reproduced"), (54, 120, "reproduced")),
        *((37, 60, "not reproduced"), (17, 60, "not reproduced"), (74, 120, "not reproduced")),
        *((27, 59, "cannot be told"), (12, 12, "cannot be told")),
    ],
)
def test_a_number_of_the_paper_is_reproduced_within_the_tolerance_that_stands_beside_it(informative, tables, verdict):
    claim = informative_claim(informative, tables)
    assert claim.verdict == verdict
    assert "tolerance 0.05" in claim.here
