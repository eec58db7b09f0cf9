"""Penalties: one file each, one row each in the table below."""

from collections.abc import Callable

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.penalties.adversarial import Adversarial
from fairlevel.penalties.adversarial_plain import PlainAdversarial
from fairlevel.penalties.eipm import EIPM
from fairlevel.penalties.fbo import FBO
from fairlevel.penalties.fbo_closed import ClosedFBO
from fairlevel.penalties.fbo_root import RootFBO
from fairlevel.penalties.gdp import GDP
from fairlevel.penalties.gedi import GeDI
from fairlevel.penalties.hgr import NeuralHGR
from fairlevel.penalties.hgr_chi2 import ChiSquareHGR
from fairlevel.penalties.hgr_kernel import KernelHGR
from fairlevel.penalties.hsic import HSIC
from fairlevel.penalties.hsic_features import FeatureHSIC
from fairlevel.penalties.itd import ITD
from fairlevel.penalties.linear_r2 import LinearR2
from fairlevel.penalties.mine import MINE
from fairlevel.penalties.none import NoPenalty
from fairlevel.penalties.prejudice_remover import PrejudiceRemover
from fairlevel.penalties.protocol import Penalty

PENALTIES: dict[str, Callable[[], Penalty]] = {
    "fbo": FBO,  # the paper's, as printed
    "itd": ITD,  # the paper's, as printed
    "r2": LinearR2,  # the paper's baselines
    "gdp": GDP,
    "adversarial": Adversarial,
    "adversarial_plain": PlainAdversarial,  # without normalising and clipping
    "hsic": HSIC,
    "hsic_features": FeatureHSIC,  # HSIC in linear time
    "fbo_closed": ClosedFBO,  # ours: closed-form inner solve, all rows, all labels
    "fbo_root": RootFBO,  # its square root: the gradient does not vanish as DPVar shrinks
    "prejudice_remover": PrejudiceRemover,  # the rest of the paper's map; groups, classes
    "eipm": EIPM,
    "hgr": NeuralHGR,
    "hgr_chi2": ChiSquareHGR,
    "hgr_kernel": KernelHGR,
    "gedi": GeDI,
    "mine": MINE,
}


def resolve_penalty(penalty: str | Penalty) -> Penalty:
    """A penalty object from its name or from itself."""
    if isinstance(penalty, str):
        if penalty not in PENALTIES:
            raise UnknownName("penalty", penalty, PENALTIES)
        return PENALTIES[penalty]()
    if not isinstance(penalty, Penalty) or isinstance(penalty, type):
        raise InvalidType(
            f"penalty={penalty!r} was given; a name ({', '.join(sorted(PENALTIES))}) or a penalty object such as "
            "ClosedFBO() is needed."
        )
    return penalty


def within_factors() -> list[str]:
    """Names of the penalties that compare rows within legitimate factors."""
    return sorted(name for name, made in PENALTIES.items() if made().within_factors)


__all__ = [
    "EIPM",
    "FBO",
    "GDP",
    "HSIC",
    "ITD",
    "MINE",
    "PENALTIES",
    "Adversarial",
    "ChiSquareHGR",
    "ClosedFBO",
    "FeatureHSIC",
    "GeDI",
    "KernelHGR",
    "LinearR2",
    "NeuralHGR",
    "NoPenalty",
    "Penalty",
    "PlainAdversarial",
    "PrejudiceRemover",
    "RootFBO",
    "resolve_penalty",
    "within_factors",
]
