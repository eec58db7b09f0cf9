"""Penalties that train networks of their own: the paper's FBO and ITD as printed, and adversarial debiasing."""

from fairlevel.networks.penalties.adversarial import Adversarial, PlainAdversarial
from fairlevel.networks.penalties.fbo import FBO
from fairlevel.networks.penalties.itd import ITD
from fairlevel.networks.penalties.trained_mean import ALL_TRAINING_ROWS, IN_OUT, IN_OUT_ALL_LABELS, RowPlan

__all__ = [
    "ALL_TRAINING_ROWS",
    "FBO",
    "IN_OUT",
    "IN_OUT_ALL_LABELS",
    "ITD",
    "Adversarial",
    "PlainAdversarial",
    "RowPlan",
]
