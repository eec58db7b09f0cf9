"""Rows of several arguments are matched by position; the same labels in another order are refused by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from fairlevel import FairClassifier, FairnessPath, FairRegressor, audit, compare, dpvar, relevel
from fairlevel.data.row_order import refuse_shuffled
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


def test_other_labels_pass():
    """Labels that differ say nothing about the order."""
    refuse_shuffled(X=X, y=Y.reset_index(drop=True), a=Y.to_numpy(), b=None, c=Y.set_axis(Y.index + 7), d=Y[:5])
    refuse_shuffled(X=X.to_numpy(), y=Y[OTHER_ORDER])
    refuse_shuffled(X=X.set_axis([0] * 60), y=Y.set_axis([0] * 60))
