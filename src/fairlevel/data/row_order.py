"""Rows of several arguments are matched by position, not by label."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairlevel.exceptions import InvalidInput


def refuse_shuffled(**arguments: Any) -> None:
    """The same row labels in another order are most likely a mistake. Arguments by name, each of one entry per row; the
    first with row labels is what the others are compared with, and those without labels pass.
    """
    labels = {name: getattr(given, "index", None) for name, given in arguments.items()}
    labelled = [(name, index) for name, index in labels.items() if isinstance(index, pd.Index)]
    if not labelled:
        return
    (first, ours), *others = labelled
    for name, theirs in others:
        if len(ours) != len(theirs) or ours.equals(theirs):
            continue
        if ours.is_unique and theirs.is_unique and ours.isin(theirs).all():
            raise InvalidInput(
                f"{name} has the same row labels as {first}, but in another order, and rows are matched by position: "
                f"pass {name}.loc[{first}.index], or call .reset_index(drop=True) on both."
            )
