import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.plots.front import FrontDisplay
from fairlevel.plots.mean_profile import MeanProfileDisplay


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
