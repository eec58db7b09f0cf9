"""The figures of a front as people read them: errors in units of the target first, squares after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.report.numbers import number, percent
from fairlevel.report.page import TableBlock, Tile, Tiles


@dataclass(frozen=True)
class FrontFigures:
    """A frame of models as in ``front_``, the name of the target, and what the last model is called. Without known
    errors, the column mse is the mean squared change of the predictions. Of two classes, ``event`` is the one whose
    probability is predicted, where its name is known.
    """

    front: pd.DataFrame
    target: str
    before: str
    known_error: bool = True
    event: str = ""

    def __len__(self) -> int:
        return len(self.front)

    @property
    def classifies(self) -> bool:
        return "log_loss" in self.front

    @property
    def unit(self) -> str:
        if self.classifies:
            return f"(probability of {self.target} = {self.event})" if self.event else "(probability)"
        return f"(in units of {self.target})"

    @property
    def error_name(self) -> str:
        """What goes up when models become level."""
        if not self.known_error:
            return "typical change of a prediction"
        return "Brier score" if self.classifies else "typical error"

    @property
    def error_label(self) -> str:
        if not self.known_error:
            return f"root mean squared change of the predictions {self.unit}"
        return "Brier score" if self.classifies else f"root mean squared error {self.unit}"

    @cached_property
    def error(self) -> Array:
        """(model,)."""
        mse = self.front["mse"].to_numpy(dtype=np.float64)
        return mse if self.classifies and self.known_error else np.sqrt(np.maximum(mse, 0.0))

    @cached_property
    def moves(self) -> Array:
        """√DPVar, (model,)."""
        return self._root("dpvar")

    @cached_property
    def moves_low(self) -> Array:
        return self._root("dpvar_low")

    @cached_property
    def moves_high(self) -> Array:
        return self._root("dpvar_high")

    @cached_property
    def share(self) -> Array:
        """(model,)."""
        return self.front["share"].to_numpy(dtype=np.float64)

    def change(self, row: int) -> str:
        """Of the error, compared with the last model, in brackets; nothing where there is no error to compare with."""
        last = float(self.error[-1])
        return f" ({100 * (self.error[row] / last - 1):+.1f} %)".replace("-", "−") if last > 0 else ""

    def in_words(self, row: int) -> str:
        """One line."""
        return (
            f"{self.error_name} {number(self.error[row], 3)}, average prediction moves by ± "
            f"{number(self.moves[row], 3)}, share {percent(self.share[row])}"
        )

    def tiles(self, row: int) -> Tiles:
        """The figures to see first."""
        compared = f"{self.before.removesuffix(' model').removeprefix('model ')}: "
        interval = f"95 %: {number(self.moves_low[row], 3)} to {number(self.moves_high[row], 3)}"
        tiles = [Tile("moves by ±", number(self.moves[row], 3), interval)]
        if self.classifies:
            for key, name in (("log_loss", "log-loss"), ("auc", "AUC"), ("accuracy", "accuracy")):
                if key in self.front:
                    value = self.front[key].to_numpy(dtype=np.float64)
                    tiles.append(Tile(name, number(value[row], 3), compared + number(value[-1], 3)))
        else:
            note = compared + number(self.error[-1], 3) + self.change(row) * (row != len(self) - 1)
            tiles.append(Tile(self.error_name, number(self.error[row], 3), note))
            if "r2" in self.front:
                r2 = self.front["r2"].to_numpy(dtype=np.float64)
                tiles.append(Tile("R²", number(r2[row], 2), compared + number(r2[-1], 2)))
        tiles.append(Tile("share of variance", percent(self.share[row]), compared + percent(self.share[-1])))
        return Tiles(tuple(tiles))

    def table(self, row: int) -> TableBlock:
        """All figures of one model beside those of the last one."""
        rows = tuple((name, values[row], values[-1]) for name, values in self._columns().items())
        return TableBlock("Figures", ("figure", "chosen model", self.before), rows)

    def all_models(self, names: Sequence[str]) -> TableBlock:
        """One row per model."""
        columns = self._columns()
        rows = tuple((name, *(values[row] for values in columns.values())) for row, name in enumerate(names))
        return TableBlock("All models", ("model", *columns), rows)

    def _columns(self) -> dict[str, list[str]]:
        """Cells of all figures by name, one per model."""
        front = self.front
        columns: dict[str, list[str]] = {}
        if not self.classifies:
            columns["RMSE" if self.known_error else "RMS change"] = [number(value) for value in self.error]
        for key, name in (("r2", "R²"), ("log_loss", "log-loss"), ("auc", "AUC"), ("accuracy", "accuracy")):
            if key in front:
                columns[name] = [number(value) for value in front[key]]
        if self.classifies:
            columns["Brier score"] = [number(value) for value in front["mse"]]
        columns["moves by ±"] = [number(value) for value in self.moves]
        columns["95 % interval of ±"] = _intervals(self.moves_low, self.moves_high)
        columns["share of variance"] = [percent(value) for value in self.share]
        if "decision_dpvar" in front:
            columns["decisions move by ±"] = [percent(value) for value in self._root("decision_dpvar")]
        if not self.classifies:
            columns["MSE" if self.known_error else "mean squared change"] = [number(value) for value in front["mse"]]
        columns["DPVar"] = [number(value) for value in front["dpvar"]]
        columns["95 % interval of DPVar"] = _intervals(front["dpvar_low"].to_numpy(), front["dpvar_high"].to_numpy())
        columns["models mixed"] = [f"{value:.0f}" for value in front["members"]]
        return columns

    def _root(self, column: str) -> Array:
        root: Array = np.sqrt(np.maximum(self.front[column].to_numpy(dtype=np.float64), 0.0))
        return root


def _intervals(low: Array, high: Array) -> list[str]:
    return [f"{number(a, 3)} to {number(b, 3)}" for a, b in zip(low, high, strict=True)]
