"""Predictors: one file each, one row each in the table below."""

from torch import nn

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.predictors.boosting import Boosting
from fairlevel.predictors.configurations import Configurations
from fairlevel.predictors.linear import Linear
from fairlevel.predictors.mlp import MLP
from fairlevel.predictors.protocol import Learner, Predictor
from fairlevel.predictors.random_features import RandomFeatures
from fairlevel.predictors.torch_module import TorchModule

PREDICTORS: dict[str, type[Boosting] | type[MLP] | type[Linear] | type[RandomFeatures]] = {
    predictor.name: predictor for predictor in (Boosting, MLP, Linear, RandomFeatures)
}
"""Predictors that can be asked for by name; a user's ``nn.Module`` is asked for as itself."""


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
    "MLP",
    "PREDICTORS",
    "Boosting",
    "Configurations",
    "Learner",
    "Linear",
    "Predictor",
    "RandomFeatures",
    "TorchModule",
    "resolve_predictor",
]
