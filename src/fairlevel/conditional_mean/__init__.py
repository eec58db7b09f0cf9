"""Estimators of E[f(X) | A = a].

Files, in an order to read them:

- ``attributes.py``: A, weights and groups of some rows; ``factors.py``: legitimate factors
- ``protocol.py``: what an estimator offers; linear ones are ``ridge.py``, ``splines.py``, ``random_features.py`` and
  ``groups.py``, which differ in their features of A; ``mlp.py`` is the paper's network
- ``smoother.py``, ``spectrum.py``, ``basis.py``: h = S f in an orthonormal basis, for every ridge at once;
  ``factorisation.py`` makes it, with ``linear_algebra.py`` and the functions of ``cells``
- ``learnt.py``: functions of A that boosted trees and nearest rows learn from a prediction
- ``products.py``: what each step of training computes of the basis; ``row_blocks.py``: the same in C, for boosters
- ``blockwise.py``, ``many_rows.py``, ``moments.py``: the same from moments, for many rows and for batches
- ``resolution.py``, ``tuning.py``, ``leave_one_out.py``: how bandwidth and ridge are chosen, and held-out values
- ``inner_losses.py``: medians and quantiles instead of means; ``stored_functions.py``: fitted functions in a file
"""

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
