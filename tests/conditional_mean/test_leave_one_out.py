import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.leave_one_out import leave_out_covariance


def test_held_out_covariance_is_centred_at_zero_without_disparity():
    random = np.random.default_rng(0)
    a = random.standard_normal((150, 3))
    f = torch.from_numpy(random.standard_normal((4000, 150)))
    values = leave_out_covariance(
        f, RandomFeaturesMean().prepare(Attributes(a)), torch.full((4000,), 0.05, dtype=torch.float64)
    )
    assert float(values.mean()) == pytest.approx(0, abs=4 * float(values.std()) / 4000**0.5 + 1 / 150)
    in_sample = RandomFeaturesMean().prepare(Attributes(a))
    fitted = in_sample.apply(f, 0.05)
    assert float((fitted - fitted.mean(dim=1, keepdim=True)).mul(f).mean()) > 0.02  # what it corrects
