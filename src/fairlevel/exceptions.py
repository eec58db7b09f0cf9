"""Errors and warnings of the package; each error is also of the matching built-in kind, such as ValueError."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class FairLevelError(Exception):
    """Base class of all errors that this package raises on purpose."""


class InvalidInput(FairLevelError, ValueError):
    """A value that cannot be used; the message says what is needed instead."""


class InvalidType(FairLevelError, TypeError):
    """A value of a type that cannot be used here."""


class MissingSensitiveFeatures(InvalidInput):
    """Fairness was asked for, but no sensitive attributes were given."""


class NoTreesToChange(InvalidInput):
    """A model has no trees whose leaves could get other values; ``why`` is a sentence."""

    def __init__(self, method: str, model: str, reason: str | None) -> None:
        self.why = reason or f"{model} has no trees."
        details = f" ({reason})" if reason else ""
        super().__init__(
            f"method={method!r} needs trees that can be changed, and {model} has none{details}; use "
            "method='correction'."
        )


class NotInstalled(FairLevelError, ImportError):
    """What was asked for needs a package that is not installed."""


class UnknownName(InvalidInput):
    """An unknown name; the message lists the known ones."""

    def __init__(self, kind: str, given: object, known: Iterable[str]) -> None:
        names, word = sorted(known), str(given).casefold()
        folded = {name.casefold(): name for name in names}
        near = get_close_matches(word, folded, n=1) or sorted((name for name in folded if word in name), key=len)
        hint = f" Did you mean {folded[near[0]]!r}?" if near and word else ""
        super().__init__(f"Unknown {kind} {given!r}.{hint} Known: {', '.join(names)}.")


class Diverged(FairLevelError, ArithmeticError):
    """Training produced infinite or missing numbers, or ended far worse than a constant prediction."""


class CannotWrite(FairLevelError, OSError):
    """A file or folder cannot be written."""


class NoSensitiveFeatures(UserWarning):
    """A model is trained without fairness because it got no sensitive attributes; ``weight=0`` asks for that."""


class ProxyWarning(UserWarning):
    """A feature of X is (nearly) a copy of a sensitive attribute."""


class UnknownAttributes(UserWarning):
    """Sensitive attributes are missing in some rows."""


class FewRowsPerCombination(UserWarning):
    """Combinations of legitimate factors have too few rows each; only single columns are accounted for."""


class ClassesWarning(UserWarning):
    """A regression was asked for, but the target looks like classes."""


class AlreadyLevel(UserWarning):
    """No disparity was found in the most accurate model, so there is nothing to trade off."""


class AuditSeesMore(UserWarning):
    """An audit of a front's model, which learns from its predictions, finds more disparity than the front shows."""


class NoBetterThanTheMean(UserWarning):
    """No model of a front errs less on unseen rows than the average of y does."""


class SeenRows(UserWarning):
    """A model is judged on rows that it was trained on."""


class NegativePredictions(UserWarning):
    """A correction predicts values below 0 where the model as it was given predicts none."""


class UnseenLevels(UserWarning):
    """Many rows hold categories that the training rows lack."""


class EmptyColumns(UserWarning):
    """Columns that a model reads are empty in all rows to predict for."""


class UnreadableCells(UserWarning):
    """Cells that cannot be read count as missing, as was asked for."""


class NumbersAsText(UserWarning):
    """A column of text that looks like numbers is read as categories."""


class ChangedCells(UserWarning):
    """Own models of a path get cells that differ from those that were given."""


class UnusedOptimizer(UserWarning):
    """An optimiser was given to boosting, which has none."""


class BudgetOutOfReach(UserWarning):
    """No model of a front meets the budget that was asked for; the front is kept."""
