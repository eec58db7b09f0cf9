import maxcorr
import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel_study.penalties import GeDI, KernelHGR
from fairlevel_study.penalties.hgr_kernel import best_direction, hermite, lowered, products
from tests.drawn_rows import TENSORS, gaussian

RHOS = np.array([[0.0], [0.3], [0.6], [0.9]])


def drawn(rows=5000):
    """A (row, 1), standardised, and seven predictions: Gaussian with four correlations, A², A·Z, independent."""
    random = np.random.default_rng(0)
    a, z = random.standard_normal((2, rows))
    f = [*(RHOS * a + np.sqrt(1 - RHOS**2) * z), a**2, a * z, random.standard_normal(rows)]
    return (a[:, None] - a.mean()) / a.std(), torch.from_numpy(np.stack(f))


def evaluated(penalty, f, a, weight=None):
    prepared = penalty.prepare(Attributes(a, row_weight=weight), seed=0).to(TENSORS)
    return penalty.step(f, prepared, None)


@pytest.mark.parametrize("degree", [3, 5])
def test_known_correlations(degree):
    """ρ for Gaussian pairs; 1 for A²; 1/2 for A·Z with degree 3 (corr of (A·Z)² and A²); else what independence leaves:
    (√3 + √3)/√n at degree 3.
    """
    a, f = drawn()
    root = evaluated(KernelHGR(degree, degree), f, a).value.sqrt().tolist()
    assert root[1:4] == pytest.approx([0.3, 0.6, 0.9], abs=0.015)
    assert root[4] == pytest.approx(1, abs=2e-3)
    assert root[5] == pytest.approx(0.5, abs=0.02 if degree == 3 else 0.1)
    assert max(root[0], root[6]) < 2 * np.sqrt(degree / 5000)


def test_is_the_maximum_that_maxcorr_finds():
    a, f = drawn()
    chosen = [2, 3, 4, 5]
    found = evaluated(KernelHGR(ridge=1e-9), f[chosen], a).value.sqrt()
    for own, row in zip(found.tolist(), f[chosen].numpy(), strict=True):
        theirs = maxcorr.hgr("dk", backend="numpy", kernel_a=3, kernel_b=3).compute(a=a[:, 0], b=row)
        assert own == pytest.approx(theirs, abs=1e-4)


def test_degree_one_is_gedi_as_a_share():
    f, a = gaussian(200, 2, 3)
    a = (a - a.mean(0)) / a.std(0)
    share = evaluated(KernelHGR(1, 3, ridge=1e-10), f, a).value
    torch.testing.assert_close(share * f.var(dim=1, correction=0), evaluated(GeDI(3), f, a).value, rtol=1e-6, atol=0)


def test_scale_does_not_matter_and_collapsing_predictions_are_left_alone():
    f, a = gaussian(200, 2, 1)
    plain, scaled = (evaluated(KernelHGR(), factor * f, a) for factor in (1, 100))
    assert float(plain.value) == pytest.approx(float(scaled.value), rel=1e-9)
    sizes = [float(evaluated(KernelHGR(), factor * f, a).gradient.abs().max()) for factor in (1e-2, 1e-4, 1e-6)]
    assert max(sizes) < 1
    assert sizes[2] < sizes[1] < sizes[0]


def test_the_held_out_value_has_no_floor():
    """The pair is that of other rows: of independent numbers it explains about 1/(2n), not 12/n."""
    random = np.random.default_rng(1)
    a, f = random.standard_normal((2, 300, 1)), torch.from_numpy(random.standard_normal((2, 200, 300)))
    penalty = KernelHGR()
    here, there = (penalty.prepare(Attributes(each), seed=0).to(TENSORS) for each in a)
    step = penalty.step(f[0], here, None)
    assert float(step.value.mean()) > 6 / 300
    assert float(penalty.value(f[1], there, step.state).mean()) < 1 / 300
    a_last = torch.from_numpy(a[1].T)
    dependent = penalty.step(torch.from_numpy(a[0].T), here, None).state
    assert float(penalty.value(a_last, there, dependent)) > 0.9


def test_the_eigenvalue_is_that_of_a_dense_solver_and_a_diverged_neighbour_does_no_harm():
    random = np.random.default_rng(2)
    overlap, root = (torch.from_numpy(random.standard_normal((3, 4, columns))) for columns in (6, 4))
    moments = root @ root.transpose(1, 2)
    overlap[1], moments[1] = torch.nan, torch.nan
    alpha = best_direction(overlap, moments, 0.1)
    largest = (alpha.unsqueeze(1) @ overlap).square().sum(dim=(1, 2))
    for config in (0, 2):
        whole = moments[config] + 0.1 * torch.eye(4, dtype=torch.float64)
        dense = torch.linalg.eigvals(torch.linalg.solve(whole, overlap[config] @ overlap[config].T)).real.max()
        assert float(largest[config]) == pytest.approx(float(dense), rel=1e-10)
        assert float(alpha[config] @ whole @ alpha[config]) == pytest.approx(1, rel=1e-10)
    assert largest[1].isnan()


def test_polynomials_are_orthonormal_and_their_number_is_limited():
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    found = hermite(torch.from_numpy(nodes), 5).numpy()
    np.testing.assert_allclose(found.T @ (weights[:, None] / weights.sum() * found), np.eye(6), atol=1e-10)
    assert [lowered(count, 3) for count in (1, 8, 9, 18, 19, 500)] == [3, 3, 2, 2, 1, 1]
    assert products(np.zeros((4, 8)), 3).shape == (4, 164)
    assert products(np.zeros((4, 9)), 3).shape == (4, 54)


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="degree=0"):
        KernelHGR(degree=0)
    with pytest.raises(InvalidInput, match="sensitive_degree=9"):
        KernelHGR(sensitive_degree=9)
    with pytest.raises(InvalidInput, match="ridge=0"):
        KernelHGR(ridge=0)
