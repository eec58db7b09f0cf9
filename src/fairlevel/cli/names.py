"""Names that options take, written out, because the tables that define them import PyTorch; a test compares both."""

from __future__ import annotations

from collections.abc import Iterable

from fairlevel.exceptions import InvalidInput, UnknownName

PENALTIES = (
    *("fbo", "itd", "r2", "gdp", "adversarial", "hsic", "hsic_features", "fbo_closed", "fbo_root", "prejudice_remover"),
    *("eipm", "hgr", "hgr_chi2", "hgr_kernel", "gedi", "mine", "adversarial_plain"),
)
SOURCES = ("auto", "boosting", "relevel", "spectral")
PREDICTORS = ("boosting", "mlp", "linear", "random_features")
PROTOCOLS = ("paper", "paper2k", "adam", "medium", "small", "tiny")
VARIANTS = ("descent", "adam", "stopped", "short_diagnostic", "adam_diagnostic", "listed_weights", "apart")
EXECUTORS = ("local", "ray")
WAYS_OF_RELEVEL = ("auto", "averages", "trees", "leaves", "correction")
SUITES = ("paper", "ours", "map", "systems", "references", "variants")
METHODS = (
    *("fbo", "itd", "r2", "gdp", "adversarial", "hsic", "hgr_chi2", "hgr", "hgr_kernel", "gedi", "mine", "eipm"),
    *("cod", "barycentre", "barycentre_continuous", "grouping"),
    *("reductions", "fairbatch", "bifair", "fairbinn", "badr"),
    *("fbo_closed", "spectral", "boosting", "relevel", "auto", "auto_networks", "plain_boosting", "plain_network"),
    *("fbo_all_labels", "fbo_plain_steps", "itd_all_labels", "itd_plain_steps"),
    *("gdp_authors", "gdp_authors_scaled", "r2_covariance", "adversarial_plain"),
)


def require_protocol(name: str) -> None:
    """Raise an error if there is no such protocol, or no such variant of it (``small+descent``)."""
    base, *variants = name.split("+")
    if base not in PROTOCOLS:
        raise UnknownName("protocol", base, PROTOCOLS)
    for variant in variants:
        if variant not in VARIANTS:
            raise UnknownName("variant of a protocol", variant, VARIANTS)


def require_executor(name: str) -> None:
    """Raise an error if there is no such executor."""
    if name not in EXECUTORS:
        raise UnknownName("executor", name, EXECUTORS)


def require_methods(names: Iterable[str]) -> None:
    """Raise an error if one of the names is neither a method nor a suite of methods, or if there is none."""
    names = tuple(names)
    if not names:
        raise InvalidInput("No methods were given; at least one is needed.")
    for name in names:
        if name not in (*METHODS, *SUITES):
            raise UnknownName("method", name, (*METHODS, *SUITES))


def require_processes(count: int | None) -> None:
    """Raise an error if there would be no process."""
    if count is not None and count < 1:
        raise InvalidInput(f"--processes {count} was given; at least 1 is needed.")
