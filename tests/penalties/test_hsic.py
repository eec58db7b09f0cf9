import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import TorchBackend
from fairlevel.penalties import HSIC, FeatureHSIC
from tests.contracts.sanity import RHO, gaussian_hsic
from tests.drawn_rows import TENSORS, gaussian


def evaluated(penalty, f, a, seed=0):
    prepared = penalty.prepare(Attributes(a), seed=seed).to(TENSORS)
    return penalty.step(f, prepared, None)


def bivariate(rows, seed=0):
    random = np.random.default_rng(seed)
    a = random.standard_normal((rows, 1))
    return torch.from_numpy(RHO * a.T + np.sqrt(1 - RHO**2) * random.standard_normal((1, rows))), a


def unit_bandwidths(a):
    """A penalty whose σ_A is 1, whatever the median distance of these rows."""
    unit = HSIC().prepare(Attributes(a), seed=0).bandwidth
    return {"bandwidth": 1.0, "sensitive_bandwidth": 1 / unit}


def test_value_of_a_bivariate_normal_pair():
    f, a = bivariate(8000)
    assert gaussian_hsic(RHO) == pytest.approx(0.016616, abs=5e-7)
    value = float(evaluated(HSIC(**unit_bandwidths(a)), f, a).value)
    assert value == pytest.approx(0.016616, abs=0.0012)


def test_blocks_change_nothing():
    f, a = gaussian(500, 3, 2)
    whole, blocked = (evaluated(HSIC(block=block), f, a) for block in (10**9, 7_001))
    k = torch.exp(-0.5 * (f[:, :, None] - f[:, None]).square())
    unit = HSIC().prepare(Attributes(a), seed=0).bandwidth
    attributes = torch.from_numpy(a)
    other = torch.exp(-0.5 * torch.cdist(attributes, attributes).square() / unit**2)
    centre = torch.eye(500, dtype=torch.float64) - 1 / 500
    dense = (k * (centre @ other @ centre)).sum(dim=(1, 2)) / 500**2
    torch.testing.assert_close(blocked.value, dense, rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(blocked.gradient, whole.gradient, rtol=1e-10, atol=1e-14)


def test_exact_value_and_gradient_of_10000_rows_fit_in_a_quarter_of_a_gibibyte():
    """One matrix of all pairs alone would be larger."""
    program = textwrap.dedent("""
        import resource, numpy as np
        from fairlevel.arrays import NumPyBackend
        from fairlevel.conditional_mean.attributes import Attributes
        from fairlevel.penalties import HSIC
        random = np.random.default_rng(0)
        a, f = random.standard_normal((10_000, 5)), random.standard_normal((1, 10_000)).astype(np.float32)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        penalty = HSIC()
        prepared = penalty.prepare(Attributes(a), seed=0).to(NumPyBackend())
        step = penalty.step(f, prepared, None)
        assert np.isfinite(step.gradient).all()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    kibibytes = int(done.stdout) * (1 if resource.getpagesize() and sys.platform != "darwin" else 1 / 1024)
    assert kibibytes < 2**18


def test_held_out_value_is_zero_on_average_under_independence():
    values = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        a, f = random.standard_normal((150, 2)), torch.from_numpy(random.standard_normal((1, 150)))
        penalty = HSIC()
        prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
        values.append(float(penalty.value(f, prepared, None)))
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(40)
    assert np.mean(values) < 0.2 * float(evaluated(HSIC(), f, a).value)


def test_random_features_tend_to_the_exact_value():
    f, a = bivariate(4000)
    exact = float(evaluated(HSIC(), f, a).value)
    few, many = (
        [
            float(evaluated(FeatureHSIC(features=size, sensitive_features_count=size), f, a, seed).value)
            for seed in range(12)
        ]
        for size in (25, 400)
    )
    assert abs(np.mean(many) - exact) < 3.5 * np.std(many) / np.sqrt(12)
    assert np.std(many) < 0.5 * np.std(few)  # the error falls like 1/√D: a quarter


@pytest.mark.parametrize("settings", [{"bandwidth": 0.0}, {"sensitive_bandwidth": -1.0}, {"bandwidth": float("nan")}])
@pytest.mark.parametrize("kind", [HSIC, FeatureHSIC])
def test_refuses_bandwidths_that_are_none(kind, settings):
    with pytest.raises(InvalidInput, match="a positive number is needed"):
        kind(**settings)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("rows", "attributes"), [(2, 1), (63, 2), (1300, 10), (500, 60), (300, 70)])
def test_values_and_gradients_on_a_gpu_are_those_in_64_bits(rows, attributes):
    rng = np.random.default_rng(0)
    weight = rng.uniform(1, 2, rows)
    given = Attributes(rng.normal(size=(rows, attributes)), row_weight=weight / weight.sum())
    prediction = torch.from_numpy(rng.normal(size=(3, rows))) + torch.from_numpy(given.values[:, 0])
    penalty = HSIC(bandwidth=0.7, sensitive_bandwidth=0.5)
    prepared = penalty.prepare(given, seed=0).to(TENSORS)
    found = penalty.step(prediction.float().cuda(), prepared.to(TorchBackend("cuda")), None)
    expected = penalty.step(prediction, prepared, None)
    close = {"rtol": 0, "check_device": False, "check_dtype": False}
    torch.testing.assert_close(found.value, expected.value, atol=2e-6, **close)
    largest = float(expected.gradient.abs().max())
    torch.testing.assert_close(found.gradient, expected.gradient, atol=1e-4 * largest + 1e-12, **close)
