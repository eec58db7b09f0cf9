"""Every file of a folder that holds one kind of thing is in that folder's table."""

import pkgutil

import pytest
import torch

import fairlevel.conditional_mean as means
import fairlevel.predictors as predictors
from fairlevel.predictors import PREDICTORS, resolve_predictor


def files(package):
    return {module.name for module in pkgutil.iter_modules(package.__path__)}


def test_conditional_means_are_registered():
    support = {"protocol", "smoother", "leave_out", "inner_losses", "mlp", "moments", "spectrum", "streamed"}
    assert files(means) - support == set(means.LINEAR_MEANS)


def test_predictors_are_registered():
    assert files(predictors) - {"protocol"} == set(PREDICTORS)


@pytest.mark.parametrize("name", sorted(PREDICTORS))
def test_predictor_maps_are_reproducible_and_do_not_depend_on_the_rows_predicted(name):
    predictor = resolve_predictor(name)
    x = torch.randn(50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    first, second = (predictor.input_map(x, seed=1) for _ in range(2))
    assert torch.equal(first(x), second(x))
    torch.testing.assert_close(first(x[:7]), first(x)[:7], rtol=1e-12, atol=1e-12)
    network = predictor.network(first(x).shape[1])
    assert network.forward(network.init(0, torch.float64).unsqueeze(0), first(x))[0].shape == (1, 50)
