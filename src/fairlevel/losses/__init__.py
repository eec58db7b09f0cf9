"""Losses: one file each, one row each in the table below."""

from fairlevel.losses.logistic import Logistic
from fairlevel.losses.protocol import Loss, LossStep
from fairlevel.losses.squared import SquaredLoss

LOSSES: dict[str, type[SquaredLoss] | type[Logistic]] = {loss.name: loss for loss in (SquaredLoss, Logistic)}

__all__ = ["LOSSES", "Logistic", "Loss", "LossStep", "SquaredLoss"]
