"""Prediction by LightGBM's own compiled library, through its C interface.

The package ``lightgbm`` imports scikit-learn, SciPy and pandas with it, which takes longer than predicting; its library
alone loads at once, and gives the same bits.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.exceptions import FairLevelError
from fairlevel.threads import forked

_FLOAT64, _ROW_MAJOR, _RAW_SCORE = 1, 1, 1  # constants of LightGBM's C interface
_LIBRARIES = {".so", ".dylib", ".dll"}  # on Linux, macOS and Windows


class LightGBMMissing(FairLevelError, ImportError):
    """A model of trees needs LightGBM, and it is not installed."""


class LightGBMTrees:
    """A model read from LightGBM's text, for prediction alone."""

    def __init__(self, text: str) -> None:
        self._handle, iterations = ctypes.c_void_p(), ctypes.c_int()
        _call("LGBM_BoosterLoadModelFromString", text.encode(), ctypes.byref(iterations), ctypes.byref(self._handle))

    def predict(self, x: Array, first: int, count: int) -> Array:
        """The sum of ``count`` trees from number ``first`` on: (row, feature) -> (row,)."""
        values = np.ascontiguousarray(x, dtype=np.float64)
        found, written = np.empty(len(values)), ctypes.c_int64()
        _call(
            "LGBM_BoosterPredictForMat",
            *(self._handle, values.ctypes.data_as(ctypes.c_void_p), _FLOAT64),
            *(ctypes.c_int32(values.shape[0]), ctypes.c_int32(values.shape[1]), _ROW_MAJOR, _RAW_SCORE),
            *(first, count, b"num_threads=1" if forked() else b"", ctypes.byref(written)),
            found.ctypes.data_as(ctypes.c_void_p),
        )
        if written.value != len(found):
            raise RuntimeError(f"{written.value} predictions for {len(found)} rows")
        return found

    def __del__(self) -> None:
        if self._handle:
            _library().LGBM_BoosterFree(self._handle)


def _call(function: str, *arguments: Any) -> None:
    library = _library()
    if getattr(library, function)(*arguments) != 0:
        raise RuntimeError(library.LGBM_GetLastError().decode(errors="replace"))


@cache
def _library() -> Any:
    """The library that wheels put beside the modules; where a distribution keeps it elsewhere, the package finds it."""
    found = find_spec("lightgbm")
    if found is None or found.origin is None:
        raise LightGBMMissing("This model holds trees of LightGBM; type: pip install lightgbm.")
    files = Path(found.origin).parent.rglob("lib_lightgbm.*")
    path = next((file for file in files if file.suffix in _LIBRARIES), None)
    library = import_module("lightgbm.basic")._LIB if path is None else ctypes.cdll.LoadLibrary(str(path))
    library.LGBM_GetLastError.restype = ctypes.c_char_p
    return library
