"""What must be fast on a CPU: a name, and a function that gives a row of the table."""

from importlib.util import find_spec

from benchmarks.alone import run_alone
from benchmarks.measure import NotInstalled, absolute, overhead, per_step, seconds, speed_up
from benchmarks.naive import hsic_step, train_fbo, train_itd
from benchmarks.peers import train_fairlearn, train_maxcorr
from benchmarks.problems import boosters, engine, tensors
from fairlevel import FBO, HSIC, ITD, Adversarial, ClosedFBO
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import TorchBackend
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS

FBO_TARGETS = {400: 9, 2000: 3, 8000: 2}
"""How many times as fast as a naive loop, by rows."""


def fbo(rows):
    configs, steps = 96, max(2, 1600 // rows)
    run, (x, y, a) = engine(FBO(), rows, configs), tensors(rows)
    return speed_up(
        f"paper FBO, 96 configurations, n={rows}, vs naive",
        lambda: per_step(run, steps) / configs,
        lambda: per_step(lambda count: train_fbo(x, y, a, 1.0, count), 4 * steps),
        FBO_TARGETS[rows],
        rounds=3,
    )


def itd():
    configs = 16
    run, (x, y, a) = engine(ITD(), 2000, configs), tensors(2000)
    return speed_up(
        "paper ITD (K=5), n=2000, vs naive",
        lambda: per_step(run, 2) / configs,
        lambda: per_step(lambda count: train_itd(x, y, a, 1.0, count), 4),
        4,
        rounds=3,
    )


def closed(configs, rows=2000):
    fair, plain = engine(ClosedFBO(), rows, configs), engine(None, rows, configs)
    steps = max(10, 120 // configs)
    return overhead(
        f"closed-form FBO step / plain step, {configs} configurations, n={rows}",
        lambda: per_step(fair, steps),
        lambda: per_step(plain, steps),
        1.15 if configs > 1 else 1.3,
    )


def hsic():
    rows = 4000
    _, y, a = tensors(rows)
    penalty = HSIC()
    plan = ALL_TRAINING_ROWS.assign(0, rows)
    prepared = penalty.prepare(Attributes(a.double().numpy()), plan, {}, 0).to(TorchBackend("cpu"))
    state, f = penalty.init(prepared, 1, {}), y[None]
    return speed_up(
        "exact HSIC step, n=4000, vs full matrices",
        lambda: seconds(lambda: penalty.step(f, prepared, state)),
        lambda: seconds(lambda: hsic_step(y, a)),
        2,
    )


def against(package, name, penalty, train_peer):
    """A grid of 24 here, one model there; a penalty that wants the same. No target but not to be slower."""
    if find_spec(package) is None:
        raise NotInstalled(f"{package} is not installed: pip install ./study[peers]")
    configs, rows = 24, 2000
    run, data = engine(penalty, rows, configs), tensors(rows)
    train_peer(*data, 1)  # whatever is imported on first use
    return speed_up(
        name,
        lambda: per_step(run, 4) / configs,
        lambda: per_step(lambda count: train_peer(*data, count), 8),
        1,
        rounds=3,
    )


def fairlearn():
    name = "adversarial, one critic step, 24 configurations, n=2000, vs fairlearn's AdversarialFairnessRegressor"
    return against("fairlearn", name, Adversarial(critic_steps=1), train_fairlearn)


def maxcorr():
    name = "closed-form FBO, 24 configurations, n=2000, vs maxcorr's neural HGR (10 inner steps)"
    return against("maxcorr", name, ClosedFBO(), train_maxcorr)


def boosting(peer, name, at_most, rows=200_000, inputs=50, rounds=100):
    fair, *peers = boosters(rows, inputs, rounds)
    fair()  # whatever is imported on first use
    return overhead(
        f"fair booster, {rows:,} x {inputs}, 10 attributes, {rounds} trees / {name}",
        lambda: seconds(fair),
        lambda: seconds(peers[peer]),
        at_most,
        rounds=5,
    )


CASES = {
    "fbo-400": lambda: fbo(400),
    "fbo-2000": lambda: fbo(2000),
    "fbo-8000": lambda: fbo(8000),
    "itd-2000": itd,
    "closed-24": lambda: closed(24),
    "closed-1": lambda: closed(1),
    "hsic-4000": hsic,
    "hsic-20000-memory": lambda: absolute("exact HSIC, n=20,000, memory", run_alone("hsic", 20_000)[1], 1, "GiB"),
    "boosting": lambda: boosting(0, "LightGBM", 1.4),
    "boosting-objective": lambda: boosting(1, "LightGBM with a trivial objective in Python", 1.15),
    "boosting-small": lambda: boosting(0, "LightGBM", 1.4, rows=2400, inputs=20, rounds=300),
    "fairlearn": fairlearn,
    "maxcorr": maxcorr,
    "audit": lambda: absolute("audit, 1,000,000 x 10 from Parquet", run_alone("audit", 1_000_000, 10)[0], 15, "s"),
    "audit-memory": lambda: absolute("the same, memory at the peak", run_alone("audit", 1_000_000, 10)[1], 0.5, "GiB"),
}
