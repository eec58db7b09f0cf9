"""Numbers of Python's type Decimal, as databases and Parquet files hold them, are numbers."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from fairlevel import FairClassifier, FairnessPath, FairRegressor, TableEncoder, load
from fairlevel.data.columns import Numbers, kind_of
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import Boosting

LINEAR = {"predictor": "linear", "optimizer": Adam(steps=30), "random_state": 0}
TREES = {"predictor": Boosting(rounds=10), "random_state": 0}
IN_ARROW = pd.ArrowDtype(pa.decimal128(10, 3))


def decimals(values, dtype=object):
    return pd.Series([Decimal(str(value)) for value in values], dtype=dtype)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(200, 3)).round(3), columns=["u", "v", "w"])
    a = frame[["u"]].to_numpy() + 0.3 * random.normal(size=(200, 1))
    y = (frame.sum(axis=1) + random.normal(size=200)).round(2).to_numpy()
    return frame, y, a


@pytest.fixture(scope="module")
def plain(rows):
    """Models of plain numbers, which those of decimals have to equal."""
    frame, y, a = rows
    return {
        name: model.fit(frame, y, sensitive_features=a)
        for name, model in {
            "linear": FairRegressor(1.0, **LINEAR),
            "boosting": FairRegressor(1.0, **TREES),
            "path": FairnessPath("spectral", **LINEAR),
        }.items()
    }


TABLES = {
    "objects": lambda frame: frame.assign(u=decimals(frame["u"])),
    "arrow type": lambda frame: frame.assign(u=decimals(frame["u"], IN_ARROW)),
    "arrow table": lambda frame: pa.Table.from_pandas(frame.assign(u=decimals(frame["u"]))),
    "polars": lambda frame: pl.from_pandas(frame.assign(u=decimals(frame["u"]))),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("name", ["linear", "boosting"])
def test_features_of_type_decimal_are_numbers(rows, plain, table, name, tmp_path):
    frame, y, a = rows
    expected = plain[name].predict(frame)
    model = clone(plain[name]).fit(table(frame), y, sensitive_features=a)
    np.testing.assert_array_equal(model.predict(table(frame)), expected)
    plain[name].save(tmp_path / "model")
    later = TABLES["objects"](frame)
    np.testing.assert_allclose(load(tmp_path / "model").predict(later), expected)


def test_decimals_beside_text_and_gaps_are_numbers(rows):
    frame, y, a = rows
    frame = frame.assign(town=np.where(frame["v"] > 0, "north", "south"))
    frame.loc[[3, 8], "u"] = np.nan
    column = decimals(frame["u"].fillna(0)).where(frame["u"].notna(), None)
    plain = FairRegressor(1.0, **TREES).fit(frame, y, sensitive_features=a)
    for given in (column, column.astype(IN_ARROW)):
        table = frame.assign(u=given)
        model = FairRegressor(1.0, **TREES).fit(table, y, sensitive_features=a)
        np.testing.assert_array_equal(model.predict(table), plain.predict(frame))
        np.testing.assert_array_equal(plain.predict(table), plain.predict(frame))
        assert kind_of("u", given) == Numbers()
        np.testing.assert_array_equal(TableEncoder().fit_transform(table), TableEncoder().fit_transform(frame))


@pytest.mark.parametrize("dtype", [object, IN_ARROW], ids=["objects", "arrow type"])
def test_targets_of_type_decimal_are_numbers(rows, plain, dtype):
    frame, y, a = rows
    path = clone(plain["path"]).fit(frame, decimals(y, dtype), sensitive_features=a)
    assert path.classes_ is None
    pd.testing.assert_frame_equal(path.front_, plain["path"].front_)
    with pytest.raises(InvalidInput, match="y is continuous"):
        FairClassifier(1.0, **LINEAR).fit(frame, decimals(y, dtype), sensitive_features=a)
    gap = decimals(y, dtype)
    gap.iloc[4] = None
    with pytest.raises(InvalidInput, match="y holds 1 missing"):
        FairRegressor(1.0, **LINEAR).fit(frame, gap, sensitive_features=a)
    two = decimals((y > 0).astype(int), dtype)
    assert FairClassifier(1.0, **LINEAR).fit(frame, two, sensitive_features=a).classes_.tolist() == [0, 1]
