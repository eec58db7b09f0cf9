"""What people overlook in a file of their own, said before a model is trained on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from fairlevel.cli.checks import column_names, is_parquet
from fairlevel.cli.files import ROWS_AS_WRITTEN, as_written
from fairlevel.data.columns import GAPS, Dates, Numbers, are_numbers
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.learning_table import LearningTable
from fairlevel.data.table_rules import FrequentRule, TextRule


def in_words(file: Path, table: pd.DataFrame, rows: LearningTable) -> Iterator[str]:
    """How many rows and columns of the table are used, what is missing or appears twice, how columns were read where
    their file does not say it, and which of them are of no use, or may do harm.
    """
    features, encoder, in_file = rows.features, TableEncoder().fit(rows.features), column_names(file)
    yield f"{len(rows.target):,} rows, {features.shape[1]} columns encoded as {len(encoder.outputs)} numbers"
    twice = [name for name in dict.fromkeys(in_file) if in_file.count(name) > 1]
    if twice:
        yield f"columns that share a name: {', '.join(twice)}; give each column a name of its own"
    repeated = int(table.duplicated().sum())
    if repeated:
        what = "row repeats another" if repeated == 1 else "rows repeat others"
        yield f"{repeated:,} {what} in every column: models are judged on rows that they have seen"
    yield from rows.gaps.sentences()
    if not is_parquet(file):
        yield from _words_read_as_missing(file, table)
    texts = [rule for rule in encoder.rules_ if isinstance(rule, TextRule)]
    many = [rule for rule in texts if isinstance(rule, FrequentRule)]
    distinct = features.drop_duplicates()
    ids = [rule.name for rule in many if len(rule.categories) == len(distinct)]
    ids += [str(name) for name, column in distinct.items() if column.dtype.kind in "iu" and column.is_unique]
    unused = [str(name) for name in features if str(name) not in encoder.needed]
    empty = [name for name in unused if features[name].isna().all()]
    columns = {
        "columns without a name in the file (leave out row numbers with --drop)": [
            rule.name for rule in encoder.rules_ if rule.name.startswith("Unnamed: ")
        ],
        "dates": [rule.name for rule in encoder.rules_ if isinstance(rule.reads, Dates)],
        "numbers with a decimal comma": [rule.name for rule in encoder.rules_ if rule.reads == Numbers(",")],
        "text with many categories": [f"{rule.name} ({len(rule.categories)})" for rule in many],
        "numbers written as text, read as categories": [
            rule.name for rule in texts if are_numbers(pd.Series(rule.categories)).all()
        ],
        "values that differ in every row (leave out ids with --drop)": ids,
        "left out, as they are empty": empty,
        "left out, as they hold one value": [name for name in unused if name not in empty],
    }
    yield from (f"{what}: {', '.join(names)}" for what, names in columns.items() if names)


def _words_read_as_missing(file: Path, table: pd.DataFrame) -> Iterator[str]:
    """Words such as NA and None in columns of text, which may be names there."""
    text = [str(name) for name, column in table.items() if column.dtype.kind not in "biufmM" and column.isna().any()]
    for name, cells in as_written(file, ROWS_AS_WRITTEN)[text].items() if text else ():
        words = cells[cells.isin([word for word in GAPS if word])].value_counts()
        if len(words):
            counts = ", ".join(f"{word!r} ({count:,})" for word, count in words.items())
            yield f"read as missing in {name}: {counts}; if these are names, pass --categories {name}"
