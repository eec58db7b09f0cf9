"""The root of DPVar as a penalty: how many units of y the average prediction moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.penalties.fbo_closed import ClosedFBO, ClosedState
from fairlevel.penalties.protocol import Along
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import SMALLEST_SD


@dataclass(frozen=True)
class RootFBO(ClosedFBO):
    r"""The square root of the closed-form penalty: its gradient does not vanish as DPVar shrinks.

    .. math:: Q_c = \sqrt{P_c + s^2} - s, \qquad
              \frac{\partial Q_c}{\partial f_{ci}} = \frac{1}{2\sqrt{P_c + s^2}}\frac{\partial P_c}{\partial f_{ci}}

    with P the penalty of :class:`ClosedFBO` and s = 0.05, below which predictions count as constant.
    """

    name: ClassVar[str] = "fbo_root"

    def curvature(self, weight: AnyArray) -> AnyArray:
        return 1 + weight / (2 * SMALLEST_SD)

    def along(
        self, direction: AnyArray, value: AnyArray, prepared: PenaltySmoother, state: ClosedState
    ) -> Along | None:
        """The curvature of P, divided like the gradient: the root is concave, so that this parabola lies above it."""
        of_disparity = super().along(direction, value, prepared, state)
        if of_disparity is None:
            return None
        return of_disparity._replace(curvature=of_disparity.curvature / (2 * (value + SMALLEST_SD)))

    def transform(self, disparity: AnyArray) -> tuple[AnyArray, AnyArray]:
        root = (namespace(disparity).clip(disparity, min=0.0) + SMALLEST_SD**2) ** 0.5
        return root - SMALLEST_SD, 0.5 / root
