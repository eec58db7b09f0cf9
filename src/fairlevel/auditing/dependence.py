"""Other measures beside DPVar, and what random pairings of predictions and attributes show of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean import RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.kernel_nodes import low_dimensional, middle_nodes
from fairlevel.conditional_mean.protocol import standardiser
from fairlevel.conditional_mean.random_features import draw_waves, median_distance
from fairlevel.metrics.choice import suitable_means
from fairlevel.metrics.inputs import EvaluationRows

PERMUTATIONS = 99
_DEGREE = 3  # powers of the prediction that maximal correlation may use
_RIDGE = 1e-3
_WAVES = 100, 200  # of the prediction and of A
_BLOCK = 512  # rows at a time
_NEGLIGIBLE = 1e-12  # of the largest eigenvalue; directions below it are left out

Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Row numbers, (pairing, row)."""


@dataclass(frozen=True)
class Measure:
    """A measure of dependence: its value, the value that 95 % of random pairings of A with the predictions stay below,
    and what it responds to.
    """

    name: str
    value: float
    chance: float
    sees: str

    @property
    def found(self) -> bool:
        """Whether the value is more than chance shows."""
        return self.value > self.chance


@dataclass(frozen=True)
class PairedProducts:
    """What a measure needs: functions of the prediction (row, p) and of A, times the row weights, (row, q); and the
    measure from their products Σ_i u(f_i) v(a_i)ᵀ under each pairing, (pairing, p, q) -> (pairing,).
    """

    of_prediction: Array
    of_attributes: Array
    measure: Callable[[Array], Array]

    def values(self, order: Pairs) -> Array:
        """The measure under each pairing, given as numbers of rows (pairing, row)."""
        products = np.zeros((len(order), self.of_prediction.shape[1], self.of_attributes.shape[1]))
        for start in range(0, order.shape[1], _BLOCK):  # many pairings at a time, of rows that stay in cache
            rows = slice(start, start + _BLOCK)
            products += np.tensordot(self.of_prediction[order[:, rows]], self.of_attributes[rows], axes=(1, 0))
        return self.measure(products)


def linear_r2(prediction: Array, attributes: Attributes, seed: int) -> PairedProducts:
    """R² of a linear regression on A; see :class:`fairlevel.LinearR2`."""
    smoother = RidgeMean().prepare(attributes)
    weight, functions = smoother.row_weight[:, None], smoother.functions.columns * np.sqrt(smoother.shrinkage(_RIDGE))

    def share(products: Array) -> Array:
        mean, square = products[:, 0, -1], products[:, 1, -1]
        explained: Array = np.square(products[:, 0, :-1]).sum(axis=1) / np.maximum(square - mean**2, 1e-300)
        return explained

    return PairedProducts(np.stack([prediction, prediction**2], axis=1), np.hstack([functions * weight, weight]), share)


def gdp(prediction: Array, attributes: Attributes, seed: int) -> PairedProducts:
    """Generalised demographic parity, Σ_m |Σ_j k_mj f_j − π_m f̄|; see :class:`fairlevel.GDP`."""
    weight = attributes.weight
    points = low_dimensional(attributes.values, weight)
    rows, dimension = 1 / np.square(weight).sum(), max(points.shape[1], 1)
    width = (rows * (dimension + 2) / 4) ** (-1 / (dimension + 4))
    kernel = weight[:, None]
    for along in points.T:
        distance = along[:, None] - middle_nodes(along, points.shape[1])
        factor = np.exp(-np.square(distance) / (2 * width**2))
        kernel = (kernel[:, :, None] * factor[:, None, :]).reshape(len(kernel), -1)
    kernel = kernel / kernel.sum()
    centred = kernel - weight[:, None] * kernel.sum(axis=0)
    return PairedProducts(prediction[:, None], centred, lambda products: np.abs(products).sum(axis=(1, 2)))


def hsic(prediction: Array, attributes: Attributes, seed: int) -> PairedProducts:
    r"""HSIC by random features, ‖Z_fᵀ H Z_A‖² / n²; see :class:`fairlevel.HSIC`.

    The features of f are functions of one number and nearly collinear. They are replaced by their principal components,
    which changes no norm.
    """
    random, weight, values = np.random.default_rng(seed), attributes.weight, attributes.values
    of_prediction, of_attributes = (
        np.sqrt(2 / len(phases)) * np.cos(rows @ frequencies + phases)
        for rows, (frequencies, phases) in (
            (prediction[:, None], draw_waves(1, _WAVES[0], 1.0, random)),
            (values, draw_waves(values.shape[1], _WAVES[1], median_distance(values, random), random)),
        )
    )
    centred = (of_attributes - weight @ of_attributes) * weight[:, None]
    return PairedProducts(_principal(of_prediction), centred, lambda products: np.square(products).sum(axis=(1, 2)))


def maximal_correlation(prediction: Array, attributes: Attributes, seed: int) -> PairedProducts:
    r"""The largest correlation between a cubic of f and a function of A, in closed form.

    The largest singular value of F'WB with F = (f, f², f³) made orthonormal and B the ridge-shrunk orthonormal basis of
    functions of A: canonical correlation. With f alone it is the root of the share of DPVar. Powers that are linear
    combinations of lower ones, as for a prediction of two values, are left out.
    """
    smoother = suitable_means(attributes.values)[-1].prepare(attributes, seed=seed)
    weight, functions = smoother.row_weight[:, None], smoother.functions.written_out()
    powers = np.stack([prediction**degree for degree in range(1, _DEGREE + 1)], axis=1)
    powers = powers - powers.mean(axis=0)
    size = np.sqrt(np.square(powers).sum(axis=0))
    powers = _principal(np.divide(powers, size, out=np.zeros_like(powers), where=size > 0))
    count = powers.shape[1]
    squares = (powers[:, :, None] * powers[:, None, :]).reshape(len(powers), -1)
    shrinkage = smoother.shrinkage(_RIDGE)

    def correlation(products: Array) -> Array:
        if not count:
            return np.zeros(len(products))
        cross, mean = products[:, :count, :-1], products[:, :count, -1]
        gram = products[:, count:, -1].reshape(-1, count, count) - mean[:, :, None] * mean[:, None, :]
        moments, vectors = np.linalg.eigh(gram)
        usable = moments > _NEGLIGIBLE * moments.max(axis=1, keepdims=True)  # with few heavy rows, powers coincide
        whitening = vectors * np.where(usable, 1 / np.sqrt(np.where(usable, moments, 1.0)), 0.0)[:, None, :]
        explained = (cross * shrinkage) @ cross.transpose(0, 2, 1)
        largest = np.linalg.eigvalsh(whitening.transpose(0, 2, 1) @ explained @ whitening)[:, -1]
        correlations: Array = np.sqrt(np.clip(largest, 0.0, 1.0))
        return correlations

    return PairedProducts(np.hstack([powers, squares]), np.hstack([functions * weight, weight]), correlation)


def _principal(functions: Array) -> Array:
    """Principal components with the same FFᵀ up to rounding: (row, function) -> (row, component)."""
    moments, vectors = np.linalg.eigh(functions.T @ functions)
    components: Array = functions @ vectors[:, moments > _NEGLIGIBLE * moments.max()]
    return components


MEASURES: dict[str, Callable[[Array, Attributes, int], PairedProducts]] = {
    "linear R²": linear_r2,
    "GDP": gdp,
    "HSIC": hsic,
    "maximal correlation": maximal_correlation,
}
SEES = {
    "linear R²": "straight-line differences in the average",
    "GDP": "differences in the average, in standard deviations of the prediction",
    "HSIC": "any dependence, the spread and shape of predictions included",
    "maximal correlation": "any dependence of f, f² or f³ on A",
}


def measure_dependence(rows: EvaluationRows, seed: int) -> tuple[Measure, ...]:
    """Every measure, with its 95 % quantile over random pairings, in which rows of a group stay together."""
    weight = rows.row_weight / rows.row_weight.sum()
    centred = rows.prediction - weight @ rows.prediction
    spread = float(np.sqrt(weight @ centred**2))
    varies = spread > 1e-12 * np.abs(rows.prediction).max()
    standard = centred / spread if varies else np.zeros_like(centred)
    pairings = random_pairings(len(rows), PERMUTATIONS, rows.groups, np.random.default_rng(seed))
    order = np.insert(pairings, 0, np.arange(len(rows)), axis=0)  # as they are, first
    attributes = Attributes(standardiser(rows.sensitive, weight)(rows.sensitive), row_weight=rows.row_weight)
    measures = []
    for name, products in MEASURES.items():
        values = products(standard, attributes, seed).values(order)
        measures.append(Measure(name, float(values[0]), float(np.quantile(values[1:], 0.95)), SEES[name]))
    return tuple(measures)


def random_pairings(rows: int, count: int, groups: Index | None, random: np.random.Generator) -> Pairs:
    """Which row's prediction each row of attributes is paired with, (pairing, row). Rows of one group (row,) stay
    together: each group gets the predictions of another one, from a random row on and from the start again after the
    last. Rows of a group may be in the order of visits, which no pairing may keep.
    """
    order = np.empty((count, rows), dtype=np.int64)
    if groups is None:
        for pairing in order:
            pairing[:] = random.permutation(rows)
        return order
    _, number = np.unique(groups, return_inverse=True)
    by_group, sizes = np.argsort(number, kind="stable"), np.bincount(number)
    starts = np.cumsum(sizes) - sizes
    in_group = np.arange(rows) - np.repeat(starts, sizes)
    for pairing in order:
        other = random.permutation(len(sizes))
        first = random.integers(sizes[other])
        places = (np.repeat(first, sizes) + in_group) % np.repeat(sizes[other], sizes)
        pairing[by_group] = by_group[np.repeat(starts[other], sizes) + places]
    return order
