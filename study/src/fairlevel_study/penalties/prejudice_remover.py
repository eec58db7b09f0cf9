"""Prejudice remover: the mutual information of the predicted class and the group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, special

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import PenaltyDefaults
from fairlevel_study.penalties.differentiated import Differentiated

MOST_GROUPS = 32
_EDGE = 0.01  # group means closer to 0 or 1 than this are no probabilities of a fitted classifier


@dataclass(frozen=True)
class GroupRows(PreparedTensors):
    """Who belongs to which group. Shapes: weighted w_i 1[s_i = s] (row, group), share W_s = Σ_i w_i 1[s_i = s]
    (group,), repeats Σ_i w_i² 1[s_i = s] / W_s² (group,): one over the effective number of rows.
    """

    weighted: Tensor
    share: Tensor
    repeats: Tensor


@dataclass(frozen=True)
class PrejudiceRemover(Differentiated, PenaltyDefaults):
    r"""Mutual information between the predicted class and the group (Kamishima et al., ECML PKDD 2012), in nats.

    .. math:: P = \sum_s W_s \big(\varphi(p_s) - \varphi(\bar p)\big), \qquad
              \varphi(p) = p \ln p + (1 - p) \ln (1 - p)

    with p the predicted probability, p_s its mean in group s and W_s the weight of the group. A group is one
    combination of values of A; continuous A and a target of more than two values are refused. Only group means enter:
    with small gaps P = DPVar(p) / (2 p̄ (1 − p̄)). Beyond 0.01 and 0.99 φ continues as a parabola with the same value,
    slope and curvature, so that P is convex. The authors train one logistic regression per group, which needs A to
    predict; this form does not. Predictions are (p − p̄) / √(p̄ (1 − p̄)), p̄ being the share of ones in y.
    """

    share: float | None = None  # of ones in y; None: the estimators read it from y, a loop of your own gets 0.5
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "prejudice_remover"

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share < 1:
            raise InvalidInput(f"share={self.share} was given; a number between 0 and 1 is needed, such as 0.3.")

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """With the share of ones of a standardised target, (row,); one of more than two values is refused."""
        if self.share is not None:
            return self
        values = np.unique(target)
        if len(values) > 2:
            raise InvalidInput(
                f"PrejudiceRemover needs a target of two classes; y has {len(values)} values. For a "
                "regression use penalty='fbo_closed', which levels averages of any prediction."
            )
        spread = values[-1] - values[0]
        share = float(-values[0] / spread) if spread > 0 else 0.5
        return replace(self, share=share) if 0 < share < 1 else self

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> GroupRows:
        _, group = np.unique(attributes.values, axis=0, return_inverse=True)
        count = int(group.max()) + 1
        if count > MOST_GROUPS:
            raise InvalidInput(
                f"PrejudiceRemover compares groups, and A has {count} different values, more than "
                f"{MOST_GROUPS}. For continuous A use penalty='fbo_closed'; or make groups, such as "
                "pandas.qcut(a, 5)."
            )
        weighted = np.where(group.reshape(-1, 1) == np.arange(count), attributes.weight[:, None], 0.0)
        share = weighted.sum(axis=0)
        weighted, share = weighted[:, share > 0], share[share > 0]
        return GroupRows(*map(torch.from_numpy, (weighted, share, (weighted**2).sum(axis=0) / share**2)))

    def measured(self, prediction: Tensor, prepared: GroupRows, state: None) -> tuple[Tensor, None]:
        mean, total = self._means(prediction, prepared)
        return ((negative_entropy(mean) - negative_entropy(total)) * prepared.share).sum(dim=-1).to(prediction), state

    @on_tensors
    def value(self, prediction: Tensor, prepared: GroupRows, state: None) -> Tensor:
        """Less what the noise of group means adds to first order: zero on average where groups are alike."""
        mean, total = self._means(prediction, prepared)
        square = self._scale**2 * (prediction.square() @ prepared.weighted / prepared.share).double()
        within = square - (mean - self._centre).square()
        many = prepared.repeats < 1
        noise = torch.where(many, within * prepared.repeats / torch.where(many, 1 - prepared.repeats, 1), 0)
        inside = (p.clamp(_EDGE, 1 - _EDGE) for p in (mean, total))
        curvature, curvature_of_all = (1 / (p * (1 - p)) for p in inside)
        excess = (prepared.share * noise * (curvature - prepared.share * curvature_of_all)).sum(dim=-1) / 2
        return self.measured(prediction, prepared, state)[0] - excess.to(prediction)

    @property
    def _centre(self) -> float:
        return 0.5 if self.share is None else self.share

    @property
    def _scale(self) -> float:
        return sqrt(self._centre * (1 - self._centre))

    def _means(self, prediction: Tensor, prepared: GroupRows) -> tuple[Tensor, Tensor]:
        """p_s (config, group) and p̄ (config, 1), in 64 bits: P is a small difference of them."""
        sums = self._scale * (prediction @ prepared.weighted).double()
        share = prepared.share.double()
        return self._centre + sums / share, self._centre + sums.sum(dim=-1, keepdim=True) / share.sum()


def negative_entropy(p: Tensor) -> Tensor:
    """φ, continued as a parabola beyond 0.01 and 0.99."""
    inside = p.clamp(_EDGE, 1 - _EDGE)
    beyond = p - inside
    value: Tensor = -special.entr(inside) - special.entr(1 - inside)
    return value + inside.logit() * beyond + beyond.square() / (2 * inside * (1 - inside))
