"""Models as files: arrays in safetensors, trees in LightGBM's text, the rest in JSON; whole or not at all, no code."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from fairlevel._version import __version__
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.models.model import Model
from fairlevel.predictors import MEMBERS, Members

SCHEMA = 2
ARRAYS, DESCRIPTION = "model.safetensors", "model.json"


class DamagedModel(FairLevelError, ValueError):
    """A folder that should hold a model holds something else, or only a part of one."""


Description = Mapping[str, Any]
"""What is known about a fit, as plain values for JSON."""


def write_models(folder: Path, models: Sequence[Model], description: Description, overwrite: bool) -> None:
    """Write the models of one estimator and what is known about them; a folder that exists is replaced only if asked,
    and only when the new one is complete.
    """
    if folder.exists() and not overwrite:
        raise InvalidInput(f"{str(folder)!r} exists; choose another folder, or pass overwrite=True.")
    if folder.exists() and not (folder / DESCRIPTION).is_file():
        raise InvalidInput(f"{str(folder)!r} exists and holds no model; choose another folder.")
    files = {ARRAYS: tensors_to_bytes(_arrays(models))}
    groups = [(number, group) for number, model in enumerate(models) for group in model.groups]
    for number, (_, group) in enumerate(groups):
        files |= {_text_file(number, name): text.encode() for name, text in group.texts().items()}
    described = {
        "schema": SCHEMA,
        "version": __version__,
        "sha256": {name: sha256(content).hexdigest() for name, content in files.items()},
        "groups": [{"kind": group.kind, "model": number, **group.description()} for number, group in groups],
        **description,
    }
    text = json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for name, content in files.items():
            (partial / name).write_bytes(content)
        (partial / DESCRIPTION).write_text(text, encoding="utf-8")
        os.chmod(partial, 0o755)
        if folder.exists():
            shutil.rmtree(folder)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_models(folder: Path, module: Any = None) -> tuple[tuple[Model, ...], dict[str, Any]]:
    """The models in a folder and what is known about them; anything but what was written is refused. ``module`` is an
    untrained module of the class that the file names, where it holds a user's own.
    """
    description = _description(folder)
    try:
        files = {str(name): _verified(folder, str(name), sum_) for name, sum_ in description["sha256"].items()}
        arrays = tensors_from_bytes(files.pop(ARRAYS))
        texts = {name: content.decode() for name, content in files.items()}
        return _models(arrays, texts, description["groups"], module), description
    except FairLevelError:
        raise
    except (SafetensorError, KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise DamagedModel(f"{str(folder)!r} does not hold a whole model ({error}); copy the folder again.") from None


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
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedModel(f"{str(path)!r} cannot be read ({error}); copy the folder again.") from None
    if schema != SCHEMA:
        wrote = description.get("version", "another version")
        raise InvalidInput(
            f"{str(folder)!r} was saved by fairlevel {wrote} in schema {schema}; this version reads schema {SCHEMA}. "
            f"Type: pip install 'fairlevel=={wrote}', or fit the model again."
        )
    missing = [name for name in ("sha256", "groups", "settings", "n_features") if name not in description]
    if missing:
        raise DamagedModel(f"{str(path)!r} lacks {', '.join(missing)}; copy the folder again.")
    return description


def _arrays(models: Sequence[Model]) -> dict[str, Tensor]:
    arrays, count = {}, 0
    for number, model in enumerate(models):
        own = _prefix(number)
        arrays[f"{own}shares"] = torch.from_numpy(np.array(model.shares, dtype=np.float64))
        arrays[f"{own}y_mean"] = torch.from_numpy(np.atleast_1d(model.y_scaler.mean).copy())
        arrays[f"{own}y_scale"] = torch.from_numpy(np.atleast_1d(model.y_scaler.scale).copy())
        for group in model.groups:
            arrays |= {f"group{count}/{name}": value for name, value in group.arrays().items()}
            count += 1
    return {name: value.clone().contiguous() for name, value in arrays.items()}  # groups may share a scaler


def _prefix(model: int) -> str:
    """Before the names of a model's own arrays; the first model needs no number."""
    return "" if model == 0 else f"model{model}/"


def _models(
    arrays: Mapping[str, Tensor], texts: Mapping[str, str], groups: Sequence[Mapping[str, Any]], module: Any
) -> tuple[Model, ...]:
    read: dict[int, list[Members]] = {}
    for number, description in enumerate(groups):
        own = f"group{number}/"
        values = {name.removeprefix(own): value for name, value in arrays.items() if name.startswith(own)}
        prefix = _text_file(number, "")
        own_texts = {name.removeprefix(prefix): text for name, text in texts.items() if name.startswith(prefix)}
        members = MEMBERS[description["kind"]].from_file(values, own_texts, {**description, "module": module})
        read.setdefault(int(description["model"]), []).append(members)
    return tuple(_model(arrays, number, read[number]) for number in range(len(read)))


def _model(arrays: Mapping[str, Tensor], number: int, groups: Sequence[Members]) -> Model:
    shares = arrays[f"{_prefix(number)}shares"].numpy()
    if len(shares) != sum(map(len, groups)):
        raise ValueError(f"{len(shares)} shares for {sum(map(len, groups))} members")
    mean, scale = (arrays[f"{_prefix(number)}{name}"].numpy()[0] for name in ("y_mean", "y_scale"))
    return Model(tuple(groups), shares, Scaler(np.asarray(mean), np.asarray(scale)))
