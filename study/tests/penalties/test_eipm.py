import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel_study.penalties import EIPM
from fairlevel_study.penalties.eipm import gaussian_kernel_as_cosines
from study.tests.penalties.sanity import smoothed_eipm
from tests.drawn_rows import TENSORS


def evaluated(penalty, f, a):
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    return penalty.step(f, prepared, None)


def test_gaussian_pairs_have_the_smoothed_closed_form():
    random = np.random.default_rng(0)
    rho = np.array([[0.0], [0.3], [0.6], [0.9]])
    a, z = random.standard_normal((2, 5000))
    f = torch.from_numpy(rho * a + np.sqrt(1 - rho**2) * z)
    truth = [smoothed_eipm(float(each))[0] for each in rho[:, 0]]
    assert evaluated(EIPM(), f, a[:, None]).value.tolist() == pytest.approx(truth, abs=0.02)


def test_quadrature_is_the_gaussian_kernel():
    frequencies, amplitudes = gaussian_kernel_as_cosines()
    u = torch.linspace(0, 14, 141, dtype=torch.float64)
    found = (amplitudes * torch.cos(frequencies * u[:, None])).sum(-1)
    torch.testing.assert_close(found, torch.exp(-u.square() / 2), rtol=0, atol=1e-7)


def test_predictions_far_apart_are_not_alike():
    """The definition with Gaussian kernels, by automatic differentiation, where predictions spread over 14 σ_f."""
    random = np.random.default_rng(5)
    a = random.standard_normal((60, 1))
    values = np.sinh(1.2 * a[:, 0]) / 2 + random.standard_normal(60)
    f = torch.from_numpy(7 * values / np.ptp(values)).requires_grad_()
    near = np.exp(-((a - a.T) ** 2) / (2 * (60 * 3 / 4) ** (-2 / 5) * a.var()))
    contrast = torch.from_numpy(near / near.sum(1, keepdims=True) - 1 / 60)
    similar = torch.exp(-2 * (f[:, None] - f).square())
    truth = torch.einsum("mi,ij,mj->m", contrast, similar, contrast).clamp_min(0).sqrt().mean()
    truth.backward()
    found = evaluated(EIPM(bandwidth=0.5), f.detach().unsqueeze(0), a)
    assert float(found.value) == pytest.approx(float(truth.detach()), abs=1e-5)
    torch.testing.assert_close(found.gradient[0], f.grad, rtol=0, atol=1e-5 * float(f.grad.abs().max()))


def test_a_wide_kernel_sees_the_average_prediction_only():
    """σ P → Σ_m π_m |ĥ(a_m) − f̄| with the kernel average ĥ: GDP on the rows themselves."""
    random = np.random.default_rng(1)
    a = random.standard_normal((120, 1))
    f = torch.from_numpy(np.sin(2 * a.T) + random.standard_normal((1, 120)))
    near = np.exp(-((a - a.T) ** 2) / (2 * (120 * 3 / 4) ** (-2 / 5) * a.var()))
    moves = near / near.sum(1, keepdims=True) @ f[0].numpy() - f[0].numpy().mean()
    assert 100 * float(evaluated(EIPM(bandwidth=100.0), f, a).value) == pytest.approx(np.abs(moves).mean(), rel=1e-3)


def test_anchors_stand_for_all_rows():
    random = np.random.default_rng(2)
    a = random.standard_normal((1500, 2))
    f = torch.from_numpy(a[:, :1].T + random.standard_normal((1, 1500)))
    some, every = (float(evaluated(EIPM(anchors=count), f, a).value) for count in (128, 1500))
    assert some == pytest.approx(every, rel=0.03)


def test_the_held_out_value_has_no_floor():
    random = np.random.default_rng(3)
    a, f = random.standard_normal((400, 1)), torch.from_numpy(random.standard_normal((100, 400)))
    penalty = EIPM(anchors=64)
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    biased, held = penalty.step(f, prepared, None).value, penalty.value(f, prepared, None)
    assert float(held.mean().abs()) < 0.25 * float(biased.mean())


def test_the_held_out_value_weights_rows():
    """Rows of weight 0 count for nothing."""
    random = np.random.default_rng(6)
    a, f = random.standard_normal((300, 1)), torch.from_numpy(random.standard_normal((1, 300)))
    f[:, 200:] += 3.0
    weight = np.where(np.arange(300) < 200, 1.0, 1e-12)
    penalty = EIPM(anchors=300)
    found = []
    for rows, row_weight in ((slice(None), weight), (slice(200), None)):
        prepared = penalty.prepare(Attributes(a[rows], row_weight=row_weight), seed=0).to(TENSORS)
        found.append(float(penalty.value(f[:, rows], prepared, None)))
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="bandwidth=0"):
        EIPM(bandwidth=0)
    with pytest.raises(InvalidInput, match="anchors=1"):
        EIPM(anchors=1)
