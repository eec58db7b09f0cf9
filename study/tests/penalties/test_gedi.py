import maxcorr
import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel_study.penalties import GeDI
from study.tests.penalties.test_hgr_kernel import drawn, evaluated
from tests.drawn_rows import TENSORS, gaussian


def test_known_values():
    """GeDI² is DPVar: ρ² for Gaussian pairs, 2 for A², 0 for A·Z and independent numbers (noise: 3 Var f / n)."""
    a, f = drawn()
    found = evaluated(GeDI(), f, a).value.tolist()
    assert found[1:4] == pytest.approx([0.09, 0.36, 0.81], abs=0.015)
    assert found[4] == pytest.approx(float(f[4].var()), rel=1e-3)  # A² is a polynomial: all of its variance
    assert max(found[0], found[5], found[6]) < 5 * 3 / 5000


def test_is_the_ratio_of_maxcorr():
    a, f = drawn()
    found = evaluated(GeDI(), f, a).value.sqrt().tolist()
    for own, row in zip(found, f.numpy(), strict=True):
        theirs = maxcorr.gedi("dk", backend="numpy", kernel_a=3, kernel_b=1).compute(a=a[:, 0], b=row)
        assert own == pytest.approx(theirs, abs=1e-6)


def test_a_step_along_a_direction_is_exact():
    f, a = gaussian(100, 2, 3)
    penalty = GeDI()
    prepared = penalty.prepare(Attributes(a), None, {}, seed=0).to(TENSORS)
    before = penalty.step(f, prepared, penalty.init(prepared, 3, {}))
    direction, move = f.sin(), torch.tensor([0.1, -0.5, 2.0], dtype=torch.float64)
    along = penalty.along(direction, before.value, prepared, before.state)
    there = f + move.unsqueeze(1) * direction
    moved, afresh = penalty.step_after(there, move, along, prepared, before.state), evaluated(penalty, there, a)
    torch.testing.assert_close(moved.gradient, afresh.gradient)
    slope = (before.gradient * direction).sum(-1)
    parabola = before.value + move * slope + along.curvature * move.square() / 2
    torch.testing.assert_close(parabola, afresh.value)


def test_the_held_out_value_is_zero_on_average_where_a_says_nothing():
    random = np.random.default_rng(0)
    a, f = random.standard_normal((100, 2)), torch.from_numpy(random.standard_normal((2000, 100)))
    penalty = GeDI()
    prepared = penalty.prepare(Attributes(a), None, {}, seed=0).to(TENSORS)
    held = penalty.value(f, prepared, penalty.init(prepared, len(f), {}))
    assert abs(float(held.mean())) < 4 * float(held.std()) / np.sqrt(2000) + 0.01  # leverages above 0.9 count as 0.9


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="degree=0"):
        GeDI(degree=0)
