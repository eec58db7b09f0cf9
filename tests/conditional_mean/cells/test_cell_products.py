"""Products with what cells say about columns, against one product with all of them."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.basis import Basis
from tests.conditional_mean.cells.discrete_rows import ALL_CELLS, CASES, ROWS

NAMES = [
    "discrete",
    "counted rows, some none",
    "one continuous column",
    "continuous factor",
    "free",
    "free, empty cells",
]


def signed_of(rows):
    """Of groups, and of smooth functions that know nothing of cells beside them."""
    smoothers = [mean.prepare(rows) for mean in (ALL_CELLS, RandomFeaturesMean(features=20))]
    assert smoothers[0].fit.sets
    return Basis.concatenated(tuple(each.fit.beyond(each.nuisance) for each in smoothers)).signed, smoothers[0]


@pytest.mark.parametrize("name", NAMES)
def test_products_are_those_of_the_whole_table(name):
    signed, smoother = signed_of(CASES[name]())
    scale = smoother.row_weight * torch.from_numpy(np.random.default_rng(1).standard_normal(ROWS))
    covariance = signed.covariance(scale)
    draws = torch.from_numpy(np.random.default_rng(2).standard_normal((30, signed.cells.count)))
    found = covariance.cell_products.factored(covariance.across).products(draws)
    expected = draws @ covariance.across
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11 * float(expected.abs().max()))


@pytest.mark.parametrize("name", ["discrete", "counted rows, some none", "free"])
def test_columns_that_cells_determine_need_no_product_of_their_own(name):
    signed, smoother = signed_of(CASES[name]())
    table = signed.covariance(smoother.row_weight.sqrt())
    found = table.cell_products.factored(table.across)
    smooth = smoother.fit.columns.shape[1] - smoother.nuisance
    assert (found.columns >= smooth).all()  # those of random features alone
    alone = smoother.fit.beyond(smoother.nuisance).signed.covariance(smoother.row_weight.sqrt())
    assert not alone.cell_products.factored(alone.across).rest.numel()
