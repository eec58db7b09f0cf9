"""The methods of the study: one row each in the table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from fairlevel.benchmark.candidates import Trainer
from fairlevel.benchmark.trainers.families import Families
from fairlevel.benchmark.trainers.grid import Grid, Setting
from fairlevel.benchmark.trainers.spectral_grid import Head, SpectralGrid
from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.exceptions import UnknownName
from fairlevel.penalties import FBO, GDP, HSIC, ITD, Adversarial, ClosedFBO, LinearR2, Penalty, RootFBO
from fairlevel.penalties.protocol import IN_OUT_ALL_LABELS


@dataclass(frozen=True)
class Method:
    """A name, what people read, and what trains the candidates."""

    name: str
    label: str
    trainer: Trainer


FBO_WEIGHTS = (0, 0.03, 0.1, 0.3, 1, 2, 5, 10, 20, 50, 100, 300)
_RATE_PAIRS = tuple(product((0.1, 0.05), (0.1, 0.2, 0.05, 0.02)))  # (inner, outer)


def _bilevel(penalty: Penalty) -> tuple[Setting, ...]:
    return tuple(Setting(penalty, outer, {"inner_learning_rate": inner}) for inner, outer in _RATE_PAIRS)


ITD_WEIGHTS = tuple(3 * weight for weight in FBO_WEIGHTS)
GDP_WEIGHTS = (0, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20)
ROOT_WEIGHTS = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5)

CLOSED = Grid(
    FBO_WEIGHTS,
    tuple(
        Setting(ClosedFBO(RandomFeaturesMean(bandwidth=bandwidth)), rate)
        for bandwidth, rate in product((1.0, 0.5), (0.1, 0.2, 0.05, 0.02))
    ),
)
GDP_NODES = tuple(
    Setting(GDP(nodes=nodes), numbers={"bandwidth": multiple})
    for nodes, multiple in product((32, 16), (1.0, 0.5, 0.75, 1.5))
)
SPECTRAL = SpectralGrid(
    (0, 0.1, 0.3, 1, 3, 8, 20, 50, 100, 300, 1000, 3000),
    tuple(Head(ridge, rate) for rate, ridge in product((0.1, 0.2), (1e-4, 1e-3, 1e-5, 1e-2))),
)

STEP_SIZES = (0.1, 0.02, 0.2, 0.05)  # of the families of auto, far apart first: mixtures live on differences
AUTO = Families(
    (
        Grid(ROOT_WEIGHTS, tuple(Setting(RootFBO(), rate) for rate in STEP_SIZES)),
        Grid(GDP_WEIGHTS[1:], tuple(Setting(GDP(), rate) for rate in STEP_SIZES)),
        SpectralGrid(SPECTRAL.weights[1:], tuple(map(Head, (1e-4, 1e-3, 1e-3, 1e-3), STEP_SIZES))),
    )
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("fbo", "FBO", Grid(FBO_WEIGHTS, _bilevel(FBO()))),
        Method("itd", "ITD", Grid(ITD_WEIGHTS, _bilevel(ITD()))),
        Method(
            "r2",
            "R²",
            Grid(
                FBO_WEIGHTS,
                tuple(Setting(LinearR2(), numbers={"ridge": r}) for r in (1e-3, 1e-1, 1e-6, 1e-5, 1e-4, 1e-2, 1, 10)),
            ),
        ),
        Method("gdp", "GDP*", Grid(GDP_WEIGHTS, GDP_NODES)),
        Method(
            "adversarial",
            "adversarial",
            Grid(
                (0, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 5, 10, 30, 100),
                tuple(
                    Setting(Adversarial(critic_steps=steps), numbers={"critic_learning_rate": rate})
                    for steps, rate in product((5, 10, 20, 1), (1e-2, 1e-3))
                ),
            ),
        ),
        Method(
            "hsic",
            "HSIC",
            Grid(
                (0, 0.3, 1, 3, 10, 30, 100, 200, 500, 1e3, 3e3, 1e4),
                tuple(
                    Setting(HSIC(), numbers={"sensitive_bandwidth": of_a, "bandwidth": of_f})
                    for of_f, of_a in product((1.0, 0.5), (1.0, 0.5, 0.25, 2.0))
                ),
            ),
        ),
        Method("fbo_closed", "FBO closed form", CLOSED),
        Method("spectral", "spectral", SPECTRAL),
        Method("auto", "auto", AUTO),
        Method("fbo_all_labels", "FBO, all labels", Grid(FBO_WEIGHTS, _bilevel(FBO(rows=IN_OUT_ALL_LABELS)))),
        Method("itd_all_labels", "ITD, all labels", Grid(ITD_WEIGHTS, _bilevel(ITD(rows=IN_OUT_ALL_LABELS)))),
    )
}

PAPER_METHODS = ("fbo", "itd", "r2", "gdp", "adversarial", "hsic")
OUR_METHODS = ("fbo_closed", "spectral", "auto")


def resolve_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods from their names, in the order given."""
    for name in names:
        if name not in METHODS:
            raise UnknownName("method", name, METHODS)
    return tuple(METHODS[name] for name in dict.fromkeys(names))
