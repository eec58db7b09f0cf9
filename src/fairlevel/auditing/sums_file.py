"""What an audit keeps of its rows: functions of A and sums, as JSON. No row is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairlevel._version import __version__
from fairlevel.auditing.stored_rows import Roles, StoredRows
from fairlevel.conditional_mean.stored_functions import from_plain, plain_fields, to_plain
from fairlevel.data.batch_columns import BatchColumn
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.evidence import Evidence
from fairlevel.metrics.streamed import Plan

FORMAT = 1


@dataclass(frozen=True)
class AuditSums:
    """The evidence of every quantity, by (prediction, question), on ``used`` rows, and how it was measured.

    ``means`` are the averages of the quantities.
    """

    rows: StoredRows
    plan: Plan
    evidence: Mapping[tuple[str, str], Evidence]
    means: Mapping[tuple[str, str], float]
    used: int

    def save(self, path: str | Path) -> None:
        """Write one JSON file, which a later audit takes as its baseline."""
        text = json.dumps(
            {
                "what": "sums of an audit",
                "format": FORMAT,
                "version": __version__,
                "rows": self.used,
                "roles": asdict(self.rows.roles),
                "columns": {
                    role: [asdict(each) for each in getattr(self.rows, role)] for role in ("sensitive", "given")
                },
                "signs": list(self.rows.signs),
                "functions of given": to_plain(self.rows.functions),
                "plan": plain_fields(self.plan),
                "quantities": [
                    {"prediction": name, "question": question, "mean": self.means[name, question]} | _plain(evidence)
                    for (name, question), evidence in self.evidence.items()
                ],
            },
            allow_nan=False,
        )
        write_whole(Path(path), lambda partial: partial.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> AuditSums:
        """Read what :meth:`save` has written."""
        try:
            read = json.loads(Path(path).read_text(encoding="utf-8"))
            if read["what"] != "sums of an audit" or read["format"] != FORMAT:
                raise ValueError("another format")
            columns = {
                role: tuple(BatchColumn(each["name"], tuple(each["levels"])) for each in read["columns"][role])
                for role in ("sensitive", "given")
            }
            roles: dict[str, Any] = {
                name: tuple(each) if isinstance(each, list) else each for name, each in read["roles"].items()
            }
            functions, signs = from_plain(read["functions of given"]), tuple(read["signs"])
            rows = StoredRows(Roles(**roles), **columns, functions=functions, signs=signs)
            plan = Plan(**{name: from_plain(each) for name, each in read["plan"].items()})
            quantities = {(each["prediction"], each["question"]): each for each in read["quantities"]}
            evidence = {key: _evidence(each) for key, each in quantities.items()}
            return cls(rows, plan, evidence, {key: each["mean"] for key, each in quantities.items()}, read["rows"])
        except FileNotFoundError:
            raise InvalidInput(f"{str(path)!r} does not exist; write it with --save-sums.") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"{str(path)!r} holds no sums of an audit ({type(error).__name__}); write it with --save-sums."
            ) from None


_NUMBERS = ("variance", "estimate", "fitted_variance", "degenerate", "regressor", "informative", "spent", "p_value")


def _plain(evidence: Evidence) -> dict[str, Any]:
    return {name: getattr(evidence, name) for name in _NUMBERS} | {"influence": to_plain(evidence.influence)}


def _evidence(plain: Mapping[str, Any]) -> Evidence:
    p_value = float(plain["p_value"])
    numbers = {name: plain[name] for name in _NUMBERS if name != "p_value"}
    return Evidence(**numbers, influence=from_plain(plain["influence"]), test=lambda: p_value)
