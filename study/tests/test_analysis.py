"""Wins, regret and filters on rows whose winners are known."""

import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel_study.analysis.comparison import (
    COMPARISONS,
    best_by_budget,
    bootstrap,
    compared_rows,
    complete,
    dataset_wins,
    points_on_test,
    regret,
    regret_table,
    seed_wins,
    win_rates,
)
from fairlevel_study.analysis.tables import attribute_table, validation_ranges


def points(*entries):
    """(dataset, seed, method, dpvar, mse) each."""
    return pd.DataFrame(entries, columns=["dataset", "seed", "method", "dpvar", "mse"])


# Range of DPVar 0 to 1 on both datasets: budgets .25, .5, .75.
KNOWN = points(
    ("one", 0, "a", 0.0, 0.9),
    ("one", 0, "a", 0.4, 0.5),
    ("one", 0, "b", 0.2, 0.8),
    ("one", 0, "b", 0.4, 0.5),
    ("one", 0, "b", 1.0, 0.1),
    ("one", 1, "a", 0.1, 0.6),
    ("one", 1, "b", 0.6, 0.4),
    ("two", 0, "a", 0.0, 0.5),
    ("two", 0, "b", 1.0, 0.5),
)


def test_best_within_each_budget():
    table = best_by_budget(KNOWN, ["a", "b"]).set_index(["dataset", "seed", "method", "budget"])["mse"]
    assert table[("one", 0, "a")].tolist() == [0.9, 0.5, 0.5]
    assert table[("one", 0, "b")].tolist() == [0.8, 0.5, 0.5]
    assert table[("one", 1, "b")].isna().tolist() == [True, True, False]
    assert table[("two", 0, "b")].isna().all()


def test_wins_ties_and_infeasible_methods():
    wins = seed_wins(best_by_budget(KNOWN, ["a", "b"])).set_index(["dataset", "seed", "method", "budget"])["win"]
    assert wins[("one", 0, "a")].tolist() == [0, 0.5, 0.5]
    assert wins[("one", 0, "b")].tolist() == [1, 0.5, 0.5]
    assert wins[("one", 1, "a")].tolist() == [1, 1, 0]  # b has nothing within Tight and Mid
    assert wins[("two", 0, "a")].tolist() == [1, 1, 1]


def test_dataset_winners_by_hand():
    by_dataset = (
        dataset_wins(seed_wins(best_by_budget(KNOWN, ["a", "b"])))
        .set_index(["dataset", "budget", "method"])
        .sort_index()
    )
    # rates on "one": Tight a (0 + 1)/2, b (1 + 0)/2: a tie; Mid a (.5 + 1)/2; Loose b (.5 + 1)/2
    assert by_dataset.loc[("one", "tight"), "won"].tolist() == [0.5, 0.5]
    assert by_dataset.loc[("one", "mid", "a"), ["rate", "won"]].tolist() == [0.75, 1]
    assert by_dataset.loc[("one", "loose", "b"), ["rate", "won"]].tolist() == [0.75, 1]


def test_shares_over_datasets_and_pairs():
    table = win_rates(KNOWN, ["a", "b"]).set_index(["budget", "method"])
    assert table["share"].tolist() == [0.75, 0.25, 1.0, 0.0, 0.5, 0.5]
    assert table.loc[("tight", "a"), "pairs"] == pytest.approx(2 / 3)
    assert table.loc[("mid", "a"), "pairs"] == pytest.approx(2.5 / 3)
    assert table.loc[("tight", "a"), ["low", "high"]].tolist() == [0.5, 1.0]
    assert (table["datasets"] == 2).all()


def test_a_budget_nobody_meets_is_skipped():
    """Seed 1 has nothing within Tight: the pair does not count, whoever would have won."""
    few = points(("d", 0, "a", 0.0, 0.5), ("d", 0, "b", 1.0, 0.4), ("d", 1, "a", 0.9, 0.1), ("d", 1, "b", 1.0, 0.2))
    wins = seed_wins(best_by_budget(few, ["a", "b"]))
    assert wins[(wins["seed"] == 1) & (wins["budget"] == "tight")]["win"].isna().all()
    assert win_rates(few, ["a", "b"]).set_index(["budget", "method"]).loc[("tight", "a"), "pairs"] == 1.0


def test_one_dataset_one_seed_and_none():
    alone = points(("d", 0, "a", 0.3, 0.5), ("d", 0, "b", 0.3, 0.4))
    table = win_rates(alone, ["a", "b"]).set_index(["budget", "method"])
    assert table.loc[("tight", "b"), ["share", "low", "high"]].tolist() == [1.0, 1.0, 1.0]
    nothing = win_rates(alone.iloc[:0], ["a", "b"])
    assert nothing["share"].isna().all()
    assert (nothing["datasets"] == 0).all()
    assert regret_table(alone.iloc[:0], ["a", "b"]).empty


def test_budgets_as_shares_of_the_largest():
    shifted = points(("d", 0, "a", 0.5, 0.9), ("d", 0, "a", 1.0, 0.1), ("d", 0, "b", 0.6, 0.5))
    by_range, by_largest = (
        best_by_budget(shifted, ["a", "b"], name)["limit"].unique() for name in ("range", "largest")
    )
    np.testing.assert_allclose(by_range, [0.625, 0.75, 0.875])
    np.testing.assert_allclose(by_largest, [0.25, 0.5, 0.75])


def test_bootstrap_is_that_of_the_mean():
    values = np.random.default_rng(0).random((40, 2))
    low, high = bootstrap(values)
    error = values.std(axis=0) / np.sqrt(40)
    np.testing.assert_allclose(low, values.mean(axis=0) - 1.96 * error, atol=0.01)
    np.testing.assert_allclose(high, values.mean(axis=0) + 1.96 * error, atol=0.01)


def test_regret_by_hand():
    table = regret_table(KNOWN, ["a", "b"]).set_index("method")
    # one/0: best .8 .5 .5, gain 1 − .5; a loses .1/.5 at Tight. one/1: a .6, b 1 (constant), .4: gain .6;
    # b loses .4/.6 at Tight and Mid, a loses .2/.6 at Loose. two/0: b has the constant's 1, a .5: b loses .5/.5.
    assert table.loc["a", ["tight", "mid", "loose"]].tolist() == pytest.approx([0.2 / 3, 0, (1 / 3) / 3])
    assert table.loc["b", ["tight", "mid", "loose"]].tolist() == pytest.approx([5 / 9, 5 / 9, 1 / 3])
    # hypervolume below (1, 1): one/0 a: .4 · .1 + .6 · .5 = .34; one/1 a: .9 · .4 = .36; two/0 a: .5
    assert table.loc["a", "hypervolume"] == pytest.approx((0.34 + 0.36 + 0.5) / 3)


def test_hypervolume_of_a_staircase():
    """Front (1, 0), (0.5, 0.2), (0.2, 0.9) and corner (1, 1): 0 + 0.7 · 0.5 + 0.1 · 0.8."""

    def hypervolume(*pairs, largest=1.0):
        own = [("d", 0, "a", dpvar, mse) for mse, dpvar in pairs]
        table = regret_table(points(*own, ("d", 0, "b", largest, 2.0)), ["a", "b"]).set_index("method")
        assert table.loc["b", "hypervolume"] == 0
        return table.loc["a", "hypervolume"]

    assert hypervolume((1.0, 0.0), (0.5, 0.2), (0.5, 0.3), (0.2, 0.9), (0.6, 0.2)) == pytest.approx(0.43)
    assert hypervolume((2.0, 0.1), (0.5, 3.0), largest=3.0) == 0
    assert hypervolume((0.5, -0.1)) == pytest.approx(0.5)
    assert hypervolume() == 0


def test_regret_is_a_share_of_what_can_be_gained():
    best = np.array([[0.6, 0.4], [0.5, np.nan], [np.nan, 1.3]])
    expected = np.array([[0.1, 0.0], [0.0, 0.6], [0.5, 0.6]]) / 0.6
    np.testing.assert_allclose(regret(best), expected)
    np.testing.assert_allclose(regret(np.full((2, 1), np.nan)), 0)


def rows(**columns):
    base = {"dataset": "d", "seed": 0, "method": "a", "combiner": "best", "selected": True}
    return pd.DataFrame(base | columns)


def test_filter_by_validation_range():
    wide = rows(mse_val=[0.2, 0.31], dpvar_val=[0.5, 0.3])
    narrow = rows(dataset="e", mse_val=[0.2, 0.29], dpvar_val=[0.5, 0.3])
    mixtures = rows(dataset="e", combiner="stacked", mse_val=[0.0, 1.0], dpvar_val=[0.0, 1.0])
    unselected = rows(dataset="e", selected=False, mse_val=[0.0, 1.0], dpvar_val=[0.0, 1.0])
    other_seeds = pd.concat([narrow.assign(seed=1), wide.assign(dataset="e", seed=2)])
    everything = pd.concat([wide, narrow, mixtures, unselected, other_seeds], ignore_index=True)
    ranges = validation_ranges(everything)
    assert ranges["informative"].to_dict() == {"d": True, "e": False}  # the median over seeds of e is narrow
    assert ranges.loc["d", "mse_val"] == pytest.approx(0.11)


def test_who_enters():
    found = pd.concat(
        [rows(method=[name], combiner=[combiner]) for name in ("auto", "fbo") for combiner in ("best", "stacked")],
        ignore_index=True,
    )
    entered = {
        name: compared_rows(found, ["auto", "fbo"], combiner)["combiner"].tolist()
        for name, (_, combiner) in COMPARISONS.items()
    }
    assert entered == {"single": ["best"] * 2, "default": ["stacked", "best"], "stacked": ["stacked"] * 2}
    assert len(compared_rows(found, ["fbo"], COMPARISONS["single"].combiner_of)) == 1


def test_only_complete_pairs_are_compared():
    found = rows(seed=[0, 0, 1], method=["a", "b", "a"])
    assert complete(found, ["a", "b"])["seed"].tolist() == [0, 0]


def test_points_need_their_column():
    with pytest.raises(InvalidInput, match="dpvar_true"):
        points_on_test(rows(mse_test=[0.1], dpvar_test=[0.1]), "dpvar_true")


def test_attributes_that_change_with_the_seed_are_counted():
    found = rows(seed=[0, 1, 2], sensitive=["age", "age, sex", "age"], copies=[0, 1, 0], attributes=[1, 2, 1])
    table = attribute_table(found.assign(rows=100, features=5)).iloc[0]
    assert (table["seeds"], table["sets"], table["copies"]) == (3, 2, 1)
