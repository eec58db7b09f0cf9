"""Predictors: one file each, one row each in the tables below."""

from __future__ import annotations

from typing import Any

from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.extras import networks
from fairlevel.predictors.boosting import Boosting
from fairlevel.predictors.linear import Linear, RandomFeatures
from fairlevel.predictors.protocol import Configurations, Learner, Predictor

PREDICTORS: dict[str, type[Boosting] | type[Linear] | type[RandomFeatures]] = {
    predictor.name: predictor for predictor in (Boosting, Linear, RandomFeatures)
}
"""Predictors that can be asked for by name."""

WITH_NETWORKS = {"mlp": "mlp.MLP"}
"""Those that need PyTorch: where they are in ``fairlevel.networks``. A user's ``nn.Module`` is asked for as itself."""


def resolve_predictor(predictor: str | Predictor | Any) -> Predictor:
    """A predictor object from its name, from a module of PyTorch, or from itself."""
    if isinstance(predictor, str):
        if predictor in PREDICTORS:
            return PREDICTORS[predictor]()
        if predictor in WITH_NETWORKS:
            module, name = WITH_NETWORKS[predictor].split(".")
            return getattr(networks(module), name)()  # type: ignore[no-any-return]
        raise UnknownName("predictor", predictor, (*PREDICTORS, *WITH_NETWORKS))
    if isinstance(predictor, Predictor):
        return predictor
    if hasattr(predictor, "state_dict") and not isinstance(predictor, type):
        return networks("torch_module").TorchModule(predictor)  # type: ignore[no-any-return]
    raise InvalidType(
        f"predictor={predictor!r} was given; a name ({', '.join(sorted((*PREDICTORS, *WITH_NETWORKS)))}), a predictor "
        "object such as Boosting(), or an nn.Module is needed."
    )


__all__ = [
    "PREDICTORS",
    "WITH_NETWORKS",
    "Boosting",
    "Configurations",
    "Learner",
    "Linear",
    "Predictor",
    "RandomFeatures",
    "resolve_predictor",
]
