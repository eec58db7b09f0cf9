"""Estimators of E[f(X) | A = a]."""

from fairlevel.conditional_mean.groups import GroupMean
from fairlevel.conditional_mean.mlp import MLPMean
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.conditional_mean.random_features import RandomFeaturesMean
from fairlevel.conditional_mean.ridge import RidgeMean
from fairlevel.conditional_mean.splines import SplineMean

LINEAR_MEANS: dict[str, type[LinearMean]] = {
    mean.name: mean for mean in (RidgeMean, RandomFeaturesMean, SplineMean, GroupMean)
}
"""Every linear conditional mean by name; ``MLPMean`` is the trained one."""

__all__ = ["LINEAR_MEANS", "GroupMean", "LinearMean", "MLPMean", "RandomFeaturesMean", "RidgeMean", "SplineMean"]
