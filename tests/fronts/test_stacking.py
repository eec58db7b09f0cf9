"""The convex programme against an independent solver and its own optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budget import DPVAR, SHARE, Budget
from fairlevel.fronts.combiners import Best, Mixing, OutOfReach, Stacked, without_small_proportions


def instance(seed, candidates=8, rows=60):
    random = np.random.default_rng(seed)
    target = random.standard_normal(rows)
    predictions = 0.7 * target + random.standard_normal((candidates, rows)) * random.uniform(0.2, 1.5, (candidates, 1))
    level = random.standard_normal((candidates, 5)) * random.uniform(0.1, 1, (candidates, 1))
    return predictions, target, np.full(rows, 1 / rows), level @ level.T / 5


def dpvar(limit):
    return Budget(DPVAR, limit)


def share(limit):
    return Budget(SHARE, limit)


def reference(mixing, budget):
    """Sequential least squares from several starts."""
    count = len(mixing.cross)

    def objective(w):
        return w @ mixing.gram @ w - 2 * mixing.cross @ w + mixing.ridge * w @ w

    def slope(w):
        return 2 * (mixing.gram @ w - mixing.cross + mixing.ridge * w)

    limits = {
        "type": "ineq",
        "fun": lambda w: 100 * (budget - w @ mixing.disparity @ w),
        "jac": lambda w: -200 * (mixing.disparity @ w),
    }
    total = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(count)}
    best = np.inf
    for start in range(4):
        w = np.random.default_rng(start).dirichlet(np.ones(count))
        found = minimize(
            objective,
            w,
            jac=slope,
            bounds=[(0, 1)] * count,
            constraints=[limits, total],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        if found.success:
            best = min(best, found.fun)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_optimum_within_a_budget_equals_a_reference_solver(seed):
    mixing = Mixing.of(*instance(seed))
    free = mixing.most_accurate.dpvar
    budget = mixing.smallest(DPVAR) + 0.4 * (free - mixing.smallest(DPVAR))
    found = mixing.within(dpvar(budget))
    assert found.residual <= 1e-6
    assert found.dpvar <= budget * (1 + 1e-6)
    assert found.dpvar == pytest.approx(budget, rel=1e-4)  # the budget binds
    value = found.mse - mixing.mean_square + mixing.ridge * found.proportions @ found.proportions
    assert value == pytest.approx(reference(mixing, budget), abs=2e-6)


def test_figures_are_those_of_the_mixture():
    predictions, target, weight, disparity = instance(3)
    found = Mixing.of(predictions, target, weight, disparity).weighted(2.0)
    mixture = found.proportions @ predictions
    assert found.proportions.sum() == pytest.approx(1)
    assert (found.proportions >= 0).all()
    assert found.mse == pytest.approx(((mixture - target) ** 2).mean(), rel=1e-9)
    assert found.dpvar == pytest.approx(found.proportions @ disparity @ found.proportions, rel=1e-6)


def test_one_weight_and_its_budget_meet():
    """The mixture for a weight ζ is the best within the DPVar that it has."""
    mixing = Mixing.of(*instance(5))
    weighted = mixing.weighted(0.7)
    within = mixing.within(dpvar(weighted.dpvar))
    np.testing.assert_allclose(within.proportions, weighted.proportions, atol=2e-4)


def test_out_of_reach_names_the_smallest():
    mixing = Mixing.of(*instance(1))
    with pytest.raises(OutOfReach, match=r"A DPVar of .* is out of reach") as error:
        mixing.within(dpvar(mixing.smallest(DPVAR) / 2))
    assert error.value.smallest == pytest.approx(mixing.smallest(DPVAR))


def test_out_of_reach_names_the_share():
    mixing = Mixing.of(*instance(1))
    with pytest.raises(OutOfReach, match=r"A share of DPVar in the variance of .* is out of reach"):
        mixing.within(share(mixing.smallest(SHARE) / 100))


def test_indefinite_estimates_are_made_convex():
    predictions, target, weight, disparity = instance(2)
    mixing = Mixing.of(predictions, target, weight, disparity - 0.3 * np.eye(len(disparity)))
    assert np.linalg.eigvalsh(mixing.disparity).min() > -1e-12
    assert mixing.most_accurate.residual <= 1e-6


def test_best_takes_one_candidate():
    predictions, target, weight, disparity = instance(4)
    picking = Best().over(predictions, target, weight, disparity)
    budget = float(np.median(np.diag(disparity)))
    found = picking.within(dpvar(budget))
    allowed = np.diag(disparity) <= budget
    mse = ((predictions - target) ** 2).mean(axis=1)
    assert found.proportions.argmax() == np.flatnonzero(allowed)[mse[allowed].argmin()]
    assert found.proportions.sum() == 1
    with pytest.raises(OutOfReach, match="A DPVar of"):
        picking.within(dpvar(picking.smallest(DPVAR) / 2))
    with pytest.raises(OutOfReach, match="A share of DPVar in the variance of") as error:
        picking.within(share(picking.smallest(SHARE) / 2))
    assert error.value.smallest == picking.smallest(SHARE)
    assert Stacked().over(predictions, target, weight, disparity).within(dpvar(budget)).mse <= found.mse + 0.01


def test_small_proportions_are_dropped():
    np.testing.assert_allclose(
        without_small_proportions(np.array([0.5, 0.0005, 0.4995])), [0.5002501, 0, 0.4997499], atol=1e-6
    )


def test_refuses_numbers_that_are_none():
    with pytest.raises(InvalidInput, match="zeta="):
        Mixing.of(*instance(0)).weighted(-1.0)
    with pytest.raises(InvalidInput, match="ridge="):
        Stacked(ridge=-1.0)


def test_weights_of_rows_equal_repeated_rows():
    predictions, target, _, disparity = instance(6)
    times = np.random.default_rng(0).integers(0, 4, len(target))
    weighted = Mixing.of(predictions, target, times / times.sum(), disparity).within(dpvar(0.05))
    repeated = Mixing.of(
        predictions.repeat(times, axis=1), target.repeat(times), np.full(times.sum(), 1 / times.sum()), disparity
    ).within(dpvar(0.05))
    np.testing.assert_allclose(weighted.proportions, repeated.proportions, atol=1e-6)


def test_a_share_is_not_met_by_shrinking():
    """The scale of a mixture with the constant does not change its share: the best scale is taken."""
    random = np.random.default_rng(0)
    a, free, target = random.normal(size=(3, 4000))
    target = a + free + 0.1 * target
    candidates = np.stack([a + free, free, np.zeros(4000)])
    disparity = np.diag([1.0, 0.0, 0.0])
    mixing = Mixing.of(candidates, target, np.full(4000, 1 / 4000), disparity, ridge=1e-6)
    for limit in (0.05, 0.2):
        found = mixing.within(share(limit))
        grid = np.linspace(0, 1, 401)
        tried = [mixing.figures(np.array([v, 1 - v, 0.0])) for v in grid]
        best = min(each.mse for each in tried if each.share <= limit)
        assert found.share <= limit * (1 + 1e-6)
        assert found.mse == pytest.approx(best, rel=0.01)
        assert found.proportions[2] == pytest.approx(0.0, abs=0.02)
