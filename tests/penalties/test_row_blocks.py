"""Compiled products against products in 64 bits; neither other configurations nor threads change a bit."""

import numpy as np
import pytest
import torch

from fairlevel import ClosedFBO
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.penalties import smoothing
from fairlevel.penalties.row_blocks import RowBlocks
from fairlevel.predictors import Configurations
from fairlevel.predictors.boosting import Boosting
from fairlevel.training.engine import train
from fairlevel.training.rows import AllRows, TrainingRows

EXAMPLE = torch.eye(3)
pytestmark = pytest.mark.skipif(
    RowBlocks.of(EXAMPLE, EXAMPLE[0], rounded=False) is None, reason="no C compiler here, or switched off"
)


def problem(rows, functions, configs, stored_by_function=False):
    """Functions with a row far out and one that is zero at first, uneven weights, predictions, coefficients."""
    generator = torch.Generator().manual_seed(rows * functions)
    basis = torch.randn(rows, functions, generator=generator)
    basis[rows // 2] *= 30
    basis[: rows // 3, functions // 2] = 0
    weight = torch.rand(rows, generator=generator)
    if stored_by_function:
        basis = basis.T.contiguous().T
    prediction, coefficients = (torch.randn(configs, count, generator=generator) for count in (rows, functions))
    return basis, weight / weight.sum(), prediction, coefficients


def unpacked(blocks, rows):
    """The functions of packed bytes in 64 bits: byte 4 j + p of a block is row 32 p + j."""
    by_row = blocks.packed.view(len(blocks.packed), -1, 32, 4).transpose(2, 3).flatten(2)
    return ((by_row.double() - 128) * blocks.scales.unsqueeze(2)).transpose(1, 2).flatten(0, 1)[:rows]


@pytest.mark.parametrize("rows", [1, 128, 300])
def test_bytes_are_functions_within_half_a_step_of_their_block(rows):
    basis, weight, _, _ = problem(rows, 7, 1)
    blocks = RowBlocks.of(basis, weight, rounded=True)
    for number, part in enumerate(basis.double().split(128)):
        step = part.abs().amax(dim=0) / 127
        found = unpacked(blocks, rows)[128 * number : 128 * number + len(part)]
        assert ((found - part).abs() <= 0.50001 * step).all()


@pytest.mark.parametrize("stored_by_function", [False, True])
@pytest.mark.parametrize(("rows", "functions", "configs"), [(1, 1, 1), (127, 33, 2), (128, 32, 3), (5001, 211, 70)])
def test_products_are_those_of_64_bits(rows, functions, configs, stored_by_function):
    basis, weight, prediction, coefficients = problem(rows, functions, configs, stored_by_function)
    for rounded in (False, True):
        blocks = RowBlocks.of(basis, weight, rounded)
        truth = unpacked(blocks, rows) if rounded else basis.double()
        expected = (prediction * weight).double() @ truth
        torch.testing.assert_close(
            blocks.coefficients(prediction).double(), expected, rtol=1e-5, atol=2e-6 * float(expected.abs().max())
        )
        expected = coefficients.double() @ truth.T * weight
        torch.testing.assert_close(
            blocks.combined(coefficients).double(), expected, rtol=1e-5, atol=2e-6 * float(expected.abs().max())
        )


@pytest.mark.parametrize("rounded", [False, True])
def test_neither_other_configurations_nor_threads_change_a_bit(rounded):
    basis, weight, prediction, coefficients = problem(5001, 75, 70)
    blocks, before = RowBlocks.of(basis, weight, rounded), torch.get_num_threads()
    found = blocks.coefficients(prediction), blocks.combined(coefficients)
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            for some in (slice(0, 1), slice(66, 70), slice(0, 70)):
                assert torch.equal(blocks.coefficients(prediction[some]), found[0][some])
                assert torch.equal(blocks.combined(coefficients[some]), found[1][some])
    finally:
        torch.set_num_threads(before)


def test_boosters_of_rounded_functions_minimise_the_same_objective(monkeypatch):
    random = np.random.default_rng(0)
    a = random.standard_normal((4000, 3))
    x = np.hstack([a + random.standard_normal((4000, 3)), random.standard_normal((4000, 2))])
    y = x.sum(axis=1) / x.sum(axis=1).std()
    rows = AllRows(TrainingRows(x, y, Attributes(a), rows_in=2000))
    grid, predictor = Configurations.of([0.0, 1.0, 30.0], 0.1), Boosting(leaves=7, rounds=60)

    def end():
        return train(rows, grid, predictor=predictor, penalty=ClosedFBO(), optimizer=GradientDescent(0.1, 1))

    exact = end()
    monkeypatch.setattr(smoothing, "MANY_ROWS", 1000)
    rounded = end()
    assert not torch.equal(exact.penalty, rounded.penalty)
    objectives = [each.loss + torch.tensor([0.0, 1.0, 30.0]) * each.penalty for each in (exact, rounded)]
    torch.testing.assert_close(objectives[1], objectives[0], rtol=0.02, atol=0)
