"""Candidates of a front: one grid, one spectral path, one ``auto``, for estimators and study alike."""

from fairlevel.candidates.candidate_set import CandidateSet
from fairlevel.candidates.constant import WithConstant
from fairlevel.candidates.families import Families
from fairlevel.candidates.on_predictor import OnPredictor, WithStages
from fairlevel.candidates.penalty_grid import PenaltyGrid, PlainSteps, Setting
from fairlevel.candidates.protocol import PATH_LIMITS, CandidateSource, Limits, TrainingSetup
from fairlevel.candidates.reweighted_trees import ReweightedTrees
from fairlevel.candidates.sources import SOURCES, resolve_candidates
from fairlevel.candidates.spectral_path import Head, SpectralPath

__all__ = [
    "PATH_LIMITS",
    "SOURCES",
    "CandidateSet",
    "CandidateSource",
    "Families",
    "Head",
    "Limits",
    "OnPredictor",
    "PenaltyGrid",
    "PlainSteps",
    "ReweightedTrees",
    "Setting",
    "SpectralPath",
    "TrainingSetup",
    "WithConstant",
    "WithStages",
    "resolve_candidates",
]
