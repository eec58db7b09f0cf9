"""What a row of results holds: one trained model, or one mixture of them."""

from __future__ import annotations

import pandas as pd

SCHEMA = 1
"""Changes when columns do; results of another schema are refused."""

KEY = ("dataset", "seed", "method")
"""One task a key."""

COLUMNS: dict[str, str] = {
    "dataset": "str",
    "seed": "int64",
    "method": "str",
    "combiner": "str",  # best: one model; stacked: a mixture
    "family": "str",  # which penalty or path trained the model
    "setting": "int64",  # number of the setting; -1 for mixtures
    "weight": "float64",
    "learning_rate": "float64",
    "status": "str",
    "zeta": "float64",  # of mixtures: the weight of DPVar that set their shares
    "networks": "int64",  # members of a mixture
    "mse_val": "float64",
    "dpvar_val": "float64",  # the paper's diagnostic; not of mixtures, which VAL does not choose among
    "selected": "bool",  # some ζ chose it on VAL; only then it has figures on TEST
    "mse_test": "float64",
    "dpvar_test": "float64",  # the paper's diagnostic
    "dpvar_debiased_test": "float64",
    "variance_test": "float64",
    "dpvar_true": "float64",  # where the design is known
    "dpvar_true_se": "float64",
    "source": "str",
    "rows": "int64",
    "features": "int64",
    "attributes": "int64",
    "sensitive": "str",  # which columns became A
    "copies": "int64",  # features that are (nearly) copies of an attribute
    "protocol": "str",
    "version": "str",
    "device": "str",
    "seconds": "float64",
}


def tidy(rows: pd.DataFrame) -> pd.DataFrame:
    """All columns in their order and types; numbers that do not apply are NaN, −1 or 1."""
    defaults = {"setting": -1, "networks": 1, "copies": 0}
    filled = rows.reindex(columns=list(COLUMNS))
    for name, value in defaults.items():
        filled[name] = filled[name].fillna(value)
    return filled.astype(COLUMNS)
