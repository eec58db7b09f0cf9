"""The methods of the study: one row each in the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from fairlevel.candidates import (
    SOURCES,
    CandidateSource,
    Families,
    OnPredictor,
    PenaltyGrid,
    PlainSteps,
    Setting,
    WithConstant,
    WithStages,
)
from fairlevel.candidates.sources import (
    GDP_WEIGHTS,
    LARGE_TREES,
    ON_ONE_PREDICTOR,
    ROOT_WEIGHTS,
    SMALL_TREES,
    STEP_SIZES,
)
from fairlevel.conditional_mean import RandomFeaturesMean, RidgeMean
from fairlevel.exceptions import UnknownName
from fairlevel.networks.mlp import MLP
from fairlevel.networks.penalties import FBO, IN_OUT_ALL_LABELS, ITD, Adversarial, PlainAdversarial
from fairlevel.penalties import GDP, HSIC, ClosedFBO, LinearR2, NoPenalty, Penalty, RootFBO
from fairlevel.penalties.gdp import AuthorsNodes, AuthorsScale
from fairlevel_study.penalties import EIPM, MINE, ChiSquareHGR, GeDI, KernelHGR, NeuralHGR
from fairlevel_study.refinement import RefinedGrid
from fairlevel_study.systems.barycentres import Barycentre, ContinuousBarycentre, FairnessAwareGrouping
from fairlevel_study.systems.cod import CoD
from fairlevel_study.systems.networks import BADR, BiFair, FairBatch, FairBiNN, Reductions
from fairlevel_study.systems.protocol import System, SystemGrid


@dataclass(frozen=True)
class Method:
    """A name, what people read, and where its candidates come from; slow methods are started first. ``reference`` is
    the plain learner of the same kind, shrunk to its mean: what the method gains is stated against it.
    """

    name: str
    label: str
    source: CandidateSource
    slow: bool = False
    reference: str = "plain_network"

    @property
    def uses_attributes(self) -> bool:
        """Whether its models need A to predict, which no other method has."""
        return isinstance(self.source, SystemGrid) and self.source.uses_attributes


FBO_WEIGHTS = (0, 0.03, 0.1, 0.3, 1, 2, 5, 10, 20, 50, 100, 300)
ITD_WEIGHTS = tuple(3 * weight for weight in FBO_WEIGHTS)
ADVERSARIAL_WEIGHTS = (0, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 5, 10, 30, 100)
HSIC_WEIGHTS = (0, 0.3, 1, 3, 10, 30, 100, 200, 500, 1e3, 3e3, 1e4)
CHI2_WEIGHTS = (0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
HGR_WEIGHTS = (0, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 30)
EIPM_WEIGHTS = (0, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 5, 10, 30, 100)
RATES = (0.1, 0.2, 0.05, 0.02)  # step sizes of the predictor
RIDGES = (1e-3, 1e-1, 1e-6, 1e-5, 1e-4, 1e-2, 1, 10)
MULTIPLES = (1.0, 0.5, 0.75, 1.5)  # of a bandwidth
ALL_MULTIPLES = (*MULTIPLES, 0.25, 2.0, 0.1, 3.0)


def _grid(penalties: Iterable[Any], weights: tuple[float, ...], **numbers: tuple[float, ...]) -> RefinedGrid:
    """Weights × one setting for each penalty and each combination of its numbers, such as ``bandwidth=(1.0, 0.5)``."""
    combinations = [dict(zip(numbers, values, strict=True)) for values in product(*numbers.values())]
    settings = (Setting(replace(penalty, **chosen)) for penalty, chosen in product(penalties, combinations))
    return RefinedGrid(tuple(settings), weights)


def _at_rates(penalties: Iterable[Penalty], weights: tuple[float, ...], rates: tuple[float, ...]) -> RefinedGrid:
    """Weights × one setting for each penalty and step size of the predictor."""
    return RefinedGrid(tuple(Setting(penalty, rate) for penalty, rate in product(penalties, rates)), weights)


def _bilevel(penalty: FBO | ITD, setting: type[Setting] = Setting) -> RefinedGrid:
    """Step sizes of the inner network × those of the predictor."""
    pairs = product((0.1, 0.05), RATES)
    settings = (setting(replace(penalty, inner_learning_rate=inner), outer) for inner, outer in pairs)
    return RefinedGrid(tuple(settings), ITD_WEIGHTS if isinstance(penalty, ITD) else FBO_WEIGHTS)


def _critics(penalty: type[Adversarial]) -> RefinedGrid:
    steps = (penalty(critic_steps=steps) for steps in (5, 10, 20, 1))
    return _grid(steps, ADVERSARIAL_WEIGHTS, critic_learning_rate=(1e-2, 1e-3))


def _networks(
    penalty: type[NeuralHGR | MINE], steps: tuple[int, int], widths: tuple[int, int], rates: tuple[float, float]
) -> RefinedGrid:
    made = (penalty(count, hidden=(width, width)) for count, width in product(steps, widths))
    return _grid(made, HGR_WEIGHTS, critic_learning_rate=rates)


CLOSED = _at_rates((ClosedFBO(RandomFeaturesMean(bandwidth=width)) for width in (1.0, 0.5)), FBO_WEIGHTS, RATES)

SHARES_OF_A = (0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1)  # CoD's ε
MOVES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)  # towards the barycentre
BATCH_STEPS = (0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.02, 0.03, 0.05)  # FairBatch's α
LAYER_STEPS = (0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)  # step sizes of FairBiNN's layer
KERNELS = ((200, 1e-2), (0, 1e-2), *product((200, 0), (1e-3, 1e-1, 1.0)))  # CoD's features and ridge


def _binned(
    system: Callable[..., System], strengths: tuple[float, ...], bins: tuple[int, ...] = (4, 8, 2, 16)
) -> SystemGrid:
    """Strengths × step sizes × numbers of groups."""
    return SystemGrid(
        tuple(system(bins=count, learning_rate=rate) for rate, count in product((0.1, 0.05), bins)), strengths
    )


def _authors(layout: AuthorsNodes | AuthorsScale) -> RefinedGrid:
    return _grid([GDP(layout=layout)], GDP_WEIGHTS, bandwidth=ALL_MULTIPLES)


HSIC_GRID = _grid([HSIC()], HSIC_WEIGHTS, bandwidth=(1.0, 0.5), sensitive_bandwidth=(1.0, 0.5, 0.25, 2.0))
CHI2_GRID = _grid((ChiSquareHGR(nodes=count) for count in (20, 50)), CHI2_WEIGHTS, bandwidth=MULTIPLES)
POLYNOMIALS = _grid((KernelHGR(of_f, of_a) for of_a, of_f in product((3, 5), (3, 1, 2, 5))), HGR_WEIGHTS)
EIPM_GRID = _grid([EIPM()], EIPM_WEIGHTS, sensitive_bandwidth=(1.0, 0.5), bandwidth=(1.0, 0.5, 2.0, 4.0))
CONTINUOUS = SystemGrid(tuple(map(ContinuousBarycentre, (0.1, 0.05, 0.2, 0.02))), MOVES)
LAYERS = SystemGrid(tuple(FairBiNN(4, rate, layer) for rate, layer in product((0.1, 0.05), (1, 2))), LAYER_STEPS)

_PLAIN = (0.0,)
_AUTO_NETWORKS = Families(
    (
        _at_rates([RootFBO()], ROOT_WEIGHTS, STEP_SIZES),
        _at_rates([GDP()], GDP_WEIGHTS[1:], STEP_SIZES),
        *ON_ONE_PREDICTOR.parts[2:],
    )
)
_PLAIN_STAGES = WithStages(PenaltyGrid.over(NoPenalty(), _PLAIN))
PLAIN_BOOSTER = WithConstant(Families(tuple(OnPredictor(trees, _PLAIN_STAGES) for trees in (LARGE_TREES, SMALL_TREES))))
PLAIN_NETWORK = WithConstant(OnPredictor(MLP(), _at_rates([NoPenalty()], _PLAIN, STEP_SIZES)))

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("fbo", "FBO", _bilevel(FBO()), slow=True),
        Method("itd", "ITD", _bilevel(ITD()), slow=True),
        Method("r2", "R²", _grid([LinearR2()], FBO_WEIGHTS, ridge=RIDGES)),
        Method("gdp", "GDP*", _grid((GDP(nodes=count) for count in (32, 16)), GDP_WEIGHTS, bandwidth=MULTIPLES)),
        Method("adversarial", "adversarial", _critics(Adversarial), slow=True),
        Method("hsic", "HSIC", HSIC_GRID, slow=True),
        Method("hgr_chi2", "HGR, χ² bound", CHI2_GRID, slow=True),
        Method("hgr", "HGR, networks", _networks(NeuralHGR, (10, 50), (16, 64), (2e-3, 5e-4)), slow=True),
        Method("hgr_kernel", "HGR, kernels", POLYNOMIALS),
        Method("gedi", "GeDI", _at_rates((GeDI(degree) for degree in (3, 5)), FBO_WEIGHTS, RATES)),
        Method("mine", "MINE", _networks(MINE, (5, 20), (32, 100), (1e-3, 1e-4)), slow=True),
        Method("eipm", "EIPM", EIPM_GRID, slow=True),
        Method(
            "cod",
            "CoD (A to predict)",
            SystemGrid(tuple(CoD(features, ridge) for features, ridge in KERNELS), SHARES_OF_A),
        ),
        Method("barycentre", "barycentre of groups (A to predict)", _binned(Barycentre, MOVES)),
        Method("barycentre_continuous", "barycentre, continuous (A to predict)", CONTINUOUS),
        Method("grouping", "fairness-aware grouping (A to predict)", _binned(FairnessAwareGrouping, MOVES)),
        Method("reductions", "reductions (fairlearn)", _binned(Reductions, FBO_WEIGHTS, (2, 4, 3, 5)), slow=True),
        Method("fairbatch", "FairBatch", _binned(FairBatch, BATCH_STEPS)),
        Method("bifair", "BiFair", _binned(BiFair, FBO_WEIGHTS), slow=True),
        Method("fairbinn", "FairBiNN", LAYERS),
        Method("badr", "BADR", _binned(BADR, FBO_WEIGHTS)),
        Method("fbo_closed", "FBO closed form", CLOSED),
        Method("spectral", "spectral", SOURCES["spectral"]),
        Method("boosting", "fair boosting", SOURCES["boosting"], reference="plain_boosting"),
        Method("relevel", "re-weighted trees", SOURCES["relevel"], reference="plain_boosting"),
        Method("auto", "auto", SOURCES["auto"], slow=True, reference="plain_boosting"),
        Method("auto_networks", "auto on networks (0.1)", _AUTO_NETWORKS, slow=True),
        Method("plain_boosting", "plain booster, shrunk", PLAIN_BOOSTER, reference="plain_boosting"),
        Method("plain_network", "plain network, shrunk", PLAIN_NETWORK),
        Method("gdp_authors", "GDP, authors' nodes", _authors(AuthorsNodes())),
        Method("gdp_authors_scaled", "GDP, authors' nodes, A in [0, 1]", _authors(AuthorsScale())),
        Method("r2_covariance", "R², covariance form", _grid((ClosedFBO(RidgeMean(r)) for r in RIDGES), FBO_WEIGHTS)),
        Method("adversarial_plain", "adversarial, unbounded", _critics(PlainAdversarial), slow=True),
        Method("fbo_all_labels", "FBO, all labels", _bilevel(FBO(rows=IN_OUT_ALL_LABELS)), slow=True),
        Method("fbo_plain_steps", "FBO, steps as printed", _bilevel(FBO(), PlainSteps), slow=True),
        Method("itd_all_labels", "ITD, all labels", _bilevel(ITD(rows=IN_OUT_ALL_LABELS)), slow=True),
        Method("itd_plain_steps", "ITD, steps as printed", _bilevel(ITD(), PlainSteps), slow=True),
    )
}

LABELS = {name: method.label for name, method in METHODS.items()}

PAPER_METHODS = ("fbo", "itd", "r2", "gdp", "adversarial", "hsic")
OUR_METHODS = ("fbo_closed", "spectral", "boosting", "relevel", "auto")
SYSTEM_METHODS = (
    *("cod", "barycentre", "barycentre_continuous", "grouping"),
    *("reductions", "fairbatch", "bifair", "fairbinn", "badr"),
)
MAP_METHODS = ("hgr_chi2", "hgr", "hgr_kernel", "gedi", "mine", "eipm", *SYSTEM_METHODS)
"""The other systems of the paper's literature map: penalties, then systems of another shape."""
REFERENCES = ("plain_boosting", "plain_network")  # plain models, mixed with the constant: what every method has to beat
VARIANT_METHODS = (
    *("fbo_plain_steps", "itd_plain_steps", "gdp_authors", "gdp_authors_scaled"),
    *("r2_covariance", "adversarial_plain", "fbo_all_labels", "itd_all_labels"),
)
"""Other readings of the paper's methods (docs/protocol.md)."""
SUITES = {
    "paper": PAPER_METHODS,
    "ours": OUR_METHODS,
    "map": MAP_METHODS,
    "systems": SYSTEM_METHODS,
    "references": REFERENCES,
    "variants": VARIANT_METHODS,
}
"""Names that stand for several methods."""


def resolve_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods from their names or from names of suites, in the order given."""
    members = dict.fromkeys(member for name in names for member in SUITES.get(name, (name,)))
    for name in members:
        if name not in METHODS:
            raise UnknownName("method", name, (*METHODS, *SUITES))
    return tuple(METHODS[name] for name in members)
