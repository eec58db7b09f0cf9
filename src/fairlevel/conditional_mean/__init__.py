"""Estimators of E[f(X) | A = a].

Files, in an order to read them:

- ``attributes.py``: A, weights and groups of some rows; ``factors.py``: legitimate factors
- ``protocol.py``: what an estimator offers, and ridge regression, the simplest; ``splines.py``, ``random_features.py``
  and ``groups.py`` differ from it in their features of A
- ``smoother.py``: h = S f in orthonormal functions of A, for every ridge at once
- ``kernel_nodes.py``: where a kernel regression is evaluated
- ``learnt.py``: functions of A that boosted trees and nearest rows learn from a prediction
"""

from fairlevel.conditional_mean.groups import GroupMean
from fairlevel.conditional_mean.protocol import LinearMean, RidgeMean
from fairlevel.conditional_mean.random_features import RandomFeaturesMean
from fairlevel.conditional_mean.smoother import Features
from fairlevel.conditional_mean.splines import SplineMean

LINEAR_MEANS: dict[str, type[LinearMean]] = {
    mean.name: mean for mean in (RidgeMean, RandomFeaturesMean, SplineMean, GroupMean)
}
"""Every linear conditional mean by name; ``MLPMean`` is the trained one."""

__all__ = ["LINEAR_MEANS", "Features", "GroupMean", "LinearMean", "RandomFeaturesMean", "RidgeMean", "SplineMean"]
