"""The loss for PyTorch loops: closed FBO where moments agree, unbiased given its state, one state for all workers."""

import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fairlevel import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.torch import DPVarPenalty
from tests.drawn_rows import gaussian
from tests.penalties.two_workers import gradients, load_example, network, parameters, work

EXAMPLE = Path(__file__).parents[2] / "docs/examples/ddp.py"
FEATURES, RIDGE = 30, 1e-2


def problem(rows=400, attributes=3, seed=0):
    f, a = gaussian(rows, attributes, 1, seed)
    return f[0], a


def smoother(a):
    """The package's own, of the same functions; the loss divides by rows − 1, which moves the ridge."""
    standard = (a - a.mean(axis=0)) / a.std(axis=0)
    width = np.sqrt(2 * a.shape[1]) / median_distance(standard, np.random.default_rng(0))
    return RandomFeaturesMean(features=FEATURES, bandwidth=width).prepare(Attributes(a))


def penalty(**settings):
    return DPVarPenalty(3, **{"features": FEATURES, "ridge": RIDGE} | settings)


def slope_of(loss, f, a):
    f = f.clone().requires_grad_()
    value = loss(f, torch.from_numpy(a))
    value.backward()
    return value.detach(), f.grad


def test_the_value_of_one_batch_is_that_of_closed_fbo():
    f, a = problem()
    rows = len(f)
    own = smoother(a)
    explained = np.square(own.coefficients(f[None].numpy())[0])
    expected = rows / (rows - 1) * explained @ own.shrinkage(RIDGE * (rows - 1) / rows)
    assert float(slope_of(penalty(), f, a)[0]) == pytest.approx(expected, rel=1e-7)


def test_the_first_batch_has_no_gradient():
    f, a = problem()
    assert not slope_of(penalty(), f, a)[1].any()


def test_the_gradient_is_twice_the_conditional_mean_of_the_batches_before():
    (f, a), (other, at) = problem(), problem(seed=1)
    loss, rows = penalty(memory=1.0), len(f)
    slope_of(loss, f, a)
    _, slope = slope_of(loss, other, at)
    found = smoother(a).predict(f[None].numpy(), RIDGE * (rows - 1) / rows, Attributes(at))[0]
    there = torch.from_numpy(found) - f.mean()
    torch.testing.assert_close(slope, 2 * there / rows, rtol=1e-6, atol=1e-9)


def test_on_the_same_rows_it_is_the_derivative_of_the_value():
    """By autograd of P, with its inner problem solved by least squares on stacked rows."""
    f, a = problem()
    loss, rows = penalty(memory=1.0), len(f)
    slope_of(loss, f, a)
    value, slope = slope_of(loss, f, a)
    joint = loss._joint(torch.from_numpy(a), f)[:, :-2]
    z = (joint - joint.mean(dim=0)) / (rows - 1) ** 0.5
    ridge = torch.cat([torch.zeros(3), torch.full((FEATURES,), RIDGE)]).double().sqrt()
    f = f.clone().requires_grad_()
    centred = (f - f.mean()) / (rows - 1) ** 0.5
    stacked = torch.cat([z, torch.diag(ridge)[3:]])
    solution = torch.linalg.lstsq(stacked, torch.cat([centred, torch.zeros(FEATURES)])[:, None], driver="gelsd")[0]
    dense = centred @ z @ solution[:, 0]
    dense.backward()
    torch.testing.assert_close(value, dense.detach(), rtol=1e-6, atol=0)
    torch.testing.assert_close(slope * rows / (rows - 1), f.grad, rtol=1e-5, atol=1e-9)


def test_gradients_of_minibatches_average_to_that_of_all_rows():
    """Given the state, whatever the batches: the average over a partition is the gradient on all rows."""
    f, a = problem(rows=480)
    x = torch.from_numpy(np.column_stack([a, f.numpy()])).float()
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    loss = penalty()
    for batch in torch.randperm(480).split(60):
        loss(net(x[batch]), torch.from_numpy(a[batch]))
    state = {name: value.clone() for name, value in loss.state_dict().items()}

    def gradient(batch):
        loss.load_state_dict(state)
        net.zero_grad()
        loss(net(x[batch]), torch.from_numpy(a[batch])).backward()
        return torch.cat([each.grad.flatten() for each in net.parameters()])

    whole = gradient(torch.arange(480))
    parts = torch.stack([gradient(batch) for batch in torch.randperm(480).split(32)])
    assert whole.norm() > 0.01
    assert (parts - whole).norm(dim=1).min() > 0.01 * whole.norm()  # single batches differ
    torch.testing.assert_close(parts.mean(dim=0), whole, rtol=1e-4, atol=1e-6)


def test_units_of_the_attributes_do_not_matter():
    f, a = problem()
    plain, far = penalty(), penalty()
    for batch in torch.arange(400).split(100):
        here, there = (slope_of(loss, f[batch], at[batch]) for loss, at in ((plain, a), (far, 1e3 * a + 1e9)))
        torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-8)


def test_an_attribute_that_the_first_batch_lacks_is_found_later():
    random = np.random.default_rng(0)
    a = random.standard_normal((3000, 3))
    a[:, 2] = random.random(3000) < 0.1
    a[:100, 2] = 0
    f = torch.from_numpy(3.0 * a[:, 2] + 0.1 * random.standard_normal(3000))
    loss = penalty()
    for batch in torch.arange(3000).split(100):
        value = loss(f[batch], torch.from_numpy(a[batch]))
    assert float(value) == pytest.approx(9 * 0.1 * 0.9, rel=0.15)
    torch.testing.assert_close(loss.attribute_variance, torch.from_numpy(a.var(axis=0)), rtol=1e-9, atol=0)


def test_a_last_batch_of_one_row_hardly_counts():
    f, a = problem()
    loss = penalty()
    before, _ = slope_of(loss, f, a)
    after, _ = slope_of(loss, f[:1], a[:1])
    assert float(after) == pytest.approx(float(before), rel=0.02)


def test_moving_averages_of_minibatches_come_close_to_all_rows():
    """Where f varies mostly with A, so that chance counts for little: the standard error is 2·√(P·Var f / 10,000)."""
    noise, a = problem(rows=8192)
    f = noise + 5 * torch.from_numpy(np.sin(a[:, 0]))
    loss = penalty()
    for batch in torch.randperm(8192, generator=torch.Generator().manual_seed(0)).split(256):
        value = loss(f[batch], torch.from_numpy(a[batch]))
    assert float(value) == pytest.approx(float(penalty()(f, torch.from_numpy(a))), rel=0.05)


def test_training_in_minibatches_removes_the_disparity():
    example, design = load_example(EXAMPLE), SyntheticDesign(beta_int=3.0)
    nets = [example.train(weight, epochs=2) for weight in (0.0, 30.0)]
    plain, level = (
        design.true_dpvar(lambda x, net=net: net(torch.tensor(x).float()).squeeze(1).detach().numpy()).value
        for net in nets
    )
    assert plain > 0.08
    assert level < 0.2 * plain


def test_the_state_is_saved_and_a_change_of_precision_leaves_it_alone():
    (f, a), (other, at) = problem(), problem(seed=1)
    first, again = penalty(), penalty(seed=5)
    slope_of(first, f, a)
    again.load_state_dict(first.half().state_dict())
    assert first.products.dtype == torch.float64
    torch.testing.assert_close(slope_of(first, other, at), slope_of(again, other, at), rtol=0, atol=0)


def test_evaluation_changes_no_state_and_is_zero_on_average_where_nothing_depends_on_a():
    f, a = problem()
    loss = penalty()
    slope_of(loss, f, a)
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    value, _ = slope_of(loss.eval(), f, a)
    centred = f - f.mean()
    above = torch.from_numpy(smoother(a).apply(f[None].numpy(), RIDGE * 399 / 400)[0]) - f.mean()
    torch.testing.assert_close(value, (above * centred).mean(), rtol=1e-6, atol=0)
    assert all(torch.equal(before[name], now) for name, now in loss.state_dict().items())


def test_predictions_of_16_bits_get_a_gradient():
    f, a = problem()
    loss = penalty()
    slope_of(loss, f, a)
    exact = slope_of(loss.eval(), f, a)[1]
    rounded = slope_of(loss, f.bfloat16(), a)[1]
    assert rounded.dtype == torch.bfloat16
    assert float((rounded.double() - exact).norm()) < 0.02 * float(exact.norm())


def test_mixed_precision_leaves_the_moments_alone():
    f, a = problem()
    value, _ = slope_of(penalty(), f.float(), a)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed, _ = slope_of(penalty(), f.float(), a.astype(np.float32))
    torch.testing.assert_close(mixed, value, rtol=1e-4, atol=0)


@pytest.mark.filterwarnings("ignore::UserWarning:torch")  # of the compiler, on what it looks at
@pytest.mark.parametrize("compiled", ["penalty", "step"])
def test_compiled_training_is_the_same(compiled):
    """Values, gradients and moving averages of five steps, with the penalty or the whole step under torch.compile.

    The backend compiles gradients without a C++ compiler; plain ``eager`` does not show what it gets wrong.
    """

    def compile_if(asked, function):
        return torch.compile(function, backend="aot_eager") if asked else function

    def train(penalty_compiled, step_compiled):
        torch._dynamo.reset()
        torch.manual_seed(0)
        net, state = nn.Linear(4, 1).double(), penalty(memory=200.0)
        loss = compile_if(penalty_compiled, state)

        def step(x, y, a):
            f = net(x)
            disparity = loss(f, a)
            ((f[:, 0] - y).square().mean() + 3 * disparity).backward()
            return disparity.detach()

        step, found = compile_if(step_compiled, step), []
        for seed in range(5):
            f, a = problem(rows=40, seed=seed)
            net.zero_grad()
            value = step(torch.from_numpy(np.column_stack([a, f])), f, torch.from_numpy(a))
            found.append((value, *(each.grad.clone() for each in net.parameters())))
            with torch.no_grad():
                for each in net.parameters():
                    each -= 0.1 * each.grad
        return found, state.state_dict()

    plain = train(False, False)
    assert plain[0][-1][0] > 0.1
    torch.testing.assert_close(train(compiled == "penalty", compiled == "step"), plain, rtol=1e-12, atol=1e-14)


def test_what_cannot_be_used_is_refused_and_leaves_no_trace():
    f, a = problem()
    attributes = torch.from_numpy(a)
    for settings in ({"features": 0}, {"ridge": -1.0}, {"bandwidth": 0.0}, {"memory": 0.0}):
        with pytest.raises(InvalidInput, match=next(iter(settings))):
            penalty(**settings)
    loss = penalty()
    slope_of(loss, f, a)
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    with pytest.raises(InvalidInput, match=r"missing or infinite"):
        loss(torch.full_like(f, torch.nan), attributes)
    for bad in ((f, attributes[:, :2]), (f[:-1], attributes), (f.repeat(2, 1).T, attributes), (f[0], attributes)):
        with pytest.raises(InvalidInput, match=r"\(row, 3\)"):
            loss(*bad)
    with pytest.raises(InvalidType, match=r"torch\.as_tensor\(attributes\)"):
        loss(f, a)
    assert all(torch.equal(before[name], now) for name, now in loss.state_dict().items())


def test_a_batch_without_rows_changes_nothing():
    """``penalty(f[known], a[known])`` of a batch in which no attribute is known."""
    f, a = problem()
    plain, interrupted = penalty(), penalty()
    for batch in (slice(0, 200), slice(200, 400)):
        value, gradient = slope_of(interrupted, f[:0], a[:0])
        assert gradient.shape == (0,)
        assert torch.isfinite(value)
        for expected, found in zip(*(slope_of(loss, f[batch], a[batch]) for loss in (plain, interrupted)), strict=True):
            torch.testing.assert_close(found, expected)
    before = slope_of(interrupted, f[:0], a[:0])[0]
    torch.testing.assert_close(before, value := slope_of(plain, f[:0], a[:0])[0])
    assert value > 0
    assert slope_of(plain.eval(), f[:0], a[:0])[0] == 0


def test_two_workers_are_one_with_the_joined_batch(tmp_path, monkeypatch):
    """Gloo, two processes: gradients with 70 and 30 rows, and the example of the docs after one epoch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": 1}.items():
        monkeypatch.setenv(name, str(value))
    script = Path(__file__).with_name("two_workers.py")
    other = subprocess.Popen([sys.executable, script, EXAMPLE, tmp_path / "found"], stderr=subprocess.PIPE, text=True)
    expected = gradients(network(), DPVarPenalty(2, features=10))
    alone = parameters(load_example(EXAMPLE).train(10.0, epochs=1))
    monkeypatch.setenv("RANK", "0")
    found = work(EXAMPLE, 0)
    _, said = other.communicate(timeout=120)
    assert other.returncode == 0, said
    for slopes, values, trained in (found, torch.load(tmp_path / "found")):
        torch.testing.assert_close(values, expected[1], rtol=1e-9, atol=0)
        torch.testing.assert_close(slopes, expected[0], rtol=0, atol=1e-6)
        torch.testing.assert_close(trained, alone, rtol=0, atol=1e-6)  # 32 steps of Adam in 32 bits
    assert expected[0][1:].norm(dim=1).min() > 0.1
