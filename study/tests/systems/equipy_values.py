"""Write what EquiPy makes of two groups: pip install equipy, then python -m study.tests.systems.equipy_values.

EquiPy brings statsmodels and seaborn and is a development release, so that its values are stored instead.
"""

import json
from pathlib import Path

import numpy as np


def two_groups():
    """Predictions and groups to fit on, and others to move."""
    random = np.random.default_rng(7)
    group, new_group = random.integers(0, 2, 80), random.integers(0, 2, 30)
    fit = random.standard_normal(80) * (1 + group) + 1.5 * group
    new = random.standard_normal(30) * (1 + new_group) + 1.5 * new_group
    return fit, group, new, new_group


def write():
    from equipy.fairness import FairWasserstein

    fit, group, new, new_group = two_groups()
    values = {}
    for strength in (0.3, 1.0):
        theirs = FairWasserstein(sigma=1e-12)
        theirs.fit(fit, group)
        values[str(strength)] = theirs.transform(new, new_group, epsilon=1 - strength).tolist()
    text = json.dumps({"equipy": "0.0.11a0.dev0", "values": values})
    Path(__file__).with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    write()
