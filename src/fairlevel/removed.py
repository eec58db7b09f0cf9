"""What there was, and what to use instead: one sentence each."""

from __future__ import annotations

_SAMPLE = "audits of large tables read a random sample of rows= rows in one pass"
_SINCE = "compare two audits with later.since(earlier)"

REMOVED = {
    "fairlevel.audit_files": "audit(path, predictions=..., sensitive_features=...) reads files",
    "audit(baseline=)": _SINCE,
    "audit(state=)": f"{_SAMPLE}, which needs no state",
    "audit(executor=)": f"{_SAMPLE}, which needs no executor",
    "audit(done=)": f"{_SAMPLE}, which needs no progress",
    "fairlevel audit --baseline": f"in Python, {_SINCE}",
    "fairlevel audit --save-sums": f"in Python, {_SINCE}",
    "fairlevel audit --state": "--rows rows are sampled in one pass, which needs no state",
    "fairlevel audit --executor": "--rows rows are sampled in one pass, which needs no executor",
    "fairlevel audit --address": "--rows rows are sampled in one pass, which needs no executor",
}


def refuse_removed(name: str, kind: type[Exception]) -> None:
    """Raise an error of this kind where something of this name is gone."""
    if name in REMOVED:
        raise kind(f"{name} is gone since version 0.3: {REMOVED[name]}.")
