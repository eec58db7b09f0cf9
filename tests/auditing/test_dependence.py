"""Each measure is what its penalty, or a dense computation, says under every pairing."""

import numpy as np
import pytest
import torch

from fairlevel.auditing.dependence import MEASURES, gdp, hsic, linear_r2, maximal_correlation, measure_dependence
from fairlevel.auditing.pairings import Pairings, random_pairings
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import general_mean
from fairlevel.penalties import GDP, FeatureHSIC, LinearR2

WEIGHTS = {"equal": np.ones(700), "unequal": np.linspace(1, 3, 700)}
ATTRIBUTES = {
    "one": lambda random: random.standard_normal((700, 1)),
    "three": lambda random: random.standard_normal((700, 3)),
    "discrete": lambda random: random.integers(0, 3, (700, 2)).astype(float),
}


def paired(attributes, weights, count=5):
    random = np.random.default_rng(0)
    a = ATTRIBUTES[attributes](random)
    f = np.exp(0.5 * a[:, 0]) + random.standard_normal(700)
    return Pairings.of(f, WEIGHTS[weights], count, 3), Attributes(a, row_weight=WEIGHTS[weights])


def test_the_first_pairing_is_the_own_one():
    pairings, _ = paired("one", "unequal")
    assert torch.equal(pairings.order[0], torch.arange(700))
    assert all(torch.equal(order.sort().values, torch.arange(700)) for order in pairings.order)
    mean = pairings.row_weight @ pairings.prediction
    assert float(mean) == pytest.approx(0, abs=1e-14)
    assert float(pairings.row_weight @ pairings.prediction.square()) == pytest.approx(1, rel=1e-12)


def test_sums_over_pairings_are_plain_sums():
    pairings, _ = paired("one", "equal")
    random = np.random.default_rng(1)
    u, v = torch.from_numpy(random.standard_normal((700, 3))), torch.from_numpy(random.standard_normal((700, 4)))
    expected = torch.stack([u[order].T @ v for order in pairings.order])
    torch.testing.assert_close(pairings.sums(u, v), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize(("measure", "penalty"), [(linear_r2, LinearR2()), (gdp, GDP()), (hsic, FeatureHSIC())])
def test_values_are_those_of_the_penalty(measure, penalty, attributes, weights):
    pairings, rows = paired(attributes, weights)
    prepared = penalty.prepare(rows, penalty.rows.assign(0, 700), {}, 0)
    predictions = pairings.prediction[pairings.order]
    expected = penalty.step(predictions, prepared, penalty.init(prepared, len(predictions), {})).value
    torch.testing.assert_close(measure(pairings, rows, 0), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_maximal_correlation_is_canonical_correlation(attributes, weights):
    pairings, rows = paired(attributes, weights)
    smoother = general_mean(rows.values).prepare(rows, seed=0)
    root = np.sqrt(smoother.row_weight.numpy())[:, None]
    basis = (smoother.fit_basis * smoother.shrinkage(1e-3).sqrt()).numpy()[:, 1:] * root
    for found, order in zip(maximal_correlation(pairings, rows, 0), pairings.order, strict=True):
        f = pairings.prediction[order].numpy()
        powers = np.column_stack([f, f**2, f**3])
        orthonormal, _ = np.linalg.qr(root * (powers - smoother.row_weight.numpy() @ powers))
        assert float(found) == pytest.approx(np.linalg.norm(orthonormal.T @ basis, ord=2), rel=1e-9)


def test_maximal_correlation_in_known_cases():
    random = np.random.default_rng(0)
    a, z = random.standard_normal((2, 4000))
    rows = Attributes(a[:, None], row_weight=np.ones(4000))

    def found(f):
        return float(maximal_correlation(Pairings.of(f, np.ones(4000), 0, 0), rows, 0)[0])

    assert found(0.6 * a + 0.8 * z) == pytest.approx(0.6, abs=0.05)
    assert found(a**2) > 0.97
    assert found(z) < 0.15
    assert found(np.ones(4000)) == 0
    # two values have no square of their own: the correlation is that of the values
    two = (a + z > 0).astype(float)
    smoother = general_mean(rows.values).prepare(rows, seed=0)
    standard = torch.from_numpy((two - two.mean()) / two.std())
    alone = (standard @ smoother.weighted_basis * smoother.shrinkage(1e-3).sqrt())[1:].norm()
    assert found(two) == pytest.approx(float(alone), rel=1e-9)


def test_measures_have_a_chance_value():
    random = np.random.default_rng(3)
    measures = measure_dependence(random.standard_normal(500), random.standard_normal((500, 2)), np.ones(500), 0)
    assert [measure.name for measure in measures] == list(MEASURES)
    assert all(measure.chance > 0 for measure in measures)


def test_powers_that_coincide_where_few_rows_weigh_most():
    """The moments of f, f² and f³ were not positive definite, and the audit ended in an error of PyTorch."""
    random = np.random.default_rng(0)
    a, f, weight = random.standard_normal((40, 1)), random.standard_cauchy(40) ** 9, np.full(40, 1e-12)
    weight[:2] = 1.0
    found = {each.name: each.value for each in measure_dependence(f, a, weight, 0)}
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
    found = measure_dependence(visit, visit[:, None], np.ones(500), 0, np.repeat(np.arange(100), 5))
    assert all(each.found for each in found)


def test_dependence_is_found_where_all_groups_differ_in_size():
    random = np.random.default_rng(0)
    school = np.repeat(np.arange(40), np.arange(3, 43))
    of_school, chance = random.standard_normal((2, 40))
    found = {
        effect: measure_dependence(
            (effect * of_school + chance)[school], of_school[school][:, None], np.ones(len(school)), 0, school
        )
        for effect in (0, 2)
    }
    assert all(each.found for each in found[2])
    assert not any(each.found for each in found[0])


def test_rows_that_belong_together_are_no_evidence_of_dependence():
    """300 people with six copies each: without groups, copies look like evidence."""
    random = np.random.default_rng(0)
    a, f, person = (np.repeat(each, 6) for each in (*random.standard_normal((2, 300)), np.arange(300)))
    rows = np.ones(1800)
    assert sum(each.found for each in measure_dependence(f, a[:, None], rows, 0)) >= 3
    assert not any(each.found for each in measure_dependence(f, a[:, None], rows, 0, person))
