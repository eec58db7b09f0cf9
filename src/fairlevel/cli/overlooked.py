"""What people overlook in a file of their own, said before a model is trained on it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairlevel.cli.checks import column_names, is_parquet
from fairlevel.cli.decimal_points import ROWS, text_cells
from fairlevel.data.columns import GAPS, Dates, Numbers, are_numbers
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.table_rules import FrequentRule, TextRule


def columns_in_words(features: pd.DataFrame, encoder: TableEncoder) -> list[str]:
    """How columns were read where their file does not say it, and which of them are of no use, or may do harm."""
    rules, unused = encoder.rules_, [str(name) for name in features if str(name) not in encoder.needed]
    texts = [rule for rule in rules if isinstance(rule, TextRule)]
    many = [rule for rule in texts if isinstance(rule, FrequentRule)]
    distinct = features.drop_duplicates()
    said = {
        "columns without a name in the file (leave out row numbers with --drop)": [
            rule.name for rule in rules if rule.name.startswith("Unnamed: ")
        ],
        "dates": [rule.name for rule in rules if isinstance(rule.reads, Dates)],
        "numbers with a decimal comma": [rule.name for rule in rules if rule.reads == Numbers(",")],
        "text with many categories": [f"{rule.name} ({len(rule.categories)})" for rule in many],
        "numbers written as text, read as categories": [
            rule.name for rule in texts if are_numbers(pd.Series(rule.categories)).all()
        ],
        "text that differs in every row (leave out ids with --drop)": [
            rule.name for rule in many if len(rule.categories) == len(distinct)
        ],
        "whole numbers that differ in every row (leave out ids with --drop)": [
            str(name) for name, column in distinct.items() if _may_be_ids(column)
        ],
        "left out, as they are empty": [name for name in unused if features[name].isna().all()],
        "left out, as they hold one value": [name for name in unused if not features[name].isna().all()],
    }
    return [f"{what}: {', '.join(names)}" for what, names in said.items() if names]


def _may_be_ids(column: pd.Series) -> bool:
    return column.dtype.kind in "iu" and column.is_unique


def rows_in_words(file: Path, table: pd.DataFrame) -> list[str]:
    """Rows and names of columns that appear twice."""
    names = column_names(file)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    said = [f"columns that share a name: {', '.join(twice)}; give each column a name of its own"] if twice else []
    repeated = int(table.duplicated().sum())
    if repeated:
        rows = "row repeats another" if repeated == 1 else "rows repeat others"
        said.append(f"{repeated:,} {rows} in every column: models are judged on rows that they have seen")
    return said


def words_read_as_missing(file: Path, table: pd.DataFrame) -> list[str]:
    """Words such as NA and None in columns of text, which may be names there."""
    text = [str(name) for name, column in table.items() if column.dtype.kind not in "biufmM" and column.isna().any()]
    if is_parquet(file) or not text:
        return []
    said = []
    for name, cells in text_cells(file, ROWS)[text].items():
        words = cells[cells.isin([word for word in GAPS if word])].value_counts()
        if len(words):
            counts = ", ".join(f"{word!r} ({count:,})" for word, count in words.items())
            said.append(f"read as missing in {name}: {counts}; if these are names, pass --categories {name}")
    return said
