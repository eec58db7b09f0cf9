import numpy as np

from fairlevel.metrics.profile import mean_profile


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
