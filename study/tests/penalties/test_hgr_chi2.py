import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel_study.penalties import ChiSquareHGR
from study.tests.penalties.sanity import smoothed_chi2
from study.tests.penalties.test_hgr_kernel import RHOS, drawn, evaluated
from tests.drawn_rows import TENSORS


def test_gaussian_pairs_have_the_smoothed_closed_form():
    a, f = drawn()
    truth = [smoothed_chi2(rho)[0] for rho in RHOS[:, 0]]
    found = evaluated(ChiSquareHGR(), f[:4], a).value.tolist()
    assert found == pytest.approx(truth, rel=0.05, abs=0.02)


def test_is_the_mean_over_attributes_and_a_bound_of_the_squared_correlation():
    random = np.random.default_rng(1)
    a = random.standard_normal((2000, 3)) * [1.0, 5.0, 0.1] + [0.0, 3.0, -1.0]
    f = torch.from_numpy(a[:, 0] + random.standard_normal(2000))[None]
    each = [float(evaluated(ChiSquareHGR(), f, a[:, [column]]).value) for column in range(3)]
    assert float(evaluated(ChiSquareHGR(), f, a).value) == pytest.approx(np.mean(each), rel=1e-9)
    assert each[0] > 0.5 / (1 + 2000 ** (-1 / 3)) ** 2  # ρ², blurred


def test_row_weights_count_rows():
    random = np.random.default_rng(2)
    a, f, count = random.standard_normal((80, 2)), random.standard_normal((1, 80)), random.integers(1, 4, 80)
    penalty = ChiSquareHGR(bandwidth=1.0, nodes=10)
    once = evaluated(penalty, torch.from_numpy(f), a, count.astype(float))
    effective = count.sum() ** 2 / (count**2).sum()  # repeated rows are more rows: the same bandwidth is asked for
    other = ChiSquareHGR(bandwidth=(effective / count.sum()) ** (-1 / 6), nodes=10)
    repeated = evaluated(other, torch.from_numpy(np.repeat(f, count, axis=1)), np.repeat(a, count, axis=0))
    assert float(once.value) == pytest.approx(float(repeated.value), rel=1e-9)


def test_the_held_out_value_has_no_floor():
    random = np.random.default_rng(3)
    a, f = random.standard_normal((300, 1)), torch.from_numpy(random.standard_normal((200, 300)))
    penalty = ChiSquareHGR()
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    state = None
    biased, held = penalty.step(f, prepared, state).value, penalty.value(f, prepared, state)
    assert abs(float(held.mean())) < 4 * float(held.std()) / np.sqrt(200)
    assert float(biased.mean()) > 10 * float(held.std()) / np.sqrt(200)


def test_attributes_that_do_not_vary_push_nothing():
    step = evaluated(ChiSquareHGR(), torch.randn(2, 40).double(), np.ones((40, 2)))
    assert (step.value == 0).all()
    assert (step.gradient == 0).all()


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="bandwidth=0"):
        ChiSquareHGR(bandwidth=0)
    with pytest.raises(InvalidInput, match="nodes=2"):
        ChiSquareHGR(nodes=2)
