"""The work of ``fairlevel front``: from a file to a trained path, and what is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairlevel.cli.checks import column_names
from fairlevel.cli.files import read_numbers, read_sample
from fairlevel.cli.front import FrontColumns
from fairlevel.cli.front_folder import WITHIN, NamedModel, how_measured, named_rows
from fairlevel.cli.front_table import KNEE, front_table
from fairlevel.cli.overlooked import columns_in_words, rows_in_words, words_read_as_missing
from fairlevel.cli.talk import Talk, shown_path
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.learning_table import LearningTable, with_unreadable_as_missing
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.exceptions import InvalidInput, UnknownAttributes
from fairlevel.report.provenance import Provenance


@dataclass(frozen=True)
class FrontRows:
    """The rows of a file, each column with its role, and how many rows the file has."""

    file: Path
    columns: FrontColumns
    table: LearningTable
    rows_in_file: int

    @classmethod
    def read(
        cls,
        talk: Talk,
        file: Path,
        columns: FrontColumns,
        *,
        most_rows: int,
        seed: int,
        lenient: bool,
        sensitive_inputs: bool,
    ) -> FrontRows:
        """Read at most ``most_rows`` rows, and say what was left out, and how columns were read."""
        raw, rows = read_sample(file, most_rows, seed, words=columns.categories)
        raw = raw.astype(dict.fromkeys(columns.categories, "category"))
        if rows > len(raw):
            talk.say(f"{rows:,} rows in the file, {len(raw):,} sampled (--most-rows)")
        if lenient:
            raw = _leniently(talk, raw, columns)
        if columns.weight is not None:
            raw[columns.weight] = read_numbers(raw, columns.weight)
        table = LearningTable.of(
            raw, columns.target, columns.sensitive, columns.dropped, sensitive_inputs, columns.weight, columns.given
        )
        if table.target.nunique() == 1:
            raise InvalidInput(
                f"The target {columns.target!r} holds a single value, {table.target.iloc[0]}; there is nothing to "
                "predict: choose another --target."
            )
        _describe(talk, file, raw[[name for name in raw if name not in columns.dropped]], table)
        return cls(file, columns, table, rows)

    def fit(self, path: FairnessPath) -> None:
        """Train a path on these rows; that attributes are missing in some has been said by column."""
        warnings.simplefilter("ignore", UnknownAttributes)
        path.fit(
            self.table.features,
            self.table.target,
            sensitive_features=self.table.sensitive,
            sample_weight=self.table.weight,
            given=self.table.given,
        )

    @property
    def notes(self) -> dict[str, object]:
        """What saved models say about the rows they were trained on."""
        columns = self.columns
        return {
            "target": columns.target,
            "sensitive": list(columns.sensitive),
            "given": list(columns.given),
            "file": self.file.name,
        }

    def provenance(self, path: FairnessPath) -> Provenance:
        """Where the figures of a path come from, with the file and the roles of its columns."""
        known, weight = path.provenance(), self.columns.weight
        features = tuple(map(str, self.table.features.columns))
        return replace(
            known,
            file=self.file.name,
            rows_in_file=self.rows_in_file,
            rows_dropped=self.table.gaps.rows_left_out,
            why_dropped="without target, factor or weight",
            columns={"target": (self.columns.target,), **known.columns, "feature": features}
            | ({} if weight is None else {"weight": (weight,)}),
        )

    @property
    def counts(self) -> dict[str, Any]:
        """How many rows were used, and for what."""
        gaps = self.table.gaps
        return {
            "rows": len(self.table.target),
            "rows_left_out": gaps.rows_left_out,
            "rows_for_accuracy_only": gaps.rows_for_accuracy_only,
        }


def _leniently(talk: Talk, raw: pd.DataFrame, columns: FrontColumns) -> pd.DataFrame:
    """The same table with cells that cannot be read as missing ones."""
    used = [name for name in raw.columns if name not in columns.dropped]
    readable, counts = with_unreadable_as_missing(raw[used])
    for name, count in counts.items():
        talk.say(f"{count} cells of {name} cannot be read and count as missing (--lenient)")
    return raw.assign(**{name: readable[name] for name in counts})


def _describe(talk: Talk, file: Path, used: pd.DataFrame, table: LearningTable) -> None:
    """Say how many rows and columns there are, what is missing, and how columns were read."""
    encoder, rows = TableEncoder().fit(table.features), len(table.target)
    talk.say(f"{rows:,} rows, {table.features.shape[1]} columns encoded as {len(encoder.outputs)} numbers")
    for sentence in (
        *rows_in_words(file, used),
        *table.gaps.sentences(),
        *words_read_as_missing(file, used),
        *columns_in_words(table.features, encoder),
    ):
        talk.say(sentence)


def show_front(talk: Talk, path: FairnessPath, chosen: Mapping[str, NamedModel], rows: FrontRows, out: Path) -> None:
    """The trade-offs, where the models are, and the command that may follow."""
    factors, figures = rows.columns.given, named_rows(path, chosen)
    within = f" within {', '.join(factors)}" if factors else ""
    talk.say(f"trade-offs for {rows.columns.target}{within}, {how_measured(path)}", style="bold")
    talk.say(front_table(figures if len(path.front_) > 1 else {"only model": path.front_.iloc[0]}))
    for label, choice in zip(figures, chosen.values(), strict=True):
        talk.say(f"{label}: {shown_path(out / 'models' / choice.folder)}")
    talk.say(f"report: {shown_path(out / 'report.html')}")
    best = out / "models" / chosen[WITHIN if WITHIN in chosen else KNEE].folder
    taken = ("--column", "new_prediction") if "prediction" in column_names(rows.file) else ()
    talk.next("fairlevel", "predict", best, rows.file, "--out", "predictions.csv", *taken)


def front_result(
    path: FairnessPath, chosen: Mapping[str, NamedModel], rows: FrontRows, out: Path, warned: Sequence[str]
) -> dict[str, Any]:
    """The same for programs."""
    figures = named_rows(path, chosen)
    return rows.counts | {
        "measured": "cross-validation" if path.cross_fitted_ else "held-out rows",
        "report": out / "report.html",
        "models": {
            label: {"folder": out / "models" / choice.folder, **row}
            for (label, row), choice in zip(figures.items(), chosen.values(), strict=True)
        },
        "front": path.to_frame(),
        "budget_met": None if path.max_share is None else path.budget_index_ is not None,
        "warnings": warned,
    }
