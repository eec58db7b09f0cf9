"""What every conditional mean promises of its functions of A, one from outside the package among them."""

from dataclasses import dataclass

import numpy as np
import pytest

from fairlevel import ClosedFBO, FairRegressor, dpvar_interval
from fairlevel.conditional_mean import LINEAR_MEANS, Features, LinearMean


@dataclass(frozen=True)
class Chessboard(LinearMean):
    """Whether the sum of the first two attributes, rounded down, is even; they have mean 0 and spread 1."""

    name = "chessboard"

    def feature_map(self, sensitive, row_weight, seed):
        return lambda rows: Features(np.floor(rows[:, :2]).sum(axis=1, keepdims=True) % 2, rows[:, :0])


RANDOM = np.random.default_rng(0)
A, E, OTHER = RANDOM.standard_normal((1000, 2)), RANDOM.standard_normal(1000), RANDOM.standard_normal(1000)
STANDARD = (A - A.mean(axis=0)) / A.std(axis=0)
EVEN = np.floor(STANDARD).sum(axis=1) % 2


@pytest.mark.parametrize(
    "mean", [*(mean() for mean in LINEAR_MEANS.values()), Chessboard()], ids=lambda mean: mean.name
)
def test_functions_of_a_row_depend_on_its_attributes_alone(mean):
    a = np.column_stack([STANDARD, np.tile([-1.0, 1.0], 500)])
    features = mean.feature_map(a, np.full(1000, 1e-3), 0)
    of_all, of_some = Features(*features(a)), Features(*features(a[300:320]))
    for name in ("free", "penalised"):
        whole, part = getattr(of_all, name), getattr(of_some, name)
        assert (len(whole), len(part)) == (1000, 20)
        np.testing.assert_allclose(part, whole[300:320], rtol=1e-12, atol=1e-12)
    assert of_all.free.shape[1] + of_all.penalised.shape[1] + of_all.levels > 0
    assert (of_all.level is None) == (of_all.levels == 0)


def test_a_mean_from_outside_finds_its_shape():
    found = dpvar_interval(EVEN + 0.3 * E, sensitive_features=A, regressor=Chessboard())
    assert found.regressor.startswith("chessboard")
    assert found.estimate == pytest.approx(EVEN.var(), rel=0.1)
    joined = dpvar_interval(EVEN + 0.3 * E, sensitive_features=A, regressor=[Chessboard()])
    assert joined.estimate == pytest.approx(found.estimate, rel=0.05)


def test_a_mean_from_outside_trains():
    x, y = np.column_stack([EVEN + 0.3 * E, OTHER]), EVEN + OTHER
    shares = []
    for weight in (0, 20):
        model = FairRegressor(weight, penalty=ClosedFBO(Chessboard()), predictor="linear", random_state=0)
        fitted = model.fit(x, y, sensitive_features=A).predict(x)
        shares.append(dpvar_interval(fitted, sensitive_features=A, regressor=Chessboard()).share)
    assert shares[0] > 0.1
    assert shares[1] < 0.02


def test_two_tables_without_a_name_are_free_and_penalised():
    """As own means of before 0.3 return them."""

    class Plain(Chessboard):
        def feature_map(self, sensitive, row_weight, seed):
            features = super().feature_map(sensitive, row_weight, seed)
            return lambda rows: (features(rows).free, features(rows).penalised)

    named, plain = (dpvar_interval(EVEN + E, sensitive_features=A, regressor=mean) for mean in (Chessboard(), Plain()))
    assert named == plain
