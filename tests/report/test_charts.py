"""Drawings as XML: marks stand where the numbers say."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from fairlevel.metrics.profile import MeanProfile
from fairlevel.report.charts import MOST_BARS, Models, front_drawing, profile_chart, shared_axis
from fairlevel.report.drawing import Axis, Frame, line, tag

EVIL = "<script>x</script>"


def parsed(svg):
    return ElementTree.fromstring(str(svg))


def found(root, name, style):
    return [each for each in root.iter(name) if style in each.get("class", "").split()]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 17), (60.01, 60.02), (5900, 3600000), (1e-7, 3e-7)])
def test_ticks_are_round_few_and_inside(low, high):
    axis = Axis.over(low, high)
    assert 2 <= len(axis.ticks) <= 7
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    steps = np.diff(axis.ticks)
    np.testing.assert_allclose(steps, steps[0])
    mantissa = f"{steps[0]:.6e}"[0:8].rstrip("0").rstrip(".")
    assert mantissa in ("1", "2", "5")
    assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_an_axis_of_one_value_has_a_range():
    for low, high in ((3.0, 3.0), (3.0, np.nextafter(3.0, 4.0)), (-5e7, -5e7 + 1e-7)):
        axis = Axis.over(low, high)
        assert axis.low < low <= high < axis.high
        assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks) >= 2


def test_values_become_places():
    frame = Frame(Axis(0, 10, ()), Axis(-1, 1, ()), width=500, height=300)
    np.testing.assert_allclose(frame.x(np.array([0, 5, 10])), [frame.left, (frame.left + frame.right) / 2, frame.right])
    assert float(frame.y(-1.0)) == frame.base
    assert float(frame.y(1.0)) < float(frame.y(0.0)) < frame.base


def test_text_is_escaped_and_gaps_break_a_line():
    assert "&lt;script&gt;" in tag("text", EVIL)
    assert EVIL not in tag("text", EVIL, title=EVIL)
    assert line(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, np.nan, 2.0, 3.04])) == "M0 0M2 2L3 3"


def test_the_front_has_a_mark_per_model_a_knee_and_a_layer_per_choice():
    points = pd.DataFrame({"disparity": [0.0, 1, 2], "low": [0, 0.5, 1.5], "high": [0.2, 1.5, 2.5]})
    points = points.assign(error=[9.0, 5, 4], name=["a", EVIL, "c"])
    root = parsed(front_drawing(points, knee=1, first=1, alt="x"))
    marks = found(root, "g", "mark")
    places = [(float(mark[2].get("cx")), float(mark[2].get("cy"))) for mark in marks]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted(y for _, y in places)  # lower error is further down
    (ring,) = found(root, "circle", "knee")
    assert (float(ring.get("cx")), float(ring.get("cy"))) == places[1]
    layers = found(root, "g", "layer")
    assert [layer.get("data-option") for layer in layers] == ["0", "1", "2"]
    assert [layer.get("class") for layer in layers] == ["layer", "layer on", "layer"]


def profile(mean, levels=()):
    mean = np.asarray(mean, dtype=float)
    return MeanProfile(np.arange(len(mean), dtype=float), mean, mean - 1, mean + 1, float(mean.mean()), levels)


def test_categories_are_bars_from_the_average_with_whiskers():
    own = profile([10, 30], ("a", EVIL))
    axis = shared_axis([own, profile(np.linspace(0, 50, 101))])
    chart = profile_chart("town", [own], axis, Models("prediction"))
    root = parsed(chart.svg)
    low, high = found(root, "rect", "bar")
    assert float(low.get("y")) == pytest.approx(float(high.get("y")) + float(high.get("height")), abs=0.11)
    assert float(low.get("height")) == pytest.approx(float(high.get("height")), abs=0.11)
    assert len(found(root, "line", "whisker")) == 2
    assert chart.table.header == ("town", "average", "95 % from", "to")
    assert not found(root, "path", "curve")


def test_profiles_share_one_range_and_choices_are_layers():
    wide, narrow = profile(np.linspace(0, 50, 101)), profile(np.linspace(20, 30, 101))
    axis = shared_axis([wide, narrow])
    one, two = (
        profile_chart(name, [narrow, each], axis, Models("before", ["p", "q"], 1))
        for name, each in (("a", wide), ("b", narrow))
    )
    labels = [[text.text for text in parsed(chart.svg).iter("text")] for chart in (one, two)]
    ticks = [axis.label(tick) for tick in axis.ticks]
    assert all(each[: len(ticks)] == ticks for each in labels)
    assert [layer.get("class") for layer in found(parsed(one.svg), "g", "layer")] == ["layer", "layer on"]
    assert one.table.header == ("a", "before", "p", "q")


def test_many_categories_say_how_many_are_not_drawn():
    names = tuple(f"level {k}" for k in range(MOST_BARS + 5))
    own = profile(np.arange(len(names)), names)
    chart = profile_chart("job", [own], shared_axis([own]), Models("prediction"))
    assert len(found(parsed(chart.svg), "rect", "bar")) == MOST_BARS
    assert str(len(names)) in chart.note
    assert len(chart.table.rows) == len(names)
