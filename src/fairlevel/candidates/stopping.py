"""How held-out rows decide when training ends, and with which settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.data.splitting import Splitting
from fairlevel.exceptions import InvalidInput

LARGEST_SHARE = 1e9  # times the score of the constant; squares of larger ones overflow
TOLERATED = 0.5  # standard errors that fewer steps may be worse
WORTH = 0.02  # of the held-out score of the usual settings: others that gain less are not chosen

Split = tuple[Index, Index]
"""Row numbers to train on, shuffled, and those held out."""


def split_rows(splits: Splitting, fraction: float, seed: int) -> Split:
    """A share of the rows is held out."""
    if isinstance(fraction, str) or not 0 < fraction < 1:
        raise InvalidInput(
            f"validation_fraction={fraction} was given; a number between 0 and 1 is needed, such as 0.2, or None."
        )
    return splits.split_off(fraction, seed)


def every_row_once(splits: Splitting, fraction: float, seed: int) -> list[Split]:
    """As many folds as the fraction says, so that every row is held out once: a few dozen are too few to decide."""
    count, order = round(1 / fraction), np.random.default_rng(seed).permutation(len(splits))
    fold = splits.folds(count, seed)
    return [(order[fold[order] != number], order[fold[order] == number]) for number in range(count)]


def best_setup(by_setup: Sequence[Sequence[CandidateSet]]) -> int:
    """The number of the setup with the lowest held-out score; the first, which is the usual one, unless that is higher
    by more than a fiftieth. Each setup has one entry per training.
    """
    lowest = [
        [history.held_out.min() for candidates in trainings for history in candidates.histories]
        for trainings in by_setup
    ]
    scores = [float(np.mean(of_setup)) for of_setup in lowest]
    best = int(np.argmin(scores))
    return best if scores[best] < (1 - WORTH) * scores[0] else 0


def best_steps(trainings: Sequence[CandidateSet]) -> dict[CandidateKey, int]:
    """For each candidate of several trainings the number of steps that :func:`fewest_steps` finds."""
    histories = zip(*(candidates.histories for candidates in trainings), strict=True)
    held_out = [pd.concat([history.held_out for history in of_candidate], axis=1) for of_candidate in histories]
    steps = [fewest_steps(scores.index.to_numpy(), scores.to_numpy()) for scores in held_out]
    return dict(zip(trainings[0].keys, steps, strict=True))


def fewest_steps(steps: Index, scores: Array) -> int:
    """The fewest steps whose held-out score is within half a standard error of the best mean over trainings.

    Only steps that every training has reached count. Scores are shares of the first one, which is that of the
    constant for boosters: a fold with a target far out would else decide alone. The standard error is that of the
    difference to the best, from training to training. Shapes: steps (check,), scores (check, training).
    """
    sound = scores[:, np.isfinite(scores[0])]
    if not sound.size:
        return int(steps[-1])  # every training has diverged, and so will the last one
    reached = np.isfinite(sound).all(axis=1)
    shares = (sound[reached] / np.maximum(sound[0], np.finfo(np.float64).tiny)).clip(-LARGEST_SHARE, LARGEST_SHARE)
    excess = shares - shares[shares.mean(axis=1).argmin()]
    count = excess.shape[1]
    error = excess.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(len(excess))
    return int(steps[reached][excess.mean(axis=1) <= TOLERATED * error][0])
