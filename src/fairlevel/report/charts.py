"""Charts for the browser, as Plotly figures. Names from data are escaped, because Plotly interprets some HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.metrics.profile import MeanProfile
from fairlevel.report.page import Chart, TableBlock

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = ("#2b7bba", "#d55e00", "#009e73", "#a05195")
"""Colours that most people can tell apart, on a light and on a dark page."""

BINS = 30


def front_chart(front: pd.DataFrame, names: list[str]) -> Chart:
    """Models by disparity and error, with intervals of DPVar; columns mse, dpvar, dpvar_low, dpvar_high, share."""
    x = front["dpvar"].clip(lower=0)
    figure = _figure("DPVar: variance of the average prediction across profiles", "mean squared error")
    figure.add_scatter(
        x=x.tolist(),
        y=front["mse"].tolist(),
        error_x={
            "type": "data",
            "array": (front["dpvar_high"] - x).clip(lower=0).tolist(),
            "arrayminus": (x - front["dpvar_low"]).clip(lower=0).tolist(),
            "thickness": 1.2,
        },
        mode="lines+markers",
        marker={"color": COLOURS[0], "size": 11},
        line={"width": 1},
        text=[escape(name) for name in names],
        customdata=front["share"].tolist(),
        hovertemplate="%{text}<br>MSE %{y:.4g}<br>DPVar %{x:.4g}<br>share %{customdata:.1%}<extra></extra>",
    )
    figure.update_xaxes(rangemode="tozero")
    first, last = front.iloc[0], front.iloc[-1]
    alt = (
        f"Front of {len(front)} models, from MSE {first['mse']:.3g} at DPVar {first['dpvar']:.3g} "
        f"to MSE {last['mse']:.3g} at DPVar {last['dpvar']:.3g}"
    )
    shown = pd.DataFrame({"model": names, "MSE": front["mse"], "DPVar": front["dpvar"]})
    shown["95 % from"], shown["to"], shown["share"] = front["dpvar_low"], front["dpvar_high"], front["share"]
    shown.insert(3, "±", x**0.5)
    table = TableBlock.of(shown, "Models", "± is √DPVar, in units of the target", digits=4)
    return Chart("Error against disparity; bars are 95 % intervals of DPVar", alt, _plain(figure), table)


def profile_chart(profiles: Mapping[str, MeanProfile], attribute: str) -> Chart:
    """The average prediction along one attribute, with one curve and one band per label."""
    figure = _figure(attribute, "average prediction")
    parts = []
    for (label, profile), colour in zip(profiles.items(), COLOURS, strict=False):
        at = profile.at.tolist()
        figure.add_scatter(
            x=[*at, *at[::-1]],
            y=[*profile.high.tolist(), *profile.low.tolist()[::-1]],
            fill="toself",
            fillcolor=_faint(colour),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(x=at, y=profile.mean.tolist(), mode="lines", line={"color": colour}, name=escape(label))
        figure.add_hline(y=profile.overall, line={"color": colour, "width": 1, "dash": "dot"})
        parts.append(
            pd.DataFrame({"prediction": label, attribute: profile.at, "average": profile.mean})
            .assign(low=profile.low, high=profile.high)
            .iloc[:: max(1, len(at) // 10)]
        )
    summary = "; ".join(f"{label}: {p.mean.min():.3g} to {p.mean.max():.3g}" for label, p in profiles.items())
    table = TableBlock.of(pd.concat(parts), f"Average prediction along {attribute}", "about ten points per curve")
    alt = f"Average prediction along {attribute}. {summary}"
    return Chart(
        f"Average prediction along {attribute}; bands are pointwise 95 % intervals", alt, _plain(figure), table
    )


def spread_chart(means: Mapping[str, Array], target: str) -> Chart:
    """The distribution of the conditional mean E[f | A] over rows, one histogram per label; values (row,)."""
    edges = np.histogram_bin_edges(np.concatenate(list(means.values())), BINS)
    middle, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    figure = _figure(f"average prediction of {target} for rows with the same attributes", "share of rows")
    counts = {label: np.histogram(values, edges)[0] / len(values) for label, values in means.items()}
    for (label, share), colour in zip(counts.items(), COLOURS, strict=False):
        figure.add_bar(
            x=middle.tolist(), y=share.tolist(), width=width, name=escape(label), marker={"color": colour}, opacity=0.6
        )
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_yaxes(tickformat=".0%")
    summary = "; ".join(f"{label}: standard deviation {values.std():.3g}" for label, values in means.items())
    shares = pd.DataFrame({"from": edges[:-1], "to": edges[1:], **counts})
    title = "Average prediction by profile, before and after; narrower is more level (estimation noise included)"
    return Chart(
        title,
        f"Histograms of the average prediction by profile. {summary}",
        _plain(figure),
        TableBlock.of(shares, "Shares of rows"),
    )


def _figure(x: str, y: str) -> Figure:
    from plotly.graph_objects import Figure

    figure = Figure()
    figure.update_layout(template="none", margin={"l": 70, "r": 20, "t": 20, "b": 55}, height=380)
    figure.update_layout(legend={"orientation": "h", "y": 1.12, "x": 0}, hovermode="closest")
    figure.update_xaxes(title={"text": escape(x)}, automargin=True, zeroline=False)
    figure.update_yaxes(title={"text": escape(y)}, automargin=True, zeroline=False)
    return figure


def _plain(figure: Figure) -> dict[str, Any]:
    """Data and layout as plain values, with numbers rounded to six digits."""
    plain: dict[str, Any] = json.loads(figure.to_json())
    return {part: _rounded(plain[part]) for part in ("data", "layout")}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
