"""Matrices on which LAPACK's divide and conquer fails are decomposed all the same."""

import numpy as np
import torch

from fairlevel.conditional_mean.linear_algebra import thin_svd


def test_the_slower_algorithm_takes_over_where_the_fast_one_fails(monkeypatch):
    values = torch.from_numpy(np.linalg.qr(np.random.default_rng(0).normal(size=(40, 6)))[0] * [3, 3, 3, 3, 1, 1])

    def fails(*args, **kwargs):
        raise torch.linalg.LinAlgError("linalg.svd: The algorithm failed to converge")

    monkeypatch.setattr(torch.linalg, "svd", fails)
    left, singular, right = thin_svd(values)
    np.testing.assert_allclose(singular, [3, 3, 3, 3, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(left * singular @ right, values, atol=1e-12)
