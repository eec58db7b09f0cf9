"""From the first read to what is fixed before any sum: how columns are read, a sample of rows, functions of A."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import torch

from fairlevel.arrays import Array, Index
from fairlevel.auditing.reads import in_order
from fairlevel.auditing.side_figures import SIDE_ROWS
from fairlevel.auditing.stored_rows import Roles, StoredRows
from fairlevel.auditing.survey import Survey, Surveyor, encoded, sampled_numbers
from fairlevel.conditional_mean.factors import LegitimateFactors
from fairlevel.data.batch_columns import BatchColumn, category_column
from fairlevel.data.numbers import SMALLEST
from fairlevel.data.parquet_parts import ParquetRows
from fairlevel.data.splitting import rare_rows
from fairlevel.exceptions import InvalidInput
from fairlevel.executors import Executor
from fairlevel.metrics.choice import candidates_in_turn
from fairlevel.metrics.inputs import EvaluationRows
from fairlevel.metrics.orientation import signs_of
from fairlevel.metrics.streamed import Plan


def surveyed(
    table: ParquetRows, roles: Roles, executor: Executor, seed: int, done: Callable[[int, int], None]
) -> tuple[Survey, Index]:
    """The first read, and the sampled row numbers in the order of drawing."""
    drawn = sampled_numbers(table.rows, seed)
    surveyor = Surveyor.of(table, roles, drawn)
    total: Survey | None = None
    for count, survey in enumerate(in_order(executor, [partial(surveyor, part) for part in table.parts]), 1):
        total = survey if total is None else total + survey
        done(count, len(table.parts))
    if total is None or total.used < 2:
        raise InvalidInput("Fewer than 2 rows have all sensitive values and a weight above 0; more are needed.")
    return total, drawn


def readers(roles: Roles, survey: Survey) -> StoredRows:
    """How each attribute is read, and what cannot be measured."""

    def column(name: str) -> BatchColumn:
        if name in survey.levels:
            declared = name in roles.categories
            return category_column(name, sorted(survey.levels[name]), declared)
        low, high = survey.ranges[name]
        if not max(-low, high) < np.inf or 0 < high - low < SMALLEST:
            raise InvalidInput(f"Column {name!r} holds numbers that are infinite or differ too little to compute with.")
        return BatchColumn(name)

    sensitive, given = (tuple(column(name) for name in names) for names in (roles.sensitive, roles.given))
    constant = {each.name for each in (*sensitive, *given) if _single(each, survey)}
    if all(each.name in constant for each in sensitive):
        raise InvalidInput("The sensitive columns hold a single value each; attributes that vary are needed.")
    if any(each.name in constant for each in given):
        raise InvalidInput("A legitimate factor holds a single value; drop it.")
    return StoredRows(roles, sensitive, given)


def _single(column: BatchColumn, survey: Survey) -> bool:
    return len(column.levels) == 1 if column.levels else survey.ranges[column.name][0] == survey.ranges[column.name][1]


@dataclass(frozen=True)
class Sample:
    """Sampled rows with numbers for everything: ``frame`` has one column per column of the files, the first ``drawn``
    rows were drawn at random, and the others are rare.
    """

    rows: StoredRows
    frame: pd.DataFrame
    drawn: int

    @classmethod
    def of(cls, survey: Survey, drawn: Index, rows: StoredRows, seed: int) -> Sample:
        """In the order of drawing; functions of L are fitted on it unless they are known."""
        sampled = survey.sampled.loc[[number for number in drawn.tolist() if number in survey.sampled.index]]
        others = survey.rare_rows.loc[~survey.rare_rows.index.isin(sampled.index)].sort_index()
        frame = pd.concat([sampled, others])
        matrix = encoded((*rows.sensitive, *rows.given), frame)
        rare = rare_rows(matrix, np.arange(len(sampled)))
        frame = frame.iloc[np.concatenate([np.arange(len(sampled)), rare])]
        sample = cls(rows, frame, len(sampled))
        if not rows.signs:
            signs = signs_of(encoded(rows.sensitive, frame), sample.weight)
            rows = replace(rows, signs=tuple(signs.tolist()))
            sample = replace(sample, rows=rows)
        if rows.given and rows.functions is None:
            functions = LegitimateFactors.of(encoded(rows.given, frame), sample.weight, seed)
            sample = replace(sample, rows=replace(rows, functions=functions))
        return sample

    @property
    def weight(self) -> Array:
        name = self.rows.roles.weight
        return np.ones(len(self.frame)) if name is None else self.frame[name].to_numpy(copy=True)

    @property
    def quantities(self) -> dict[tuple[str, str], Array]:
        roles = self.rows.roles
        return roles.quantities({name: self.frame[name].to_numpy(copy=True) for name in roles.numeric_columns})

    def plan(self, seed: int) -> Plan:
        """Functions of A and a ridge for each quantity."""
        rows, frame = self.rows, self.frame
        factors = encoded(rows.given, frame) if rows.given else None
        sample = rows.attributes(encoded(rows.sensitive, frame), factors, self.weight)
        values = np.stack(list(self.quantities.values()))
        return Plan.of(candidates_in_turn(torch.from_numpy(values), sample, seed), sample, values, seed)

    def side(self, prediction: str) -> EvaluationRows:
        """The first 10,000 sampled rows of one prediction."""
        rows, frame = self.rows, self.frame.iloc[: min(self.drawn, SIDE_ROWS)]
        return EvaluationRows(
            frame[prediction].to_numpy(copy=True),
            encoded(rows.sensitive, frame),
            self.weight[: len(frame)],
            rows.names,
            encoded(rows.given, frame) if rows.given else None,
            None,
            rows.sources,
        )
