import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from fairlevel.data.sensitive import encode_sensitive
from fairlevel.metrics.profile import (
    attribute_profiles,
    category_profiles,
    mean_profile,
    mean_profiles,
)


def test_profile_follows_the_conditional_mean_and_its_band_covers_it():
    random = np.random.default_rng(0)
    a = random.uniform(-2, 2, 5000)
    profile = mean_profile(np.sin(2 * a) + random.standard_normal(5000), attribute=a)
    truth = np.sin(2 * profile.at)
    assert np.abs(profile.mean - truth).max() < 0.25
    assert np.mean((profile.low <= truth) & (truth <= profile.high)) > 0.8


def test_profile_of_groups_is_their_averages():
    group = np.repeat([0.0, 1.0], [30, 70])
    profile = mean_profile(np.where(group == 1, 5.0, 2.0) + np.tile([-1.0, 1.0], 50), attribute=group)
    np.testing.assert_allclose(profile.at, [0, 1])
    np.testing.assert_allclose(profile.mean, [2, 5], rtol=1e-10)
    assert profile.levels == ("0", "1")


def test_profile_of_text_is_the_average_of_each_category():
    town = np.repeat(["north", "south"], [30, 70])
    profile = mean_profile(np.where(town == "south", 5.0, 2.0) + np.tile([-1.0, 1.0], 50), attribute=pd.Series(town))
    assert profile.levels == ("north", "south")
    np.testing.assert_allclose(profile.mean, [2, 5], rtol=1e-10)


def test_profile_of_categories_by_hand():
    prediction, codes, weight = np.array([1.0, 3.0, 5.0, 9.0]), np.array([0, 0, 2, 2]), np.array([1.0, 3.0, 1.0, 1.0])
    (profile,) = category_profiles(prediction[None], codes, ("a", "b", "c"), weight)
    assert profile.levels == ("a", "c")  # no row has b
    np.testing.assert_allclose(profile.mean, [2.5, 7.0])
    spread = np.sqrt((9 + 3 * 1 + 1 + 25) / 6)  # two rows know less of their mean than all predictions do
    np.testing.assert_allclose(profile.high - profile.mean, norm.ppf(0.975) * spread)
    assert profile.overall == (1 + 9 + 5 + 9) / 6


def test_a_category_of_one_row_has_a_band_as_wide_as_all_predictions():
    prediction, codes = np.array([1.0, 2.0, 3.0, 8.0]), np.array([0, 0, 0, 1])
    (profile,) = category_profiles(prediction[None], codes, ("a", "b"))
    assert profile.high[1] - profile.mean[1] == pytest.approx(norm.ppf(0.975) * prediction.std())


def test_the_band_of_a_group_is_that_of_its_mean():
    """Numbers with few values are groups, too: by Student's t."""
    group, prediction = np.repeat([0.0, 1.0], [20, 5]), np.random.default_rng(0).standard_normal(25)
    (profile,) = mean_profiles(prediction[None], group[:, None])
    parts = (prediction[:20], prediction[20:])
    expected = [t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own)) for own in parts]
    np.testing.assert_allclose(profile.high - profile.mean, expected, rtol=5e-3)


def test_profiles_have_one_entry_per_column_that_was_given():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": random.uniform(size=90), "town=a": np.tile(["x", "y", "z"], 30), "b": [True, False] * 45}
    )
    sensitive = encode_sensitive(frame)
    prediction = frame["town=a"].map({"x": 1.0, "y": 2.0, "z": 6.0}).to_numpy(copy=True)
    found = attribute_profiles(prediction[None], sensitive)
    assert list(found) == ["age", "town=a", "b"]
    assert found["age"][0].levels == ()
    assert found["town=a"][0].levels == ("x", "y", "z")
    np.testing.assert_allclose(found["town=a"][0].mean, [1, 2, 6])
    assert found["b"][0].levels == ("False", "True")


@pytest.mark.parametrize("kind", ["numbers", "few numbers", "categories"])
def test_bands_count_groups_where_rows_belong_together(kind):
    """Copies of rows, with one label each, are as wide as the rows; without labels, half as wide."""
    random = np.random.default_rng(0)
    a, f = random.integers(0, 3, 200), random.standard_normal(200)
    x = random.standard_normal(200) if kind == "numbers" else a.astype(float)

    def half_widths(copies, groups):
        prediction = np.repeat(f, copies)[None]
        if kind == "categories":
            (profile,) = category_profiles(prediction, np.repeat(a, copies), ("a", "b", "c"), None, groups)
        else:
            (profile,) = mean_profiles(prediction, np.repeat(x, copies)[:, None], None, groups)
        return profile.high - profile.mean

    person = np.arange(200)
    np.testing.assert_allclose(half_widths(4, np.repeat(person, 4)), half_widths(2, np.repeat(person, 2)), rtol=1e-6)
    if kind != "numbers":  # splines of single rows choose another ridge
        np.testing.assert_allclose(half_widths(4, np.repeat(person, 4)), half_widths(1, person), rtol=1e-6)
        np.testing.assert_allclose(half_widths(1, person), half_widths(1, None))
        np.testing.assert_allclose(half_widths(4, None), half_widths(1, None) / 2, rtol=0.03)


def test_a_category_of_one_group_has_a_band_as_wide_as_all_predictions():
    prediction, codes = np.array([1.0, 2.0, 3.0, 8.0, 8.0]), np.array([0, 0, 0, 1, 1])
    (profile,) = category_profiles(prediction[None], codes, ("a", "b"), None, np.array([0, 1, 2, 3, 3]))
    assert profile.high[1] - profile.mean[1] == pytest.approx(norm.ppf(0.975) * prediction.std())


def test_bands_of_categories_of_three_rows_hold():
    """By the normal distribution 86 % of them did."""
    held = []
    for seed in range(200):
        prediction = np.random.default_rng(seed).standard_normal((1, 60))
        (profile,) = category_profiles(prediction, np.repeat(np.arange(20), 3), [str(each) for each in range(20)])
        held.append((profile.low <= 0) & (profile.high >= 0))
    assert np.mean(held) == pytest.approx(0.945, abs=0.012)


def test_bands_of_rows_of_unequal_weights_hold():
    weight, held = np.tile([1.0, 2.0, 3.0, 4.0], 20), []
    for seed in range(200):
        prediction = np.random.default_rng(seed).standard_normal((1, 80))
        names = [str(each) for each in range(20)]
        (profile,) = category_profiles(prediction, np.repeat(np.arange(20), 4), names, weight)
        held.append((profile.low <= 0) & (profile.high >= 0))
    assert np.mean(held) == pytest.approx(0.95, abs=0.012)
