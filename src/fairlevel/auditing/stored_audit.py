"""An audit of stored rows, however many: the audit of a random sample of them, beside counts of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from fairlevel.auditing.answer import Audit
from fairlevel.auditing.flags import not_sampled
from fairlevel.auditing.questions import check_threshold
from fairlevel.data.stored_rows import WEIGHT_0, Roles, RowSample, sample_rows
from fairlevel.exceptions import InvalidInput


@dataclass(frozen=True)
class StoredAudit:
    """The answer of :func:`audit` for stored rows.

    Attributes
    ----------
    audits : an :class:`Audit` per prediction
    left_out : of all rows, those without a number that they need, by column; and those of weight 0
    rows_left_out : how many rows lack such a number
    missing : rows whose category is missing, by column; that is a category of its own
    """

    audits: Mapping[str, Audit]
    left_out: Mapping[str, int]
    rows_left_out: int
    missing: Mapping[str, int]

    def __getitem__(self, prediction: str) -> Audit:
        return self.audits[prediction]

    def __str__(self) -> str:
        """The findings, one sentence per prediction."""
        several = len(self.audits) > 1
        return "\n".join(f"{name}: {audit}" if several else str(audit) for name, audit in self.audits.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "predictions": {name: audit.to_dict() for name, audit in self.audits.items()},
            "left_out": dict(self.left_out),
            "rows_left_out": self.rows_left_out,
        }


def audit_stored(source: Any, roles: Roles, threshold: float | None, rows: int, seed: int) -> StoredAudit:
    """Audit each prediction on the same sample of at most ``rows`` rows."""
    if not roles.predictions or not roles.sensitive:
        raise InvalidInput(
            "Stored rows need predictions= and sensitive_features=, names of columns such as predictions='score'."
        )
    if threshold is not None:
        check_threshold(threshold)
    sample = sample_rows(source, roles, rows, seed)
    audits = {prediction: _audit(prediction, sample, roles, threshold, seed) for prediction in roles.predictions}
    without_value = sample.rows - sample.used - sample.left_out.get(WEIGHT_0, 0)
    return StoredAudit(audits, dict(sample.left_out), without_value, sample.missing)


def _audit(prediction: str, sample: RowSample, roles: Roles, threshold: float | None, seed: int) -> Audit:
    from fairlevel.auditing.audit import audit, sampled_in_words  # which reads this module

    frame = sample.frame

    def column(name: str | None) -> pd.Series | None:
        return None if name is None else frame[name]

    of_sample = audit(
        frame[prediction],
        sensitive_features=frame[list(roles.sensitive)],
        given=frame[list(roles.given)] if roles.given else None,
        y_true=column(roles.target),
        sample_weight=column(roles.weight),
        groups=column(roles.groups),
        by=column(roles.by),
        threshold=threshold,
        rows=max(len(frame), 2),
        random_state=seed,
    )
    known, used = of_sample.provenance, of_sample.rows
    named = {"prediction": prediction, "target": roles.target, "weight": roles.weight, "group": roles.groups}
    provenance = replace(
        known,
        rows_in_file=sample.rows,
        rows_dropped=sample.rows - sample.used,
        why_dropped="a value is missing, or weight 0",
        columns={role: (name,) for role, name in named.items() if name} | dict(known.columns),
        method=(*known.method, *sampled_in_words(used, sample.rows if sample.sampled else used, seed)),
    )
    return replace(of_sample, provenance=provenance, flags=(*of_sample.flags, *not_sampled(sample.not_sampled)))
