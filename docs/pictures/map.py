"""The paper's figure 2 with our names: docs/pictures/map.png. Run from the root: python -m docs.pictures.map"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from benchmarks.map import BOXES
from fairlevel_study.methods import METHODS

NOT_IN_THE_STUDY = {
    "approximate demographic parity: HSIC, information, adversarial": ("hsic_features",),
    "the paper's, and its closed form": ("fbo_root",),
}
PLACES = {  # box: (x of its centre, y of its centre)
    "bounded errors of groups: reductions": (1.6, 5.2),
    "approximate demographic parity: HSIC, information, adversarial": (1.6, 3.2),
    "bilevel: mechanisms, architectures": (1.6, 1.2),
    "optimal transport": (8.4, 5.2),
    "continuous A: HGR, grouping, distances": (8.4, 3.2),
    "conditional means: GDP, CoD": (8.4, 1.2),
    "the paper's, and its closed form": (5.0, 0.9),
}
AIMS = {"demographic parity\nf(X) independent of A": (5.0, 5.2), "DPVar = Var E[f(X) given A]": (5.0, 3.0)}
PARITY, DPVAR = AIMS
SOLID = (("the paper's, and its closed form", DPVAR),)
DASHED = (
    ("approximate demographic parity: HSIC, information, adversarial", PARITY),
    ("optimal transport", PARITY),
    ("continuous A: HGR, grouping, distances", PARITY),
    ("conditional means: GDP, CoD", DPVAR),
    ("bilevel: mechanisms, architectures", PARITY),
    ("bilevel: mechanisms, architectures", "the paper's, and its closed form"),
)
WIDTH, HEIGHT = 2.9, 1.5


def box(axis: Axes, place: tuple[float, float], title: str, names: str, colour: str) -> None:
    """A box with a title and the names in it."""
    left, bottom = place[0] - WIDTH / 2, place[1] - HEIGHT / 2
    axis.add_patch(
        FancyBboxPatch((left, bottom), WIDTH, HEIGHT, boxstyle="round,pad=0.02", facecolor=colour, edgecolor="0.6")
    )
    text = title.replace(": ", ":\n")
    axis.text(place[0], place[1] + 0.6, text, ha="center", va="top", fontsize=8, color="0.3")
    axis.text(place[0], place[1] - 0.62, names, ha="center", va="bottom", fontsize=9, family="monospace")


def edge(start: tuple[float, float], end: tuple[float, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where an arrow leaves one box and reaches the other: sides that face each other, or top and bottom."""
    if start[0] == end[0]:
        way = HEIGHT / 2 if end[1] > start[1] else -HEIGHT / 2
        return (start[0], start[1] + way), (end[0], end[1] - way)
    way = WIDTH / 2 if end[0] > start[0] else -WIDTH / 2
    return (start[0] + way, start[1]), (end[0] - way, end[1])


def shown(names: tuple[str, ...]) -> str:
    """Names, two in a line; a star for systems that need A to predict."""
    marked = [f"{name}*" if name in METHODS and METHODS[name].uses_attributes else name for name in names]
    lines, line = [], ""
    for name in marked:
        longer = f"{line}, {name}" if line else name
        line, finished = (longer, "") if len(longer) <= 26 else (name, line)
        lines += [finished] if finished else []
    return ",\n".join([*lines, line])


def draw() -> None:
    """Boxes and arrows; solid: optimises the aim itself, dashed: something related; no arrow: another aim."""
    figure, axis = plt.subplots(figsize=(11, 6.4))
    for title, place in PLACES.items():
        own = title.startswith("the paper")
        names = shown((*BOXES[title], *NOT_IN_THE_STUDY.get(title, ())))
        box(axis, place, title, names, "#e8f0fa" if own else "white")
    for title, place in AIMS.items():
        box(axis, place, "", "", "#f4f4f4")
        axis.text(*place, title, ha="center", va="center", fontsize=9)
    where = PLACES | AIMS
    for pairs, style in ((SOLID, "-"), (DASHED, "--")):
        for start, end in pairs:
            tail, head = edge(where[start], where[end])
            axis.add_patch(
                FancyArrowPatch(tail, head, arrowstyle="-|>", mutation_scale=11, linestyle=style, color="0.35")
            )
    for offset, (start, end), words in (
        (0.35, (PARITY, DPVAR), "parity ⇒\nDPVar = 0"),
        (-0.35, (DPVAR, PARITY), "back for\ntwo-valued f"),
    ):
        tail, head = edge(where[start], where[end])
        arrow = ((tail[0] + offset, tail[1]), (head[0] + offset, head[1]))
        axis.add_patch(FancyArrowPatch(*arrow, arrowstyle="-|>", mutation_scale=11, color="C0"))
        side = "left" if offset > 0 else "right"
        axis.text(5.0 + 1.3 * offset, 4.1, words, color="C0", fontsize=8, ha=side, va="center")
    axis.set(xlim=(0, 10), ylim=(0.05, 6.05))
    axis.axis("off")
    axis.text(0.15, 0.12, "* needs A to predict", fontsize=8, color="0.3")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    draw()
