"""The closed form of a correction against dense linear algebra."""

import numpy as np
import pytest

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.corrections.closed_form import FARTHEST, LEFT, CorrectionPath, Disparity, gram
from fairlevel.releveling.existing import Family, Response, corrections
from fairlevel.trees.protocol import leaf_columns


@pytest.fixture(params=["equal", "weighted"])
def rows(request):
    random = np.random.default_rng(0)
    n, trees = 150, 6
    leaves = np.stack([random.integers(0, 4 + tree, n) for tree in range(trees)], axis=1)
    values = [random.standard_normal(4 + tree) for tree in range(trees)]
    by_tree = np.column_stack([own[leaves[:, tree]] for tree, own in enumerate(values)])
    a = random.standard_normal((n, 2))
    weight = None if request.param == "equal" else random.integers(1, 4, n).astype(float)
    f0 = by_tree.sum(axis=1) + a[:, 0]
    return leaves, values, by_tree, f0, Attributes(a, row_weight=weight)


def indicators(leaves, values):
    return np.concatenate([np.eye(len(own))[leaves[:, tree]] for tree, own in enumerate(values)], axis=1)


@pytest.mark.parametrize("kind", ["leaves", "dense"])
def test_more_columns_than_rows_are_solved_in_the_space_of_the_rows(rows, kind):
    """A correction is that of all columns, with the ridge of all columns."""
    leaves, values, _, f0, attributes = rows
    few = np.arange(12)
    columns = leaf_columns(leaves, [*map(len, values)]) if kind == "leaves" else indicators(leaves, values)
    disparity = Disparity.of(f0[few], attributes.take(few), 0)
    family = Family(f0, columns, (0.03,), None, None)
    found = corrections(Response(), family, few, disparity).coefficients
    (path,) = CorrectionPath.all(indicators(leaves, values)[few], f0[few], disparity, (0.03,))
    assert columns.shape[1] > len(few)
    np.testing.assert_allclose(found, path.coefficients(), rtol=1e-6, atol=1e-9)


def test_leaf_columns_are_indicators(rows):
    leaves, values, _, _, attributes = rows
    columns, dense = leaf_columns(leaves, [*map(len, values)]), indicators(leaves, values)
    np.testing.assert_array_equal(columns.toarray(), dense)
    weight = 3 * attributes.weight
    centred = dense - attributes.weight @ dense
    for one in (columns, dense):
        np.testing.assert_allclose(gram(one, weight), centred.T @ (weight[:, None] * centred), atol=1e-12)


@pytest.mark.parametrize("kind", ["trees", "leaves"])
def test_a_correction_minimises_its_objective(rows, kind):
    """Against the normal equations in full, for the α behind each share that is left."""
    leaves, values, by_tree, f0, attributes = rows
    phi = by_tree if kind == "trees" else indicators(leaves, values)
    columns = by_tree if kind == "trees" else leaf_columns(leaves, [*map(len, values)])
    disparity, weight, ridge = Disparity.of(f0, attributes, 0), attributes.weight, 0.03
    (path,) = CorrectionPath.all(columns, f0, disparity, (ridge,))
    centred = phi - weight @ phi
    gram = (centred * weight[:, None]).T @ centred
    crossed = centred.T @ disparity.functions
    tau = np.trace(gram) / len(gram)
    for u in path.coefficients():
        f = f0 + centred @ u
        left = float(disparity.coefficients(f) @ disparity.coefficients(f))
        stationary = gram @ u + ridge * tau * u
        pull = crossed @ disparity.coefficients(f)
        alpha = -float(stationary @ pull) / float(pull @ pull)
        np.testing.assert_allclose(stationary, -alpha * pull, atol=2e-6 * np.abs(stationary).max())
        assert alpha > 0
        assert left <= path.largest
    found = [float(np.sum(disparity.coefficients(f0 + centred @ u) ** 2)) / path.largest for u in path.coefficients()]
    changes = [float(weight @ (centred @ u) ** 2) for u in path.coefficients()]
    np.testing.assert_allclose(path.changes(path.alphas()), changes, rtol=1e-6)
    assert max(changes) <= FARTHEST * (weight @ (f0 - weight @ f0) ** 2)
    reachable = path.left(path.alphas([1e-12]))[0] * 1.05
    expected = [max(share, reachable) for share in LEFT]
    for share, wanted in zip(found, expected, strict=True):
        if wanted > reachable * 1.1:
            assert share == pytest.approx(wanted, rel=0.05)


def test_no_disparity_needs_no_correction(rows):
    _, _, by_tree, _, attributes = rows
    disparity = Disparity.of(by_tree.sum(axis=1), attributes, 0)
    (path,) = CorrectionPath.all(by_tree, np.full(len(by_tree), 3.0), disparity, (0.1,))
    np.testing.assert_allclose(path.coefficients(), 0, atol=1e-10)


def test_columns_that_hardly_reach_a_function_of_a_do_not_run_away():
    """Its share could only be taken away by a change far larger than the predictions themselves."""
    random = np.random.default_rng(0)
    a = random.standard_normal((400, 1))
    f0 = a[:, 0] + random.standard_normal(400)
    columns = random.standard_normal((400, 1)) + 1e-4 * a
    disparity = Disparity.of(f0, Attributes(a), 0)
    (path,) = CorrectionPath.all(columns, f0, disparity, (1e-3,))
    changed = f0 + path.coefficients() @ columns.T
    assert changed.var(axis=1).max() < 2 * (1 + FARTHEST) * f0.var()


def test_functions_of_attributes_do_not_explain_the_people_behind_them():
    """Copies of a row that belong together count as the row; as rows of their own, they explain each other."""
    person, copies = np.arange(60), np.repeat(np.arange(60), 8)
    explained = []
    for seed in range(8):
        a, chance = np.random.default_rng(seed).standard_normal((2, 60))
        f = 0.3 * a + chance
        for rows, groups in ((person, None), (copies, copies), (copies, None)):
            disparity = Disparity.of(f[rows], Attributes(a[rows, None], groups=groups), 0)
            explained.append((disparity.coefficients(f[rows]) ** 2).sum())
    alone, together, apart = np.reshape(explained, (8, 3)).mean(axis=0)
    assert together == pytest.approx(alone, rel=0.2)
    assert apart > 1.5 * together
