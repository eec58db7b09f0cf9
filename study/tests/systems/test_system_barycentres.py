"""Barycentres against closed forms, and against EquiPy (values stored by equipy_values.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairlevel_study.systems.barycentres import Barycentre, LocationScale, QuantileMap, cuts_between
from study.tests.systems.equipy_values import two_groups
from study.tests.systems.rows import SETUP, data

STORED = Path(__file__).with_name("equipy_values.json")


def test_two_groups_as_equipy_has_them():
    stored = json.loads(STORED.read_text())
    fit, fit_group, new, new_group = two_groups()
    ours = QuantileMap.of(fit, fit_group, 2)(new, new_group)
    for strength, theirs in stored["values"].items():
        mixed = (1 - float(strength)) * new + float(strength) * ours
        assert np.abs(mixed - np.array(theirs)).max() < 1e-6


def test_gaussian_groups():
    """Groups N(m_g, s_g): the barycentre is N(Σ p m, Σ p s), and a rank stays a rank."""
    random = np.random.default_rng(0)
    means, scales, rows = np.array([-1.0, 0.5, 3.0]), np.array([1.0, 2.0, 0.5]), 60_000
    number = random.integers(0, 3, rows)
    z = random.standard_normal(rows)
    moved = QuantileMap.of(means[number] + scales[number] * z, number, 3)(means[number] + scales[number] * z, number)
    inside = np.abs(z) < 2
    assert np.abs(moved - (means.mean() + scales.mean() * z))[inside].max() < 0.06
    assert all(abs(moved[number == group].mean() - means.mean()) < 0.02 for group in range(3))


def test_equal_scales_cost_the_variance_of_the_means():
    random = np.random.default_rng(1)
    number = np.repeat([0, 1], 20_000)
    f = 2.0 * number + random.standard_normal(40_000)
    moved = QuantileMap.of(f, number, 2)(f, number)
    assert ((f - moved) ** 2).mean() == pytest.approx(1.0, abs=0.02)


def test_strength_one_levels_the_groups_it_was_given():
    given = data(rows=400)
    groups = Barycentre(bins=4).fit(given, (0.0, 1.0), SETUP)
    plain, moved = groups.predict(np.hstack([given.x, given.a]))
    quarter = np.searchsorted(np.quantile(given.a[:, 0], [0.25, 0.5, 0.75]), given.a[:, 0], side="right")
    means = [np.array([f[quarter == group].mean() for group in range(4)]) for f in (plain, moved)]
    assert np.ptp(means[0]) > 0.5
    assert np.ptp(means[1]) < 0.02


def test_continuous_gaussians():
    """f = 2 a + (1 + a²/2) z: the barycentre is E h + E s · z."""
    random = np.random.default_rng(0)
    a, z = random.uniform(-1, 1, 4000), random.standard_normal(4000)
    f = 2 * a + (1 + a**2 / 2) * z
    moved = LocationScale.of(f, a[:, None], 0)(f, a[:, None])
    scale = 1 + 1 / 6
    assert np.abs(moved - scale * z)[np.abs(z) < 2].max() < 0.35
    assert np.sqrt(((moved - scale * z) ** 2).mean()) < 0.12
    assert abs(np.polyfit(a, moved, 1)[0]) < 0.02


def test_a_step_function_is_found():
    """Between the right cells lies all of the variance."""
    a = np.random.default_rng(0).uniform(-1, 1, 3000)
    h = np.where(a < -0.4, 0.0, np.where(a < 0.7, 2.0, -1.0))
    edges = cuts_between(a, h, 3)
    assert np.allclose(edges, [-0.4, 0.7], atol=0.01)


def test_cuts_of_a_curve_are_nearly_the_best():
    """At most a twentieth of the variance between the best intervals, which equal pieces of a straight line have, is
    lost.
    """
    a = np.random.default_rng(1).uniform(-1, 1, 4000)
    number = np.searchsorted(cuts_between(a, a, 8), a)
    between = np.var(np.bincount(number, a)[number] / np.bincount(number)[number])
    assert 0.95 * (1 - 1 / 64) < between / a.var() <= 1 - 1 / 64 + 1e-3
