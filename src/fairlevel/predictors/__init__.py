"""Predictors: one file each, one row each in the table below."""

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.predictors.linear import Linear
from fairlevel.predictors.mlp import MLP
from fairlevel.predictors.protocol import InputMap, Predictor
from fairlevel.predictors.random_features import RandomFeatures

PREDICTORS: dict[str, type[MLP] | type[Linear] | type[RandomFeatures]] = {
    predictor.name: predictor for predictor in (MLP, Linear, RandomFeatures)
}


def resolve_predictor(predictor: str | Predictor) -> Predictor:
    """A predictor object from its name or from itself."""
    if isinstance(predictor, str):
        if predictor not in PREDICTORS:
            raise UnknownName("predictor", predictor, PREDICTORS)
        return PREDICTORS[predictor]()
    if not isinstance(predictor, Predictor) or isinstance(predictor, type):
        raise InvalidType(
            f"predictor={predictor!r} was given; a name ({', '.join(sorted(PREDICTORS))}) or a predictor object such "
            "as MLP() is needed."
        )
    return predictor


__all__ = ["MLP", "PREDICTORS", "InputMap", "Linear", "Predictor", "RandomFeatures", "resolve_predictor"]
