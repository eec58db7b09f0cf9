"""``auto`` with fewer trees, for tests that do not depend on how many there are."""

from dataclasses import replace

from fairlevel.candidates.sources import AUTO
from fairlevel.predictors import Boosting


def auto_of_few_trees(rounds=40):
    """The families of ``auto`` with all their settings and weights, and boosters of so many rounds."""
    members = tuple(
        replace(each, predictor=replace(each.predictor, rounds=rounds))
        if isinstance(each.predictor, Boosting)
        else each
        for each in AUTO.source.parts
    )
    return replace(AUTO, source=replace(AUTO.source, parts=members))
