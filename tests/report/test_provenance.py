from datetime import UTC, datetime

from fairlevel import __version__
from fairlevel.report.provenance import Provenance


def test_facts_are_in_order_and_unknown_ones_left_out():
    known = Provenance(
        file="t.csv",
        rows_in_file=1200,
        rows_used=1000,
        rows_dropped=10,
        why_dropped="without target",
        columns={"target": ("pay",), "sensitive": ("age", "town"), "given": ()},
        settings={"solver": "auto"},
        seed=0,
        made=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    )
    assert known.facts() == (
        ("table", "t.csv"),
        ("rows", "1,000 used, 10 dropped (without target), 1,200 in the file"),
        ("target column", "pay"),
        ("sensitive columns", "2: age, town"),
        ("solver", "auto"),
        ("seed", "0"),
        ("made", "2026-01-02 03:04 UTC"),
        ("version", f"fairlevel {__version__}"),
    )
    assert [name for name, _ in Provenance().facts()] == ["made", "version"]
