"""Audit: what a set of predictions does across sensitive attributes, in numbers, pictures and plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.auditing.attribution import attribute_shares
from fairlevel.auditing.by_group import group_table, is_grouping
from fairlevel.auditing.dependence import Measure, measure_dependence
from fairlevel.auditing.flags import Flag, find_flags
from fairlevel.data.sensitive import as_frame, encode_sensitive
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.inputs import read_rows, read_seed, read_vector
from fairlevel.metrics.interval import DPVarInterval, dpvar_interval
from fairlevel.metrics.profile import MeanProfile, mean_profile
from fairlevel.plots.mean_profile import MeanProfileDisplay

SIDE_ROWS = 10_000
"""Rows behind the side figures; the headline uses all."""
PAPER_ROWS, FLOOR_DRAWS = 4000, 4
"""Rows of the paper's estimate, which trains networks, and random pairings that show its noise."""


@dataclass(frozen=True)
class Verdict:
    """A budget, what was found at the upper end of the interval, and whether it is met."""

    budget: str
    most: float
    upper: float

    @property
    def passed(self) -> bool:
        return self.upper <= self.most


@dataclass(frozen=True)
class Audit:
    """The answer of :func:`audit`.

    Attributes
    ----------
    interval : DPVar, debiased, with its interval, share and test, on all rows
    plug_in : the paper's estimate; never zero, noise included
    floor : what the paper's estimate shows when A is paired at random with predictions
    moves_by : √DPVar, how many units the average prediction moves across profiles (± one standard deviation)
    attributes : frame with columns attribute, alone, lost
    profiles : the average prediction along each numeric attribute
    measures : other measures of dependence, with their chance levels
    groups : a table for each attribute of few levels, and for ``by``
    flags : what should not be overlooked
    rows, side_rows : how many rows the headline and the side figures use
    accuracy : mse and r2, where y is known
    """

    interval: DPVarInterval
    plug_in: float
    floor: float
    moves_by: float
    attributes: pd.DataFrame
    profiles: dict[str, MeanProfile]
    measures: tuple[Measure, ...]
    groups: dict[str, pd.DataFrame]
    flags: tuple[Flag, ...]
    rows: int
    side_rows: int
    accuracy: Mapping[str, float]

    def __str__(self) -> str:
        """The finding in one sentence."""
        found = self.interval
        if found.p_value > 0.05:
            return (
                f"No difference in the average prediction across profiles was found in {self.rows:,} rows "
                f"(p = {found.p_value:.2g}); at most {found.share_high:.1%} of the prediction's variance."
            )
        return (
            f"The average prediction moves by ± {self.moves_by:.3g} across profiles: {found.share:.1%} of the "
            f"prediction's variance ({found.share_low:.1%} to {found.share_high:.1%}), p = {found.p_value:.2g}, "
            f"{self.rows:,} rows."
        )

    def check(self, *, max_share: float | None = None, max_dpvar: float | None = None) -> tuple[Verdict, ...]:
        """Whether budgets are met at the upper end of the interval: an audit passes only what it can vouch for."""
        verdicts = []
        for name, most, upper in (
            ("max_share", max_share, self.interval.share_high),
            ("max_dpvar", max_dpvar, self.interval.high),
        ):
            if most is None:
                continue
            if isinstance(most, bool) or not most > 0 or (name == "max_share" and most > 1):
                limit = "between 0 and 1" if name == "max_share" else "above 0"
                raise InvalidInput(f"{name}={most} was given; a number {limit} is needed, such as {name}=0.05.")
            verdicts.append(Verdict(name, float(most), upper))
        return tuple(verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "dpvar": asdict(self.interval),
            "dpvar_paper": self.plug_in,
            "dpvar_paper_by_chance": self.floor,
            "moves_by": self.moves_by,
            "attributes": self.attributes.to_dict(orient="records"),
            "measures": [asdict(measure) | {"found": measure.found} for measure in self.measures],
            "groups": {name: table.to_dict(orient="records") for name, table in self.groups.items()},
            "profiles": {
                name: {key: np.asarray(value).tolist() for key, value in asdict(profile).items()}
                for name, profile in self.profiles.items()
            },
            "flags": [asdict(flag) for flag in self.flags],
            "rows": self.rows,
            "side_rows": self.side_rows,
            "accuracy": dict(self.accuracy),
        }

    def plot(self, attribute: str | None = None, ax: Any = None) -> MeanProfileDisplay:
        """The average prediction along one attribute; by default the one that carries most."""
        if not self.profiles:
            raise InvalidInput("None of the attributes is numeric; see .groups for the averages by group.")
        if attribute is None:
            attribute = next(name for name in self.attributes["attribute"] if name in self.profiles)
        if attribute not in self.profiles:
            raise InvalidInput(f"{attribute!r} has no profile; there are {', '.join(self.profiles)}.")
        return MeanProfileDisplay({"prediction": self.profiles[attribute]}, attribute).plot(ax=ax)

    def to_html(self, path: str | Path) -> None:
        """Write the audit as one self-contained page."""
        from fairlevel.auditing.page import audit_page
        from fairlevel.report.render import write_page

        write_page(audit_page(self), Path(path))


def audit(
    y_pred: Any,
    *,
    sensitive_features: Any,
    y_true: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    random_state: Any = 0,
) -> Audit:
    """What predictions do across sensitive attributes: how much their average moves, how sure that is, what carries it,
    and what DPVar does not see.

    Parameters
    ----------
    y_pred : array of shape (rows,)
    sensitive_features : array or frame of shape (rows,) or (rows, attributes), numeric or categorical
    y_true : array of shape (rows,), optional; adds accuracy, overall and by group
    sample_weight : array of shape (rows,), optional; survey weights
    by : array of shape (rows,), optional; a further column to tabulate predictions by
    random_state : int

    Returns
    -------
    Audit
    """
    seed = read_seed(random_state)
    rows = read_rows(y_pred, sensitive_features, sample_weight)
    frame = as_frame(sensitive_features).reset_index(drop=True)
    names = encode_sensitive(frame).names
    used = np.ones(len(frame), dtype=bool) if sample_weight is None else read_vector("sample_weight", sample_weight) > 0
    frame = frame.loc[used].reset_index(drop=True)
    target = None if y_true is None else _aligned("y_true", read_vector("y_true", y_true), used)
    by_column = None if by is None else _aligned("by", np.asarray(pd.Series(by), dtype=object), used)
    interval = dpvar_interval(
        rows.prediction, sensitive_features=rows.sensitive, sample_weight=rows.row_weight, random_state=seed
    )
    side = _side_rows(len(rows.prediction), seed)
    prediction, sensitive, weight = rows.prediction[side], rows.sensitive[side], rows.row_weight[side]
    plug_in, floor = _paper_estimate(prediction, sensitive, weight, seed)
    measures = measure_dependence(prediction, sensitive, weight, seed)
    groups = {
        str(name): group_table(frame[name], rows.prediction, rows.row_weight, target)
        for name in frame.columns
        if is_grouping(frame[name])
    }
    if by_column is not None:
        name = str(getattr(by, "name", None) or "by")
        groups[name] = group_table(pd.Series(by_column).infer_objects(), rows.prediction, rows.row_weight, target)
    profiles = {
        str(name): mean_profile(prediction, attribute=frame[name].to_numpy()[side], sample_weight=weight)
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(frame[name].dtype) and not pd.api.types.is_bool_dtype(frame[name].dtype)
    }
    return Audit(
        interval=interval,
        plug_in=plug_in,
        floor=floor,
        moves_by=float(np.sqrt(max(interval.estimate, 0.0))),
        attributes=attribute_shares(prediction, sensitive, names, weight, seed),
        profiles=profiles,
        measures=measures,
        groups=groups,
        flags=find_flags(interval, plug_in, measures),
        rows=len(rows.prediction),
        side_rows=len(side),
        accuracy=_accuracy(rows.prediction, target, rows.row_weight),
    )


def _aligned(name: str, values: Any, used: Any) -> Any:
    if len(values) != len(used):
        raise InvalidInput(f"{name} has {len(values)} rows but y_pred has {len(used)}; pass the same rows.")
    return values[used]


def _side_rows(rows: int, seed: int) -> Any:
    if rows <= SIDE_ROWS:
        return np.random.default_rng(seed).permutation(rows)
    return np.random.default_rng(seed).choice(rows, SIDE_ROWS, replace=False)


def _paper_estimate(prediction: Array, sensitive: Array, row_weight: Array, seed: int) -> tuple[float, float]:
    """The paper's diagnostic, and its mean over random pairings of A with the predictions."""
    random = np.random.default_rng(seed)
    prediction, sensitive, row_weight = prediction[:PAPER_ROWS], sensitive[:PAPER_ROWS], row_weight[:PAPER_ROWS]
    shuffled = [prediction[random.permutation(len(prediction))] for _ in range(FLOOR_DRAWS)]
    found = dpvar_of_many(np.stack([prediction, *shuffled]), sensitive, row_weight, "paper", random_state=seed)
    return float(found[0]), float(found[1:].mean())


def _accuracy(prediction: Array, target: Array | None, row_weight: Array) -> dict[str, float]:
    if target is None:
        return {}
    weight = row_weight / row_weight.sum()
    mse = float(weight @ (prediction - target) ** 2)
    variance = float(weight @ (target - weight @ target) ** 2)
    return {"mse": mse, "r2": 1 - mse / variance if variance > 0 else float("nan")}
