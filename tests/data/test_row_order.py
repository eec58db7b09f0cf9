"""Rows of several arguments are matched by position; the same labels in another order are refused by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from fairlevel import FairClassifier, FairnessPath, FairRegressor, audit, compare, dpvar, relevel
from fairlevel.data.features import refuse_shuffled
from fairlevel.exceptions import InvalidInput

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.standard_normal((60, 2)), columns=["u", "v"])
Y, A = X["u"] + X["v"], X["v"].rename("a")
LABELS = (Y > 0).astype(int)
OTHER_ORDER = X.index[::-1]
MODEL = LinearRegression().fit(X, Y)

CALLS = {
    "regressor, y": ("y", lambda: FairRegressor().fit(X, Y[OTHER_ORDER], sensitive_features=A)),
    "regressor, weights": (
        "sample_weight",
        lambda: FairRegressor().fit(X, Y, sensitive_features=A, sample_weight=LABELS[OTHER_ORDER]),
    ),
    "classifier, y": ("y", lambda: FairClassifier().fit(X, LABELS[OTHER_ORDER], sensitive_features=A)),
    "path, y": ("y", lambda: FairnessPath().fit(X, Y[OTHER_ORDER], sensitive_features=A)),
    "path, A": ("sensitive_features", lambda: FairnessPath().fit(X, Y, sensitive_features=A[OTHER_ORDER])),
    "relevel, y": ("y", lambda: relevel(MODEL, X, sensitive_features=A, y=Y[OTHER_ORDER])),
    "audit, y_true": ("y_true", lambda: audit(Y, sensitive_features=A, y_true=Y[OTHER_ORDER])),
    "audit, given": ("given", lambda: audit(Y, sensitive_features=A, given=X.loc[OTHER_ORDER, "u"])),
    "audit, by": ("by", lambda: audit(Y, sensitive_features=A, by=LABELS[OTHER_ORDER])),
    "compare": ("y_pred_b", lambda: compare(Y, Y[OTHER_ORDER], sensitive_features=A)),
    "path, time": ("time", lambda: FairnessPath().fit(X, Y, sensitive_features=A, time=Y[OTHER_ORDER])),
    "X without labels": (
        "sensitive_features",
        lambda: FairRegressor().fit(X.to_numpy(), Y, sensitive_features=A[OTHER_ORDER]),
    ),
    "metric, A": ("sensitive_features", lambda: dpvar(None, Y, sensitive_features=A[OTHER_ORDER])),
}


@pytest.mark.parametrize("case", CALLS)
def test_another_order_is_refused_by_name(case):
    name, call = CALLS[case]
    with pytest.raises(InvalidInput, match=f"^{name} has the same row labels .*in another order"):
        call()


OTHER_ROWS = {
    "relevel, A": lambda a: relevel(MODEL, X, sensitive_features=a),
    "regressor, A": lambda a: FairRegressor().fit(X, Y, sensitive_features=a),
    "classifier, A": lambda a: FairClassifier().fit(X, LABELS, sensitive_features=a),
    "path, A": lambda a: FairnessPath().fit(X, Y, sensitive_features=a),
    "audit, A": lambda a: audit(Y.set_axis(Y.index + 3), sensitive_features=a),
    "audit, given": lambda a: audit(Y, sensitive_features=A, given=a),
}


@pytest.mark.parametrize("labels", [A.index + 60, A.index + 1, A.index.astype(str), pd.RangeIndex(0, 120, 2)])
@pytest.mark.parametrize("case", OTHER_ROWS)
def test_rows_of_another_split_are_refused(case, labels):
    """`relevel(...).best(max_share=.05)` returned the model as it was, with a share of .14."""
    with pytest.raises(InvalidInput, match=r"different row labels .* in row [12]\), as rows of another split have"):
        OTHER_ROWS[case](A.set_axis(labels))


def test_the_first_row_that_differs_is_named():
    with pytest.raises(InvalidInput, match=r"^sensitive_features and X have different row labels \(0 and 60 in row 1"):
        refuse_shuffled(X=X.set_axis(X.index + 60), sensitive_features=A)


def test_labels_that_say_nothing_pass():
    """Rows that were counted from 0 when predictions or weights were made, and arguments without labels."""
    of_a_split = X.set_axis(X.index[::-1] + 60)
    refuse_shuffled(X=of_a_split, y=Y.reset_index(drop=True), a=Y.to_numpy(), b=None, d=Y[:5])
    refuse_shuffled(X=X.to_numpy(), y=Y[OTHER_ORDER])
    refuse_shuffled(X=X.set_axis([0] * 60), y=Y.set_axis([0] * 60))
    refuse_shuffled(y_pred=Y, sensitive_features=of_a_split)
