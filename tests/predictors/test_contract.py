"""Every predictor, a user's module included: its learner follows gradients, its members predict what it predicted."""

import numpy as np
import pytest
import torch
from torch import nn

from fairlevel.arrays import numpy_array
from fairlevel.members import members_of
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.networks.torch_module import TorchModule
from fairlevel.predictors import PREDICTORS, Boosting, Configurations

ROWS, FEATURES = 40, 4
CPU = "cpu"


def module(*layers):
    torch.manual_seed(0)
    return TorchModule(nn.Sequential(nn.Linear(FEATURES, 6), nn.Tanh(), *layers, nn.Linear(6, 1)))


CASES = {
    **{name: predictor() for name, predictor in PREDICTORS.items()},
    "mlp": MLP(),
    "boosting": Boosting(rows_in_leaf=3),
    "stacked module": module(),
    "module with dropout": module(nn.Dropout(0.3)),
    "module with batch norm": module(nn.BatchNorm1d(6)),
}


@pytest.fixture(params=CASES)
def case(request):
    x = np.random.default_rng(0).standard_normal((ROWS, FEATURES))
    factory = CASES[request.param].prepare(x, seed=1, device=CPU)
    return request.param, factory, x


PLAIN = GradientDescent(0.05, steps=10)


def numbers(predictions):
    """A copy in NumPy; a module's predictions are part of a graph."""
    return np.array(numpy_array(predictions))


class Around:
    """The surroundings of a squared error whose minimum is always one full step away."""

    def __init__(self, factory, configs, bound=1.0):
        self.configs, self.row_count, self.array, self.largest = configs, float(ROWS), factory.backend.array, bound

    def of_rows(self):
        return self.array(np.full((self.configs, ROWS), 2 / ROWS))

    def step_along(self, direction, rate, slope=0.0, bend=0.0):
        return self.array(np.full(self.configs, rate))

    @property
    def bound(self):
        return self.array(np.full(self.configs, self.largest))


def learner(factory, x, configs=3, optimizer=PLAIN):
    """A learner of so many configurations, or of as many as it trains together; its inputs; its surroundings."""
    inputs = factory.inputs(x)
    configs = min(configs, factory.tiling(ROWS, configs).size)
    made = factory.learner(Configurations.of(np.zeros(configs), optimizer.learning_rate), optimizer)
    return made, inputs, Around(factory, configs)


def test_preparation_is_reproducible_and_does_not_depend_on_the_rows_predicted(case):
    name, factory, x = case
    again = CASES[name].prepare(x, seed=1, device=CPU)
    assert np.array_equal(factory.inputs(x), again.inputs(x))
    np.testing.assert_allclose(factory.inputs(x[:7]), factory.inputs(x)[:7], rtol=1e-5, atol=1e-6)


def test_following_the_gradient_of_a_loss_lowers_it(case):
    _, factory, x = case
    own, inputs, around = learner(factory, x)
    target = around.array(x[:, 0] - x[:, 1])
    before = ((own.predict(inputs) - target) ** 2).mean(1)
    for _ in range(60):
        own.follow(2 * (own.forward(inputs) - target) / ROWS, around)
    after = ((own.predict(inputs) - target) ** 2).mean(1)
    assert (after < 0.5 * before).all()
    np.testing.assert_allclose(after, np.full(len(after), after[0]), rtol=1e-4, atol=1e-6)  # equal ones stay equal


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"module with dropout", *PREDICTORS}), indirect=True)
def test_one_step_is_a_step_against_the_pullback(case):
    """Plain gradient descent in parameters moves predictions by −η J Jᵀ g to first order. Trees and solved models take
    no such steps, and with dropout predictions in training are random.
    """
    _, factory, x = case
    rate = 1e-4
    own, inputs, around = learner(factory, x, 1, GradientDescent(rate, steps=1))
    gradient = torch.randn(1, ROWS, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        before = own.forward(inputs)
        own.follow(gradient, around)
        moved = (own.forward(inputs) - before) / rate
    fall = float((gradient * moved).sum())
    assert fall < 0  # −‖Jᵀg‖²
    own.follow(torch.zeros(1, ROWS), around)
    torch.testing.assert_close(own.forward(inputs), before + rate * moved)  # a zero gradient moves nothing
    halved, _, _ = learner(factory, x, 1, GradientDescent(rate, steps=1))
    with torch.no_grad():
        start = halved.forward(inputs)
        halved.follow(gradient, Around(factory, 1, 2.0))
        other = (halved.forward(inputs) - start) / rate
    torch.testing.assert_close(other, moved / 2, rtol=0.05, atol=0.05 * float(moved.abs().max()))


def test_snapshots_are_kept_by_configuration(case):
    _, factory, x = case
    own, inputs, around = learner(factory, x, 2, Adam(0.05, steps=20))
    gradient = around.array(np.repeat(x[:, :1].T, around.configs, axis=0))
    start = numbers(own.predict(inputs))
    own.forward(inputs)
    own.follow(gradient, around)
    first = numbers(own.predict(inputs))
    own.snapshot(np.array([True, False][: around.configs]))
    own.forward(inputs)
    own.follow(gradient, around)
    own.restore()
    restored = numbers(own.predict(inputs))
    np.testing.assert_allclose(restored[0], first[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(restored[1:], start[1:], rtol=1e-5, atol=1e-6)
    assert not np.allclose(first, start)


@pytest.mark.parametrize("case", [name for name, own in CASES.items() if own.linear_head], indirect=True)
def test_training_changes_what_a_linear_head_reads_unless_it_is_fixed(case):
    name, factory, x = case
    own, inputs, around = learner(factory, x)
    before = own.model().features(x)
    own.follow(own.forward(inputs) + around.array(x[:, 0]), around)
    after = own.model().features(x)
    assert np.array_equal(before, after) == CASES[name].fixed_features


def test_members_predict_what_the_learner_predicted(case):
    _, factory, x = case
    own, inputs, around = learner(factory, x)
    for weight in (1.0, 2.0):
        scale = around.array(np.array([0.0, 1.0, weight])[: around.configs, None])
        gradient = scale * own.forward(inputs) / ROWS + around.array(x[:, :1].T) / ROWS
        own.follow(gradient, around)
    members = own.model()
    count = around.configs
    assert len(members) == count
    found = members.predict(x)
    np.testing.assert_allclose(found, numbers(own.predict(inputs)), rtol=1e-3, atol=1e-4)
    exact = {"rtol": 1e-12, "atol": 1e-14}  # products of several matrices round otherwise than those of one
    last = np.array([count - 1])
    np.testing.assert_allclose(members.take(last).predict(x), found[last], **exact)
    joined = members.take(last).join([members])
    np.testing.assert_allclose(joined.predict(x), found[[*last, *range(count)]], **exact)
    again = members_of(members.kind).from_file(members.written(), getattr(factory, "template", None))
    np.testing.assert_array_equal(again.predict(x), found)
    assert members.predict(np.empty((0, FEATURES))).shape == (count, 0)
