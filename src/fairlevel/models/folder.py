"""Models as files: arrays in safetensors, trees in LightGBM's text, the rest in JSON; whole or not at all, no code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as arrays_from_bytes
from safetensors.numpy import save as arrays_to_bytes

from fairlevel._version import __version__
from fairlevel.arrays import Array
from fairlevel.data.scaling import Scaler
from fairlevel.data.whole_files import whole_folder
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.members import Members, members_of
from fairlevel.members.protocol import Faithful, same_numbers
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


Description = Mapping[str, Any]
"""What is known about a fit, as plain values for JSON."""


def write_models(folder: Path, models: Sequence[Model], description: Description, overwrite: bool) -> None:
    """Write the models of one estimator and what is known about them; a folder that exists is replaced only if asked,
    and only when the new one is complete.
    """

    def may_replace(present: Path) -> None:
        if not overwrite:
            raise InvalidInput(f"{str(folder)!r} exists; choose another folder, or pass overwrite=True.")
        if not (present / DESCRIPTION).is_file():
            raise InvalidInput(f"{str(folder)!r} exists and holds no model; choose another folder.")

    files = {ARRAYS: arrays_to_bytes(_arrays(models))}
    groups = [(number, group) for number, model in enumerate(models) for group in model.groups]
    for number, (_, group) in enumerate(groups):
        files |= {_text_file(number, name): text.encode() for name, text in group.texts().items()}
    inputs = int(description["n_inputs"])
    probes = [_probe(model, inputs) for model in models]
    for number, group in groups:
        if probes[number] is not None and isinstance(group, Faithful):
            group.require_faithful(_probe_rows(inputs))
    described = {
        "schema": SCHEMA,
        "version": __version__,
        "sha256": {name: sha256(content).hexdigest() for name, content in files.items()},
        "groups": [{"kind": group.kind, "model": number, **group.description()} for number, group in groups],
        "probes": probes,
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


def damage_in_one_sentence(read: Read) -> Read:
    """A function that reads a folder and says in one sentence that the folder is damaged, whatever the error."""

    @wraps(read)
    def reading(folder: str | Path, *arguments: Any, **named: Any) -> Any:
        try:
            return read(folder, *arguments, **named)
        except FairLevelError:
            raise
        except UNREADABLE as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            raise DamagedModel(
                f"{str(folder)!r} does not hold a whole model ({reason}); copy the folder again."
            ) from None

    return reading  # type: ignore[return-value]


@damage_in_one_sentence
def read_models(folder: Path, module: Any = None) -> tuple[tuple[Model, ...], dict[str, Any]]:
    """The models in a folder and what is known about them; anything but what was written is refused. ``module`` is an
    untrained module of the class that the file names, where it holds a user's own.
    """
    description = _description(folder)
    _check_description(description)
    files = {str(name): _verified(folder, str(name), sum_) for name, sum_ in description["sha256"].items()}
    arrays = arrays_from_bytes(files.pop(ARRAYS))
    for name, values in arrays.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"{name} holds missing or infinite numbers")
    texts = {name: content.decode() for name, content in files.items()}
    known = {"module": module, "n_features": description["n_inputs"]}
    read: dict[int, list[Members]] = {}
    for number, group in enumerate(description["groups"]):
        parts = _without_prefix(arrays, f"group{number}/"), _without_prefix(texts, _text_file(number, ""))
        members = members_of(group["kind"]).from_file(*parts, {**group, **known})
        read.setdefault(int(group["model"]), []).append(members)
    models = tuple(_model(arrays, _prefix(number), read[number]) for number in range(len(read)))
    for model, saved in zip(models, description["probes"], strict=True):
        found = None if saved is None else _probe(model, description["n_inputs"])
        if saved is not None and (found is None or not same_numbers(np.array(saved), np.array(found))):
            raise ValueError(
                f"it predicts {found} where {saved} was predicted when it was saved; if it holds a module of yours, "
                "the module keeps something outside of its state_dict, or is made with other arguments"
            )
    return models, description


def _without_prefix(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Values whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _checksum(description: Description) -> str:
    """A hash over everything in the description but itself; the order of keys and blanks between them are free."""
    rest = {name: value for name, value in description.items() if name != CHECKSUM}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _check_description(description: Description) -> None:
    """Whether the parts fit each other: the number of features, their names and rules, and finite figures."""
    features, names = description["n_features"], description.get("feature_names")
    for part in ("n_features", "n_inputs"):
        count = description[part]
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"{part} is {count!r}")
    if description.get("encoder") is None and description["n_inputs"] != features:
        raise ValueError(f"n_inputs is {description['n_inputs']}, not {features}")
    for part, values in (("feature_names", names), ("native_columns", description.get("native_columns"))):
        if values is not None and (not isinstance(values, list) or len(values) != features):
            raise ValueError(f"{part} does not have {features} entries")
    if names is not None and len({str(name) for name in names}) != features:
        raise ValueError("two features have the same name")
    figures = description.get("figures", {})
    if not all(isinstance(value, int | float) and isfinite(value) for value in figures.values()):
        raise ValueError(f"figures are {figures}")


def _probe_rows(features: int) -> Array:
    """Two rows that any model can predict for, codes of categories included, (2, feature)."""
    return np.stack([np.zeros(features), np.ones(features)])


def _probe(model: Model, features: int) -> list[float] | None:
    """What a model predicts for the two rows; None where a user's module cannot read them."""
    try:
        with np.errstate(all="ignore"):
            found = model.predict(_probe_rows(features))
    except Exception:  # foreign code
        return None
    return found.tolist() if np.isfinite(found).all() else None


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


def _text_file(group: int, name: str) -> str:
    """The file of a group's text; the first group needs no number."""
    return name if group == 0 else f"group{group}-{name}"


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


def _arrays(models: Sequence[Model]) -> dict[str, Any]:
    arrays, count = {}, 0
    for number, model in enumerate(models):
        prefix = _prefix(number)
        arrays[f"{prefix}shares"] = np.asarray(model.proportions, dtype=np.float64)
        arrays[f"{prefix}y_mean"] = np.atleast_1d(model.y_scaler.mean)
        arrays[f"{prefix}y_scale"] = np.atleast_1d(model.y_scaler.scale)
        for group in model.groups:
            arrays |= {f"group{count}/{name}": value for name, value in group.arrays().items()}
            count += 1
    return {name: np.array(value, order="C") for name, value in arrays.items()}  # of views, safetensors writes the base


def _prefix(model: int) -> str:
    """Before the names of a model's own arrays; the first model needs no number."""
    return "" if model == 0 else f"model{model}/"


def _model(arrays: Mapping[str, Any], prefix: str, groups: Sequence[Members]) -> Model:
    lengths = {"shares": sum(map(len, groups)), "y_mean": 1, "y_scale": 1}
    for name, length in lengths.items():
        if arrays[f"{prefix}{name}"].shape != (length,):
            raise ValueError(f"{name} of shape {arrays[f'{prefix}{name}'].shape}, not ({length},)")
    mean, scale = (np.asarray(arrays[f"{prefix}{name}"][0]) for name in ("y_mean", "y_scale"))
    return Model(tuple(groups), arrays[f"{prefix}shares"], Scaler(mean, scale))
