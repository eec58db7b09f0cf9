"""Each measure is what its penalty, or a dense computation, says under every pairing."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from fairlevel.auditing.dependence import (
    MEASURES,
    gdp,
    hsic,
    linear_r2,
    maximal_correlation,
    measure_dependence,
    random_pairings,
)
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.metrics.choice import suitable_means
from fairlevel.metrics.inputs import read_rows
from fairlevel.penalties import GDP, LinearR2
from tests.conditional_mean.discrete_rows import CASES

WEIGHTS = {"equal": np.ones(700), "unequal": np.linspace(1, 3, 700)}
ATTRIBUTES = {
    "one": lambda random: random.standard_normal((700, 1)),
    "three": lambda random: random.standard_normal((700, 3)),
    "discrete": lambda random: random.integers(0, 3, (700, 2)).astype(float),
}


def standardised(prediction, weight):
    centred = prediction - np.average(prediction, weights=weight)
    return centred / np.sqrt(np.average(centred**2, weights=weight))


def paired(attributes, weights, count=5):
    """A standardised prediction, pairings of which the own one is first, and attributes."""
    random = np.random.default_rng(0)
    a = ATTRIBUTES[attributes](random)
    f = standardised(np.exp(0.5 * a[:, 0]) + random.standard_normal(700), WEIGHTS[weights])
    order = np.vstack([np.arange(700), random_pairings(700, count, None, random)])
    return f, order, Attributes(a, row_weight=WEIGHTS[weights])


def test_pairings_are_permutations():
    order = random_pairings(700, 20, None, np.random.default_rng(3))
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(700), (20, 1)))
    assert (order == np.arange(700)).mean() < 0.01


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize(("measure", "penalty"), [(linear_r2, LinearR2()), (gdp, GDP())])
def test_values_are_those_of_the_penalty(measure, penalty, attributes, weights):
    f, order, rows = paired(attributes, weights)
    prepared = penalty.prepare(rows, seed=0)
    predictions = f[order]
    expected = penalty.step(predictions, prepared, None).value
    np.testing.assert_allclose(measure(f, rows, 0).values(order), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_hsic_is_that_of_gaussian_kernels_on_average(attributes, weights):
    f, order, rows = paired(attributes, weights, 1)
    weight, distance = rows.weight, squareform(pdist(rows.values))
    kernel = np.exp(-((distance / median_distance(rows.values, np.random.default_rng(0))) ** 2) / 2)
    centre = np.eye(700) - weight
    centred = centre @ kernel @ centre.T
    found = np.stack([hsic(f, rows, seed).values(order) for seed in range(30)])
    for each, values in zip(f[order], found.T, strict=True):
        of_prediction = np.exp(-((each[:, None] - each) ** 2) / 2)
        exact = weight @ (of_prediction * centred) @ weight
        assert values.mean() == pytest.approx(exact, abs=4 * values.std() / np.sqrt(30))


def canonical_correlations(f, order, rows):
    """Between cubics of f and the functions of A, shrunk, by dense linear algebra."""
    smoother = suitable_means(rows.values)[-1].prepare(rows, seed=0)
    weight = smoother.row_weight
    root = np.sqrt(weight)[:, None]
    functions = smoother.functions.written_out() * np.sqrt(smoother.shrinkage(1e-3)) * root
    for each in f[order]:
        powers = np.column_stack([each, each**2, each**3])
        orthonormal, _ = np.linalg.qr(root * (powers - weight @ powers))
        yield np.linalg.norm(orthonormal.T @ functions, ord=2)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_maximal_correlation_is_canonical_correlation(attributes, weights):
    f, order, rows = paired(attributes, weights)
    expected = list(canonical_correlations(f, order, rows))
    np.testing.assert_allclose(maximal_correlation(f, rows, 0).values(order), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["discrete", "weights", "free", "free, weights"])
def test_maximal_correlation_with_many_profiles(name):
    rows, random = CASES[name](), np.random.default_rng(5)
    f = standardised(random.standard_normal(len(rows)) + rows.values[:, 0] / 4, rows.counts)
    order = np.vstack([np.arange(len(f)), random_pairings(len(f), 3, None, random)])
    expected = list(canonical_correlations(f, order, rows))
    np.testing.assert_allclose(maximal_correlation(f, rows, 0).values(order), expected, rtol=1e-9)


def test_maximal_correlation_in_known_cases():
    random = np.random.default_rng(0)
    a, z = random.standard_normal((2, 4000))
    rows, own = Attributes(a[:, None]), np.arange(4000)[None]

    def found(f):
        return float(maximal_correlation(f, rows, 0).values(own)[0])

    assert found(standardised(0.6 * a + 0.8 * z, None)) == pytest.approx(0.6, abs=0.05)
    assert found(standardised(a**2, None)) > 0.97
    assert found(standardised(z, None)) < 0.15
    assert found(np.zeros(4000)) == 0
    # two values have no square of their own: the correlation is that of the values
    two = standardised((a + z > 0).astype(float), None)
    smoother = suitable_means(rows.values)[-1].prepare(rows, seed=0)
    alone = np.linalg.norm(smoother.coefficients(two[None]) * np.sqrt(smoother.shrinkage(1e-3)))
    assert found(two) == pytest.approx(alone, rel=1e-9)


def test_measures_have_a_chance_value():
    random = np.random.default_rng(3)
    measures = measure_dependence(read_rows(random.standard_normal(500), random.standard_normal((500, 2))), 0)
    assert [measure.name for measure in measures] == list(MEASURES)
    assert all(measure.chance > 0 for measure in measures)


def test_powers_that_coincide_where_few_rows_weigh_most():
    """The moments of f, f² and f³ were not positive definite, and the audit ended in an error of PyTorch."""
    random = np.random.default_rng(0)
    a, f, weight = random.standard_normal((40, 1)), random.standard_cauchy(40) ** 9, np.full(40, 1e-12)
    weight[:2] = 1.0
    found = {each.name: each.value for each in measure_dependence(read_rows(f, a, weight), 0)}
    assert 0 <= found["maximal correlation"] <= 1


@pytest.mark.parametrize("sizes", [[3] * 22, range(3, 28)], ids=["equal sizes", "all sizes differ"])
def test_groups_exchange_predictions_as_a_whole(sizes):
    """Each group gets those of one other, all of them where it is as large; no group always keeps its own."""
    random = np.random.default_rng(0)
    groups = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    orders = random_pairings(len(groups), 20, groups, random)
    for order in orders:
        for label, size in enumerate(sizes):
            (other,) = set(groups[order[groups == label]])
            assert len(set(order[groups == label])) == min(size, sizes[other])
    assert (groups[orders] == groups).mean() < 0.2


def test_the_order_of_visits_does_not_matter():
    """100 people with five visits, in order: attribute and prediction are the number of the visit."""
    visit = np.tile(np.arange(5.0), 100) + 0.01 * np.random.default_rng(0).standard_normal(500)
    found = measure_dependence(read_rows(visit, visit, groups=np.repeat(np.arange(100), 5)), 0)
    assert all(each.found for each in found)


def test_dependence_is_found_where_all_groups_differ_in_size():
    random = np.random.default_rng(0)
    school = np.repeat(np.arange(40), np.arange(3, 43))
    of_school, chance = random.standard_normal((2, 40))
    found = {
        effect: measure_dependence(
            read_rows((effect * of_school + chance)[school], of_school[school], groups=school), 0
        )
        for effect in (0, 2)
    }
    assert all(each.found for each in found[2])
    assert not any(each.found for each in found[0])


def test_rows_that_belong_together_are_no_evidence_of_dependence():
    """300 people with six copies each: without groups, copies look like evidence."""
    random = np.random.default_rng(0)
    a, f, person = (np.repeat(each, 6) for each in (*random.standard_normal((2, 300)), np.arange(300)))
    assert sum(each.found for each in measure_dependence(read_rows(f, a), 0)) >= 3
    assert not any(each.found for each in measure_dependence(read_rows(f, a, groups=person), 0))
