"""Names that a study knows, to answer mistakes before PyTorch is imported; a test compares them with its tables."""

from __future__ import annotations

from collections.abc import Iterable

from fairlevel.exceptions import InvalidInput, UnknownName

PROTOCOLS = ("paper", "adam", "medium", "small")
EXECUTORS = ("local", "ray")
SUITES = ("paper", "ours", "map", "references")
METHODS = (
    *("fbo", "itd", "r2", "gdp", "adversarial", "hsic", "hgr_chi2", "hgr", "hgr_kernel", "gedi", "mine", "eipm"),
    *("fbo_closed", "spectral", "boosting", "relevel", "auto", "auto_networks", "plain_boosting", "plain_network"),
    *("fbo_all_labels", "itd_all_labels"),
)


def require_protocol(name: str) -> None:
    """Raise an error if there is no such protocol."""
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)


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
