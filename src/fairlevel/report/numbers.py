"""Numbers and lists of names as people write them: 62,700, 0.0312, 35.2 %, p < .0003."""

from __future__ import annotations

import math
from collections.abc import Sequence

NO_BREAK = "\N{NO-BREAK SPACE}"
_SMALLEST_P = 1e-4  # the approximation of tails is not good enough for smaller ones
_SHOWN = 4  # names of a longer list
_WITH_THOUSANDS = 10_000  # smaller numbers may be years
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimal(value: float, decimals: int, largest: float | None = None) -> str:
    """So many decimals, and thousands apart where the largest number beside it, by default itself, has five digits."""
    apart = "," if max(abs(value), abs(largest or 0.0)) >= _WITH_THOUSANDS else ""
    return f"{value + 0.0:{apart}.{decimals}f}".replace("-", "−")


def number(value: float, digits: int = 4) -> str:
    """At least ``digits`` significant digits; a power of ten only below 10⁻⁵ and from 10¹² on."""
    value = float(value)
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(float(f"{abs(value):.{digits - 1}e}")))
    if not -5 <= size < 12:
        mantissa = f"{value / 10.0**size:.{min(digits, 3) - 1}f}" if size > -300 else "0"
        return f"{mantissa}{NO_BREAK}×{NO_BREAK}10{str(size).translate(_SUPERSCRIPT)}".replace("-", "−")
    return decimal(value, max(0, digits - 1 - size))


def distinguishable(values: Sequence[float]) -> list[str]:
    """Numbers of one column with as many decimals as give their range three digits: −122.13 beside −122.35."""
    finite = [float(value) for value in values if math.isfinite(value)]
    spread = max(finite, default=0.0) - min(finite, default=0.0)
    if spread == 0:
        return [number(value) for value in values]
    decimals, largest = max(0, 2 - math.floor(math.log10(spread))), max(map(abs, finite))
    return [decimal(value, decimals, largest) if math.isfinite(value) else "–" for value in values]


def percent(share: float, digits: int = 1) -> str:
    """A share of 1 as a percentage."""
    return "–" if not math.isfinite(share) else f"{100 * share:,.{digits}f}{NO_BREAK}%".replace("-", "−")


def p_cell(p: float) -> str:
    """A p-value alone. The smallest that the test can give is an upper limit, and is shown as one."""
    if p < _SMALLEST_P:
        return f"<{NO_BREAK}.0001"
    if p < 0.001:
        return f"{p:.4f}".removeprefix("0")
    return f"{p:.{3 if p < 0.1 else 2}f}".removeprefix("0")


def p_phrase(p: float) -> str:
    """A p-value in a sentence: "p = .012" or "p < .0003"."""
    cell = p_cell(p)
    return f"p{NO_BREAK}{cell}" if cell.startswith("<") else f"p{NO_BREAK}={NO_BREAK}{cell}"


def attributes_in_words(names: Sequence[str]) -> str:
    """The names of attributes; of more than five the first four, and how many others there are.

    >>> attributes_in_words(["age", "sex", "income", "region", "school", "town"])
    'age, sex, income, region and 2 other attributes'
    """
    others = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + f" and {others} other attributes" if others > 1 else ", ".join(names)
