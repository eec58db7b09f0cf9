"""The paper's map, measured: docs/pictures/map_measured.png. Run from the root: python -m docs.pictures.map_measured"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from benchmarks.map import BOXES, few_groups, known, single_models, summary
from fairlevel_study.methods import METHODS

BUDGETS = {"tight": ("C3", "o"), "mid": ("C1", "s"), "loose": ("C0", "D")}


def draw() -> None:
    """Regret of each system at three budgets, by the boxes of the paper's figure 2; left continuous A, right groups."""
    rows = single_models()
    methods = known(rows)
    boxes = {box: [name for name in names if name in methods] for box, names in BOXES.items()}
    boxes = {box: names for box, names in boxes.items() if names}
    real = rows["dataset"].map(few_groups)
    figure, axes = plt.subplots(1, 2, figsize=(11, 0.3 * (len(methods) + len(boxes)) + 1.2), sharey=True, sharex=True)
    for axis, part, title in zip(axes, (rows[~real], rows[real]), ("continuous A", "A is sex or race"), strict=True):
        table, place, places, labels = summary(part, methods), 0, [], []
        for box, names in boxes.items():
            axis.axhline(place, color="0.9", linewidth=1)
            axis.text(
                0.005,
                place,
                box,
                fontsize=8,
                color="0.35",
                va="center",
                transform=axis.get_yaxis_transform(),
                backgroundcolor="white",
            )
            place += 1
            for name in names:
                for budget, (colour, marker) in BUDGETS.items():
                    hollow = (
                        {"facecolors": "none", "edgecolors": colour}
                        if METHODS[name].uses_attributes
                        else {"color": colour}
                    )
                    axis.scatter(
                        table.loc[name, f"regret {budget}"], place, marker=marker, s=26, label=budget, **hollow
                    )
                places.append(place)
                labels.append(name)
                place += 1
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("regret: distance to the smallest error of any, as a share of what can be gained")
        axis.xaxis.label.set_fontsize(8)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(places, labels, fontsize=8)
    axes[0].set_ylim(place, -1)
    handles, names = axes[0].get_legend_handles_labels()
    shown = dict(zip(names, handles, strict=True))
    figure.legend(shown.values(), [f"budget {name}" for name in shown], loc="outside upper right", ncols=3, fontsize=8)
    figure.suptitle(
        "Systems by the boxes of the paper's figure 2; hollow: needs A to predict", fontsize=10, x=0.02, ha="left"
    )
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    draw()
