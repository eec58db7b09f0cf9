"""Timing side by side: ours and the peer take turns, so that a busy machine slows both."""

import statistics
import time
from dataclasses import asdict, dataclass


class NotInstalled(Exception):
    """A peer is not there; its row is left out."""


@dataclass(frozen=True)
class Row:
    """One line of the table. ``ratio`` is peer / ours (speed-up) or ours / peer (overhead), as the name says."""

    name: str
    ours: float
    peer: float
    ratio: float
    target: str
    met: bool
    spread: float
    unit: str = "µs"

    def to_dict(self):
        return asdict(self)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def per_step(run, steps):
    """Seconds of one step: the difference of two lengths, so that set-up cancels; ``run`` takes a number of steps."""
    short = seconds(lambda: run(steps))
    return max(seconds(lambda: run(4 * steps)) - short, 1e-9) / (3 * steps)


def alternated(ours, peer, rounds):
    """Medians of both and the relative middle half of their quotients; ``ours`` and ``peer`` give a time."""
    pairs = [(ours(), peer()) for _ in range(rounds)]
    quotients = sorted(there / here for here, there in pairs)
    quarter = len(quotients) // 4
    middle = quotients[quarter : len(quotients) - quarter]
    spread = (middle[-1] - middle[0]) / statistics.median(quotients)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), spread


def speed_up(name, ours, peer, at_least, rounds=5):
    here, there, spread = alternated(ours, peer, rounds)
    ratio = there / here
    return Row(name, here * 1e6, there * 1e6, ratio, f"≥ {at_least:g}×", ratio >= at_least, spread)


def overhead(name, ours, peer, at_most, rounds=7):
    here, there, spread = alternated(ours, peer, rounds)
    ratio = here / there
    return Row(name, here * 1e6, there * 1e6, ratio, f"≤ {at_most:g}", ratio <= at_most, spread)


def absolute(name, value, at_most, unit, spread=0.0):
    return Row(name, value, float("nan"), float("nan"), f"≤ {at_most:g} {unit}", value <= at_most, spread, unit)
