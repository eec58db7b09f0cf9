"""The penalty as a loss for a training loop of your own: minibatches, one process or several."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

from fairlevel.conditional_mean.random_features import draw_waves
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.penalties.toolkit import check_positive


class DPVarPenalty(nn.Module):
    r"""DPVar of predictions that come in minibatches: ``loss = accuracy + weight * penalty(prediction, attributes)``.

    With functions z(a) of the attributes (A standardised, free, and random Fourier features of it, penalised), their
    covariance G and m = Cov(z, f), both as moving averages over batches, and z̃ = z − E[z],

    .. math:: h(a) - \mu = \tilde z(a)^\top (G + \lambda R)^{-1} m, \qquad P = m^\top (G + \lambda R)^{-1} m, \qquad
              \frac{\partial P}{\partial f_i} = \tfrac2b \big(h(a_i) - \mu\big)

    for the rows i of a batch of b: ``fbo_closed`` without a preparation on all rows. The value that is returned is P of
    the moments, this batch included. Its gradient takes h from the batches *before* this one. Given that state, the
    gradient of a row does not depend on the other rows of its batch,

    .. math:: E\Big[\tfrac2b \sum_{i \in \text{batch}} (h(a_i) - \mu) \frac{\partial f_i}{\partial \omega}
              \,\Big|\, h\Big] = \frac2n \sum_{i=1}^n (h(a_i) - \mu) \frac{\partial f_i}{\partial \omega} ,

    so it is unbiased for the gradient on all rows. The first batch has no batch before it and no gradient.

    With ``torch.distributed`` initialised, the sums of a batch are added up over all workers, so that all of them use
    the conditional mean of all rows. Averaged over workers, as ``DistributedDataParallel`` does, gradients are those of
    one process with the joined batch, also where workers have unequal numbers of rows.

    In evaluation mode the state is left alone, and the value is the covariance of h(A) with the predictions given.

    Shapes: prediction (row,) or (row, 1); attributes (row, attribute), in any units; the result is a number. The state
    is kept in buffers, in 64 bits, and saved by ``state_dict``. ``torch.compile`` leaves the penalty as it is and
    compiles what is around it; with ``fullgraph=True``, which allows no such break, PyTorch raises an error.

    Parameters
    ----------
    attributes_dim : number of attributes, the columns of A
    features : number of random Fourier features beside A itself
    ridge : λ, the penalty on the coefficients of those; a larger one means a smoother h
    bandwidth : multiplies the width of the kernel, √(2 · attributes_dim): the root of the mean squared distance between
        two standardised profiles
    memory : in rows; b rows later, those of a batch count for exp(−b / memory). More memory means less noise in h, and
        an h that lags further behind predictions that move
    seed : of the random features
    process_group : the workers that share a state; None: all of them
    """

    frequencies: Tensor
    phases: Tensor
    rows: Tensor
    attribute_mean: Tensor
    attribute_variance: Tensor
    function_sum: Tensor
    row_sum: Tensor
    products: Tensor
    freedom: Tensor
    coefficients: Tensor

    def __init__(
        self,
        attributes_dim: int,
        *,
        features: int = 64,
        ridge: float = 1e-3,
        bandwidth: float = 1.0,
        memory: float = 5_000,
        seed: int = 0,
        process_group: distributed.ProcessGroup | None = None,
    ) -> None:
        super().__init__()
        for name, count in (("attributes_dim", attributes_dim), ("features", features)):
            if count < 1:
                raise InvalidInput(f"{name}={count} was given; at least 1 is needed.")
        check_positive(ridge=ridge, bandwidth=bandwidth, memory=memory)
        self.attributes_dim, self.ridge, self.memory, self.process_group = attributes_dim, ridge, memory, process_group
        width = bandwidth * math.sqrt(2 * attributes_dim)
        drawn = draw_waves(attributes_dim, features, width, np.random.default_rng(seed))
        functions = attributes_dim + features
        state = {
            "frequencies": torch.from_numpy(drawn[0]),
            "phases": torch.from_numpy(drawn[1]),
            "rows": torch.zeros((), dtype=torch.float64),  # all that were seen
            "attribute_mean": torch.zeros(attributes_dim, dtype=torch.float64),
            "attribute_variance": torch.zeros(attributes_dim, dtype=torch.float64),
            "function_sum": torch.zeros(functions, dtype=torch.float64),  # Σ z, older batches discounted
            "row_sum": torch.zeros((), dtype=torch.float64),  # Σ 1, likewise
            "products": torch.zeros(functions + 1, functions + 1, dtype=torch.float64),  # of (z, f), centred in batches
            "freedom": torch.zeros((), dtype=torch.float64),  # rows less one per batch, which `products` stand for
            "coefficients": torch.zeros(functions, dtype=torch.float64),  # (G + λR)⁻¹ m
        }
        for name, value in state.items():
            self.register_buffer(name, value)

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # compiled, number buffers of 64 bits lose what is written
    def forward(self, prediction: Tensor, attributes: Tensor) -> Tensor:
        """The penalty on a batch, with the gradient above; in training mode the batch enters the state. A batch without
        rows changes nothing.
        """
        self._check(prediction, attributes)
        with torch.no_grad(), torch.autocast(self.coefficients.device.type, enabled=False):
            at = attributes.detach().to(self.coefficients.device)
            predicted = prediction.detach().reshape(-1).to(self.coefficients)
            if self.training and not self.rows:
                self._standardise(at)
            joint = self._joint(at, predicted)
            average = self.function_sum @ self.coefficients / self.row_sum.clamp_min(1)
            above = joint[:, :-2] @ self.coefficients - average  # h(a_i) − μ
            if self.training:
                rows, value = self._enter(joint)
                above *= 2 * self._workers() / rows
            else:
                count = max(len(above), 1)
                value = (above * (predicted - predicted.mean())).sum() / count
                above *= 2 / count
            slope = above.to(prediction.device, torch.promote_types(prediction.dtype, torch.float32))
        carrier = (prediction.reshape(-1).to(slope) * slope).sum()  # a number whose gradient is the slope
        return value.to(slope) + (carrier - carrier.detach())

    def _joint(self, attributes: Tensor, predicted: Tensor) -> Tensor:
        """(z, f, 1) of these rows, (row, function + 2); waves are computed in the precision of the attributes."""
        standard = (attributes - self.attribute_mean) / self._scale()
        own = torch.float64 if attributes.dtype == torch.float64 else torch.float32
        joint = predicted.new_ones(len(predicted), len(self.coefficients) + 2)
        joint[:, : self.attributes_dim] = standard
        joint[:, self.attributes_dim : -2] = _waves(standard.to(own), self.frequencies.to(own), self.phases.to(own))
        joint[:, -2] = predicted
        return joint

    def _scale(self) -> Tensor:
        """Standard deviations of A, (attribute,); 1 for a column that has not varied yet."""
        variance = self.attribute_variance
        varies = variance > (8 * torch.finfo(variance.dtype).eps * self.attribute_mean).square()
        return torch.where(varies, variance, 1).sqrt()

    def _standardise(self, attributes: Tensor) -> None:
        """Mean and variance of the first batch, in two passes, so that attributes far from zero keep their digits."""
        at = attributes.double()
        rows = self._summed(at.new_tensor([len(at)])).clamp_min(1)
        self.attribute_mean.copy_(self._summed(at.sum(dim=0)) / rows)
        self.attribute_variance.copy_(self._summed((at - self.attribute_mean).square().sum(dim=0)) / rows)

    def _enter(self, joint: Tensor) -> tuple[Tensor, Tensor]:
        """Let the batches of all workers enter the state; their number of rows, at least 1, and P."""
        sums = self._summed(joint.T @ joint)
        rows, dim = sums[-1, -1], self.attributes_dim
        if rows > 0:
            self._add(rows, sums)
        covariance = self.products / self.freedom.clamp_min(1)
        moments = covariance[:-1, -1]
        self.coefficients.copy_(_ridge_coefficients(covariance[:-1, :-1], moments, dim, self.ridge))
        return rows.clamp_min(1), moments @ self.coefficients

    def _add(self, rows: Tensor, sums: Tensor) -> None:
        """Sums of products of (z, f, 1) enter the moving averages."""
        first, dim = sums[-1, :-1], self.attributes_dim
        products = sums[:-1, :-1] - torch.outer(first, first) / rows
        self._move_standard(rows, first[:dim] / rows, products.diagonal()[:dim])
        for old, new in (
            (self.function_sum, first[:-1]),
            (self.row_sum, rows),
            (self.products, products),
            (self.freedom, rows - 1),
        ):
            old.mul_(torch.exp(-rows / self.memory)).add_(new)

    def _move_standard(self, rows: Tensor, mean: Tensor, squares: Tensor) -> None:
        """Mean and variance of A over all rows so far, from those of a batch in units of the present ones."""
        before, after, scale = self.rows, self.rows + rows, self._scale()
        squares = squares + mean.square() * before * rows / after
        self.attribute_mean.add_(scale * mean * rows / after)
        self.attribute_variance.mul_(before / after).add_(scale.square() * squares / after)
        self.rows.copy_(after)

    def _workers(self) -> int:
        shared = distributed.is_available() and distributed.is_initialized()
        return distributed.get_world_size(self.process_group) if shared else 1

    def _summed(self, local: Tensor) -> Tensor:
        """The sum over all workers, the same bits on each of them, so that all of them refuse the same batch."""
        if self._workers() > 1:
            distributed.all_reduce(local, group=self.process_group)
        if not bool(torch.isfinite(local).all()):
            raise InvalidInput("The predictions or attributes of a batch hold missing or infinite numbers.")
        return local

    def _check(self, prediction: Tensor, attributes: Tensor) -> None:
        for name, given in (("prediction", prediction), ("attributes", attributes)):
            if not isinstance(given, Tensor):
                raise InvalidType(
                    f"{name} is of type {type(given).__name__}; a tensor is needed, such as torch.as_tensor({name})."
                )
        rows = len(prediction) if prediction.dim() else 0
        if (
            not prediction.dim()
            or prediction.shape not in ((rows,), (rows, 1))
            or attributes.shape != (rows, self.attributes_dim)
        ):
            raise InvalidInput(
                f"prediction {tuple(prediction.shape)} and attributes {tuple(attributes.shape)} were given; (row,) or "
                f"(row, 1) and (row, {self.attributes_dim}) are needed. Several outputs need one penalty each."
            )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Follow a module to its device, not to its precision: sums of many rows need 64 bits."""
        return super()._apply(lambda value: value.to(fn(value).device), recurse)  # type: ignore[no-untyped-call]


def _waves(rows: Tensor, frequencies: Tensor, phases: Tensor) -> Tensor:
    """Random Fourier features of standardised rows of A: (row, attribute) -> (row, feature)."""
    return torch.addmm(phases, rows, frequencies).cos_().mul_((2 / len(phases)) ** 0.5)


def _ridge_coefficients(covariance: Tensor, moments: Tensor, free: int, ridge: float) -> Tensor:
    """(G + λR)⁻¹ m, (feature,), from G (feature, feature) and m (feature,) of (free, penalised) features, each of a
    spread near 1. Where free features are linear combinations of each other, the smallest coefficients.
    """
    penalty = torch.full_like(moments, ridge)
    penalty[:free] = 1e-9  # keeps the matrix definite; far below what a coefficient can be known to
    factor, _ = torch.linalg.cholesky_ex(covariance + torch.diag(penalty))
    return torch.cholesky_solve(moments.unsqueeze(1), factor).squeeze(1)
