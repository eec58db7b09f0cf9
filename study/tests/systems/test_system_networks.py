"""FairBatch, BiFair, FairBiNN, BADR and reductions against special cases and float64 derivatives."""

import warnings
from dataclasses import replace

import numpy as np
import torch

from fairlevel.networks.network import Network
from fairlevel_study.systems.networks import (
    BADR,
    BatchShares,
    BiFair,
    FairBatch,
    FairBiNN,
    GroupFits,
    Reductions,
    Stack,
    descend,
    of_layer,
    onto_simplex,
    plain_network,
)
from fairlevel_study.systems.protocol import GroupVariance, groups_of
from study.tests.systems.rows import SETUP, data

DOUBLE = torch.empty(0, dtype=torch.float64)


def test_fairbatch_shares_by_hand():
    """Two groups of 4 and 2 rows; the first one's average is too low, so its upper half is drawn more often."""
    groups = GroupVariance.of(np.array([0, 0, 0, 0, 1, 1]), 2, DOUBLE)
    upper = torch.tensor([0, 0, 0, 1, 0, 1], dtype=torch.float64)
    shares = BatchShares(groups, upper, torch.tensor([[0.0], [0.05]], dtype=torch.float64))
    assert torch.allclose(shares.probabilities(), torch.full((2, 6), 1 / 6, dtype=torch.float64))
    shares.update(torch.tensor([[0.0, 0, 0, 0, 3, 3]] * 2, dtype=torch.float64))
    expected = [4 / 6 * 0.70 / 3] * 3 + [4 / 6 * 0.30, 2 / 6 * 0.55, 2 / 6 * 0.45]
    assert torch.allclose(shares.probabilities()[1], torch.tensor(expected, dtype=torch.float64))
    assert torch.allclose(shares.probabilities().sum(dim=1), torch.ones(2, dtype=torch.float64))
    assert torch.allclose(shares.probabilities()[0], torch.full((6,), 1 / 6, dtype=torch.float64))


def test_fairbatch_shares_oscillate_by_one_step_around_equal_averages():
    groups = GroupVariance.of(np.array([0, 0, 1, 1]), 2, DOUBLE)
    upper = torch.tensor([0, 1, 0, 1], dtype=torch.float64)
    shares = BatchShares(groups, upper, torch.tensor([[0.01]], dtype=torch.float64))
    start, seen = shares.upper_share.clone(), []
    for step in range(20):
        gap = 1e-3 * (-1) ** step
        shares.update(torch.tensor([[gap, gap, -gap, -gap]], dtype=torch.float64))
        seen.append((shares.upper_share - start).abs().max())
    assert max(seen) < 0.0101


def test_fairbatch_and_bifair_without_strength_train_as_usual():
    given = data()
    plain = plain_network(given.x, given.y, SETUP, 0.1).predict(given.x)[0]
    assert np.abs(FairBatch().fit(given, (0.0, 0.02), SETUP).predict(given.x)[0] - plain).max() < 1e-3
    still = BiFair(weight_rate=1e-12).fit(given, (0.0, 5.0), SETUP).predict(given.x)
    assert np.abs(still - plain).max() < 1e-3


def test_bifair_hypergradient_in_float64():
    given, system = data(rows=40), BiFair(look_ahead=0.3)
    stack = Stack.of(given.x, given.y, 2, SETUP, 0.1)
    stack = replace(
        stack, inputs=stack.inputs.double(), target=stack.target.double(), parameters=stack.parameters.double()
    )
    groups = groups_of("bifair", given.a, 4, 0)
    variance = GroupVariance.of(groups.number(given.a), 4, DOUBLE)
    gamma = torch.tensor([0.0, 3.0], dtype=torch.float64)
    weight = torch.rand(2, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def outer(weight):
        """By a chain of its own: one step of plain descent on the weighted error, then the outer objective."""
        parameters = stack.parameters.clone().requires_grad_()
        error = (weight * (stack.predict(parameters) - stack.target) ** 2).mean(1)
        (slope,) = torch.autograd.grad(error.sum(), parameters)
        there = stack.predict(parameters.detach() - 0.3 * slope)
        return ((there - stack.target) ** 2).mean(dim=1) + gamma * variance.value(there)

    gradient, found = system.gradients(stack, weight, gamma, variance)
    for row in (0, 7, 39):
        step = torch.zeros_like(weight)
        step[:, row] = 1e-4
        expected = (outer(weight + step) - outer(weight - step)) / 2e-4
        assert torch.allclose(found[:, row], expected, rtol=1e-6, atol=1e-10)
    prediction, activations = stack.network.forward(stack.parameters, stack.inputs)
    by_hand = stack.network.pullback(stack.parameters, activations, weight * 2 / 40 * (prediction - stack.target))
    assert torch.allclose(gradient, by_hand, rtol=1e-10, atol=1e-14)


def test_fairbinn_layer_stays_where_its_step_is_zero_and_no_other_sees_disparity():
    given = data()
    start = Network(given.x.shape[1], (8, 8, 8))
    fair = of_layer(start, 1).bool()
    still, moved = torch.from_numpy(FairBiNN().fit(given, (0.0, 1.0), SETUP).parameters)
    assert torch.equal(still[fair], start.init(SETUP.seed)[fair])
    assert not torch.equal(moved[fair], still[fair])
    assert not torch.equal(still[~fair], start.init(SETUP.seed)[~fair])


def test_fairbinn_first_step_by_autograd():
    """After one step of Adam every parameter has moved by the sign of its own player's gradient."""
    given = data()
    one = replace(SETUP, optimizer=replace(SETUP.optimizer, steps=1))
    (after,) = torch.from_numpy(FairBiNN(position=2).fit(given, (0.5,), one).parameters).double()
    network = Network(given.x.shape[1], (8, 8, 8))
    start = network.init(SETUP.seed).double()
    groups = groups_of("fairbinn", given.a, 4, 0)
    variance = GroupVariance.of(groups.number(given.a), 4, DOUBLE)
    inputs, target = torch.from_numpy(given.x), torch.from_numpy(given.y)
    parameters = start[None].requires_grad_()
    f = network.forward_all(parameters, inputs)[0].squeeze(-1)
    (of_error,) = torch.autograd.grad(((f - target) ** 2).mean(), parameters, retain_graph=True)
    (of_disparity,) = torch.autograd.grad(variance.value(f).sum(), parameters)
    fair = of_layer(network, 2).double()
    rate = 0.1 * SETUP.rate_scale
    expected = -rate * ((1 - fair) * of_error[0].sign() + 0.5 * fair * of_disparity[0].sign())
    clear = torch.where(fair > 0, of_disparity[0].abs(), of_error[0].abs()) > 1e-4
    assert clear.sum() > 100
    assert torch.allclose((after - start.detach())[clear], expected[clear], rtol=2e-3, atol=1e-6)


def fits(groups=2):
    random = np.random.default_rng(0)
    number = random.integers(0, groups, 200)
    features = np.c_[random.standard_normal((200, 3)) + number[:, None], np.ones(200)]
    y = features @ [1.0, -0.5, 0.2, 0.1] + np.where(number == 0, features[:, 0], 0) + random.standard_normal(200)
    return GroupFits.of(features, y, number, 1e-3), features, y, number


def outer_and_gradient(problem, weights, gamma):
    value, slope = problem.hypergradient(torch.from_numpy(weights), torch.from_numpy(gamma))
    return value.numpy(), slope.numpy()


def test_badr_hypergradient_by_differences():
    problem, *_ = fits(groups=3)
    weights, gamma = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([0.0, 4.0])
    _, slope = outer_and_gradient(problem, weights, gamma)
    for group in range(3):
        step = 1e-6 * np.eye(3)[group]
        above, below = (outer_and_gradient(problem, weights + sign * step, gamma)[0] for sign in (1, -1))
        assert np.allclose((above - below) / 2e-6, slope[:, group], rtol=1e-6, atol=1e-8)


def test_badr_outer_objective_is_what_it_says():
    problem, features, y, number = fits()
    solution = problem.solution(torch.tensor([[0.3, 0.7]], dtype=torch.float64))
    f = features @ solution[0].numpy()
    means = np.array([f[number == group].mean() for group in (0, 1)])
    expected = ((f - y) ** 2).mean() + 4 * means[number].var()
    assert np.isclose(float(problem.outer(solution, torch.tensor([4.0]))), expected)


def test_badr_finds_the_best_weights_of_two_groups():
    problem, *_ = fits()
    gamma = np.array([0.0, 1.0, 10.0])
    found = descend(problem, torch.from_numpy(gamma), 300).numpy()
    grid = np.linspace(0, 1, 2001)
    for number, strength in enumerate(gamma):
        values = outer_and_gradient(problem, np.c_[grid, 1 - grid], np.full(len(grid), strength))[0]
        own = outer_and_gradient(problem, found[number : number + 1], gamma[number : number + 1])[0][0]
        assert own <= values.min() + 1e-6
    assert np.allclose(found[0], problem.variance.share, atol=0.02)  # without disparity the plain fit is best


def test_badr_predicts_with_the_solved_head():
    given = data()
    members = BADR(bins=2).fit(given, (0.0,), SETUP)
    body = plain_network(given.x, given.y, SETUP, 0.1)
    phi = np.c_[body.features(given.x), np.ones(len(given.y))]
    least = phi @ np.linalg.solve(phi.T @ phi / len(phi) + 1e-3 * np.eye(phi.shape[1]), phi.T @ given.y / len(phi))
    own, plain = (((f - given.y) ** 2).mean() for f in (members.predict(given.x)[0], least))
    assert own <= plain + 1e-9  # without disparity the search starts at the plain fit and never rises
    assert np.abs(members.predict(given.x)[0] - least).max() < 0.2


def test_nearest_point_of_the_simplex():
    points = torch.tensor([[0.2, 0.3, 0.5], [2.0, 0.0, 0.0], [0.6, 0.6, -1.0]])
    assert np.allclose(onto_simplex(points), [[0.2, 0.3, 0.5], [1, 0, 0], [0.5, 0.5, 0]])


def test_reductions_are_those_of_fairlearn():
    """The same models as fairlearn's grid search makes of the same learner, weights included."""
    given = data(rows=80)
    members = Reductions(bins=2).fit(given, (0.0, 1.0, 2.0), SETUP)
    number = groups_of("reductions", given.a, 2, 0).number(given.a)
    from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss

    seen = []

    class Recorder:
        def fit(self, X, y, sample_weight):
            seen.append(np.asarray(sample_weight))
            return self

        def predict(self, X):
            return np.zeros(len(X))

    loss = SquareLoss(given.y.min(), given.y.max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GridSearch(Recorder(), BoundedGroupLoss(loss), grid_size=3).fit(given.x, given.y, sensitive_features=number)
    for prediction, weight in zip(members.predict(given.x), seen, strict=True):
        own = plain_network(given.x, given.y, SETUP, 0.1, weight)
        assert np.abs(own.predict(given.x)[0] - prediction).max() < 1e-9
