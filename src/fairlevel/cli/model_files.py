"""Files of models that other libraries have trained: one row each in the table ``FORMATS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlevel.exceptions import FairLevelError, InvalidInput, NoTreesToChange

if TYPE_CHECKING:
    from fairlevel.arrays import Array

LARGEST = 1e30  # sums of squares of larger numbers, such as damage makes, overflow
IN_PYTHON = "re-level its predict function in Python: fairlevel.relevel(predict, X, sensitive_features=A)"


@dataclass(frozen=True)
class ModelFormat:
    """How files of one ending are read, how a re-levelled model is written, and whether such a file can hold a
    correction beside the model.
    """

    library: str
    load: Callable[[Path], Any]
    write: Callable[[Any, Path], None] = lambda model, path: model.save_model(str(path))
    holds_corrections: bool = False

    def method(self, asked: str) -> str:
        """How models of this format change; one that could not be written is refused."""
        if asked == "correction" and not self.holds_corrections:
            raise InvalidInput(
                f"--method correction was given, but a file of {self.library} holds its own trees only; leave out "
                f"--method, or {IN_PYTHON}."
            )
        return "averages" if asked == "auto" and not self.holds_corrections else asked

    def read(self, path: Path) -> Any:
        """The model in a file."""
        with _one_sentence(f"{self.library} cannot read {path.name!r} as a model"):
            try:
                return self.load(path)
            except ImportError:
                raise InvalidInput(f"{path.name!r} needs {self.library}; type: pip install {self.library}.") from None

    def refuse_unusable(self, path: Path, model: Any, X: Any, method: str, seed: int) -> None:
        """Read the trees of a model and predict all rows once. What goes wrong is said of its file; later it would be
        an error of this package.
        """
        import numpy as np

        from fairlevel.releveling.reading import read_model

        with _one_sentence(f"{self.library} cannot predict these rows with {path.name!r}"):
            try:
                existing, _ = read_model(model, X, method, seed)
            except NoTreesToChange as error:
                if self.holds_corrections:
                    raise
                sentence = f"{error.why} A file of {self.library} cannot hold a correction; {IN_PYTHON}."
                raise InvalidInput(sentence) from None
        largest = np.abs(np.concatenate([existing.total, *getattr(existing, "values", ())])).max()
        if not largest < LARGEST:
            raise InvalidInput(f"{path.name!r} holds or predicts numbers as large as {largest:.3g}; it is damaged.")


@contextmanager
def _one_sentence(what: str) -> Iterator[None]:
    """Say what cannot be done where a library raises an error, which may be of any kind."""
    try:
        yield
    except FairLevelError:
        raise
    except Exception as error:
        words = str(error).partition("\n")[0]
        raise InvalidInput(f"{what} ({type(error).__name__}{words and f': {words}'}).") from None


class OnnxModel:
    """A model in ONNX as a predict function; it reads one matrix of numbers. Its first output is the prediction."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        self.path = path
        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        inputs, first = self.session.get_inputs(), self.session.get_outputs()[0]
        if len(inputs) != 1:
            raise InvalidInput(f"{path.name!r} has {len(inputs)} inputs; one matrix is needed.")
        if not any(kind in first.type for kind in ("float", "double")):
            raise InvalidInput(
                f"{path.name!r} gives {first.type} as its first output, {first.name!r}; numbers with decimals are "
                "needed: export a classifier so that its first output is the probability."
            )

    def predict(self, X: Any) -> Array:
        """(row, feature) -> (row,)."""
        import numpy as np

        (matrix,) = self.session.get_inputs()
        needed = matrix.shape[-1] if matrix.shape else None
        if isinstance(needed, int) and needed != X.shape[1]:
            raise InvalidInput(
                f"{self.path.name!r} reads {needed} columns, but {X.shape[1]} are left in the file of rows; name those "
                "that it does not read in --drop, and pass --sensitive-inputs if it reads the sensitive ones."
            )
        kind = np.float64 if "double" in matrix.type else np.float32
        output = self.session.run(None, {matrix.name: np.asarray(X, dtype=kind)})[0]
        return np.asarray(output, dtype=np.float64).reshape(len(X), -1)[:, 0]


def _write_onnx(model: Any, path: Path) -> None:
    from fairlevel.models.onnx import write_corrected_onnx

    write_corrected_onnx(model, path)


def _load_xgboost(path: Path) -> Any:
    booster = import_module("xgboost").Booster(model_file=str(path))
    booster.set_attr(best_iteration=None, best_score=None)  # figures are those of all trees, however files are read
    return booster


FORMATS = {
    ".txt": ModelFormat("lightgbm", lambda path: import_module("lightgbm").Booster(model_file=str(path))),
    ".json": ModelFormat("xgboost", _load_xgboost),
    ".ubj": ModelFormat("xgboost", _load_xgboost),
    ".cbm": ModelFormat("catboost", lambda path: import_module("catboost").CatBoost().load_model(str(path))),
    ".onnx": ModelFormat("onnxruntime", OnnxModel, _write_onnx, holds_corrections=True),
}
"""By the ending of the file."""


def require_model_file(path: Path) -> ModelFormat:
    """The format of a file that exists."""
    endings = f"a model ending in {', '.join(FORMATS)} is needed."
    if path.is_dir():
        raise InvalidInput(
            f"{str(path)!r} is a folder; {endings} Re-level one that fairlevel has saved in Python: "
            f"fairlevel.relevel(fairlevel.load({str(path)!r}), X, sensitive_features=A)."
        )
    if not path.is_file():
        raise InvalidInput(f"{str(path)!r} does not exist.")
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput(f"{path.name!r} ends in {path.suffix!r}; {endings}")
    return FORMATS[path.suffix.lower()]
