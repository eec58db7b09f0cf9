import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.plots.front import FrontDisplay
from fairlevel.plots.mean_profile import MeanProfileDisplay
from fairlevel.plots.method_fronts import MethodFrontsDisplay
from fairlevel.plots.seed_bands import SeedBandDisplay
from fairlevel.plots.win_rates import WinRateDisplay


def test_front_draws_points_sorted_by_dpvar_with_intervals():
    points = pd.DataFrame(
        {
            "mse": [1.0, 2.0],
            "dpvar": [0.5, -0.01],
            "dpvar_low": [0.4, 0.0],
            "dpvar_high": [0.6, 0.1],
            "label": ["a", "b"],
        }
    )
    display = FrontDisplay.from_frame(points, unit="kg²")
    (line,) = display.ax_.get_lines()
    np.testing.assert_allclose(line.get_xdata(), [0.0, 0.5])
    np.testing.assert_allclose(line.get_ydata(), [2.0, 1.0])
    assert "kg²" in display.ax_.get_xlabel()
    assert [text.get_text() for text in display.ax_.texts] == ["b", "a"]
    assert display.figure_ is display.ax_.figure


def test_front_says_what_it_lacks():
    with pytest.raises(InvalidInput, match="lacks dpvar"):
        FrontDisplay(pd.DataFrame({"mse": [1.0]}))


def test_profiles_are_drawn_on_given_axes():
    random = np.random.default_rng(0)
    a = random.uniform(size=300)
    _, ax = plt.subplots()
    display = MeanProfileDisplay.from_predictions(
        {"plain": a, "level": random.uniform(size=300)}, attribute=a, attribute_name="age", ax=ax
    )
    assert display.ax_ is ax
    assert ax.get_xlabel() == "age"
    assert set(display.frame()["label"]) == {"plain", "level"}
    plain = display.frame().query("label == 'plain'")
    np.testing.assert_allclose(plain["mean"], plain["at"], atol=0.02)


def test_profiles_that_cannot_be_drawn_say_what_is_needed():
    a = np.arange(30.0)
    with pytest.raises(InvalidType, match="is of type ndarray; a dict from labels to predictions"):
        MeanProfileDisplay.from_predictions(a, attribute=a)
    with pytest.raises(InvalidInput, match="attribute has 2 columns; one is needed"):
        MeanProfileDisplay.from_predictions({"plain": a}, attribute=np.column_stack([a, a % 7]))


def test_fronts_of_methods_are_lines_in_the_order_of_their_names():
    points = pd.DataFrame({"method": ["b", "a", "b"], "mse": [1.0, 3.0, 2.0], "dpvar": [0.5, 0.2, 0.1]})
    display = MethodFrontsDisplay.from_points(points, labels={"a": "Method A", "b": "Method B"})
    first, second = display.ax_.get_lines()
    assert (first.get_label(), second.get_label()) == ("Method A", "Method B")
    np.testing.assert_array_equal(second.get_xdata(), [0.1, 0.5])
    np.testing.assert_array_equal(second.get_ydata(), [2.0, 1.0])
    assert display.frame() is points
    with pytest.raises(InvalidInput, match="lacks method"):
        MethodFrontsDisplay(points.drop(columns="method"))


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
    display = SeedBandDisplay.from_points(points)
    bands = display.frame()
    assert bands[["low", "median", "high"]].iloc[-1].tolist() == [1.5, 2.0, 2.5]
    assert bands["median"].iloc[:-1].isna().all()  # a third of the seeds is less than half
    few = SeedBandDisplay.from_points(points, feasible=0.3).frame()
    np.testing.assert_array_equal(few["median"].iloc[:-1], 5.0)
    (line,) = display.ax_.get_lines()
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
    display = WinRateDisplay.from_frame(shares, labels={"a": "Method A"})
    tight, loose = display.ax_.containers
    np.testing.assert_array_equal(tight.lines[0].get_xdata(), [0.2, 0.8])
    np.testing.assert_allclose(tight.lines[2][0].get_segments()[0][:, 0], [0.1, 0.4])
    assert (tight.get_label(), loose.get_label()) == ("tight", "loose")
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["Method A", "b"]
    with pytest.raises(InvalidInput, match="lacks low"):
        WinRateDisplay(shares.drop(columns="low"))
