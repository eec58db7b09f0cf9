import numpy as np
import pandas as pd
from scipy.stats import norm

from fairlevel.data.sensitive import encode_sensitive
from fairlevel.metrics.profile import attribute_profiles, category_profiles, mean_profile


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
    error = np.sqrt([1.5**2 + (3 * 0.5) ** 2, 2.0**2 + 2.0**2]) / [4, 2]
    np.testing.assert_allclose(profile.high - profile.mean, norm.ppf(0.975) * error)
    assert profile.overall == (1 + 9 + 5 + 9) / 6


def test_profiles_have_one_entry_per_column_that_was_given():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": random.uniform(size=90), "town=a": np.tile(["x", "y", "z"], 30), "b": [True, False] * 45}
    )
    sensitive = encode_sensitive(frame)
    prediction = frame["town=a"].map({"x": 1.0, "y": 2.0, "z": 6.0}).to_numpy(copy=True)
    found = attribute_profiles(prediction[None], sensitive, sensitive.values)
    assert list(found) == ["age", "town=a", "b"]
    assert found["age"][0].levels == ()
    assert found["town=a"][0].levels == ("x", "y", "z")
    np.testing.assert_allclose(found["town=a"][0].mean, [1, 2, 6])
    assert found["b"][0].levels == ("False", "True")
