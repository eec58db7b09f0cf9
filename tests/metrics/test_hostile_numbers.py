"""Numbers that a metric must not misread: extreme sizes, dates, masks, constants, repeated rows."""

import numpy as np
import pandas as pd
import pytest
import torch

from fairlevel import FairRegressor, audit, compare, dpvar, dpvar_interval
from fairlevel.auditing.flags import repeated_rows
from fairlevel.exceptions import FairLevelError, InvalidInput, InvalidType
from fairlevel.metrics.inputs import read_rows
from fairlevel.metrics.interval import Evidence, interval_of

random = np.random.default_rng(0)
A = random.standard_normal(200)
F = A + random.standard_normal(200)
DATES = pd.Series(pd.date_range("2020-01-01", periods=200)).mask(np.arange(200) == 3)


@pytest.mark.parametrize("offset", [1e13, 1e14])
def test_a_large_offset_is_no_constant(offset):
    """At 1e13 a double still has 500 steps per unit."""
    here, there = (dpvar_interval(F + shift, sensitive_features=A) for shift in (0.0, offset))
    digits = 40 * np.finfo(float).eps * offset
    assert there.estimate == pytest.approx(here.estimate, abs=digits)
    assert there.p_value == pytest.approx(here.p_value, rel=0.1)
    assert here.p_value < 0.001
    assert dpvar(None, F + offset, sensitive_features=A) == pytest.approx(here.estimate, abs=digits)
    paired = compare(F + offset, 2 * F + offset, sensitive_features=A)
    assert paired.difference == pytest.approx(3 * here.estimate, abs=4 * digits)


def test_a_constant_up_to_rounding_is_constant():
    f = 0.1 + np.array([0.0, 1.0, -1.0, 2.0] * 50) * np.spacing(0.1) / 2
    found = dpvar_interval(f, sensitive_features=A)
    assert (found.estimate, found.high, found.p_value) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("factor", "says"), [(1e151, "beyond"), (1e-160, "varies by"), (1e-300, "varies by")])
def test_numbers_whose_squares_leave_the_range_are_refused(factor, says):
    with pytest.raises(InvalidInput, match=f"y_pred .*{says}"):
        dpvar_interval(F * factor, sensitive_features=A)
    with pytest.raises(InvalidInput, match=r"infinite or huge|sensitive_features, column 'a0', varies by"):
        dpvar_interval(F, sensitive_features=A * factor)


@pytest.mark.parametrize("factor", [1e-140, 1e140])
def test_the_range_that_is_left_is_exact(factor):
    here, there = dpvar_interval(F, sensitive_features=A), dpvar_interval(F * factor, sensitive_features=A * factor)
    assert there.estimate == pytest.approx(here.estimate * factor**2, rel=1e-9)
    assert there.share == pytest.approx(here.share, rel=1e-9)


MASKED = np.ma.masked_array(F, mask=np.arange(200) < 3)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (DATES, "dates or times"),
        (DATES.to_numpy(), "dates or times"),
        (DATES - DATES[0], "dates or times"),
        (MASKED, "3 masked values"),
        (F + 1j, "Complex data not supported"),
    ],
    ids=["dates", "date array", "spans", "masked", "complex"],
)
def test_what_is_no_number_is_refused(values, says):
    with pytest.raises(FairLevelError, match=f"y_pred.*{says}|{says}.*y_pred"):
        dpvar(None, values, sensitive_features=A)
    with pytest.raises(FairLevelError, match="sample_weight"):
        dpvar(None, F, sensitive_features=A, sample_weight=values)
    with pytest.raises(FairLevelError, match="sensitive_features"):
        dpvar(None, F, sensitive_features=np.asarray(values) if says == "dates or times" else values)
    with pytest.raises(FairLevelError, match="y_true"):
        audit(F, sensitive_features=A, y_true=values)


def test_a_mask_that_hides_nothing_and_a_masked_group():
    plain = dpvar(None, F, sensitive_features=A)
    assert dpvar(None, np.ma.masked_array(F), sensitive_features=np.ma.masked_array(A)) == plain
    with pytest.raises(InvalidInput, match="groups is a masked array"):
        dpvar(None, F, sensitive_features=A, groups=np.ma.masked_array(np.arange(200), mask=np.arange(200) < 3))


def test_dates_are_named_as_such_in_lists_too():
    with pytest.raises(InvalidType, match="y_pred"):
        dpvar(None, list(DATES), sensitive_features=A)


def small_tables():
    """Tables of 6 to 40 rows with attributes of four kinds."""
    for seed in (*range(10), 163):
        own = np.random.default_rng(seed)
        rows, columns = int(own.choice([6, 8, 10, 12, 16, 20, 30, 40, 60])), int(own.integers(1, 4))
        kinds = (
            lambda rows=rows, own=own: own.standard_normal(rows),
            lambda rows=rows, own=own: own.integers(0, 3, rows).astype(float),
            lambda rows=rows, own=own: own.integers(18, 70, rows).astype(float),
            lambda rows=rows, own=own: np.round(own.exponential(1, rows), 1),
        )
        a = np.column_stack([kinds[own.integers(0, 4)]() for _ in range(columns)])
        yield own, a, a @ own.standard_normal(columns) + own.standard_normal(rows)


def test_units_of_a_and_constant_attributes_change_nothing():
    """Table 163 got another conditional mean from an added constant: it was taken for a group."""
    for own, a, f in small_tables():
        here = dpvar(None, f, sensitive_features=a)
        constant = np.column_stack([a, np.full(len(a), own.choice([0.0, 1.0, 0.1]))])
        units = a * own.choice([0.1, 3.0, 0.37, 7.0, 1 / 3], a.shape[1]) + own.choice([0.0, 0.3, 1e3], a.shape[1])
        for changed in (constant, units):
            assert dpvar(None, f, sensitive_features=changed) == pytest.approx(here, abs=1e-6 * f.var())


def test_a_constant_target_has_no_r2():
    assert set(audit(F, sensitive_features=A, y_true=np.full(200, 0.1)).accuracy) == {"mse", "rmse"}


def test_repeated_rows_are_pointed_out():
    people = np.repeat(np.arange(60), 4)
    own = np.random.default_rng(1)
    f, a = own.standard_normal(60)[people], own.standard_normal(60)[people]
    (flag,) = repeated_rows(read_rows(f, a))
    assert "180 of 240 rows" in flag.sentence
    assert "repeated_rows" in {flag.name for flag in audit(f, sensitive_features=a).flags}
    alone, together = (dpvar_interval(f, sensitive_features=a, groups=groups).p_value for groups in (None, people))
    assert together > 5 * alone
    for quiet in (read_rows(f, a, groups=people), read_rows(F, A), read_rows(f.round(), a.round())):
        assert not list(repeated_rows(quiet))


def test_an_audit_refuses_what_it_cannot_tell_apart():
    with pytest.raises(InvalidInput, match="several columns named 'a'"):
        audit(F, sensitive_features=pd.DataFrame({"a": A, "b": F}).set_axis(["a", "a"], axis=1))
    with pytest.raises(InvalidInput, match="a single value per column"):
        audit(F, sensitive_features=np.ones((200, 2)))


@pytest.mark.parametrize("constant", [np.ones(200), np.full((200, 2), 0.1), np.full(200, "north")])
def test_constant_attributes_have_no_disparity_for_certain(constant):
    """The interval reached from 0 to Var(f): E[f | A] is the mean of f, whatever the rows."""
    weight = np.where(np.arange(200) < 50, 0.0, 1.0)
    varies_without_weight = np.where(np.arange(200) < 50, "south", "north")
    for attributes, sample_weight in ((constant, None), (varies_without_weight, weight)):
        given = {"sensitive_features": attributes, "sample_weight": sample_weight}
        assert dpvar(None, F, **given) == 0
        found = dpvar_interval(F, **given)
        assert (found.estimate, found.low, found.high, found.share_high, found.p_value) == (0, 0, 0, 0, 1)
        assert found.regressor == "none needed: the attributes are constant"
        both = compare(F, 2 * F + 1, **given)
        assert (both.difference, both.low, both.high, both.p_value) == (0, 0, 0, 1)


def test_by_keeps_the_table_of_an_attribute_of_its_name():
    group = pd.DataFrame({"town": np.where(A > 0, "north", "south")})
    found = audit(F, sensitive_features=group, by=pd.Series(np.arange(200) % 3, name="town"))
    assert {name: len(table) for name, table in found.groups.items()} == {"town": 2, "town (by)": 3}


def test_columns_with_equals_signs_are_not_merged():
    """``income=low`` and ``income=high`` were one attribute, named ``income``."""
    table = pd.DataFrame(
        {"income=low": A, "income=high": random.standard_normal(200), "income": np.where(F > 0, "a", "b")}
    )
    found = audit(F, sensitive_features=table).attributes.set_index("attribute")["alone"]
    assert sorted(found.index) == ["income", "income=high", "income=low"]
    assert found["income=high"] < 0.1 < found["income=low"]
    assert found["income"] > 0.4


def test_the_sign_of_an_attribute_changes_next_to_nothing():
    skew = np.column_stack([random.gamma(2.0, size=60), random.standard_normal(60), np.tile([0.0, 1.0, 1.0], 20)])
    f = 0.3 * skew[:, 0] + random.standard_normal(60)
    here = dpvar_interval(f, sensitive_features=skew)
    for signs in ([-1, 1, 1], [1, -1, -1], [-1, -1, -1]):
        there = dpvar_interval(f, sensitive_features=skew * signs)
        width = here.high - here.low
        for name in ("estimate", "low", "high"):
            assert getattr(there, name) == pytest.approx(getattr(here, name), abs=width / 10)
        assert there.p_value == pytest.approx(here.p_value, rel=0.1)


def test_estimate_and_interval_agree_on_what_is_constant():
    f = 1e15 + np.array([0.0, 1.0, 2.0, 3.0] * 50)
    assert dpvar(None, f, sensitive_features=A) == dpvar_interval(f, sensitive_features=A).estimate != 0
    found = compare(f, F, sensitive_features=A)
    assert found.dpvar_b == pytest.approx(dpvar(None, F, sensitive_features=A), rel=0.05)


@pytest.mark.parametrize(
    "copy", [np.exp, lambda a: -a, lambda a: 3 * a + 1, lambda a: a**3], ids=["exp", "minus", "affine", "cube"]
)
def test_a_monotone_copy_of_an_attribute_explains_everything_and_is_refused(copy):
    with pytest.raises(InvalidInput, match="rises and falls with it"):
        dpvar(None, F, sensitive_features=A, given=copy(A))


@pytest.mark.parametrize("rest", [0.0, 4e-16, 7e-13])
def test_a_function_of_an_attribute_has_a_share_that_is_not_zero(rest):
    unit = np.random.default_rng(0).standard_normal(200)
    sums = np.column_stack([np.zeros(200), unit**2, unit**2, np.ones(200)]) / 200
    rounding = 1e-18
    found = interval_of(Evidence(1.0, 1 - rest, 1.0, sums.T @ sums, rounding, lambda: 1e-4, "splines"))
    assert found.share_low == found.low > 0.7
    assert found.share_high == 1


@pytest.mark.parametrize("kind", [np.uint64, np.int64])
def test_predictions_that_differ_beyond_16_digits_are_refused(kind):
    """They were all the same number: no disparity."""
    steps = np.round(100 * (A - A.min())).astype(kind)
    with pytest.raises(InvalidInput, match=r"pass y_pred - y_pred.min\(\)"):
        dpvar(None, steps + kind(2**62), sensitive_features=A)
    with pytest.raises(InvalidInput, match=r"pass y - y.min\(\)"):
        FairRegressor(predictor="linear").fit(A[:, None], steps + kind(2**62), sensitive_features=A)
    assert dpvar(None, (steps + kind(2**62)) - (steps + kind(2**62)).min(), sensitive_features=A) > 1000


@pytest.mark.parametrize("name", ["y_pred", "sensitive_features", "sample_weight", "given"])
def test_tensors_that_require_gradients_are_refused(name):
    """It was an error of PyTorch, without the name of the argument."""
    given = {"y_pred": F, "sensitive_features": A, "sample_weight": np.ones(200), "given": F + A**2}
    given[name] = torch.from_numpy(given[name]).requires_grad_()
    with pytest.raises(InvalidType, match=rf"{name} is a tensor that requires gradients.*pass {name}.detach\(\)"):
        dpvar(None, **given)
