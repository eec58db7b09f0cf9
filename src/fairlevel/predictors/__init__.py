"""Predictors: one file each, one row each in the tables below."""

from torch import nn

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.predictors.booster_members import BoosterMembers
from fairlevel.predictors.boosting import Boosting
from fairlevel.predictors.configurations import Configurations
from fairlevel.predictors.linear import Linear
from fairlevel.predictors.linked_members import LinkedMembers
from fairlevel.predictors.mlp import MLP
from fairlevel.predictors.module_members import ModuleMembers
from fairlevel.predictors.network_stack import NetworkMembers
from fairlevel.predictors.protocol import Learner, Members, Predictor
from fairlevel.predictors.random_features import RandomFeatures
from fairlevel.predictors.torch_module import TorchModule

PREDICTORS: dict[str, type[Boosting] | type[MLP] | type[Linear] | type[RandomFeatures]] = {
    predictor.name: predictor for predictor in (Boosting, MLP, Linear, RandomFeatures)
}
"""Predictors that can be asked for by name; a user's ``nn.Module`` is asked for as itself."""

MEMBERS: dict[str, type[NetworkMembers] | type[ModuleMembers] | type[BoosterMembers] | type[LinkedMembers]] = {
    members.kind: members for members in (NetworkMembers, ModuleMembers, BoosterMembers, LinkedMembers)
}
"""What predictors leave behind, by the kind that stands in a file."""


def resolve_predictor(predictor: str | Predictor | nn.Module) -> Predictor:
    """A predictor object from its name, from a module, or from itself."""
    if isinstance(predictor, str):
        if predictor not in PREDICTORS:
            raise UnknownName("predictor", predictor, PREDICTORS)
        return PREDICTORS[predictor]()
    if isinstance(predictor, nn.Module):
        return TorchModule(predictor)
    if not isinstance(predictor, Predictor) or isinstance(predictor, type):
        raise InvalidType(
            f"predictor={predictor!r} was given; a name ({', '.join(sorted(PREDICTORS))}), a predictor object such "
            "as MLP(), or an nn.Module is needed."
        )
    return predictor


__all__ = [
    "MEMBERS",
    "MLP",
    "PREDICTORS",
    "Boosting",
    "Configurations",
    "Learner",
    "Linear",
    "Members",
    "Predictor",
    "RandomFeatures",
    "TorchModule",
    "resolve_predictor",
]
