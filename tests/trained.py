"""A training as one call."""

from fairlevel.training.engine import Trainer


def train(rows, configurations, *, held_out=None, progress=None, **trainer):
    """What a trainer with these settings makes of rows."""
    return Trainer(**trainer).train(rows, configurations, held_out, progress)
