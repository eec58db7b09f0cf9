"""Tables by group count rows by their weights."""

import numpy as np

from fairlevel.auditing.by_group import group_table


def test_integer_weights_are_repeated_rows():
    random = np.random.default_rng(0)
    group, f, weight = random.integers(0, 3, 200), random.normal(size=200), random.integers(1, 5, 200)
    rows = np.repeat(np.arange(200), weight)
    found = group_table(group, f, weight.astype(float))
    for number in range(3):
        own = f[rows][group[rows] == number]
        row = found.iloc[number]
        low, high = np.quantile(own, [0.1, 0.9], method="inverted_cdf")
        np.testing.assert_allclose([row["10 %"], row["90 %"]], [low, high])
        np.testing.assert_allclose([row["mean"], row["sd"]], [own.mean(), own.std()])
