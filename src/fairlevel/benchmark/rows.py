"""The columns of results; a row is one trained model, or one mixture of them.

VAL and TEST are the validation and test rows of a dataset (see :class:`~fairlevel.benchmark.protocol.Protocol`).
"""

from __future__ import annotations

import pandas as pd

SCHEMA = 2
"""Version of the columns; a run cannot go on in a folder of another version."""

SINCE: dict[str, float | str] = {"memory": float("nan"), "commit": ""}
"""Columns that files of schema 1 lack, with what stands for them."""

KEY = ("dataset", "seed", "method")
"""The columns that identify a task."""

COLUMNS: dict[str, str] = {
    "dataset": "str",
    "seed": "int64",
    "method": "str",
    "combiner": "str",  # best: one model; stacked: a mixture
    "family": "str",  # the penalty or path that trained the model
    "setting": "int64",  # number of the method's setting; -1 for mixtures
    "weight": "float64",  # of the penalty
    "learning_rate": "float64",
    "status": "str",  # finished or diverged
    "zeta": "float64",  # for mixtures: the weight of DPVar that determined the shares
    "networks": "int64",  # number of models in a mixture
    "mse_val": "float64",
    "dpvar_val": "float64",  # the paper's diagnostic; missing for mixtures
    "selected": "bool",  # on VAL, for some weight ζ of DPVar (all mixtures are); only these rows have values on TEST
    "mse_test": "float64",
    "dpvar_test": "float64",  # the paper's diagnostic
    "dpvar_debiased_test": "float64",
    "variance_test": "float64",
    "dpvar_true": "float64",  # simulated; only for the synthetic design
    "dpvar_true_se": "float64",
    "source": "str",
    "rows": "int64",
    "features": "int64",
    "attributes": "int64",
    "sensitive": "str",  # names of the columns that became A
    "copies": "int64",  # number of features that are (nearly) copies of an attribute
    "protocol": "str",
    "version": "str",
    "commit": "str",  # of the code that made the row, + where files had been changed; empty if unknown
    "device": "str",
    "seconds": "float64",  # of the whole task
    "memory": "float64",  # largest memory of the task on a GPU, in MiB; missing on a CPU
}


def tidy(rows: pd.DataFrame) -> pd.DataFrame:
    """All columns in the right order and type; missing values become NaN, or −1, 1 and 0 in columns of integers."""
    defaults = {"setting": -1, "networks": 1, "copies": 0}
    filled = rows.assign(**{name: value for name, value in SINCE.items() if name not in rows})
    filled = filled.reindex(columns=list(COLUMNS))
    for name, value in defaults.items():
        filled[name] = filled[name].fillna(value)
    return filled.astype(COLUMNS)
