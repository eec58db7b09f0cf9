import pytest
import torch

from fairlevel.exceptions import InvalidInput
from fairlevel.networks.optimizers import Adam, GradientDescent


def quadratic_gradient(parameters, curvature):
    return curvature * parameters


@pytest.mark.parametrize(
    ("ours", "peer"),
    [
        (Adam(steps=30, final_fraction=1.0), lambda p, lr: torch.optim.Adam([p], lr=lr)),
        (GradientDescent(steps=30), lambda p, lr: torch.optim.SGD([p], lr=lr)),
    ],
)
def test_equals_torch_with_one_step_size_per_configuration(ours, peer):
    curvature = torch.linspace(0.5, 2.0, 6, dtype=torch.float64)
    rates = torch.tensor([0.01, 0.1], dtype=torch.float64)
    parameters = torch.ones(2, 6, dtype=torch.float64)
    state = ours.init(parameters)
    for step in range(30):
        parameters, state = ours.update(parameters, quadratic_gradient(parameters, curvature), state, rates, step)
    for config, rate in enumerate(rates.tolist()):
        single = torch.ones(6, dtype=torch.float64, requires_grad=True)
        optimizer = peer(single, rate)
        for _ in range(30):
            optimizer.zero_grad()
            (0.5 * curvature * single.square()).sum().backward()
            optimizer.step()
        torch.testing.assert_close(parameters[config], single.detach(), rtol=1e-12, atol=1e-14)


def test_adam_ends_at_the_final_fraction_of_its_step_size():
    adam = Adam(steps=10, final_fraction=0.1)
    moved = []
    for step in (0, 9):
        start = torch.zeros(1, 1, dtype=torch.float64)
        after, _ = adam.update(
            start.clone(), torch.ones(1, 1, dtype=torch.float64), None, torch.ones(1, dtype=torch.float64), step
        )
        # a fresh state has m = 0.1 g, v = 0.001 g²; undo the bias correction of the step
        moved.append(float(-after) / ((0.1 / (1 - 0.9 ** (step + 1))) / (0.001 / (1 - 0.999 ** (step + 1))) ** 0.5))
    assert moved[0] == pytest.approx(1.0, rel=1e-6)
    assert moved[1] == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("bad", [{"learning_rate": 0.0}, {"learning_rate": float("nan")}, {"steps": 0}])
@pytest.mark.parametrize("kind", [Adam, GradientDescent])
def test_refuses_numbers_that_cannot_work(kind, bad):
    with pytest.raises(InvalidInput, match="needed"):
        kind(**bad)
