"""Rows of several arguments are matched by position, not by label."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairlevel.exceptions import InvalidInput


def refuse_shuffled(rows: Any, **arguments: Any) -> None:
    """The same row labels in another order are most likely a mistake; arguments by name, those without labels pass."""
    ours = getattr(rows, "index", None)
    if not isinstance(ours, pd.Index):
        return
    for name, given in arguments.items():
        theirs = getattr(given, "index", None)
        if not isinstance(theirs, pd.Index) or len(ours) != len(theirs) or ours.equals(theirs):
            continue
        if ours.is_unique and theirs.is_unique and ours.isin(theirs).all():
            raise InvalidInput(
                f"{name} has the same row labels as the other rows, but in another order, and rows are matched by "
                f"position: pass {name}.loc[X.index], or call .reset_index(drop=True) on both."
            )
