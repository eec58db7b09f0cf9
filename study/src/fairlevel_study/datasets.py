"""From tables of a source, or rows of the paper's synthetic design, to standardised rows in four parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Protocol as Interface

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates.fitting import Scaling
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import Sensitive, refuse_too_many_attributes
from fairlevel.data.synthetic import SyntheticDesign, TrueDPVar
from fairlevel.data.table import Table
from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.training.rows import TrainingRows
from fairlevel_study.catalogue import SUITES, catalogue, suite
from fairlevel_study.protocol import Protocol
from fairlevel_study.sources import Source

FEWEST = 8  # rows a part needs: the diagnostic fits a network on half of them

Predict = Callable[[Array], Array]  # standardised x (row, feature) -> predictions (config, row)

Parts = tuple[TrainingRows, TrainingRows, TrainingRows]
"""Training rows (IN first, then OUT), validation rows, test rows."""


@dataclass(frozen=True)
class Problem:
    """Training rows (IN first, then OUT), validation and test rows, all scaled by the training rows.

    ``about`` goes into every row of results. ``true_dpvar`` is there where the design is known: it takes predictors and
    gives their DPVar in standardised units.
    """

    name: str
    seed: int
    training: TrainingRows
    validation: TrainingRows
    test: TrainingRows
    about: Mapping[str, Any] = field(default_factory=dict)
    true_dpvar: Callable[[Predict], TrueDPVar] | None = None

    def with_attributes_as_features(self) -> Problem:
        """The same problem with A behind the features, for methods that need A to predict. The design's rows carry no
        A, so that the truth is not known for such a method.
        """
        parts = (self.training, self.validation, self.test)
        known, choosing, judging = (replace(part, x=np.hstack([part.x, part.some_attributes.values])) for part in parts)
        return replace(self, training=known, validation=choosing, test=judging, true_dpvar=None)


def split_rows(name: str, rows: int, seed: int, protocol: Protocol) -> list[Index]:
    """Row numbers of IN, OUT, VAL and TEST, by seed."""
    ends = np.round(np.cumsum(protocol.split) * rows).astype(int)
    parts = np.split(np.random.default_rng(seed).permutation(rows), ends[:-1])
    if min(map(len, parts)) < FEWEST:
        needed = int(np.ceil(FEWEST / min(protocol.split)))
        raise InvalidInput(f"{name} has {rows} rows; at least {needed} are needed to split them into four parts.")
    return parts


def scaled_parts(table: Table, parts: Sequence[Index], protocol: Protocol) -> tuple[Parts, Scaler]:
    """Standardise by IN ∪ OUT, clip x and A; with the scaler of x."""
    inside, outside, validation, test = parts
    training = np.concatenate([inside, outside])
    refuse_too_many_attributes(table.attributes.shape[1], len(training))
    scaling = Scaling.of(table.rows(training), clip=protocol.clip)
    rows = scaling.rows(table, training), scaling.rows(table, validation), scaling.rows(table, test)
    learning, choosing, judging = (replace(part, x=scaling.x.transform(part.x)) for part in rows)
    return (learning, choosing, judging), scaling.x


def about(source: str, parts: Parts, sensitive: str = "", copies: int = 0) -> dict[str, Any]:
    """Facts on a problem that every row of its results carries."""
    training = parts[0]
    return {
        "source": source,
        "rows": sum(map(len, parts)),
        "features": training.x.shape[1],
        "attributes": training.some_attributes.values.shape[1],
        "sensitive": sensitive,
        "copies": copies,
    }


BETAS = (1.0, 3.0, 10.0)  # strengths of the interaction in the paper's synthetic study

NAMED = "-named"  # ends the name of a table in results whose sensitive columns are those that the catalogue names


class Dataset(Interface):
    """A description of data, small enough to send to another process; a seed turns it into a problem to train on."""

    @property
    def name(self) -> str:
        """The name in results."""

    def problem(self, seed: int, protocol: Protocol) -> Problem:
        """Load or draw the data, split the rows and scale the columns."""


@dataclass(frozen=True)
class SyntheticDataset:
    """Rows of the paper's synthetic design; the true DPVar of a model can be simulated."""

    design: SyntheticDesign
    rows: int = 5000

    @property
    def name(self) -> str:
        design = self.design
        usual = design == SyntheticDesign(design.beta_int, design.attributes)
        ending = "" if usual else f"-bias{design.bias_sd:g}-net{design.network_seed}"
        return f"synthetic-beta{design.beta_int:g}-k{design.attributes}{ending}"

    def problem(self, seed: int, protocol: Protocol) -> Problem:
        drawn = self.design.sample(self.rows, seed)
        parts = split_rows(self.name, self.rows, seed, protocol)
        table = Table(drawn.x, drawn.y, Sensitive(drawn.a, tuple(f"a{k + 1}" for k in range(drawn.a.shape[1]))))
        samples, scaler = scaled_parts(table, parts, protocol)

        def true_dpvar(predict: Predict) -> TrueDPVar:
            return self.design.true_dpvar(lambda fresh: predict(scaler.transform(fresh)))

        return Problem(self.name, seed, *samples, about("synthetic", samples), true_dpvar)


@dataclass(frozen=True)
class TableDataset:
    """A table and its sensitive columns: ``attributes`` by name, or, where there are none, columns that are chosen on
    the training rows of each seed as in appendix D of the paper.
    """

    slug: str
    source: Source
    attributes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        if not self.attributes:
            return self.slug
        known = catalogue().get(self.slug)
        named = known is not None and self.attributes == known.sensitive
        return f"{self.slug}{NAMED}" if named else f"{self.slug}@{'+'.join(self.attributes)}"

    def problem(self, seed: int, protocol: Protocol) -> Problem:
        table = self.source.load(self.slug)
        order = np.random.default_rng(seed).permutation(len(table.target))[: protocol.most_rows]
        features, y = table.features.iloc[order], table.target.to_numpy()[order]
        parts = split_rows(self.name, len(y), seed, protocol)
        training = np.concatenate(parts[:2])
        encoder = TableEncoder(many="ordinal").fit(features.iloc[training])
        matrix = encoder.encode(encoder.read(features))  # infinite values count as missing
        if self.attributes:
            chosen = self._named(encoder)
        else:
            origin = encoder.origin if protocol.indicators == "together" else range(matrix.shape[1])
            chosen = construct_sensitive(matrix[training], y[training], origin, seed)
        others = np.setdiff1d(np.arange(matrix.shape[1]), chosen)
        x, a = matrix[:, others], matrix[:, chosen]
        names = tuple(encoder.outputs[column] for column in chosen)
        samples, _ = scaled_parts(Table(x, y, Sensitive(a, names)), parts, protocol)
        facts = about(
            self.source.name, samples, sensitive=", ".join(names), copies=len(copies(x[training], a[training]))
        )
        return Problem(self.name, seed, *samples, facts)

    def _named(self, encoder: TableEncoder) -> Index:
        """Columns of the matrix that come from the named columns of the table, ascending."""
        for name in self.attributes:
            if name not in encoder.needed:
                raise UnknownName(f"column of {self.slug}", name, encoder.needed)
        wanted = [number for number, name in enumerate(encoder.needed) if name in self.attributes]
        chosen = np.flatnonzero(np.isin(encoder.origin, wanted))
        if len(chosen) == len(encoder.origin):
            raise InvalidInput(f"{self.name} names every column of the table; at least one is needed to predict from.")
        return chosen


def synthetic_datasets(
    betas: Sequence[float] = BETAS, attributes: int = 5, rows: int = SyntheticDataset.rows
) -> list[SyntheticDataset]:
    """The synthetic design at several strengths of the interaction."""
    return [SyntheticDataset(SyntheticDesign(beta_int=beta, attributes=attributes), rows) for beta in betas]


def bias_free_datasets() -> list[SyntheticDataset]:
    """The synthetic design with ten draws of networks without biases: the interaction does not enter DPVar then."""
    seeds = range(SyntheticDesign.network_seed, SyntheticDesign.network_seed + 10)
    return [SyntheticDataset(SyntheticDesign(beta, bias_sd=0.0, network_seed=seed)) for beta in BETAS for seed in seeds]


def resolve_datasets(names: Sequence[str], source: Source) -> list[Dataset]:
    """Datasets from names of suites, tables or synthetic designs, each once, in the order given. ``table@age+sex`` is a
    table with named columns as A. Tables of the suite ``real`` have the sensitive columns that the catalogue names; one
    of them is asked for as SLUG-named.
    """
    designs: dict[str, list[SyntheticDataset]] = {"synthetic": synthetic_datasets(), "bias_free": bias_free_datasets()}
    synthetic = {dataset.name: dataset for group in designs.values() for dataset in group}
    named = {slug: entry.sensitive for slug, entry in catalogue().items() if entry.sensitive}
    by_catalogue = {slug + NAMED: TableDataset(slug, source, named[slug]) for slug in source.slugs if slug in named}
    chosen: list[Dataset] = []
    for name in names:
        slug, _, columns = name.partition("@")
        if name in designs:
            chosen += designs[name]
        elif name in SUITES:
            tables = suite(name, source.slugs)
            chosen += [TableDataset(table, source, named[table] if name == "real" else ()) for table in tables]
        elif name in synthetic or name in by_catalogue:
            chosen.append(synthetic.get(name) or by_catalogue[name])
        elif slug in source.slugs:
            chosen.append(TableDataset(slug, source, tuple(filter(None, columns.split("+")))))
        else:
            raise UnknownName("dataset or suite", name, (*SUITES, *designs, *synthetic, *source.slugs))
    return list({dataset.name: dataset for dataset in chosen}.values())


POOL = 200  # number of most informative columns that may become sensitive
LEAST_CORRELATION = 0.02
PROXIES = 128  # other columns tried as proxies of a column
SHARE = 0.25  # part of the pool that becomes sensitive
COPY = 0.999  # a feature with a larger correlation counts as a copy of an attribute


def construct_sensitive(x: Array, y: Array, origin: Sequence[int], seed: int) -> Index:
    r"""Columns of x that become the sensitive attribute A, ascending.

    .. math:: c_j = |\mathrm{corr}(x_j, y)|, \qquad p_j = \max_{i \ne j} \mathrm{corr}(x_i, x_j)^2, \qquad
              s_j = c_j (1 + p_j)

    The pool holds the columns with the 200 largest c_j of at least 0.02 (or the 200 largest if none reaches 0.02). p_j
    compares with up to 128 other columns, drawn by ``seed``. The quarter of the pool with the largest s_j becomes
    sensitive, at least one column and never the whole pool. Indicators of one text column (equal ``origin``) stay
    together. Of equal scores the first column is taken. Shapes: x (row, column), training rows only; y (row,); origin
    (column,).
    """
    informative = np.abs(_correlation(x, y[:, None])[:, 0])
    order = np.argsort(-informative.round(12), kind="stable")
    above = order[informative[order] >= LEAST_CORRELATION]
    pool = (above if len(above) else order)[:POOL]
    if len(pool) < 2:
        raise InvalidInput(
            "The table has only one usable column; at least two are needed: one sensitive, one to predict from."
        )
    score = (informative[pool] * (1 + _proxy(x, pool, seed))).round(12)  # ties are the same on every machine
    wanted = min(max(round(SHARE * len(pool)), 1), len(pool) - 1)
    groups = np.asarray(origin)
    taken = np.zeros(x.shape[1], dtype=bool)
    for column in pool[np.lexsort((pool, -score))]:
        if taken[pool].sum() >= wanted:
            break
        together = taken | (groups == groups[column])
        if not together[pool].all():  # at least one informative column stays in x
            taken = together
    if not taken.any():
        raise InvalidInput(
            "All usable columns of the matrix come from one column of the table; a second one is needed."
        )
    return np.flatnonzero(taken)


def copies(x: Array, sensitive: Array) -> Index:
    """Columns of x that are (nearly) copies of an attribute; the paper keeps such perfect proxies."""
    return np.flatnonzero((np.abs(_correlation(x, sensitive)) > COPY).any(axis=1))


def _proxy(x: Array, pool: Index, seed: int) -> Array:
    """p_j for each column of the pool, (pool,): the largest squared correlation with one of the other columns."""
    columns = x.shape[1]
    squared = _correlation(x, x[:, pool]) ** 2
    squared[pool, np.arange(len(pool))] = 0.0
    if columns - 1 > PROXIES:
        random = np.random.default_rng(seed)
        for position, column in enumerate(pool):
            others = random.permutation(np.delete(np.arange(columns), column))
            squared[others[PROXIES:], position] = 0.0
    best: Array = squared.max(axis=0)
    return best


def _correlation(x: Array, other: Array) -> Array:
    """Correlations, (row, a), (row, b) -> (a, b); those of a constant column are 0."""
    centred = [values - values.mean(axis=0) for values in (x, other)]
    lengths = [np.sqrt((values**2).sum(axis=0)) for values in centred]
    left, right = (values / np.where(length > 0, length, 1.0) for values, length in zip(centred, lengths, strict=True))
    result: Array = left.T @ right
    return result
