"""Predictions that change faster along the attributes than any of the conditional means can follow."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from fairlevel import audit
from fairlevel.auditing.near_profiles import _nearest_pairs, near_profiles
from fairlevel.auditing.page import audit_page
from fairlevel.metrics.inputs import read_rows

ROWS = 6000
RANDOM = np.random.default_rng(0)
PLACES = RANDOM.uniform(size=(ROWS, 2))
NOISE = RANDOM.standard_normal(ROWS)
FIELDS = 2.0 * (np.floor(18 * PLACES).sum(axis=1) % 2) - 1  # a chessboard of 18 × 18 fields, 18 rows each: variance 1


def near(prediction, sensitive, **others):
    return near_profiles(read_rows(prediction, sensitive, **others), 0)


def test_pairs_are_each_others_nearest():
    columns = np.random.default_rng(1).standard_normal((300, 3))
    first, second = _nearest_pairs(columns, 0)
    scaled = columns / columns.std(axis=0)
    distance = np.linalg.norm(scaled[:, None] - scaled[None], axis=2) + np.diag(np.full(300, np.inf))
    nearest = distance.argmin(axis=1)
    expected = {(i, int(j)) for i, j in enumerate(nearest) if nearest[j] == i and i < j}
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected


def test_rows_of_one_profile_are_paired_at_random():
    first, second = _nearest_pairs(np.repeat([[0.0, 1.0], [1.0, 0.0]], 500, axis=0), 0)
    assert len(first) > 200
    assert torch.equal(first < 500, second < 500)


def test_a_chessboard_is_flagged_and_no_budget_passes():
    found = audit(FIELDS + NOISE, sensitive_features=PLACES)
    assert found.interval.share_high < 0.4  # what the estimate sees of a truth of 0.5
    assert found.flags[0].name == "lower_bound"
    assert abs(found.near.dpvar - 1) < 0.45
    assert found.near.dpvar == pytest.approx(found.near.share * np.var(FIELDS + NOISE))
    failed = found.check(max_share=0.15, max_dpvar=0.3)
    assert [(each.outcome, each.judged_by) for each in failed] == [("fail", "pairs of near rows")] * 2
    assert "(by pairs of near rows;" in audit_page(found, failed).headlines[0].sentence
    assert all(verdict.passed for verdict in found.check(max_share=0.6, max_dpvar=1.5))
    assert json.loads(json.dumps(found.to_dict()["near_profiles"]))["share"] == found.near.share


def test_pairs_say_what_the_estimate_says_where_that_is_right():
    """A smooth disparity, one that the predictions have none of, and one in the spread only."""
    smooth = np.sin(3 * PLACES[:, 0])
    for prediction, truth in (
        (smooth + NOISE, smooth.var() / (smooth.var() + 1)),
        (NOISE, 0.0),
        (NOISE * np.exp(PLACES[:, 0]), 0.0),
    ):
        found = near(prediction, PLACES)
        assert abs(found.share - truth) < 4 * found.error
        assert found.error < 0.04


def test_its_error_is_that_of_simulation():
    random = np.random.default_rng(2)
    ratios = []
    for _ in range(100):
        found = near(random.standard_normal(400), random.standard_normal((400, 2)))
        ratios.append(found.share / found.error)
    assert 0.8 < np.std(ratios) < 1.25
    assert np.mean(ratios) < 0.3
    assert max(ratios) < 3.5


def test_profiles_of_few_rows():
    """Effects of 600 single profiles, 2.5 rows each, of which group means with a common ridge see a part."""
    random = np.random.default_rng(3)
    profile = random.integers(0, 600, 1500)
    sensitive = pd.DataFrame({"a": (profile % 30).astype(str), "b": (profile // 30).astype(str)})
    found = near(random.standard_normal(600)[profile] + random.standard_normal(1500), sensitive)
    assert abs(found.share - 0.5) < 4 * found.error


def test_visits_of_one_person_and_copies_of_rows_are_no_pairs():
    random = np.random.default_rng(4)
    person = random.integers(0, 2000, 4000)
    places, habit = random.standard_normal((2000, 2))[person], random.standard_normal(2000)[person]
    for found in (near(habit, places), near(habit + 0.1 * random.standard_normal(4000), places, groups=person)):
        assert abs(found.share) < 4 * found.error


def test_weights_are_counts():
    count = np.random.default_rng(5).integers(1, 3, ROWS)
    weighted = near(FIELDS + NOISE, PLACES, sample_weight=count.astype(float))
    plain = near(FIELDS + NOISE, PLACES)
    assert abs(weighted.share - plain.share) < 3 * plain.error
    assert weighted.share != plain.share


def test_a_constant_and_few_rows_show_nothing():
    assert near(np.ones(100), PLACES[:100]).low == -np.inf
    assert near(NOISE[:20], PLACES[:20]).low == -np.inf


def test_copies_of_rows_with_a_continuous_factor_are_no_pairs():
    """Two groups within a continuous factor: each row twice made noise look like a disparity of all its variance."""
    random = np.random.default_rng(3)
    group, factor, noise = random.integers(0, 2, 500), random.standard_normal(500), random.standard_normal(500)
    once = near(noise, group, given=factor)
    twice = near(*(np.repeat(each, 2) for each in (noise, group)), given=np.repeat(factor, 2))
    assert twice.share == pytest.approx(once.share, abs=1e-9)
    found = audit(np.repeat(noise, 2), sensitive_features=np.repeat(group, 2), given=np.repeat(factor, 2))
    assert [flag.name for flag in found.flags if flag.name in ("lower_bound", "repeated_rows")] == ["repeated_rows"]
