"""What there was, and what to use instead: one sentence each."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Init = TypeVar("Init", bound=Callable[..., None])

_SAMPLE = "audits of large tables read a random sample of rows= rows in one pass"
_SINCE = "compare two audits with later.since(earlier)"

_PAPER = "dpvar(None, y_pred, sensitive_features=A, method='paper') is the paper's estimate"

_BATCHES = "train on a sample of the rows, or in a loop of your own with fairlevel.torch.DPVarPenalty"

_PENALTY = "pip install fairlevel-study, and in Python pass fairlevel_study.penalties.{}() in its place"
_STUDY = "pip install fairlevel-study, and type fairlevel-study {}"

REMOVED = {
    "FairRegressor(batch_size=)": _BATCHES,
    "FairClassifier(batch_size=)": _BATCHES,
    "fairlevel.parquet_memmaps": "numpy.load(file, mmap_mode='r') opens a memory map, pyarrow.parquet reads parts",
    "fairlevel.memory": "fairlevel.networks.memory.keep_freed_memory() is for networks on a CPU, where it pays",
    "fairlevel.audit_files": "audit(path, predictions=..., sensitive_features=...) reads files",
    "Audit.plug_in": _PAPER,
    "Audit.floor": _PAPER,
    "audit(baseline=)": _SINCE,
    "audit(state=)": f"{_SAMPLE}, which needs no state",
    "audit(executor=)": f"{_SAMPLE}, which needs no executor",
    "audit(done=)": f"{_SAMPLE}, which needs no progress",
    "fairlevel audit --baseline": f"in Python, {_SINCE}",
    "fairlevel audit --save-sums": f"in Python, {_SINCE}",
    "fairlevel audit --state": "--rows rows are sampled in one pass, which needs no state",
    "fairlevel audit --executor": "--rows rows are sampled in one pass, which needs no executor",
    "fairlevel audit --address": "--rows rows are sampled in one pass, which needs no executor",
    "penalty='eipm'": _PENALTY.format("EIPM"),
    "penalty='gedi'": _PENALTY.format("GeDI"),
    "penalty='hgr'": _PENALTY.format("NeuralHGR"),
    "penalty='hgr_chi2'": _PENALTY.format("ChiSquareHGR"),
    "penalty='hgr_kernel'": _PENALTY.format("KernelHGR"),
    "penalty='mine'": _PENALTY.format("MINE"),
    "penalty='prejudice_remover'": "penalty='fbo_closed' levels the averages of groups, too",
    "fairlevel bench": _STUDY.format("run, status, report, synthetic or keep"),
    "fairlevel bench run": _STUDY.format("run"),
    "fairlevel bench status": _STUDY.format("status"),
    "fairlevel bench report": _STUDY.format("report"),
    "fairlevel bench synthetic": _STUDY.format("synthetic"),
    "fairlevel bench keep": _STUDY.format("keep"),
    "fairlevel data": _STUDY.format("data list or data fetch"),
    "fairlevel data list": _STUDY.format("data list"),
    "fairlevel data fetch": _STUDY.format("data fetch"),
    "fairlevel synthetic": _STUDY.format("data synthetic"),
}


def refuse_removed(name: str, kind: type[Exception]) -> None:
    """Raise an error of this kind where something of this name is gone."""
    if name in REMOVED:
        raise kind(f"{name} is gone since version 0.3: {REMOVED[name]}.")


def naming_what_is_gone(init: Init) -> Init:
    """A class's ``__init__`` that says so where an argument is gone."""

    @wraps(init)
    def checked(self: Any, *settings: Any, **named: Any) -> None:
        for name in named:
            refuse_removed(f"{type(self).__name__}({name}=)", TypeError)
        init(self, *settings, **named)

    return checked  # type: ignore[return-value]
