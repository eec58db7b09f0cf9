"""Every predictor, a user's module included: its learner follows gradients, its members predict what it predicted."""

import numpy as np
import pytest
import torch
from torch import nn

from fairlevel.members import members_of
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.predictors import PREDICTORS, Boosting, Configurations, TorchModule
from fairlevel.predictors.protocol import Move

ROWS, FEATURES = 40, 4
CPU = torch.device("cpu")


def module(*layers):
    torch.manual_seed(0)
    return TorchModule(nn.Sequential(nn.Linear(FEATURES, 6), nn.Tanh(), *layers, nn.Linear(6, 1)))


CASES = {
    **{name: predictor() for name, predictor in PREDICTORS.items()},
    "boosting": Boosting(rows_in_leaf=3),
    "stacked module": module(),
    "module with dropout": module(nn.Dropout(0.3)),
    "module with batch norm": module(nn.BatchNorm1d(6)),
}


@pytest.fixture(params=CASES)
def case(request):
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((ROWS, FEATURES)))
    factory = CASES[request.param].prepare(x, seed=1, device=CPU)
    return request.param, factory, x


PLAIN = GradientDescent(0.05, steps=10)


class Around:
    """The surroundings of a squared error without a penalty, whose minimum is always one full step away."""

    def __init__(self, configs):
        self.configs, self.row_count = configs, float(ROWS)

    def row_curvature(self):
        return torch.full((self.configs, ROWS), 2 / ROWS)

    def step_along(self, direction, rate):
        return Move(torch.full((self.configs,), rate))


def learner(factory, x, configs=3, optimizer=PLAIN):
    """A learner of so many configurations, or of as many as it trains together; its inputs; its surroundings."""
    inputs = factory.inputs(x)
    configs = min(configs, factory.tiling(ROWS, configs).size)
    made = factory.learner(Configurations.of(np.zeros(configs), optimizer.learning_rate), optimizer)
    return made, inputs, Around(configs)


def test_preparation_is_reproducible_and_does_not_depend_on_the_rows_predicted(case):
    name, factory, x = case
    again = CASES[name].prepare(x, seed=1, device=CPU)
    assert torch.equal(factory.inputs(x), again.inputs(x))
    torch.testing.assert_close(factory.inputs(x[:7]), factory.inputs(x)[:7], rtol=1e-5, atol=1e-6)


def test_following_the_gradient_of_a_loss_lowers_it(case):
    _, factory, x = case
    target = (x[:, 0] - x[:, 1]).float()
    own, inputs, around = learner(factory, x)
    before = (own.evaluate(inputs) - target).square().mean(dim=1)
    with torch.no_grad():
        for _ in range(60):
            own.follow(2 * (own.predictions(inputs) - target) / ROWS, torch.ones(around.configs), around)
    after = (own.evaluate(inputs) - target).square().mean(dim=1)
    assert (after < 0.5 * before).all()
    torch.testing.assert_close(
        after, after[:1].expand(len(after)), rtol=1e-4, atol=1e-6
    )  # equal configurations stay equal


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"module with dropout", "boosting"}), indirect=True)
def test_one_step_is_a_step_against_the_pullback(case):
    """Plain gradient descent in parameters moves predictions by −η J Jᵀ g to first order. A tree is no step in
    parameters, and with dropout predictions in training are random.
    """
    _, factory, x = case
    rate = 1e-4
    own, inputs, around = learner(factory, x, 1, GradientDescent(rate, steps=1))
    gradient = torch.randn(1, ROWS, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        before = own.predictions(inputs)
        own.follow(gradient, torch.ones(1), around)
        moved = (own.predictions(inputs) - before) / rate
    fall = float((gradient * moved).sum())
    assert fall < 0  # −‖Jᵀg‖²
    own.follow(torch.zeros(1, ROWS), torch.ones(1), around)
    torch.testing.assert_close(own.predictions(inputs), before + rate * moved)  # a zero gradient moves nothing
    halved, _, around = learner(factory, x, 1, GradientDescent(rate, steps=1))
    with torch.no_grad():
        start = halved.predictions(inputs)
        halved.follow(gradient, torch.full((1,), 2.0), around)
        other = (halved.predictions(inputs) - start) / rate
    torch.testing.assert_close(other, moved / 2, rtol=0.05, atol=0.05 * float(moved.abs().max()))


def test_snapshots_are_kept_by_configuration(case):
    _, factory, x = case
    own, inputs, around = learner(factory, x, 2, Adam(0.05, steps=20))
    gradient = inputs[:, :1].T.float().expand(around.configs, -1).contiguous()
    with torch.no_grad():
        start = own.evaluate(inputs).clone()
        own.predictions(inputs)
        own.follow(gradient, torch.ones(around.configs), around)
        first = own.evaluate(inputs).clone()
        own.snapshot(torch.tensor([True, False][: around.configs]))
        own.predictions(inputs)
        own.follow(gradient, torch.ones(around.configs), around)
        own.restore()
    found = own.evaluate(inputs)
    torch.testing.assert_close(found[0], first[0])
    torch.testing.assert_close(found[1:], start[1:])
    assert not torch.allclose(first, start)


@pytest.mark.parametrize("case", [name for name, own in CASES.items() if own.linear_head], indirect=True)
def test_training_changes_what_a_linear_head_reads_unless_it_is_fixed(case):
    name, factory, x = case
    own, inputs, around = learner(factory, x)
    before = own.model().features(x.numpy())
    with torch.no_grad():
        own.follow(own.predictions(inputs) + 1, torch.ones(around.configs), around)
    after = own.model().features(x.numpy())
    assert np.array_equal(before, after) == CASES[name].fixed_features


def test_members_predict_what_the_learner_predicted(case):
    _, factory, x = case
    own, inputs, around = learner(factory, x)
    with torch.no_grad():
        for weight in (1.0, 2.0):
            scale = torch.tensor([0.0, 1.0, weight])[: around.configs].unsqueeze(1)
            gradient = scale * own.predictions(inputs) / ROWS + inputs[:, :1].T.float() / ROWS
            own.follow(gradient, torch.ones(around.configs), around)
    members = own.model()
    count = around.configs
    assert len(members) == count
    found = members.predict(x.numpy())
    np.testing.assert_allclose(found, own.evaluate(inputs).numpy(), rtol=1e-3, atol=1e-4)
    exact = {"rtol": 1e-12, "atol": 1e-14}  # products of several matrices round otherwise than those of one
    last = np.array([count - 1])
    np.testing.assert_allclose(members.take(last).predict(x.numpy()), found[last], **exact)
    joined = members.take(last).join([members])
    np.testing.assert_allclose(joined.predict(x.numpy()), found[[*last, *range(count)]], **exact)
    described = {**members.description(), "module": getattr(factory, "template", None), "n_features": FEATURES}
    again = members_of(members.kind).from_file(members.arrays(), members.texts(), described)
    np.testing.assert_array_equal(again.predict(x.numpy()), found)
    assert members.predict(np.empty((0, FEATURES))).shape == (count, 0)
