"""Errors and warnings of the package; each error is also the built-in it refines."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class FairLevelError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidInput(FairLevelError, ValueError):
    """What was given cannot be used; the message says what is needed instead."""


class InvalidType(FairLevelError, TypeError):
    """What was given is of a kind that cannot be used here."""


class MissingSensitiveFeatures(InvalidInput):
    """Fairness was asked for without the attributes it is about."""


class UnknownName(InvalidInput):
    """A name that is not in its table; the message lists those that are."""

    def __init__(self, kind: str, given: object, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(str(given), names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"Unknown {kind} {given!r}.{hint} Known: {', '.join(names)}.")


class Diverged(FairLevelError, ArithmeticError):
    """Training left the finite numbers, or ended far worse than a constant prediction."""


class ProxyWarning(UserWarning):
    """A feature of X is (nearly) a copy of a sensitive attribute."""


class AlreadyLevel(UserWarning):
    """The sensitive attributes explain nothing of the most accurate prediction: there is no trade-off to show."""
