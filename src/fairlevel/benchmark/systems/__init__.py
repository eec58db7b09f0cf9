"""Systems of the paper's map that are no penalties: one file each, one row each in the table below."""

from __future__ import annotations

from fairlevel.benchmark.systems.badr import BADR
from fairlevel.benchmark.systems.barycentre import Barycentre
from fairlevel.benchmark.systems.barycentre_continuous import ContinuousBarycentre
from fairlevel.benchmark.systems.bifair import BiFair
from fairlevel.benchmark.systems.cod import CoD
from fairlevel.benchmark.systems.fairbatch import FairBatch
from fairlevel.benchmark.systems.fairbinn import FairBiNN
from fairlevel.benchmark.systems.grouping import FairnessAwareGrouping
from fairlevel.benchmark.systems.protocol import System
from fairlevel.benchmark.systems.reductions import Reductions
from fairlevel.benchmark.systems.source import SystemGrid

SYSTEMS: dict[str, type[System]] = {
    system.name: system
    for system in (
        CoD,
        Barycentre,
        ContinuousBarycentre,
        FairnessAwareGrouping,
        Reductions,
        FairBatch,
        BiFair,
        FairBiNN,
        BADR,
    )
}
"""Every system by its name; a new one is a file and a row here, and a row of methods.py where the study runs it."""

__all__ = ["SYSTEMS", "System", "SystemGrid"]
