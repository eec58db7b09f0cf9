"""Where candidates come from, by name: the definitions that estimators and the study share."""

from __future__ import annotations

from itertools import product

from fairlevel.candidates.combined import Families, OnPredictor, WithConstant, WithStages
from fairlevel.candidates.penalty_grid import PenaltyGrid, Setting
from fairlevel.candidates.protocol import CandidateSource
from fairlevel.candidates.reweighted_trees import ReweightedTrees
from fairlevel.candidates.spectral_path import Head, SpectralPath
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName
from fairlevel.penalties import GDP, NAMES, PENALTIES, WITH_NETWORKS, Penalty, RootFBO, resolve_penalty
from fairlevel.predictors import Boosting, Linear, RandomFeatures
from fairlevel.removed import refuse_removed

GDP_WEIGHTS = (0, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20)
ROOT_WEIGHTS = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5)
SPECTRAL_WEIGHTS = (0, 0.1, 0.3, 1, 3, 8, 20, 50, 100, 300, 1000, 3000)
STEP_SIZES = (0.1, 0.02, 0.2, 0.05)  # of the families of auto, the most different ones first: mixtures need variety

SPECTRAL = SpectralPath(
    SPECTRAL_WEIGHTS, tuple(Head(ridge, rate) for rate, ridge in product((0.1, 0.2), (1e-4, 1e-3, 1e-5, 1e-2)))
)
ON_ONE_PREDICTOR = Families(
    (
        PenaltyGrid(tuple(Setting(RootFBO(), rate) for rate in STEP_SIZES), ROOT_WEIGHTS),
        PenaltyGrid(tuple(Setting(GDP(), rate) for rate in STEP_SIZES), GDP_WEIGHTS[1:]),
        SpectralPath(SPECTRAL_WEIGHTS[1:], tuple(map(Head, (1e-4, 1e-3, 1e-3, 1e-3), STEP_SIZES))),
    )
)
"""What ``auto`` stands for where the user names the predictor."""

MOST_SMOOTH_ROWS = 8000
"""Smooth models of ``auto`` train on at most this number of rows: boosters gain more from further rows than they do."""

BOOSTING_WEIGHTS = tuple(2 * weight for weight in ROOT_WEIGHTS)
LARGE_TREES = Boosting(leaves=31, rounds=400, rows_in_leaf=10)
SMALL_TREES = Boosting(leaves=6, rounds=400)
_WAVES = RandomFeatures(ridge=1e-3)  # the head has a ridge of its own
_NETWORK_HEADS = (Head(1e-4), Head(1e-3))
_ROOT = WithStages(PenaltyGrid((Setting(RootFBO()),), BOOSTING_WEIGHTS))
BOOSTING = WithConstant(Families(tuple(OnPredictor(trees, _ROOT) for trees in (LARGE_TREES, SMALL_TREES))))
AUTO = WithConstant(
    Families(
        (
            OnPredictor(LARGE_TREES, _ROOT),
            OnPredictor(SMALL_TREES, _ROOT),
            OnPredictor(_WAVES, SpectralPath(SPECTRAL_WEIGHTS, (Head(1e-3), Head(1e-1))), MOST_SMOOTH_ROWS),
            OnPredictor(Linear(), SpectralPath(SPECTRAL_WEIGHTS, _NETWORK_HEADS, network=(64, 64)), MOST_SMOOTH_ROWS),
            OnPredictor(Linear(), SpectralPath(SPECTRAL_WEIGHTS, (Head(1e-3),)), MOST_SMOOTH_ROWS),
        )
    )
)

SOURCES: dict[str, CandidateSource] = {
    "auto": AUTO,  # boosters, linear models of features, waves and what a small network has learnt, the constant
    "boosting": BOOSTING,  # boosters of two sizes
    "relevel": WithConstant(ReweightedTrees()),  # one booster, its trees weighted anew
    "spectral": SPECTRAL,  # two trained members, then closed form
}
"""Sources with a name of their own; the name of a penalty stands for a grid over its weight."""


def resolve_candidates(solver: str | Penalty | CandidateSource) -> CandidateSource:
    """A source from its name, from the name of a penalty (a grid over its weight), from a penalty object, or itself."""
    if isinstance(solver, str):
        if solver in SOURCES:
            return SOURCES[solver]
        if solver in PENALTIES or solver in WITH_NETWORKS:
            return PenaltyGrid.over(resolve_penalty(solver))
        refuse_removed(f"penalty={solver!r}", InvalidInput)
        raise UnknownName("solver", solver, (*SOURCES, *NAMES))
    if isinstance(solver, type):
        raise InvalidType(f"solver={solver!r} is a class; an object is needed, such as {solver.__name__}().")
    if isinstance(solver, CandidateSource):
        return solver
    if isinstance(solver, Penalty):
        return PenaltyGrid.over(solver)
    raise InvalidType(f"solver={solver!r} was given; a name ({', '.join((*SOURCES, *NAMES))}) or an object is needed.")
