"""Candidates of a front: one grid, one spectral path, one ``auto``, for estimators and study alike.

Files, in an order to read them:

- ``protocol.py``: what trains candidates, and with what; ``candidate_set.py``: what comes out
- ``penalty_grid.py``: a penalty over weights and settings
- ``spectral_path.py``: the trade-offs of a linear head in closed form; ``network_features.py``: a head's features
- ``reweighted_trees.py``: one booster, whose trees are weighted anew
- ``own_models.py``: models that a user trains; ``combined.py``: sources made of other sources
- ``sources.py``: what ``auto`` and the other names stand for
- ``fitting.py``, ``stopping.py``: from a table to trained candidates, and when training ends
"""

from fairlevel.candidates.candidate_set import CandidateSet
from fairlevel.candidates.combined import Families, OnPredictor, WithConstant, WithStages
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
