"""Names for the NumPy arrays that the package passes around."""

from __future__ import annotations

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""Numbers in 64 bits."""

Index = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Row or column numbers."""

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""One yes or no per entry."""
