"""Lists of names as people write them."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4  # names of a longer list


def attributes_in_words(names: Sequence[str]) -> str:
    """The names of attributes; of more than four the first ones, and how many others there are.

    >>> attributes_in_words(["age", "sex", "income", "region", "school"])
    'age, sex, income, region and 1 other attribute'
    """
    shown, others = ", ".join(names[:_SHOWN]), len(names) - _SHOWN
    if others <= 0:
        return shown
    return f"{shown} and {others} other attribute{'s' if others > 1 else ''}"
