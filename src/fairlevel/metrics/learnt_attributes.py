"""Attributes with functions of them that are learnt from the predictions to be measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes, KeptAttributes
from fairlevel.conditional_mean.learnt import learnt_functions
from fairlevel.metrics.choice import candidates_for, choose
from fairlevel.metrics.linear_estimators import MOST_AT_ONCE


@dataclass(frozen=True)
class LearntAttributes:
    """Attributes of which the last ``count`` columns are learnt functions of the others."""

    rows: Attributes
    count: int = 0

    @classmethod
    def of(cls, rows: Attributes, predictions: Tensor, seed: int) -> LearntAttributes:
        """A, and functions of A that describe one of the predictions, (config, row), clearly better than the best
        smooth mean. There are none within legitimate factors, nor where rows are too many to be held at once.
        """
        if rows.factors is not None or len(rows) > MOST_AT_ONCE:
            return cls(rows)
        rows = KeptAttributes.of(rows)  # the estimate factors them, too
        candidates = candidates_for(predictions, rows, seed)
        choice = choose(predictions, candidates, rows)
        learnt = []
        for prediction, number, ridge in zip(predictions, choice.index.tolist(), choice.ridge, strict=True):
            units, smoother = candidates[number].units, candidates[number].smoother
            residual = units.leave_out(prediction[None], smoother, ridge[None]).residual[0]
            learnt.append(
                learnt_functions(prediction.numpy(), residual.numpy(), rows.values, rows.counts, rows.groups, seed)
            )
        functions = np.hstack(learnt)
        if not functions.shape[1]:
            return cls(rows)
        values = np.hstack([rows.values, functions])
        return cls(Attributes(values, row_weight=rows.row_weight, groups=rows.groups), functions.shape[1])

    def in_words(self, regressor: str) -> str:
        """A conditional mean, and how many learnt functions it uses."""
        if not self.count:
            return regressor
        return f"{regressor}, with {self.count} function{'s' if self.count > 1 else ''} learnt from the prediction"
