"""Systems of the paper's map that are no penalties: one file each, one row each in the table below."""

from fairlevel_study.systems.badr import BADR
from fairlevel_study.systems.barycentres import Barycentre, ContinuousBarycentre, FairnessAwareGrouping
from fairlevel_study.systems.cod import CoD
from fairlevel_study.systems.networks import BiFair, FairBatch, FairBiNN
from fairlevel_study.systems.protocol import System, SystemGrid
from fairlevel_study.systems.reductions import Reductions

SYSTEMS: dict[str, type[System]] = {
    "cod": CoD,
    "barycentre": Barycentre,
    "barycentre_continuous": ContinuousBarycentre,
    "grouping": FairnessAwareGrouping,
    "reductions": Reductions,
    "fairbatch": FairBatch,
    "bifair": BiFair,
    "fairbinn": FairBiNN,
    "badr": BADR,
}
"""Every system by its name; a new one is a file and a row here, and a row of methods.py where the study runs it."""

__all__ = [
    "BADR",
    "SYSTEMS",
    "Barycentre",
    "BiFair",
    "CoD",
    "ContinuousBarycentre",
    "FairBatch",
    "FairBiNN",
    "FairnessAwareGrouping",
    "Reductions",
    "System",
    "SystemGrid",
]
