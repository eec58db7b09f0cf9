"""Penalties: one file each, one row each in the tables below."""

from collections.abc import Callable

from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName
from fairlevel.extras import networks
from fairlevel.penalties.fbo_closed import ClosedFBO, RootFBO
from fairlevel.penalties.gdp import GDP
from fairlevel.penalties.hsic import HSIC, FeatureHSIC
from fairlevel.penalties.linear_r2 import LinearR2
from fairlevel.penalties.protocol import NoPenalty, Penalty
from fairlevel.removed import refuse_removed

PENALTIES: dict[str, Callable[[], Penalty]] = {
    "r2": LinearR2,  # the paper's baselines
    "gdp": GDP,
    "hsic": HSIC,
    "hsic_features": FeatureHSIC,  # HSIC in linear time
    "fbo_closed": ClosedFBO,  # ours: closed-form inner solve, all rows, all labels
    "fbo_root": RootFBO,  # its square root: the gradient does not vanish as DPVar shrinks
}

WITH_NETWORKS = {
    "fbo": "FBO",  # the paper's, as printed
    "itd": "ITD",
    "adversarial": "Adversarial",  # the paper's baseline
    "adversarial_plain": "PlainAdversarial",  # without normalising and clipping
}
"""Penalties that train networks of their own, by PyTorch: their classes in ``fairlevel.networks.penalties``."""

NAMES = (*PENALTIES, *WITH_NETWORKS)
"""Penalties that can be asked for by name."""

WITHIN_FACTORS = ("fbo_closed", "fbo_root", "r2")
"""Those that compare rows within legitimate factors."""


def resolve_penalty(penalty: str | Penalty) -> Penalty:
    """A penalty object from its name or from itself."""
    if isinstance(penalty, str):
        if penalty in PENALTIES:
            return PENALTIES[penalty]()
        if penalty in WITH_NETWORKS:
            return getattr(networks("penalties"), WITH_NETWORKS[penalty])()  # type: ignore[no-any-return]
        refuse_removed(f"penalty={penalty!r}", InvalidInput)
        raise UnknownName("penalty", penalty, NAMES)
    if not isinstance(penalty, Penalty):
        raise InvalidType(
            f"penalty={penalty!r} was given; a name ({', '.join(sorted(NAMES))}) or a penalty object such as "
            "ClosedFBO() is needed."
        )
    return penalty


__all__ = [
    "GDP",
    "HSIC",
    "NAMES",
    "PENALTIES",
    "WITHIN_FACTORS",
    "WITH_NETWORKS",
    "ClosedFBO",
    "FeatureHSIC",
    "LinearR2",
    "NoPenalty",
    "Penalty",
    "RootFBO",
    "resolve_penalty",
]
