r"""DPVar from a trained conditional mean, fitted on some rows and evaluated on others.

With ĥ from the other half, centred within each half, the paper's diagnostic is mean(ĥ_c²). It contains the variance of
ĥ. Within legitimate factors L, ĥ is a function of A and L, and instead of being centred it loses its projection on
functions of L.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import standardiser
from fairlevel.data.splitting import folds
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.networks.optimizers import GradientDescent

DIAGNOSTIC = MLPMean(optimizer=GradientDescent(learning_rate=0.05, steps=400))
"""The network of the paper's diagnostic. Its length limits what it can learn: more steps read more of the disparity on
many rows, and more noise as disparity on few (docs/results/synthetic.md). Larger steps make readings unstable."""

_ROWS_AT_ONCE = 8192  # rows × networks trained together on a CPU, which stay in its cache


def out_of_fold_means(
    prediction: Tensor, sensitive: Array, row_weight: Array, regressor: MLPMean, fold: Index, seed: int
) -> Tensor:
    """ĥ^{-s(i)}(a_i) for every row: (config, row) -> (config, row), on the device of the predictions. Predictions are
    standardised for training and scaled back.
    """
    fitted = torch.empty_like(prediction)
    device = prediction.device
    for held in np.unique(fold):
        fit, at = fold != held, fold == held
        weight = row_weight[fit] / row_weight[fit].sum()
        standardise = standardiser(sensitive[fit], weight)
        tensor_weight = torch.from_numpy(weight).to(device, torch.float32)
        rows = torch.from_numpy(standardise(sensitive[fit])).to(device, torch.float32)
        there = torch.from_numpy(standardise(sensitive[at])).to(device, torch.float32)
        target = prediction[:, torch.from_numpy(fit).to(device)]
        centre = (target * tensor_weight).sum(dim=-1, keepdim=True)
        scale = ((target - centre).square() * tensor_weight).sum(dim=-1, keepdim=True).sqrt().clamp_min(1e-30)
        standardised = ((target - centre) / scale).to(torch.float32)
        size = max(8, _ROWS_AT_ONCE // len(rows)) if device.type == "cpu" else len(standardised)
        tiles = torch.split(standardised, size)
        means = [regressor.predict(regressor.fit(rows, tile, tensor_weight, seed), there) for tile in tiles]
        fitted[:, torch.from_numpy(at).to(device)] = centre + scale * torch.cat(means).to(prediction.dtype)
    return fitted


def paper_diagnostic(prediction: Tensor, rows: Attributes, regressor: MLPMean, seed: int) -> Tensor:
    """The paper's cross-fitted DPVar: fit on one half, Var of ĥ on the other, average of both roles; (config, row) ->
    (config,).
    """
    row_weight, fold = rows.counts, _halves(rows, seed)
    fitted = out_of_fold_means(prediction, rows.columns, row_weight, regressor, fold, seed)
    centred, weight = _centred_within(fitted, fold, row_weight, rows.given)
    halves = [torch.from_numpy(fold == half).to(prediction.device) for half in (0, 1)]
    per_half = [(centred.square() * weight)[:, half].sum(dim=-1) for half in halves]
    mass = [row_weight[fold == half].sum() / row_weight.sum() for half in (0, 1)]
    return torch.stack([part / total for part, total in zip(per_half, mass, strict=True)]).mean(dim=0)


def paper_estimates(predictions: Array, rows: Attributes, regressor: MLPMean | None, seed: int) -> Array:
    """The same of arrays, with the network of the study unless another one is given: (config, row) -> (config,)."""
    estimates: Array = paper_diagnostic(torch.from_numpy(predictions), rows, regressor or DIAGNOSTIC, seed).numpy()
    return estimates


def _halves(rows: Attributes, seed: int) -> Index:
    """A half for each row; rows of one group share it."""
    if rows.groups is None:
        return folds(len(rows), 2, seed)
    number = np.unique(rows.groups, return_inverse=True)[1].ravel()
    return folds(int(number.max()) + 1, 2, seed)[number]


def _centred_within(
    values: Tensor, fold: Index, row_weight: Array, given: Array | None = None
) -> tuple[Tensor, Tensor]:
    """Values less their mean within each fold, or less their projection on the functions of L within it."""
    weight = torch.from_numpy(row_weight / row_weight.sum()).to(values.device)
    centred = values.clone()
    for held in np.unique(fold):
        rows = torch.from_numpy(fold == held).to(values.device)
        mean = (values[:, rows] * weight[rows]).sum(dim=-1, keepdim=True) / weight[rows].sum()
        centred[:, rows] -= mean
        if given is not None and given.shape[1] > 0:
            functions = torch.from_numpy(given).to(values.device)[rows]
            functions = functions - (weight[rows] @ functions) / weight[rows].sum()
            vectors, singular, _ = torch.linalg.svd(weight[rows].sqrt().unsqueeze(1) * functions, full_matrices=False)
            white = vectors[:, singular > 1e-6 * singular.max()]
            scaled = centred[:, rows] * weight[rows].sqrt()
            centred[:, rows] = (scaled - (scaled @ white) @ white.T) / weight[rows].sqrt()
    return centred, weight
