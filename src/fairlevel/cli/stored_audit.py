"""``fairlevel audit`` of Parquet files that are read part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from fairlevel.cli.audit_answer import end_by, show_audit, show_verdicts
from fairlevel.cli.checks import is_parquet
from fairlevel.cli.options import make_executor
from fairlevel.cli.talk import Talk
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import share_of, stage

if TYPE_CHECKING:
    from fairlevel.auditing.audit import Verdict
    from fairlevel.auditing.audit_files import StoredAudit

MOST_IN_MEMORY = 150_000  # rows of one file; of more, not all are held at the same time


def in_parts(files: Sequence[str], in_memory: bool) -> bool:
    """Whether these are files to be read part by part: several, a folder, a pattern, or, unless an option needs all
    rows in memory, one Parquet file of many rows.
    """
    file = Path(files[0])
    is_pattern = not file.exists() and any(sign in files[0] for sign in "*?[")
    return len(files) > 1 or file.is_dir() or is_pattern or (not in_memory and _is_large(file))


def refuse_csv(files: Sequence[str]) -> None:
    """Raise an error if one of the files cannot be read part by part."""
    name = next((name for name in files if name.lower().endswith(".csv")), None)
    if name is not None:
        raise InvalidInput(
            f"{name!r} is a CSV file; several files, several predictions, --baseline, --save-sums, --state and "
            "--executor are for Parquet files. Pass one CSV file and one prediction, or convert it in Python: "
            f"pandas.read_csv({name!r}).to_parquet({f'{name[:-4]}.parquet'!r})."
        )


def _is_large(file: Path) -> bool:
    if not is_parquet(file) or not file.is_file():
        return False
    import pyarrow
    import pyarrow.parquet

    try:
        return int(pyarrow.parquet.read_metadata(file).num_rows) > MOST_IN_MEMORY
    except (OSError, pyarrow.ArrowException):
        return False  # reading it will say what is wrong


def audit_in_parts(
    talk: Talk,
    files: Sequence[str],
    budgets: Mapping[str, float | None],
    html: Path | None,
    save_sums: Path | None,
    executor: str | None,
    address: str | None,
    **options: Any,
) -> None:
    """Audit the files, write what is asked for, and say what was found; ``options`` are those of ``audit_files``."""
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.auditing.audit_files import audit_files

        found = audit_files(
            list(files),
            executor=None if executor is None else make_executor(executor, address=address),
            done=_in_stages(),
            **options,
        )
        if save_sums is not None:
            found.sums.save(save_sums)
        verdicts = {name: own.check(**budgets) for name, own in found.audits.items()}
        if html is not None:
            stage("writing the report")
            _write_page(found, verdicts, files, html)
    if found.left_out:
        columns = ", ".join(f"{name} ({count:,})" for name, count in found.left_out.items())
        talk.say(f"Values that rows lack, which are left out: {columns}")
    if len(found.audits) == 1:
        ((name, one),) = found.audits.items()
        show_audit(talk, one, verdicts[name], html)
    else:
        _show_several(talk, found, verdicts)
    for drift in found.drift.values():
        talk.say(str(drift), style="bold")
    results = {name: [verdict.to_dict() for verdict in own] for name, own in verdicts.items()}
    talk.result(**found.to_dict(), verdicts=results, report=html, warnings=warned)
    end_by(verdict for own in verdicts.values() for verdict in own)


def _in_stages() -> Callable[[str, int, int], None]:
    """Shows each read as a stage of its own."""
    shares: dict[str, Callable[[float], None]] = {}

    def done(read: str, count: int, total: int) -> None:
        if read not in shares:
            shares[read] = share_of(f"reading: {read}")
        shares[read](count / total)

    return done


def _show_several(talk: Talk, found: StoredAudit, verdicts: Mapping[str, tuple[Verdict, ...]]) -> None:
    """One row per prediction."""
    from fairlevel.report.numbers import number, p_cell

    table = Table(title=f"{found.sums.used:,} rows", title_justify="left")
    for heading in ("prediction", "moves by ±", "share of variance", "95 % interval", "DPVar", "p"):
        table.add_column(heading, justify="left" if heading == "prediction" else "right")
    for name, audit in found.audits.items():
        each = audit.interval
        limits = f"{each.share_low:.1%} to {each.share_high:.1%}"
        cells = (number(audit.moves_by), f"{each.share:.1%}", limits, number(each.estimate), p_cell(each.p_value))
        table.add_row(name, *cells)
    talk.say(table)
    for name, own in verdicts.items():
        show_verdicts(talk, own, name)


def _write_page(
    found: StoredAudit, verdicts: Mapping[str, tuple[Verdict, ...]], files: Sequence[str], html: Path
) -> None:
    """The page of the only prediction."""
    from fairlevel.auditing.page import audit_page
    from fairlevel.report.render import write_page

    ((name, audit),) = found.audits.items()
    write_page(audit_page(audit, verdicts[name], replace(audit.provenance, file=", ".join(files))), html)
