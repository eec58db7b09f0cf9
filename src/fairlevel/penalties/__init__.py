"""Penalties: one file each, one row each in the table below."""

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.penalties.fbo import FBO
from fairlevel.penalties.fbo_closed import ClosedFBO
from fairlevel.penalties.itd import ITD
from fairlevel.penalties.none import NoPenalty
from fairlevel.penalties.protocol import Penalty

PENALTIES: dict[str, type[FBO] | type[ITD] | type[ClosedFBO]] = {
    penalty.name: penalty
    for penalty in (
        FBO,  # the paper's, as printed
        ITD,  # the paper's, as printed
        ClosedFBO,  # ours: closed-form inner solve, all rows, all labels
    )
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


__all__ = ["FBO", "ITD", "PENALTIES", "ClosedFBO", "NoPenalty", "Penalty", "resolve_penalty"]
