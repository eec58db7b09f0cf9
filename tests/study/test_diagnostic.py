"""The paper's diagnostic is stable: a change of the predictions that nobody could see does not move its readings."""

import numpy as np
import pytest

from fairlevel.metrics.dpvar import dpvar_of_many

pytestmark = pytest.mark.study
ROWS, CASES, CHANGE = 400, 13, 1e-6


def correlated(random):
    """Thirty attributes that mostly say the same, as in communities_crime."""
    return random.standard_normal((ROWS, 30)) + 2 * random.standard_normal((ROWS, 1))


def heavy(random):
    """Long tails, clipped at five standard deviations as the study does."""
    return np.clip(random.standard_t(2.5, (ROWS, 4)), -5, 5)


def groups(random):
    """Indicators of rare categories."""
    return np.eye(12)[random.choice(12, ROWS, p=np.arange(1, 13) / 78)]


DESIGNS = {
    "few": lambda random: random.standard_normal((ROWS, 2)),
    "correlated": correlated,
    "heavy tails": heavy,
    "groups": groups,
}


def cases(design, seed):
    """Standardised attributes, and predictions from pure noise to functions of A: (case, row)."""
    random = np.random.default_rng(seed)
    a = design(random)
    a = (a - a.mean(axis=0)) / a.std(axis=0)
    curves = np.tanh(a @ random.standard_normal((a.shape[1], CASES)) / np.sqrt(a.shape[1])).T
    share = np.linspace(0, 1, CASES)[:, None]
    return a, np.sqrt(share) * 2 * curves + np.sqrt(1 - share) * random.standard_normal((CASES, ROWS)), random


def movement():
    """Relative change of every reading under a change of the predictions by a millionth: (case,)."""
    found = []
    for number, design in enumerate(DESIGNS.values()):
        a, f, random = cases(design, number)
        readings = [
            dpvar_of_many(each, a, "paper")
            for each in (f, f + CHANGE * f.std(axis=1, keepdims=True) * random.standard_normal(f.shape))
        ]
        found.append(np.abs(readings[1] / readings[0] - 1))
    return np.concatenate(found)


def test_a_millionth_moves_no_reading_by_one_percent():
    moved = movement()
    print(f"{len(moved)} cases: largest change {moved.max():.4%}")
    assert len(moved) >= 50
    assert moved.max() < 0.01
