"""What training leaves behind, fitted functions of the features. They predict by NumPy alone, trees by LightGBM.

One file per kind, and one row each in the table below. PyTorch is imported for a user's own ``nn.Module`` only.
"""

from __future__ import annotations

from importlib import import_module

from fairlevel.exceptions import InvalidInput
from fairlevel.extras import networks as from_networks
from fairlevel.members.protocol import Members

MEMBERS = {
    "networks": "members.networks.NetworkMembers",
    "boosters": "members.boosters.BoosterMembers",
    "linked": "members.linked.LinkedMembers",
    "modules": "networks.modules.ModuleMembers",
}
"""By the kind that stands in a file: where its class is."""


def members_of(kind: str) -> type[Members]:
    """The class of a kind; only its own file is imported."""
    if kind not in MEMBERS:
        raise InvalidInput(
            f"Members of kind {kind!r} have no row in MEMBERS of fairlevel.members, so that no file can hold them; "
            "keep such a model with joblib.dump, or add the row (docs/add-a-predictor.md)."
        )
    home, name, members = MEMBERS[kind].split(".")
    module = from_networks(name) if home == "networks" else import_module(f"fairlevel.{home}.{name}")
    return getattr(module, members)  # type: ignore[no-any-return]


__all__ = ["MEMBERS", "Members", "members_of"]
