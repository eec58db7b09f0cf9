"""fairlevel: predictors whose average prediction is level across continuous, high-dimensional sensitive attributes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairlevel._version import __version__ as __version__
from fairlevel.extras import networks as from_networks
from fairlevel.removed import refuse_removed
from fairlevel.threads import waiting_asleep

if TYPE_CHECKING:
    from fairlevel.auditing.audit import audit
    from fairlevel.conditional_mean import GroupMean, RandomFeaturesMean, RidgeMean, SplineMean
    from fairlevel.data.encoder import TableEncoder
    from fairlevel.estimators.fair_classifier import FairClassifier
    from fairlevel.estimators.fair_regressor import FairRegressor
    from fairlevel.estimators.fairness_path import FairnessPath
    from fairlevel.estimators.loading import load
    from fairlevel.estimators.relevel import relevel
    from fairlevel.metrics.compare import compare
    from fairlevel.metrics.dpvar import dpvar, dpvar_interval
    from fairlevel.networks.mlp_mean import MLPMean
    from fairlevel.networks.penalties import FBO, ITD, Adversarial
    from fairlevel.penalties import GDP, HSIC, ClosedFBO, LinearR2


__all__ = [
    "FBO",
    "GDP",
    "HSIC",
    "ITD",
    "Adversarial",
    "ClosedFBO",
    "FairClassifier",
    "FairRegressor",
    "FairnessPath",
    "GroupMean",
    "LinearR2",
    "MLPMean",
    "RandomFeaturesMean",
    "RidgeMean",
    "SplineMean",
    "TableEncoder",
    "audit",
    "compare",
    "dpvar",
    "dpvar_interval",
    "load",
    "relevel",
]

_HOME = {
    "FBO": "networks.penalties",
    "GDP": "fairlevel.penalties",
    "HSIC": "fairlevel.penalties",
    "ITD": "networks.penalties",
    "Adversarial": "networks.penalties",
    "ClosedFBO": "fairlevel.penalties",
    "FairClassifier": "fairlevel.estimators.fair_classifier",
    "FairRegressor": "fairlevel.estimators.fair_regressor",
    "FairnessPath": "fairlevel.estimators.fairness_path",
    "GroupMean": "fairlevel.conditional_mean",
    "LinearR2": "fairlevel.penalties",
    "MLPMean": "networks.mlp_mean",
    "RandomFeaturesMean": "fairlevel.conditional_mean",
    "RidgeMean": "fairlevel.conditional_mean",
    "SplineMean": "fairlevel.conditional_mean",
    "TableEncoder": "fairlevel.data.encoder",
    "audit": "fairlevel.auditing.audit",
    "compare": "fairlevel.metrics.compare",
    "dpvar": "fairlevel.metrics.dpvar",
    "dpvar_interval": "fairlevel.metrics.dpvar",
    "load": "fairlevel.estimators.loading",
    "relevel": "fairlevel.estimators.relevel",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that ``import fairlevel`` alone loads no heavy library."""
    if name not in _HOME and name != "torch":
        refuse_removed(f"fairlevel.{name}", AttributeError)
        raise AttributeError(f"module 'fairlevel' has no attribute {name!r}; it offers {', '.join(__all__)}.")
    with waiting_asleep():  # libraries are loaded here
        if name == "torch":
            from_networks("backend")  # without PyTorch, one sentence
            return import_module("fairlevel.torch")
        home = _HOME[name]
        module = from_networks(home.removeprefix("networks.")) if home.startswith("networks.") else import_module(home)
        value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
