"""Audits of rows in Parquet files, however many: sums are kept, rows are not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from fairlevel._version import __version__
from fairlevel.auditing.answer import METHOD, Audit
from fairlevel.auditing.by_group import group_table, is_grouping
from fairlevel.auditing.drift import Drift
from fairlevel.auditing.questions import Question, check_threshold, quantities
from fairlevel.auditing.reads import State, summed
from fairlevel.auditing.side_figures import SideFigures
from fairlevel.auditing.stored_rows import Roles, StoredRows
from fairlevel.auditing.stored_sample import Sample, readers, surveyed
from fairlevel.auditing.sums_file import AuditSums
from fairlevel.auditing.survey import Survey
from fairlevel.conditional_mean.stored_functions import plain_fields
from fairlevel.data.parquet_parts import NOTHING, NUMBER, TRUTH, ParquetRows, open_parquet
from fairlevel.exceptions import InvalidInput
from fairlevel.executors import Executor, ThisProcess
from fairlevel.metrics.inputs import read_seed
from fairlevel.metrics.interval import interval_of
from fairlevel.metrics.streamed import Plan
from fairlevel.networks.memory import return_freed_memory
from fairlevel.report.provenance import Provenance
from fairlevel.threads import on_single_threads

Done = Callable[[str, int, int], None]
"""Called with the name of a read, how many of its parts are done, and how many there are."""


@dataclass(frozen=True)
class StoredAudit:
    """The answer of :func:`audit_files`.

    Attributes
    ----------
    audits : an :class:`Audit` per prediction
    sums : what a later audit can be compared with; ``sums.save("sums.json")``
    drift : the change since the baseline per prediction; empty without one
    left_out : rows without a number that they need, by column
    """

    audits: Mapping[str, Audit]
    sums: AuditSums
    drift: Mapping[str, Drift]
    left_out: Mapping[str, int]

    def __getitem__(self, prediction: str) -> Audit:
        return self.audits[prediction]

    def __str__(self) -> str:
        """The findings, one sentence per prediction."""
        several = len(self.audits) > 1
        said = [f"{name}: {audit}" if several else str(audit) for name, audit in self.audits.items()]
        return "\n".join([*said, *map(str, self.drift.values())])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "predictions": {name: audit.to_dict() for name, audit in self.audits.items()},
            "drift": {name: asdict(each) | {"found": each.found} for name, each in self.drift.items()},
            "left_out": dict(self.left_out),
        }


def audit_files(
    source: Any,
    *,
    predictions: str | Sequence[str],
    sensitive_features: str | Sequence[str],
    given: str | Sequence[str] = (),
    y_true: str | None = None,
    sample_weight: str | None = None,
    threshold: float | None = None,
    categories: Sequence[str] = (),
    baseline: AuditSums | str | Path | None = None,
    executor: Executor | None = None,
    state: str | Path | None = None,
    done: Done = lambda read, count, total: None,
    random_state: Any = 0,
) -> StoredAudit:
    """Audit predictions in Parquet files of any size, in memory that does not depend on the number of rows.

    The files are read three times. A random sample fixes the functions of A; then their moments are added up; then what
    the estimate and the interval need of single rows. Figures beside DPVar come from 10,000 sampled rows. The answer
    depends on the files and the seed, not on where parts are read.

    Parameters
    ----------
    source : a file, a folder, a pattern such as "folder/*.parquet", a list of these, or a ``pyarrow.dataset.Dataset``
    predictions : columns with predictions; all are measured in the same reads
    sensitive_features, given, y_true, sample_weight : names of columns; their roles are those of :func:`audit`
    threshold, random_state : as for :func:`audit`
    categories : columns that hold categories although they look like numbers
    baseline : sums of an earlier audit, or their file: its functions of A are used again, and the change of DPVar is
        reported
    executor : where parts are read, such as ``fairlevel.executors.RayExecutor()``; by default in this process
    state : a file for the sums so far. A run that was stopped goes on from there; it is removed at the end
    done : called with the name of a read, how many of its parts are done, and how many there are

    Returns
    -------
    StoredAudit
    """
    seed, table = read_seed(random_state), open_parquet(source)
    roles = Roles(
        _names(predictions),
        _names(sensitive_features),
        _names(given),
        sample_weight,
        y_true,
        threshold,
        _names(categories),
    )
    _check(roles, table)
    earlier = AuditSums.load(baseline) if isinstance(baseline, str | Path) else baseline
    if earlier is not None and earlier.rows.roles != roles:
        raise InvalidInput(_other_roles(earlier.rows.roles, roles))
    runner = ThisProcess() if executor is None else executor
    with runner.connected():
        survey, drawn = surveyed(table, roles, runner, seed, partial(done, "sample"))
        rows = readers(roles, survey) if earlier is None else earlier.rows
        sample = Sample.of(survey, drawn, rows, seed)
        plan = sample.plan(seed) if earlier is None else replace(earlier.plan, tested=())
        return_freed_memory()
        place = State(None if state is None else Path(state), _key(table, sample.rows, plan))
        sums = _summed(sample, plan, survey.used, table, runner, place, done)
    return_freed_memory()
    audits = {name: _audit(name, sample, sums, survey, table, seed) for name in roles.predictions}
    place.remove()
    drift = (
        {}
        if earlier is None
        else {name: Drift.of(name, earlier.evidence[name, ""], sums.evidence[name, ""]) for name in roles.predictions}
    )
    return StoredAudit(audits, sums, drift, survey.left_out)


def _summed(
    sample: Sample, plan: Plan, used: int, table: ParquetRows, runner: Executor, place: State, done: Done
) -> AuditSums:
    """The second and the third read: moments, then what depends on the smoothers that follow from them."""
    moments = summed("moments", plan.moments, sample.rows, table.parts, runner, place, {}, partial(done, "moments"))
    fitted, so_far = plan.fitted(moments), {"moments": (len(table.parts), moments)}
    terms = summed("terms", fitted.terms, sample.rows, table.parts, runner, place, so_far, partial(done, "row terms"))
    keys = list(sample.quantities)
    evidence = dict(zip(keys, fitted.evidence(terms), strict=True))
    return AuditSums(sample.rows, plan, evidence, dict(zip(keys, fitted.location.tolist(), strict=True)), used)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _check(roles: Roles, table: ParquetRows) -> None:
    if not roles.predictions or not roles.sensitive:
        raise InvalidInput("At least one prediction and one sensitive column are needed.")
    table.require(roles.names)
    if roles.threshold is not None:
        check_threshold(roles.threshold)
    for name in roles.numeric_columns:
        if name in roles.attributes:
            raise InvalidInput(f"Column {name!r} is named as an attribute and in another role; a column has one role.")
        if table.kinds[name] not in (NUMBER, TRUTH, NOTHING):
            raise InvalidInput(f"Column {name!r} holds {table.kinds[name]} values; numbers are needed.")


def _other_roles(then: Roles, now: Roles) -> str:
    for each in fields(Roles):
        before, after = getattr(then, each.name), getattr(now, each.name)
        if before != after:
            return (
                f"The baseline was measured with {each.name} {before!r}, this audit has {after!r}; use the same "
                "columns, or write new sums."
            )
    return ""


def _key(table: ParquetRows, rows: StoredRows, plan: Plan) -> str:
    """What sums belong to: the files, the columns and the functions."""
    text = json.dumps([__version__, table.identity, repr((rows.roles, rows.sensitive, rows.given)), plain_fields(plan)])
    return hashlib.sha256(text.encode()).hexdigest()


def _then_freed(task: Callable[[], Any]) -> Any:
    """The result of a task. Memory that it has freed goes back to the system: other threads may need it."""
    result = task()
    return_freed_memory()
    return result


def _audit(name: str, sample: Sample, sums: AuditSums, survey: Survey, table: ParquetRows, seed: int) -> Audit:
    roles, side = sample.rows.roles, sample.side(name)
    frame = sample.frame.iloc[: len(side)].reset_index(drop=True)
    attributes = frame[list(roles.sensitive)]
    tasks = SideFigures.tasks(side, attributes, seed)
    figures = SideFigures(*on_single_threads(*(partial(_then_freed, task) for task in tasks)))
    target = None if roles.target is None else frame[roles.target].to_numpy(copy=True)
    asked = quantities(side.prediction, target, roles.threshold)
    questions = tuple(
        Question(question, asks, interval_of(sums.evidence[name, question]), sums.used)
        for question, (asks, _) in asked.items()
    )
    mse = sums.means.get((name, "squared error"))
    provenance = Provenance(
        rows_in_file=table.rows,
        rows_used=sums.used,
        rows_dropped=table.rows - sums.used,
        why_dropped=f"without a value in {', '.join(survey.left_out)}" if survey.left_out else "",
        columns={"prediction": (name,), "sensitive": roles.sensitive, "given": roles.given},
        settings={} if roles.threshold is None else {"threshold": f"{roles.threshold:g}"},
        seed=seed,
        method=(METHOD, f"Tables and charts come from {len(side):,} rows, sampled at random; DPVar from all rows."),
    )
    return Audit.of(
        interval_of(sums.evidence[name, ""]),
        figures,
        questions,
        provenance=provenance,
        given=roles.given,
        rows=sums.used,
        groups={
            each: group_table(attributes[each], side.prediction, side.row_weight, target)
            for each in roles.sensitive
            if is_grouping(attributes[each])
        },
        side_rows=len(side),
        accuracy={} if mse is None else {"mse": mse, "rmse": mse**0.5},
    )
