import numpy as np
import pytest

from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import InvalidInput


def test_rows_follow_the_design():
    design = SyntheticDesign(attributes=4, features=6, beta_int=3.0)
    rows = design.sample(50_000, seed=1)
    assert (rows.x.shape, rows.a.shape, rows.y.shape) == ((50_000, 6), (50_000, 4), (50_000,))
    assert rows.a[:, 0].min() >= -1
    assert rows.a[:, 0].max() <= 1
    assert rows.a[:, 0].var() == pytest.approx(1 / 3, rel=0.03)
    np.testing.assert_allclose(rows.a[:, 1:].std(axis=0), 0.3, rtol=0.03)
    assert np.array_equal(rows.x, design.sample(50_000, seed=1).x)


def test_target_is_its_formula_without_noise():
    design = SyntheticDesign(noise_x=0.0, noise_y=0.0, beta_int=2.0, c_a=0.7, c_z=1.3, delta=0.5)
    rows = design.sample(100, seed=0)
    random = np.random.default_rng(0)
    a = np.hstack([random.uniform(-1, 1, (100, 1)), 0.3 * random.standard_normal((100, 4))])
    g_a, g_z, base = design.networks
    x_a, x_z = g_a(a), g_z(random.standard_normal((100, 3)))
    x = 0.7 * x_a + 1.3 * x_z + x_a * x_z
    s = a[:, 0]
    np.testing.assert_allclose(rows.x, x)
    np.testing.assert_allclose(rows.y, base(x)[:, 0] + 0.5 * (s + s**3 / 2) + 2 * (x_a * x_z).sum(axis=1))


def test_beta_changes_the_target_only():
    easy, hard = (SyntheticDesign(beta_int=beta).sample(200, seed=3) for beta in (1.0, 10.0))
    assert np.array_equal(easy.x, hard.x)
    assert hard.y.var() > 5 * easy.y.var()


def test_true_dpvar_of_a_linear_model_is_its_closed_form():
    """E[Xw | A] = g(A)·(c_A w + E[X_Z] w) + const: its variance over A, by brute force over A."""
    design = SyntheticDesign(noise_x=0.5)
    weights = np.linspace(-1, 1, 10)
    random = np.random.default_rng(5)
    g_a, g_z, _ = design.networks
    mean_z = g_z(random.standard_normal((400_000, 3))).mean(axis=0)
    a = np.hstack([random.uniform(-1, 1, (400_000, 1)), 0.3 * random.standard_normal((400_000, 4))])
    expected = (g_a(a) @ (weights * (1 + mean_z))).var()
    found = design.true_dpvar(lambda x: x @ weights)
    assert abs(found.value - expected) < 4 * found.standard_error
    assert found.standard_error < 0.05 * expected


def test_true_dpvar_of_noise_is_zero():
    design = SyntheticDesign()
    random = np.random.default_rng(0)
    found = design.true_dpvar(lambda x: random.standard_normal(len(x)))
    assert abs(found.value) < 4 * found.standard_error


@pytest.mark.parametrize(
    "bad", [{"attributes": 0}, {"features": 0}, {"noise_y": -1.0}, {"network_seed": -1}, {"delta": np.nan}]
)
def test_refuses_impossible_designs(bad):
    with pytest.raises(InvalidInput, match=f"{next(iter(bad))}=.*(was given|not finite)"):
        SyntheticDesign(**bad)
    SyntheticDesign(beta_int=-1.0, delta=-1.0, noise_y=0.0, network_seed=0)
