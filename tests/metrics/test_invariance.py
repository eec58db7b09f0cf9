"""What must not change a figure: units, names, the order of rows and columns, another call."""

import numpy as np
import pytest

from fairlevel import dpvar_interval

RANDOM = np.random.default_rng(0)
ROWS = 300
NUMBERS, E = RANDOM.standard_normal((ROWS, 2)), RANDOM.standard_normal(ROWS)
TOWN, KIND = RANDOM.integers(0, 3, ROWS), RANDOM.integers(0, 4, ROWS)
FIGURES = ("estimate", "low", "high", "share", "share_low", "share_high", "p_value")
WEIGHT, GROUPS, FACTOR = RANDOM.uniform(0.5, 2, ROWS), RANDOM.permutation(ROWS) // 2, NUMBERS[:, 0] + E**2
DESIGNS = {
    "numbers": (NUMBERS, {}),
    "weights": (NUMBERS, {"sample_weight": WEIGHT}),
    "groups": (np.column_stack([NUMBERS, TOWN]), {"groups": GROUPS}),
    "levels": (np.column_stack([TOWN, KIND]).astype(float), {"sample_weight": WEIGHT}),
    "whole numbers": (np.round(5 * NUMBERS), {}),
    "factors": (NUMBERS[:, 1:], {"given": FACTOR}),
}
F = 0.5 * np.sin(2 * NUMBERS[:, 0]) + 0.3 * TOWN + E


def figures(found):
    return np.array([getattr(found, name) for name in FIGURES])


@pytest.fixture(params=DESIGNS, scope="module")
def design(request):
    sensitive, settings = DESIGNS[request.param]
    return sensitive, settings, dpvar_interval(F, sensitive_features=sensitive, **settings)


def test_the_same_call_gives_the_same_bits(design):
    sensitive, settings, found = design
    assert dpvar_interval(F, sensitive_features=sensitive, **settings) == found


def test_units_of_attributes_and_predictions_change_nothing(design):
    sensitive, settings, found = design
    scaled = dpvar_interval(
        40 * F + 7, sensitive_features=sensitive * [3.7, 0.02, 9.0][: sensitive.shape[1]] - 5, **settings
    )
    np.testing.assert_allclose(figures(scaled)[:3], 1600 * figures(found)[:3], rtol=1e-9)
    np.testing.assert_allclose(figures(scaled)[3:], figures(found)[3:], rtol=1e-9)


def close(found, other):
    width = found.high - found.low
    for name in ("estimate", "low", "high"):
        assert getattr(other, name) == pytest.approx(getattr(found, name), abs=width / 10)


def test_the_order_of_rows_hardly_matters(design):
    sensitive, settings, found = design
    order = np.random.default_rng(1).permutation(ROWS)
    settings = {name: values[order] for name, values in settings.items()}
    close(found, dpvar_interval(F[order], sensitive_features=sensitive[order], **settings))


def test_the_order_and_signs_of_columns_hardly_matter(design):
    sensitive, settings, found = design
    close(found, dpvar_interval(F, sensitive_features=sensitive[:, ::-1], **settings))
    close(found, dpvar_interval(F, sensitive_features=-sensitive, **settings))


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a number"])
def test_names_of_categories_change_nothing(beside):
    import pandas as pd

    found = []
    for names in (["a", "b", "c"], ["c", "a", "b"], ["zz", "mm", "Ää"]):
        table = pd.DataFrame({"town": np.array(names)[TOWN]})
        table = table.assign(age=NUMBERS[:, 0]) if beside else table
        found.append(dpvar_interval(F, sensitive_features=table))
    for other in found[1:]:
        if beside:
            close(found[0], other)
        else:
            np.testing.assert_allclose(figures(other), figures(found[0]), rtol=1e-9)
