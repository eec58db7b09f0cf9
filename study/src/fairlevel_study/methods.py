"""The methods of the study: one row each in the table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

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
from fairlevel.candidates.sources import GDP_WEIGHTS, LARGE_TREES, ON_ONE_PREDICTOR, SMALL_TREES, STEP_SIZES
from fairlevel.conditional_mean import RandomFeaturesMean, RidgeMean
from fairlevel.exceptions import UnknownName
from fairlevel.penalties import (
    FBO,
    GDP,
    HSIC,
    ITD,
    Adversarial,
    ClosedFBO,
    LinearR2,
    NoPenalty,
    Penalty,
    PlainAdversarial,
)
from fairlevel.penalties.gdp_nodes import AuthorsNodes, AuthorsScale, NodeLayout
from fairlevel.penalties.protocol import IN_OUT_ALL_LABELS
from fairlevel.predictors import MLP
from fairlevel_study.penalties import EIPM, MINE, ChiSquareHGR, GeDI, KernelHGR, NeuralHGR
from fairlevel_study.systems import (
    BADR,
    Barycentre,
    BiFair,
    CoD,
    ContinuousBarycentre,
    FairBatch,
    FairBiNN,
    FairnessAwareGrouping,
    Reductions,
    SystemGrid,
)


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
_RATE_PAIRS = tuple(product((0.1, 0.05), (0.1, 0.2, 0.05, 0.02)))  # (inner, outer)


def _bilevel(penalty: Penalty, setting: type[Setting] = Setting) -> tuple[Setting, ...]:
    return tuple(setting(penalty, outer, {"inner_learning_rate": inner}) for inner, outer in _RATE_PAIRS)


ITD_WEIGHTS = tuple(3 * weight for weight in FBO_WEIGHTS)
CLOSED = PenaltyGrid(
    tuple(
        Setting(ClosedFBO(RandomFeaturesMean(bandwidth=bandwidth)), rate)
        for bandwidth, rate in product((1.0, 0.5), (0.1, 0.2, 0.05, 0.02))
    ),
    FBO_WEIGHTS,
)
GDP_NODES = tuple(
    Setting(GDP(nodes=nodes), numbers={"bandwidth": multiple})
    for nodes, multiple in product((32, 16), (1.0, 0.5, 0.75, 1.5))
)


def _authors(layout: NodeLayout) -> tuple[Setting, ...]:
    multiples = (1.0, 0.5, 0.75, 1.5, 0.25, 2.0, 0.1, 3.0)
    return tuple(Setting(GDP(layout=layout), numbers={"bandwidth": multiple}) for multiple in multiples)


def _ridges(penalty: LinearR2 | ClosedFBO) -> tuple[Setting, ...]:
    values = (1e-3, 1e-1, 1e-6, 1e-5, 1e-4, 1e-2, 1, 10)
    return tuple(Setting(penalty, numbers={"ridge": ridge}) for ridge in values)


ADVERSARIAL_WEIGHTS = (0, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 5, 10, 30, 100)


def _critics(penalty: type[Adversarial]) -> tuple[Setting, ...]:
    return tuple(
        Setting(penalty(critic_steps=steps), numbers={"critic_learning_rate": rate})
        for steps, rate in product((5, 10, 20, 1), (1e-2, 1e-3))
    )


HSIC_WEIGHTS = (0, 0.3, 1, 3, 10, 30, 100, 200, 500, 1e3, 3e3, 1e4)
BANDWIDTHS = tuple(
    Setting(HSIC(), numbers={"sensitive_bandwidth": of_a, "bandwidth": of_f})
    for of_f, of_a in product((1.0, 0.5), (1.0, 0.5, 0.25, 2.0))
)
CHI2_WEIGHTS = (0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
DENSITIES = tuple(
    Setting(ChiSquareHGR(nodes=nodes), numbers={"bandwidth": multiple})
    for nodes, multiple in product((20, 50), (1.0, 0.5, 0.75, 1.5))
)
HGR_WEIGHTS = (0, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 30)
PAIRS_OF_NETWORKS = tuple(
    Setting(NeuralHGR(steps, hidden=(width, width)), numbers={"critic_learning_rate": rate})
    for steps, width, rate in product((10, 50), (16, 64), (2e-3, 5e-4))
)
DEGREES = tuple(Setting(KernelHGR(own, of_a)) for of_a, own in product((3, 5), (3, 1, 2, 5)))
POLYNOMIALS = tuple(Setting(GeDI(degree), rate) for degree, rate in product((3, 5), (0.1, 0.2, 0.05, 0.02)))
CRITICS_OF_PAIRS = tuple(
    Setting(MINE(steps, hidden=(width, width)), numbers={"critic_learning_rate": rate})
    for steps, width, rate in product((5, 20), (32, 100), (1e-3, 1e-4))
)
EIPM_WEIGHTS = (0, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 5, 10, 30, 100)
DISTRIBUTIONS = tuple(
    Setting(EIPM(), numbers={"sensitive_bandwidth": of_a, "bandwidth": of_f})
    for of_a, of_f in product((1.0, 0.5), (1.0, 0.5, 2.0, 4.0))
)

SHARES_OF_A = (0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1)  # CoD's ε
KERNELS = tuple(CoD(*each) for each in ((200, 1e-2), (0, 1e-2), *product((200, 0), (1e-3, 1e-1, 1.0))))
MOVES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)  # towards the barycentre
BINS = tuple(product((0.1, 0.05), (4, 8, 2, 16)))  # (step size, number of groups)
BATCH_STEPS = (0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.02, 0.03, 0.05)  # FairBatch's α
LAYER_STEPS = (0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)  # step sizes of FairBiNN's layer

_PLAIN = (0.0,)
_PLAIN_STAGES = WithStages(PenaltyGrid.over(NoPenalty(), _PLAIN))
PLAIN_BOOSTER = WithConstant(Families(tuple(OnPredictor(each, _PLAIN_STAGES) for each in (LARGE_TREES, SMALL_TREES))))
PLAIN_NETWORK = WithConstant(
    OnPredictor(MLP(), PenaltyGrid(tuple(Setting(NoPenalty(), rate) for rate in STEP_SIZES), _PLAIN))
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("fbo", "FBO", PenaltyGrid(_bilevel(FBO()), FBO_WEIGHTS), slow=True),
        Method("itd", "ITD", PenaltyGrid(_bilevel(ITD()), ITD_WEIGHTS), slow=True),
        Method("r2", "R²", PenaltyGrid(_ridges(LinearR2()), FBO_WEIGHTS)),
        Method("gdp", "GDP*", PenaltyGrid(GDP_NODES, GDP_WEIGHTS)),
        Method("adversarial", "adversarial", PenaltyGrid(_critics(Adversarial), ADVERSARIAL_WEIGHTS), slow=True),
        Method("hsic", "HSIC", PenaltyGrid(BANDWIDTHS, HSIC_WEIGHTS), slow=True),
        Method("hgr_chi2", "HGR, χ² bound", PenaltyGrid(DENSITIES, CHI2_WEIGHTS), slow=True),
        Method("hgr", "HGR, networks", PenaltyGrid(PAIRS_OF_NETWORKS, HGR_WEIGHTS), slow=True),
        Method("hgr_kernel", "HGR, kernels", PenaltyGrid(DEGREES, HGR_WEIGHTS)),
        Method("gedi", "GeDI", PenaltyGrid(POLYNOMIALS, FBO_WEIGHTS)),
        Method("mine", "MINE", PenaltyGrid(CRITICS_OF_PAIRS, HGR_WEIGHTS), slow=True),
        Method("eipm", "EIPM", PenaltyGrid(DISTRIBUTIONS, EIPM_WEIGHTS), slow=True),
        Method("cod", "CoD (A to predict)", SystemGrid(KERNELS, SHARES_OF_A)),
        Method(
            "barycentre",
            "barycentre of groups (A to predict)",
            SystemGrid(tuple(Barycentre(bins, rate) for rate, bins in BINS), MOVES),
        ),
        Method(
            "barycentre_continuous",
            "barycentre, continuous (A to predict)",
            SystemGrid(tuple(map(ContinuousBarycentre, (0.1, 0.05, 0.2, 0.02))), MOVES),
        ),
        Method(
            "grouping",
            "fairness-aware grouping (A to predict)",
            SystemGrid(tuple(FairnessAwareGrouping(bins, rate) for rate, bins in BINS), MOVES),
        ),
        Method(
            "reductions",
            "reductions (fairlearn)",
            SystemGrid(
                tuple(Reductions(bins, learning_rate=rate) for rate, bins in product((0.1, 0.05), (2, 4, 3, 5))),
                FBO_WEIGHTS,
            ),
            slow=True,
        ),
        Method("fairbatch", "FairBatch", SystemGrid(tuple(FairBatch(bins, rate) for rate, bins in BINS), BATCH_STEPS)),
        Method(
            "bifair", "BiFair", SystemGrid(tuple(BiFair(bins, rate) for rate, bins in BINS), FBO_WEIGHTS), slow=True
        ),
        Method(
            "fairbinn",
            "FairBiNN",
            SystemGrid(tuple(FairBiNN(4, place, rate) for rate, place in product((0.1, 0.05), (1, 2))), LAYER_STEPS),
        ),
        Method("badr", "BADR", SystemGrid(tuple(BADR(bins, rate) for rate, bins in BINS), FBO_WEIGHTS)),
        Method("fbo_closed", "FBO closed form", CLOSED),
        Method("spectral", "spectral", SOURCES["spectral"]),
        Method("boosting", "fair boosting", SOURCES["boosting"], reference="plain_boosting"),
        Method("relevel", "re-weighted trees", SOURCES["relevel"], reference="plain_boosting"),
        Method("auto", "auto", SOURCES["auto"], slow=True, reference="plain_boosting"),
        Method("auto_networks", "auto on networks (0.1)", ON_ONE_PREDICTOR, slow=True),
        Method("plain_boosting", "plain booster, shrunk", PLAIN_BOOSTER, reference="plain_boosting"),
        Method("plain_network", "plain network, shrunk", PLAIN_NETWORK),
        Method("gdp_authors", "GDP, authors' nodes", PenaltyGrid(_authors(AuthorsNodes()), GDP_WEIGHTS)),
        Method(
            "gdp_authors_scaled", "GDP, authors' nodes, A in [0, 1]", PenaltyGrid(_authors(AuthorsScale()), GDP_WEIGHTS)
        ),
        Method("r2_covariance", "R², covariance form", PenaltyGrid(_ridges(ClosedFBO(RidgeMean())), FBO_WEIGHTS)),
        Method(
            "adversarial_plain",
            "adversarial, unbounded",
            PenaltyGrid(_critics(PlainAdversarial), ADVERSARIAL_WEIGHTS),
            slow=True,
        ),
        Method(
            "fbo_all_labels",
            "FBO, all labels",
            PenaltyGrid(_bilevel(FBO(rows=IN_OUT_ALL_LABELS)), FBO_WEIGHTS),
            slow=True,
        ),
        Method(
            "fbo_plain_steps", "FBO, steps as printed", PenaltyGrid(_bilevel(FBO(), PlainSteps), FBO_WEIGHTS), slow=True
        ),
        Method(
            "itd_all_labels",
            "ITD, all labels",
            PenaltyGrid(_bilevel(ITD(rows=IN_OUT_ALL_LABELS)), ITD_WEIGHTS),
            slow=True,
        ),
        Method(
            "itd_plain_steps", "ITD, steps as printed", PenaltyGrid(_bilevel(ITD(), PlainSteps), ITD_WEIGHTS), slow=True
        ),
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
REFERENCES = ("plain_boosting", "plain_network")
"""Plain models, mixed with the constant: what every method has to beat."""
VARIANT_METHODS = (
    "fbo_plain_steps",
    "itd_plain_steps",
    "gdp_authors",
    "gdp_authors_scaled",
    "r2_covariance",
    "adversarial_plain",
    "fbo_all_labels",
    "itd_all_labels",
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
    known = [each for name in names for each in SUITES.get(name, (name,))]
    for name in known:
        if name not in METHODS:
            raise UnknownName("method", name, (*METHODS, *SUITES))
    return tuple(METHODS[name] for name in dict.fromkeys(known))
