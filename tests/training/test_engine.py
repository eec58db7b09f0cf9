from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.scaling import Scaler
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import FairLevelError
from fairlevel.networks.backend import TorchBackend, resolve_device
from fairlevel.networks.mlp import MLP
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Adam, GradientDescent
from fairlevel.networks.penalties import FBO
from fairlevel.penalties import GDP, NAMES, ClosedFBO, LinearR2, NoPenalty, RootFBO, resolve_penalty
from fairlevel.predictors import Boosting, Configurations, Linear, RandomFeatures
from fairlevel.predictors.linear import LEAST_RIDGE, leave_one_out_ridge
from fairlevel.training.outcome import Status
from fairlevel.training.rows import AllRows, TrainingRows
from tests.contracts.penalty_cases import FEW_STEPS
from tests.drawn_rows import TENSORS
from tests.trained import train

WEIGHTS = np.r_[0, np.logspace(-2, 0.5, 23)]
ROUNDING = 0.01  # of the step size, after two steps
OPTIMIZERS = {"gd": GradientDescent(0.05, steps=2), "adam": Adam(0.01, steps=2)}


def samples(rows=151, seed=0):
    drawn = SyntheticDesign(attributes=4).sample(rows, seed)
    x, a, y = (Scaler.fit(values).transform(values) for values in (drawn.x, drawn.a, drawn.y))
    return TrainingRows(x, y, Attributes(a))


@cache
def all_samples():
    """Prepared once for all trainings on them."""
    return AllRows(samples())


def parameters(weights, rates, penalty, predictor, optimizer):
    grid = Configurations.of(weights, rates)
    rows = all_samples()
    return train(rows, grid, penalty=penalty, predictor=predictor, optimizer=optimizer, device="cpu")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("penalty", sorted(NAMES))
def test_a_network_is_the_same_alone_and_in_a_grid(penalty, optimizer):
    """Up to rounding, which grows with the number of steps; the same call twice gives the same bits."""
    chosen = FEW_STEPS.get(penalty) or resolve_penalty(penalty), MLP(), OPTIMIZERS[optimizer]
    rate = chosen[2].learning_rate
    grid = parameters(WEIGHTS, rate, *chosen).members.parameters
    assert np.array_equal(parameters(WEIGHTS, rate, *chosen).members.parameters, grid)
    alone = parameters(WEIGHTS[9:10], rate, *chosen).members.parameters
    np.testing.assert_allclose(alone[0], grid[9], rtol=0, atol=ROUNDING * rate)

    rates = np.full(24, rate)
    rates[10] = 1e6
    with_diverging = parameters(WEIGHTS, rates, *chosen)
    others = np.arange(24) != 10
    assert with_diverging.status[10] is Status.DIVERGED
    assert Status.DIVERGED not in [status for status, fine in zip(with_diverging.status, others, strict=True) if fine]
    beside = with_diverging.members.parameters[others]
    np.testing.assert_allclose(beside, grid[others], rtol=0, atol=ROUNDING * rate)


@pytest.mark.parametrize("penalty", [ClosedFBO(), LinearR2(), RootFBO(), GDP()], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("predictor", [Linear(), RandomFeatures(features=60)], ids=lambda predictor: predictor.name)
def test_a_linear_model_is_the_same_alone_and_in_a_grid(penalty, predictor):
    rows = AllRows(samples())
    together, again = (train(rows, Configurations.of(WEIGHTS, 0.1), penalty=penalty, predictor=predictor) for _ in "12")
    alone = train(rows, Configurations.of(WEIGHTS[9:10], 0.1), penalty=penalty, predictor=predictor)
    x = rows.rows.x
    assert np.array_equal(together.members.predict(x), again.members.predict(x))
    np.testing.assert_allclose(alone.members.predict(x)[0], together.members.predict(x)[9], atol=2e-3)


def test_a_linear_model_is_the_dense_optimum():
    """Loss + weight · penalty + the ridge, against one solve in float64."""
    rows, penalty, weights = samples(300), ClosedFBO(), np.array([0.0, 2.0, 40.0])
    trained = train(AllRows(rows), Configurations.of(weights, 0.1), penalty=penalty, predictor=Linear())
    members = trained.members
    z = members.input_map(rows.x)
    assert abs(z.mean(axis=0)).max() < 1e-12
    ridge = leave_one_out_ridge(z, rows.y, np.full(300, 1 / 300), LEAST_RIDGE) * (z**2).mean()
    smoother = penalty.prepare(rows.attributes, seed=0)
    S = smoother.functions * smoother.shrinkage @ smoother.functions.T / 300**2
    for weight, prediction in zip(weights, members.predict(rows.x), strict=True):
        left = z.T @ z / 300 + weight * z.T @ S @ z + ridge * np.eye(z.shape[1])
        dense = rows.y.mean() + z @ np.linalg.solve(left, z.T @ (rows.y - rows.y.mean()) / 300)
        np.testing.assert_allclose(prediction, dense, atol=2e-3)


def test_objective_falls_and_the_trace_ends_with_the_outcome():
    trained = train(
        AllRows(samples()),
        Configurations.of([0.0, 1.0, 5.0], 0.01),
        penalty=ClosedFBO(),
        predictor=MLP(),
        optimizer=Adam(0.01, steps=200),
    )
    objective = trained.trace.loss + np.array([0.0, 1.0, 5.0]) * trained.trace.penalty
    assert (objective[-1] < 0.6 * objective[0]).all()
    assert trained.trace.step[-1] == 200
    assert np.array_equal(trained.trace.loss[-1], trained.loss)
    assert (trained.penalty[1:] < trained.penalty[:-1]).all()
    assert set(trained.status) == {Status.FINISHED}


def test_engine_matches_a_plain_torch_loop(monkeypatch):
    """One configuration of closed-form FBO against nn.Module, autograd and torch.optim, in float64."""
    monkeypatch.setattr(TorchBackend.__init__, "__defaults__", (torch.float64,))
    data = samples(120)
    penalty = ClosedFBO()
    optimizer = Adam(0.01, steps=15, final_fraction=1.0)
    trained = train(
        AllRows(data), Configurations.of([2.0], 0.01), penalty=penalty, predictor=MLP(), optimizer=optimizer, seed=4
    )
    network = Network(10)
    row = network.init(4)
    module = torch.nn.Sequential(
        torch.nn.Linear(10, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)
    ).double()
    with torch.no_grad():
        for layer, linear in zip(network.layers, module[::2], strict=True):
            linear.weight.copy_(row[layer.weight].reshape(layer.shape).T)
            linear.bias.copy_(row[layer.bias])
    smoother = penalty.prepare(data.attributes, seed=4).to(TENSORS)
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    start = module(x)[:, 0].detach()
    peer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(15):
        f = module(x)[:, 0]
        h = smoother.apply(f[None])[0]
        loss = ((f - y).square().mean() + 2.0 * ((h - h.mean()) * f).mean()) / 3.0
        peer.zero_grad()
        loss.backward()
        peer.step()
    ours = network.forward(torch.from_numpy(trained.members.parameters), x)[0][0]
    torch.testing.assert_close(ours, module(x)[:, 0].detach(), rtol=0, atol=1e-9)
    assert (ours - start).std() > 0.1


def test_early_stopping_returns_the_best_parameters_it_saw():
    data, held = samples(80), samples(400, seed=1)
    settings = {"penalty": ClosedFBO(), "predictor": MLP(), "optimizer": Adam(0.03, steps=400)}
    grid = Configurations.of([0.0, 1.0, 10.0], 0.03)
    stopped = train(AllRows(data), grid, held_out=held, **settings)
    full = train(AllRows(data), grid, **settings)

    def held_out_error(trained):
        return ((trained.members.predict(held.x) - held.y) ** 2).mean(axis=1)

    assert held_out_error(stopped)[0] < held_out_error(full)[0]
    assert (stopped.steps < 400).all()
    assert Status.STOPPED_EARLY in stopped.status
    alone = train(AllRows(data), Configurations.of([1.0], 0.03), held_out=held, **settings)
    np.testing.assert_allclose(alone.members.predict(held.x)[0], stopped.members.predict(held.x)[1], atol=0.02)


@pytest.mark.parametrize("steps", [5, 13])
def test_early_stopping_considers_the_last_step(steps):
    settings = {"penalty": NoPenalty(), "predictor": MLP(), "optimizer": Adam(0.01, steps=steps)}
    grid = Configurations.of([0.0], 0.01)
    assert train(AllRows(samples(200)), grid, held_out=samples(200, seed=1), **settings).steps.tolist() == [steps]


def test_divergence_is_seen_with_held_out_rows_too():
    settings = {"penalty": NoPenalty(), "predictor": MLP(), "optimizer": GradientDescent(1e3, steps=100)}
    outcome = train(AllRows(samples(200)), Configurations.of([0.0], 1e3), held_out=samples(200, seed=1), **settings)
    assert outcome.status == (Status.DIVERGED,)


def test_progress_counts_every_tile():
    seen = []
    train(
        AllRows(samples(50)),
        Configurations.of(np.linspace(0, 1, 40), 0.01),  # three tiles
        penalty=NoPenalty(),
        predictor=MLP(),
        optimizer=Adam(steps=10),
        device="cpu",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (30, 30)
    assert seen == sorted(seen)


def test_devices():
    assert resolve_device("cpu").type == "cpu"
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(FairLevelError, match="Known: auto, cpu, cuda"):
        resolve_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(FairLevelError, match="device='cpu'"):
            resolve_device("cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("penalty", sorted(NAMES))
def test_cuda_agrees_with_the_cpu(penalty):
    grid = Configurations.of(WEIGHTS[:6], 0.01)
    settings = {"penalty": resolve_penalty(penalty), "predictor": MLP(), "optimizer": Adam(0.01, steps=50)}
    rows = AllRows(samples())
    here, there = (train(rows, grid, device=device, **settings) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(here.loss, there.loss, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_agrees_with_the_cpu_where_steps_are_given():
    grid = replace(Configurations.of([0.0, 1.0, 3.0], 0.01), steps=np.array([1, 20, 50]))
    settings = {"penalty": ClosedFBO(), "predictor": MLP(), "optimizer": Adam(0.01, steps=50)}
    here, there = (train(AllRows(samples()), grid, device=device, **settings) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(here.loss, there.loss, rtol=1e-3, atol=1e-4)
    assert there.steps.tolist() == [1, 20, 50]


@pytest.mark.parametrize("weight", [[-1.0], [float("nan")], [float("inf")]])
def test_bad_weights_are_refused(weight):
    with pytest.raises(FairLevelError, match="finite numbers"):
        Configurations.of(weight, 0.1)


def test_statuses_do_not_depend_on_what_is_trained_beside():
    data, held = samples(80), samples(400, seed=1)
    settings = {"penalty": NoPenalty(), "predictor": MLP(), "optimizer": Adam(0.03, steps=400)}
    rates = [0.03, 1e-5]  # the second improves until the last step
    together = train(AllRows(data), Configurations.of([0.0, 0.0], rates), held_out=held, **settings)
    assert together.status == (Status.STOPPED_EARLY, Status.FINISHED)
    alone = train(AllRows(data), Configurations.of([0.0], rates[:1]), held_out=held, **settings)
    assert alone.status == together.status[:1]


def test_held_out_rows_need_attributes_too():
    held = samples(100, seed=1)
    bare = TrainingRows(held.x, held.y)
    settings = {"penalty": ClosedFBO(), "predictor": MLP(), "optimizer": Adam(steps=5)}
    with pytest.raises(FairLevelError, match="no sensitive attributes"):
        train(AllRows(samples(100)), Configurations.of([1.0], 0.01), held_out=bare, **settings)


def test_all_held_out_rows_count_though_half_of_the_training_rows_do():
    held_out, settings = samples(rows=60, seed=1), {"predictor": MLP(), "optimizer": Adam(0.01, steps=10)}
    grid, penalty = Configurations.of([0.0], 0.01), FBO(inner_steps=1)
    trained = train(AllRows(samples()), grid, penalty=penalty, held_out=held_out, device="cpu", **settings)
    error = (trained.members.predict(held_out.x)[0] - held_out.y) ** 2
    assert trained.held_out.score[-1, 0] == pytest.approx(error.mean(), rel=1e-5)
    assert error[30:].mean() != pytest.approx(error.mean(), rel=0.01)


def test_held_out_scores_begin_with_the_constant_and_end_with_each_configuration():
    rows, held_out = samples(), samples(rows=60, seed=1)
    grid = Configurations.of([0.0, 3.0], 0.1)
    trained = train(
        AllRows(rows), grid, predictor=Boosting(rounds=400), penalty=ClosedFBO(), optimizer=Adam(), held_out=held_out
    )
    steps, score = trained.held_out.step, trained.held_out.score
    assert steps[0] == 0
    assert score[0] == pytest.approx(np.mean(held_out.y**2), rel=1e-5)  # a level model: weights do not matter
    assert np.array_equal(steps[score.argmin(axis=0)], trained.steps)
    prediction = trained.members.predict(held_out.x)[0]
    assert np.mean((prediction - held_out.y) ** 2) == pytest.approx(float(score[:, 0].min()), rel=1e-5)
