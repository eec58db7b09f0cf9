"""``fairlevel audit`` of Parquet files that are read part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from fairlevel.cli.checks import is_parquet
from fairlevel.cli.talk import Talk
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import share_of

if TYPE_CHECKING:
    from fairlevel.auditing.audit import Verdict
    from fairlevel.auditing.audit_files import StoredAudit

MANY_ROWS = 150_000  # of one file, above which its rows are not all held in memory


def in_parts(files: Sequence[str], in_memory: bool) -> bool:
    """Whether these are files to be read part by part: several, a folder, a pattern, or, unless an option needs all
    rows in memory, one Parquet file of many rows.
    """
    file = Path(files[0])
    is_pattern = not file.exists() and any(sign in files[0] for sign in "*?[")
    return len(files) > 1 or file.is_dir() or is_pattern or (not in_memory and _is_large(file))


def _is_large(file: Path) -> bool:
    if not is_parquet(file) or not file.is_file():
        return False
    import pyarrow
    import pyarrow.parquet

    try:
        return int(pyarrow.parquet.read_metadata(file).num_rows) > MANY_ROWS
    except (OSError, pyarrow.ArrowException):
        return False  # reading it will say what is wrong


def measure(
    files: Sequence[str], executor: str | None, address: str | None, save_sums: Path | None, **options: Any
) -> StoredAudit:
    """Audit the files, show progress, and write the sums where they are asked for."""
    from fairlevel.auditing.audit_files import audit_files

    shares: dict[str, Callable[[float], None]] = {}

    def done(read: str, count: int, total: int) -> None:
        if read not in shares:
            shares[read] = share_of(f"reading: {read}")
        shares[read](count / total)

    found = audit_files(list(files), executor=_executor(executor, address), done=done, **options)
    if save_sums is not None:
        found.sums.save(save_sums)
    return found


def _executor(name: str | None, address: str | None) -> Any:
    if name is None:
        if address is not None:
            raise InvalidInput("--address belongs to --executor ray; add it, or leave the address out.")
        return None
    from fairlevel.cli.bench_run import make_executor

    return make_executor(name, address=address)


def for_programs(found: StoredAudit, verdicts: dict[str, tuple[Verdict, ...]]) -> dict[str, Any]:
    """Everything, for programs."""
    results = {
        name: [asdict(verdict) | {"passed": verdict.passed} for verdict in own] for name, own in verdicts.items()
    }
    return found.to_dict() | {"verdicts": results}


def show_left_out(found: StoredAudit, talk: Talk) -> None:
    """Rows that do not count."""
    if found.left_out:
        columns = ", ".join(f"{name} ({count:,})" for name, count in found.left_out.items())
        talk.say(f"Values that rows lack, which are left out: {columns}")


def show_several(found: StoredAudit, verdicts: dict[str, tuple[Verdict, ...]], talk: Talk) -> None:
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
        for verdict in own:
            word, style = ("passed", "green") if verdict.passed else ("failed", "red")
            talk.say(
                f"{word}: {name}, {verdict.budget} of at most {verdict.most:g} allowed, upper end of the interval "
                f"{number(verdict.upper)}",
                style=style,
            )


def write_audit_page(
    found: StoredAudit, verdicts: dict[str, tuple[Verdict, ...]], files: Sequence[str], html: Path
) -> None:
    """The page of the only prediction."""
    from fairlevel.auditing.page import audit_page
    from fairlevel.report.render import write_page

    ((name, audit),) = found.audits.items()
    write_page(audit_page(audit, verdicts[name], replace(audit.provenance, file=", ".join(files))), html)
