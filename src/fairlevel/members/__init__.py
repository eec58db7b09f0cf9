"""What training leaves behind, fitted functions of the features. They predict by NumPy alone, trees by LightGBM.

One file per kind, and one row each in the table below. PyTorch is imported for a user's own ``nn.Module`` only.
"""

from __future__ import annotations

from importlib import import_module

from fairlevel.members.protocol import Members

MEMBERS = {
    "networks": "NetworkMembers",
    "boosters": "BoosterMembers",
    "linked": "LinkedMembers",
    "modules": "ModuleMembers",
}
"""By the kind that stands in a file, which is also the name of the Python file: its class."""


def members_of(kind: str) -> type[Members]:
    """The class of a kind; only its own file is imported."""
    found: type[Members] = getattr(import_module(f"fairlevel.members.{kind}"), MEMBERS[kind])
    return found


__all__ = ["MEMBERS", "Members", "members_of"]
