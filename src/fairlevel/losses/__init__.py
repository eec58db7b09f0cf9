"""Losses: one file each."""

from fairlevel.losses.logistic import Logistic
from fairlevel.losses.protocol import Loss
from fairlevel.losses.squared import SquaredLoss

__all__ = ["Logistic", "Loss", "SquaredLoss"]
