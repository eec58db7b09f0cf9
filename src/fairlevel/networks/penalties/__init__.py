"""Penalties that train networks of their own: the paper's FBO and ITD as printed, and adversarial debiasing."""

from fairlevel.networks.penalties.adversarial import Adversarial
from fairlevel.networks.penalties.adversarial_plain import PlainAdversarial
from fairlevel.networks.penalties.fbo import FBO
from fairlevel.networks.penalties.itd import ITD

__all__ = ["FBO", "ITD", "Adversarial", "PlainAdversarial"]
