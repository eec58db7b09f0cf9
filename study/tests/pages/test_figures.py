"""Figures by matplotlib, and charts of the page: marks stand where the numbers say."""

from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel_study.pages.charts import band_panel, wins_chart
from fairlevel_study.pages.figures import draw_bands, draw_wins, seed_bands

EVIL = "<script>x</script>"


def test_bands_are_the_quartiles_over_seeds_of_the_best_error_within_a_budget():
    """At the largest budget every seed has its best error, 1, 2 and 3; at the smallest only seed 0 has a model."""
    points = pd.DataFrame(
        {
            "method": "a",
            "seed": [0, 0, 1, 2],
            "mse": [5.0, 1.0, 2.0, 3.0],
            "dpvar": [0.0, 1.0, 1.0, 1.0],
        }
    )
    bands = seed_bands(points)
    assert bands[["low", "median", "high"]].iloc[-1].tolist() == [1.5, 2.0, 2.5]
    assert bands["median"].iloc[:-1].isna().all()  # a third of the seeds is less than half
    few = seed_bands(points, feasible=0.3)
    np.testing.assert_array_equal(few["median"].iloc[:-1], 5.0)
    ax = plt.figure().subplots()
    draw_bands(ax, bands, {"b": "B", "a": "A"})
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), bands["median"])


def test_win_rates_are_points_with_intervals():
    shares = pd.DataFrame(
        {
            "budget": ["tight", "tight", "loose", "loose"],
            "method": ["a", "b", "a", "b"],
            "share": [0.2, 0.8, 0.5, 0.5],
            "low": [0.1, 0.7, 0.4, 0.4],
            "high": [0.4, 0.9, 0.6, 0.6],
        }
    )
    ax = plt.figure().subplots()
    draw_wins(ax, shares, {"a": "Method A"})
    tight, loose = ax.containers
    np.testing.assert_array_equal(tight.lines[0].get_xdata(), [0.2, 0.8])
    np.testing.assert_allclose(tight.lines[2][0].get_segments()[0][:, 0], [0.1, 0.4])
    assert (tight.get_label(), loose.get_label()) == ("tight", "loose")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Method A", "b"]
    with pytest.raises(InvalidInput, match="lacks low"):
        draw_wins(ax, shares.drop(columns="low"), {})


def drawn(svg):
    return ElementTree.fromstring(str(svg))


def curves(root):
    return [each for each in root.iter("path") if "curve" in each.get("class", "").split()]


def test_charts_of_methods():
    shares = pd.DataFrame({"budget": ["tight"] * 2, "method": ["a", "b"], "share": [0.5, np.nan]})
    shares = shares.assign(low=[0.2, np.nan], high=[0.8, np.nan])
    root = drawn(wins_chart("t", shares, {"a": "A", "b": EVIL}, "alt").svg)
    (point,), (interval,) = root.iter("circle"), curves(root)
    start, end = (float(place.split()[0]) for place in interval.get("d")[1:].split("L"))
    assert float(point.get("cx")) == pytest.approx((start + end) / 2, abs=0.1)
    assert {"A", EVIL} <= {text.text for text in root.iter() if text.text}
    bands = pd.DataFrame({"method": "a", "budget": np.linspace(0, 1, 200), "median": np.repeat([3.0, 2.0], 100)})
    root = drawn(band_panel("t", bands.assign(low=1.0, high=4.0), {"a": "A"}).svg)
    (curve,) = curves(root)
    assert curve.get("d").count("L") == 3  # two steps
