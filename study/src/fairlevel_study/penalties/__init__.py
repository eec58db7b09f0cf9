"""Penalties of the paper's map that the product does not hold: one file each, one row each in the table below.

``FairRegressor(penalty=GeDI())`` trains with one of them, as the study does.
"""

from fairlevel_study.penalties.eipm import EIPM
from fairlevel_study.penalties.gedi import GeDI
from fairlevel_study.penalties.hgr import NeuralHGR
from fairlevel_study.penalties.hgr_chi2 import ChiSquareHGR
from fairlevel_study.penalties.hgr_kernel import KernelHGR
from fairlevel_study.penalties.mine import MINE

PENALTIES = {penalty.name: penalty for penalty in (EIPM, NeuralHGR, ChiSquareHGR, KernelHGR, GeDI, MINE)}

__all__ = ["EIPM", "MINE", "PENALTIES", "ChiSquareHGR", "GeDI", "KernelHGR", "NeuralHGR"]
