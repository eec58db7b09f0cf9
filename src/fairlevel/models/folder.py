"""Models as files: arrays in safetensors, trees in LightGBM's text, the rest in JSON; whole or not at all, no code.

Every file is checked by its hash, and every model by what it predicts for two rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as arrays_from_bytes
from safetensors.numpy import save as arrays_to_bytes

from fairlevel._version import __version__
from fairlevel.data.scaling import Scaler
from fairlevel.data.whole_files import whole_folder
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.members import members_of
from fairlevel.members.protocol import Written, same_numbers
from fairlevel.models.model import Model

SCHEMA = 2
ARRAYS, DESCRIPTION = "model.safetensors", "model.json"
CHECKSUM = "checksum"
UNREADABLE = (
    *(SafetensorError, RecursionError),
    *(KeyError, IndexError, TypeError, AttributeError, ValueError, RuntimeError, OverflowError),
)
"""What reading a damaged folder may raise."""

Read = TypeVar("Read", bound=Callable[..., Any])


class DamagedModel(FairLevelError, ValueError):
    """A folder that should hold a model holds something else, or only a part of one."""


class _OtherPredictions(ValueError):
    """A model that was read predicts something else than the one that was saved."""


Description = Mapping[str, Any]
"""What is known about a fit, as plain values for JSON."""


def write_models(folder: Path, models: Sequence[Model], description: Description, overwrite: bool) -> None:
    """Write the models of one estimator and what is known about them; a folder that exists is replaced only if asked,
    and only when the new one is complete and can be read.
    """

    def may_replace(present: Path) -> None:
        if not overwrite:
            raise InvalidInput(f"{str(folder)!r} exists; choose another folder, or pass overwrite=True.")
        if not (present / DESCRIPTION).is_file():
            raise InvalidInput(f"{str(folder)!r} exists and holds no model; choose another folder.")

    arrays: dict[str, Any] = {}
    texts: dict[str, str] = {}
    groups: list[Description] = []
    for number, model in enumerate(models):
        scaler = {"y_mean": np.atleast_1d(model.y_scaler.mean), "y_scale": np.atleast_1d(model.y_scaler.scale)}
        arrays |= _named({"shares": np.asarray(model.proportions, dtype=np.float64), **scaler}, _of_model(number))
        for group in model.groups:
            written = group.written()
            arrays |= _named(written.arrays, f"group{len(groups)}/")
            texts |= _named(written.texts, _of_group(len(groups)))
            groups.append({"kind": group.kind, "model": number, **written.description})
    arrays = {name: np.array(value, order="C") for name, value in arrays.items()}  # of views, the base would be written
    files = {ARRAYS: arrays_to_bytes(arrays)} | {name: text.encode() for name, text in texts.items()}
    described = {
        "schema": SCHEMA,
        "version": __version__,
        "sha256": {name: sha256(content).hexdigest() for name, content in files.items()},
        "groups": groups,
        "probes": [_probe(model, description["n_inputs"]) for model in models],
        **description,
    }
    try:
        text = json.dumps({CHECKSUM: _checksum(described), **described}, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The notes of a model must be what JSON can hold: {error}; pass other notes.") from None
    with whole_folder(folder, may_replace) as partial:
        for name, content in files.items():
            (partial / name).write_bytes(content)
        (partial / DESCRIPTION).write_text(text, encoding="utf-8")
        _require_faithful(partial)


def _require_faithful(folder: Path) -> None:
    """Raise an error if a model in a folder predicts something else than the one that was saved."""
    try:
        _read(folder)
    except ImportError:
        return  # a user's module, which load is given: then is found out
    except _OtherPredictions:
        raise InvalidInput(
            "The model predicts from something outside of its state_dict that training has changed, so that a file "
            "would not hold it; make it a buffer with self.register_buffer(name, tensor)."
        ) from None


def damage_in_one_sentence(read: Read) -> Read:
    """A function that reads a folder and says in one sentence that the folder is damaged, whatever the error."""

    @wraps(read)
    def reading(folder: str | Path, *arguments: Any, **named: Any) -> Any:
        try:
            return read(folder, *arguments, **named)
        except FairLevelError:
            raise
        except UNREADABLE as error:
            reason = f"{type(error).__name__.strip('_')}: {' '.join(str(error).split())[:300]}"
            raise DamagedModel(
                f"{str(folder)!r} does not hold a whole model ({reason}); copy the folder again."
            ) from None

    return reading  # type: ignore[return-value]


def _read(folder: Path, module: Any = None) -> tuple[tuple[Model, ...], dict[str, Any]]:
    description = _description(folder)
    files = {str(name): _verified(folder, str(name), sum_) for name, sum_ in description["sha256"].items()}
    arrays = arrays_from_bytes(files.pop(ARRAYS))
    groups: list[list[Any]] = [[] for _ in description["probes"]]
    for number, group in enumerate(description["groups"]):
        texts = {name: content.decode() for name, content in _without(files, _of_group(number)).items()}
        written = Written(group, _without(arrays, f"group{number}/"), texts)
        groups[int(group["model"])].append(members_of(group["kind"]).from_file(written, module))
    models = []
    for number, (members, saved) in enumerate(zip(groups, description["probes"], strict=True)):
        own = _without(arrays, _of_model(number))
        scaler = Scaler(np.asarray(own["y_mean"][0]), np.asarray(own["y_scale"][0]))
        models.append(Model(tuple(members), own["shares"], scaler))
        found = None if saved is None else _probe(models[-1], description["n_inputs"])
        if saved is not None and (found is None or not same_numbers(np.array(saved), np.array(found))):
            raise _OtherPredictions(
                f"it predicts {found} where {saved} was predicted when it was saved; if it holds a module of yours, "
                "the module keeps something outside of its state_dict, or is made with other arguments"
            )
    return tuple(models), description


@damage_in_one_sentence
def read_models(folder: Path, module: Any = None) -> tuple[tuple[Model, ...], dict[str, Any]]:
    """The models in a folder and what is known about them; anything but what was written is refused. ``module`` is an
    untrained module of the class that the file names, where it holds a user's own.
    """
    return _read(folder, module)


def _of_model(number: int) -> str:
    """Before the names of a model's own arrays; the first model needs no number."""
    return "" if number == 0 else f"model{number}/"


def _of_group(number: int) -> str:
    """Before the names of a group's texts; the first group needs no number."""
    return "" if number == 0 else f"group{number}-"


def _named(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {f"{prefix}{name}": value for name, value in values.items()}


def _without(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Values whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _checksum(description: Description) -> str:
    """A hash over everything in the description but itself; the order of keys and blanks between them are free."""
    rest = {name: value for name, value in description.items() if name != CHECKSUM}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _probe(model: Model, features: int) -> list[float] | None:
    """What a model predicts for two rows that any model can read, codes of categories included; None where a user's
    module cannot.
    """
    try:
        with np.errstate(all="ignore"):
            predictions = model.predict(np.stack([np.zeros(features), np.ones(features)]))
    except Exception:  # foreign code
        return None
    return predictions.tolist() if np.isfinite(predictions).all() else None


def _verified(folder: Path, name: str, checksum: str) -> bytes:
    """The content of a file of this folder, if it is what was saved."""
    path = folder / name
    if path.name != name:
        raise DamagedModel(f"{name!r} is no file of {str(folder)!r}; copy the folder again.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedModel(f"{str(path)!r} cannot be read ({error.strerror}); copy the folder again.") from None
    if sha256(content).hexdigest() != checksum:
        raise DamagedModel(f"{str(path)!r} is not the file that was saved; copy the folder again.")
    return content


def _description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InvalidInput(f"{str(folder)!r} holds no model: it has no {DESCRIPTION}.")
    try:
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        schema = int(description["schema"])
    except (OSError, RecursionError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedModel(f"{str(path)!r} cannot be read ({error}); copy the folder again.") from None
    if schema != SCHEMA:
        wrote = description.get("version", "another version")
        raise InvalidInput(
            f"{str(folder)!r} was saved by fairlevel {wrote} in schema {schema}; this version reads schema {SCHEMA}. "
            f"Type: pip install 'fairlevel=={wrote}', or fit the model again."
        )
    if description[CHECKSUM] != _checksum(description):
        raise DamagedModel(f"{str(path)!r} is not the file that was saved; copy the folder again.")
    return description
