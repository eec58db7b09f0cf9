"""The answer of an audit: figures in plain values, verdicts on budgets, a plot and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairlevel.auditing.dependence import Measure
from fairlevel.auditing.drift import Drift
from fairlevel.auditing.flags import SIGNIFICANT, Flag
from fairlevel.auditing.questions import DECISIONS, Question
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budget import read_limit
from fairlevel.metrics.interval import DPVarInterval
from fairlevel.metrics.profile import MeanProfile
from fairlevel.metrics.reliability import Reliability
from fairlevel.removed import refuse_removed
from fairlevel.report.numbers import number, p_phrase
from fairlevel.report.provenance import Provenance

if TYPE_CHECKING:
    from fairlevel.plots.mean_profile import MeanProfileDisplay

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"
MOST_TIMES = 1000  # a number of rows beyond so many times those at hand says nothing


@dataclass(frozen=True)
class Verdict:
    """What the rows say of a budget, such as "max_share", of at most ``most``: the interval of the figure from
    ``lower`` to ``upper``, its estimate, and from how many rows.
    """

    budget: str
    most: float
    lower: float
    estimate: float
    upper: float
    rows: int

    @property
    def outcome(self) -> str:
        """Whether all of the interval is within the budget: "pass"; all of it above: "fail"; or "cannot tell"."""
        if self.upper <= self.most:
            return PASS
        return FAIL if self.lower > self.most else CANNOT_TELL

    @property
    def passed(self) -> bool:
        return self.outcome == PASS

    @property
    def rows_needed(self) -> int | None:
        """Roughly how many rows would settle it, if the estimate stays as it is: intervals narrow with their square
        root. None where it is settled, or where the estimate is too near to the budget.
        """
        side = self.upper if self.estimate <= self.most else self.lower
        width, distance = abs(side - self.estimate), abs(self.most - self.estimate)
        if self.outcome != CANNOT_TELL or distance * MOST_TIMES**0.5 < width:
            return None
        return int(float(f"{self.rows * (width / distance) ** 2:.1e}"))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"outcome": self.outcome, "passed": self.passed, "rows_needed": self.rows_needed}


@dataclass(frozen=True)
class Audit:
    """The answer of :func:`audit`: figures, a plot and a page.

    Attributes
    ----------
    interval : DPVar, debiased, with its interval, share and test, on all rows
    attributes : frame with columns attribute, alone, lost
    profiles : the average prediction along each attribute
    measures : other measures of dependence, with their values under random pairings
    groups : a table for each attribute of few categories, and for ``by``
    flags : what should not be overlooked
    rows, side_rows : how many rows the headline and the side figures use
    accuracy : mse, rmse and r2, where y is known (no r2 where y is constant); for probabilities and y of 0 and 1 also
        log_loss, auc, brier and accuracy
    questions : whether errors, decisions and predictions among y = 1 differ, where that can be asked
    worst : the profiles whose average prediction is furthest from the mean, with intervals
    overall : with legitimate factors, the interval without them; else None
    given : names of the legitimate factors
    reliability : probabilities against frequencies, for y of 0 and 1; else None
    provenance : where the figures come from
    """

    interval: DPVarInterval
    attributes: pd.DataFrame
    profiles: dict[str, MeanProfile]
    measures: tuple[Measure, ...]
    groups: dict[str, pd.DataFrame]
    flags: tuple[Flag, ...]
    rows: int
    side_rows: int
    accuracy: Mapping[str, float]
    questions: tuple[Question, ...] = ()
    worst: pd.DataFrame = field(default_factory=pd.DataFrame)
    overall: DPVarInterval | None = None
    given: tuple[str, ...] = ()
    reliability: Reliability | None = None
    provenance: Provenance = field(default_factory=Provenance)

    def __getattr__(self, name: str) -> Any:
        refuse_removed(f"Audit.{name}", AttributeError)
        raise AttributeError(f"'Audit' object has no attribute {name!r}")

    @property
    def moves_by(self) -> float:
        """√DPVar, how many units the average prediction moves across profiles (± one standard deviation)."""
        return self.interval.moves_by

    @property
    def decision_dpvar(self) -> DPVarInterval | None:
        """DPVar of the 0/1 decisions; None without a threshold."""
        return next((each.interval for each in self.questions if each.name == DECISIONS), None)

    def __str__(self) -> str:
        """The finding in one sentence."""
        interval = self.interval
        within = f" within {', '.join(self.given)}" if self.given else ""
        if interval.p_value > SIGNIFICANT:
            return (
                f"No difference in the average prediction across profiles{within} was found in {self.rows:,} rows "
                f"({p_phrase(interval.p_value)}); at most {interval.share_high:.1%} of the prediction's variance."
            )
        return (
            f"The average prediction moves by ± {number(self.moves_by, 3)} across profiles{within}: "
            f"{interval.share:.1%} of the prediction's variance ({interval.share_low:.1%} to "
            f"{interval.share_high:.1%}), {p_phrase(interval.p_value)}, {self.rows:,} rows."
        )

    def check(self, *, max_share: float | None = None, max_dpvar: float | None = None) -> tuple[Verdict, ...]:
        """What these rows say of budgets: each is judged by its interval."""
        interval = self.interval
        share = interval.share_low, interval.share, interval.share_high
        dpvar = interval.low, interval.estimate, interval.high
        budgets = (("max_share", max_share, share), ("max_dpvar", max_dpvar, dpvar))
        return tuple(
            Verdict(name, read_limit(name, most), *figures, self.rows)
            for name, most, figures in budgets
            if most is not None
        )

    def since(self, earlier: Audit) -> Drift:
        """How DPVar has changed since an earlier audit of other people and the same attributes."""
        then, now = ((*sorted(each.attributes["attribute"]), *each.given) for each in (earlier, self))
        if then != now:
            raise InvalidInput(
                f"The earlier audit is of {', '.join(then)}, this one of {', '.join(now)}; compare audits of the same "
                "attributes and factors."
            )
        return Drift(earlier.interval, self.interval)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "dpvar": asdict(self.interval),
            "moves_by": self.moves_by,
            "attributes": self.attributes.to_dict(orient="records"),
            "measures": [asdict(measure) | {"found": measure.found} for measure in self.measures],
            "groups": {name: table.to_dict(orient="records") for name, table in self.groups.items()},
            "profiles": {name: _plain(asdict(profile)) for name, profile in self.profiles.items()},
            "flags": [asdict(flag) for flag in self.flags],
            "rows": self.rows,
            "side_rows": self.side_rows,
            "accuracy": dict(self.accuracy),
            "reliability": None if self.reliability is None else _plain(asdict(self.reliability)),
            "questions": {
                each.name: {"asks": each.asks, "rows": each.rows} | asdict(each.interval) for each in self.questions
            },
            "worst_profiles": self.worst.to_dict(orient="records"),
            "dpvar_without_given": None if self.overall is None else asdict(self.overall),
            "given": list(self.given),
        }

    def plot(self, attribute: str | None = None, ax: Any = None) -> MeanProfileDisplay:
        """The average prediction along one attribute; by default the one along which it moves most."""
        from fairlevel.plots.mean_profile import MeanProfileDisplay  # Matplotlib loads where it is used

        if attribute is None:
            attribute = max(self.profiles, key=lambda name: float(np.ptp(self.profiles[name].mean)))
        if attribute not in self.profiles:
            raise InvalidInput(f"{attribute!r} has no profile; there are {', '.join(self.profiles)}.")
        return MeanProfileDisplay({"prediction": self.profiles[attribute]}, attribute).plot(ax=ax)

    def to_html(self, path: str | Path) -> None:
        """Write the audit as one self-contained page."""
        from fairlevel.auditing.page import audit_page  # which reads this class
        from fairlevel.report.render import write_page

        write_page(audit_page(self), Path(path))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: np.asarray(value).tolist() for key, value in values.items()}
