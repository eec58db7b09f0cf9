"""Trained candidates: members, the proportion of each member in each candidate, and a table about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Flags, Index
from fairlevel.exceptions import InvalidInput
from fairlevel.members import Members
from fairlevel.models.model import weighted_sums
from fairlevel.training.outcome import Status


class TrainingHistory(NamedTuple):
    """How the training of a candidate went. ``trace`` has columns step, the loss by the name of its figure (such as
    mse) and penalty; ``held_out`` has the loss + weight · penalty on held-out rows, by the number of steps taken.
    """

    trace: pd.DataFrame
    held_out: pd.Series


NO_HISTORY = TrainingHistory(pd.DataFrame(), pd.Series(dtype=np.float64))
"""What a candidate has that was solved, not trained."""


class CandidateKey(NamedTuple):
    """What distinguishes a candidate from the others of its source, the same whenever that source trains it."""

    family: str
    weight: float
    setting: int

    @property
    def name(self) -> str:
        """The key in words."""
        return f"{self.family} {float(self.weight)!r}, setting {self.setting}"


def candidate_table(
    keys: Sequence[CandidateKey],
    predictor: str | Sequence[str],
    steps: int | Index,
    *,
    learning_rate: float | Array = np.nan,
    status: str | Sequence[str] = Status.FINISHED.value,
    loss: float | Array = np.nan,
) -> pd.DataFrame:
    """One row per candidate, as :class:`CandidateSet` wants it; each value is (candidate,), or the same for all."""
    return pd.DataFrame(
        {
            "candidate": [key.name for key in keys],
            "predictor": predictor,
            "family": [key.family for key in keys],
            "setting": [key.setting for key in keys],
            "weight": [key.weight for key in keys],
            "learning_rate": learning_rate,
            "status": status,
            "steps": steps,
            "loss": loss,
        }
    )


@dataclass(frozen=True)
class CandidateSet:
    """Models to choose from, each a weighted sum of members.

    ``table`` is a :func:`candidate_table`, maybe with more columns; names are the same whenever the same source trains
    a candidate. Diverged candidates have a row and no members.

    Shapes: proportions (usable candidate, member), over all groups in order; histories, one per candidate.
    """

    table: pd.DataFrame
    groups: tuple[Members, ...]
    proportions: Array
    histories: tuple[TrainingHistory, ...]

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def usable(self) -> Flags:
        """Which candidates did not diverge, (candidate,)."""
        return np.asarray(self.table["status"].ne(Status.DIVERGED.value), dtype=np.bool_)

    def predict(self, x: Array, device: str = "cpu") -> Array:
        """x in the units of training, (row, feature) -> (candidate, row); NaN for diverged candidates."""
        predictions = np.full((len(self), len(x)), np.nan)
        if self.usable.any():
            predictions[self.usable] = weighted_sums(self.groups, self.proportions, x, device)
        return predictions

    def only(self, chosen: Sequence[int] | Index) -> CandidateSet:
        """Some of the usable candidates, by position in the table, and the members they need."""
        index: Index = np.array(chosen, dtype=np.int64)
        if not self.usable[index].all():
            raise InvalidInput("A candidate that diverged was asked for; it has no model.")
        position: Index = np.cumsum(self.usable) - 1
        groups, proportions = used_members(self.groups, self.proportions[position[index]])
        table = self.table.iloc[index].reset_index(drop=True)
        return CandidateSet(table, groups, proportions, tuple(self.histories[number] for number in index))

    def without_diverged(self) -> CandidateSet:
        """The usable candidates."""
        return self.only(np.flatnonzero(self.usable))

    def joined(self, other: CandidateSet) -> CandidateSet:
        """Both sets as one."""
        here, there = self.proportions, other.proportions
        proportions = np.zeros((len(here) + len(there), here.shape[1] + there.shape[1]))
        proportions[: len(here), : here.shape[1]], proportions[len(here) :, here.shape[1] :] = here, there
        table = pd.concat([self.table, other.table], ignore_index=True)
        return CandidateSet(table, (*self.groups, *other.groups), proportions, (*self.histories, *other.histories))

    def followed_by(self, other: CandidateSet) -> CandidateSet:
        """Both sets as one, the settings of the other counted after those of this one."""
        return self.joined(other.renumbered(1 + int(self.table["setting"].max())))

    @property
    def keys(self) -> list[CandidateKey]:
        """One per candidate."""
        return [CandidateKey(*key) for key in self.table[["family", "weight", "setting"]].itertuples(index=False)]

    def renumbered(self, first: int) -> CandidateSet:
        """With settings counted from ``first``, and names that say so."""
        renumbered = replace(self, table=self.table.assign(setting=self.table["setting"] + first))
        return renumbered.with_columns(candidate=[key.name for key in renumbered.keys])

    def with_columns(self, **columns: Array | Sequence[str]) -> CandidateSet:
        """With further columns in the table, each (candidate,)."""
        return replace(self, table=self.table.assign(**columns))

    def mixture(self, proportions: Array) -> tuple[tuple[Members, ...], Array]:
        """Members and their proportions, (member,), in a mixture of usable candidates with these proportions, (usable
        candidate,).
        """
        of_members = np.asarray(proportions, dtype=np.float64) @ self.proportions
        groups, used = used_members(self.groups, of_members[None])
        return groups, used[0]


def used_members(groups: tuple[Members, ...], proportions: Array) -> tuple[tuple[Members, ...], Array]:
    """The members that any of several sums uses, and their proportions: (sum, member) -> (sum, used member)."""
    used, start = [], 0
    in_use = (proportions != 0).any(axis=0)
    for group in groups:
        members = np.flatnonzero(in_use[start : start + len(group)])
        if len(members):
            used.append(group if len(members) == len(group) else group.take(members))
        start += len(group)
    return tuple(used), proportions[:, in_use]
