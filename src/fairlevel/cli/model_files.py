"""Files of models that other libraries have trained: one row each in the table at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlevel.exceptions import FairLevelError, InvalidInput

if TYPE_CHECKING:
    from fairlevel.arrays import Array


@dataclass(frozen=True)
class ModelFormat:
    """How files of one ending are read, and how a re-levelled model is written."""

    library: str
    read: Callable[[Path], Any]
    write: Callable[[Any, Path], None]


@dataclass(frozen=True)
class OnnxModel:
    """A model in ONNX as a predict function; it reads one matrix of numbers. Its first output is the prediction."""

    path: Path

    def predict(self, X: Any) -> Array:
        """(row, feature) -> (row,)."""
        import numpy as np

        session = self.session()
        (matrix,) = session.get_inputs()
        kind = np.float64 if "double" in matrix.type else np.float32
        found = session.run(None, {matrix.name: np.asarray(X, dtype=kind)})[0]
        return np.asarray(found, dtype=np.float64).reshape(len(X), -1)[:, 0]

    def session(self) -> Any:
        """The model, ready to predict; what the file holds is checked."""
        import onnxruntime

        session = onnxruntime.InferenceSession(str(self.path), providers=["CPUExecutionProvider"])
        if len(session.get_inputs()) != 1:
            raise InvalidInput(f"{self.path.name!r} has {len(session.get_inputs())} inputs; one matrix is needed.")
        first = session.get_outputs()[0]
        if not any(kind in first.type for kind in ("float", "double")):
            raise InvalidInput(
                f"{self.path.name!r} gives {first.type} as its first output, {first.name!r}; numbers with decimals are "
                "needed: export a classifier so that its first output is the probability."
            )
        return session


def _onnx(path: Path) -> OnnxModel:
    model = OnnxModel(path)
    model.session()
    return model


def _lightgbm(path: Path) -> Any:
    import lightgbm

    return lightgbm.Booster(model_file=str(path))


def _xgboost(path: Path) -> Any:
    import xgboost

    return xgboost.Booster(model_file=str(path))


def _catboost(path: Path) -> Any:
    import catboost

    return catboost.CatBoost().load_model(str(path))


def _write_onnx(model: Any, path: Path) -> None:
    from fairlevel.models.onnx_correction import write_corrected_onnx

    write_corrected_onnx(model, path)


FORMATS: dict[str, ModelFormat] = {
    ".txt": ModelFormat("lightgbm", _lightgbm, lambda model, path: model.save_model(str(path))),
    ".json": ModelFormat("xgboost", _xgboost, lambda model, path: model.save_model(str(path))),
    ".ubj": ModelFormat("xgboost", _xgboost, lambda model, path: model.save_model(str(path))),
    ".cbm": ModelFormat("catboost", _catboost, lambda model, path: model.save_model(str(path))),
    ".onnx": ModelFormat("onnxruntime", _onnx, _write_onnx),
}
"""By the ending of the file."""


def require_model_file(path: Path) -> ModelFormat:
    """The format of a file that exists."""
    if not path.is_file():
        raise InvalidInput(f"{str(path)!r} does not exist.")
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise InvalidInput(f"{path.name!r} ends in {path.suffix!r}; a model ending in {', '.join(FORMATS)} is needed.")
    return found


def read_model_file(path: Path) -> Any:
    """The model in a file."""
    found = require_model_file(path)
    try:
        return found.read(path)
    except ImportError:
        raise InvalidInput(f"{path.name!r} needs {found.library}; type: pip install {found.library}.") from None
    except FairLevelError:
        raise
    except Exception as error:
        words = str(error).partition("\n")[0] or type(error).__name__
        raise InvalidInput(f"{found.library} cannot read {path.name!r} as a model: {words}") from None
