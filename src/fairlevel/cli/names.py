"""Names that options take, written out: the tables that define them import what trains. A test compares both."""

from __future__ import annotations

PENALTIES = (
    *("fbo", "itd", "r2", "gdp", "adversarial", "hsic", "hsic_features", "fbo_closed", "fbo_root"),
    "adversarial_plain",
)
SOURCES = ("auto", "boosting", "relevel", "spectral")
PREDICTORS = ("boosting", "mlp", "linear", "random_features")
WAYS_OF_RELEVEL = ("auto", "averages", "trees", "leaves", "correction")
