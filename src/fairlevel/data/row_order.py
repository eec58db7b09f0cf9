"""Rows of several arguments are matched by position, not by label."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pandas as pd

from fairlevel.exceptions import InvalidInput


def refuse_shuffled(**arguments: Any) -> None:
    """Other row labels, or the same ones in another order, are most likely a mistake: rows of another split. Arguments
    by name, each of one entry per row; those without labels pass.
    """
    labels = {name: getattr(given, "index", None) for name, given in arguments.items()}
    labelled = [(name, index) for name, index in labels.items() if isinstance(index, pd.Index)]
    for (first, ours), (name, theirs) in combinations(labelled, 2):
        if len(ours) != len(theirs) or ours.equals(theirs):
            continue
        if ours.is_unique and theirs.is_unique and ours.isin(theirs).all():
            raise InvalidInput(
                f"{name} has the same row labels as {first}, but in another order, and rows are matched by position: "
                f"pass {name}.loc[{first}.index], or call .reset_index(drop=True) on both."
            )
        if _is_new(first, ours) or _is_new(name, theirs):
            continue
        row = next(row for row, (our, their) in enumerate(zip(ours, theirs, strict=True)) if our != their)
        raise InvalidInput(
            f"{name} and {first} have different row labels ({theirs[row]!r} and {ours[row]!r} in row {row + 1}), as "
            f"rows of another split have: pass the same rows. If they are the same, call .reset_index(drop=True) on "
            "both."
        )


def _is_new(name: str, labels: pd.Index) -> bool:
    """Whether rows were counted from 0 when an argument was made, as in pd.Series(model.predict(X)), so that labels say
    nothing. Features and attributes are parts of a table, which may begin with its row 0.
    """
    return name not in _TABLES and isinstance(labels, pd.RangeIndex) and labels.start == 0 and labels.step == 1


_TABLES = ("X", "sensitive_features", "given")
