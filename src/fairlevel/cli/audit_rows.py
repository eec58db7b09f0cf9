"""The rows that ``fairlevel audit`` reads: Parquet files as they are, a CSV file by the rules of all commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset

from fairlevel.cli.audit_columns import AuditColumns
from fairlevel.cli.files import read_columns, read_numbers, read_predictions, read_target, two_words
from fairlevel.data.sensitive import as_frame
from fairlevel.data.stored_rows import WEIGHT_0, texts_of

if TYPE_CHECKING:
    from fairlevel.auditing.stored_audit import StoredAudit


def rows_and_words(files: Sequence[str], csv: Path | None, columns: AuditColumns) -> tuple[Any, tuple[str, str] | None]:
    """Stored rows, and the words of the target that count as 0 and 1, if it holds two words."""
    prediction = columns.predictions[0]
    if csv is None:
        texts = None if columns.target is None else texts_of(list(files), columns.target)
        return list(files), None if texts is None else two_words(pd.Series(texts, dtype=object), prediction)
    table = read_columns(csv, columns.used, words=columns.categories)
    table = table.astype({name: "category" for name in columns.categories if name in table})
    words = None if columns.target is None else two_words(table[columns.target], prediction)
    known = as_frame(table[list(dict.fromkeys((*columns.sensitive, *columns.given)))])
    if columns.target is not None:
        known = known.assign(**{columns.target: read_target(table, columns.target, prediction)})
    if columns.weight is not None:
        known = known.assign(**{columns.weight: read_numbers(table, columns.weight)})
    complete = known.notna().all(axis=1)
    predictions = {name: read_predictions(table.loc[complete], name) for name in columns.predictions}
    rows = table.assign(**{str(name): known[name] for name in known}, **predictions)
    return pa.dataset.dataset(pa.Table.from_pandas(rows, preserve_index=False)), words


def gaps_in_words(found: StoredAudit) -> Iterator[str]:
    """What was done about missing values; nothing where nothing is missing."""

    def columns(counts: dict[str, int]) -> str:
        return ", ".join(f"{name} ({count:,})" for name, count in counts.items())

    if found.rows_left_out:
        rows = "row" if found.rows_left_out == 1 else "rows"
        lacking = {name: count for name, count in found.left_out.items() if name != WEIGHT_0}
        yield f"{found.rows_left_out:,} {rows} left out, without a value in: {columns(lacking)}"
    if found.missing:
        yield f"missing categories count as the category (missing): {columns(dict(found.missing))}"
