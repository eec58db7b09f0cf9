"""Formulas, ``.. math::`` in docstrings and ``$$`` on pages, are drawn; ``:class:`` and its kin become links."""

from __future__ import annotations

import re
from html import escape

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from matplotlib.path import Path
from matplotlib.textpath import TextPath

SIZE = 16
MATH = re.compile(r"^(?P<indent> *)\.\. math:: *(?P<tex>[^\n]*(?:\n(?P=indent) +\S[^\n]*)*)", re.MULTILINE)
DISPLAY = re.compile(r"^\$\$(?P<tex>.+?)\$\$$", re.DOTALL | re.MULTILINE)
PUBLIC = re.compile(r":(?:class|func):`(fairlevel\.(\w+))`")
ROLE = re.compile(r":(?:class|func|meth|mod):`([\w.]+)`")
LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


class DocstringMarkup(Extension):
    """Formulas and roles of reStructuredText in Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Run before blocks of HTML and code are looked for."""
        md.preprocessors.register(_Marks(md), "docstring_marks", 27)


class _Marks(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        text = ROLE.sub(r"`\1`", PUBLIC.sub(r"[`\2`][\1]", "\n".join(lines)))
        for formula in (MATH, DISPLAY):
            text = formula.sub(lambda found: f"\n{self.md.htmlStash.store(drawn(found['tex']))}\n", text)
        return text.split("\n")


def drawn(tex: str) -> str:
    """A formula as pictures that wrap at its wide gaps; as TeX where it cannot be drawn."""
    tex = " ".join(tex.split())
    try:
        parts = [_picture(part.strip(" ,")) for part in re.split(r"\\q?quad", _plainer(tex))]
    except ValueError:
        return f"<pre><code>{escape(tex)}</code></pre>"
    return f'<div class="formula" role="img" aria-label="{escape(tex)}">{"".join(parts)}</div>'


def _plainer(tex: str) -> str:
    """TeX that matplotlib can set."""
    tex = re.sub(r"\\tfrac(\w)(\w)", r"\\frac{\1}{\2}", tex).replace(r"\tfrac", r"\frac").replace(r"\frac", r"\dfrac")
    tex = re.sub(r"\\mathbb (\w)", r"\\mathbb{\1}", tex)
    tex = re.sub(r"\\[lr]Vert", r"\\Vert ", tex)
    return re.sub(r"\\[bB]ig(?=\W|\\)", "", tex)


def _picture(tex: str) -> str:
    outline = TextPath((0, 0), f"${tex}$", size=SIZE, usetex=False)
    box = outline.get_extents()
    steps = [
        LETTERS[code] + " ".join(f"{x:.1f} {-y:.1f}" for x, y in points.reshape(-1, 2) if code != Path.CLOSEPOLY)
        for points, code in outline.iter_segments(simplify=False)
    ]
    width, height = box.width + 2, box.height + 4
    view = f"{box.x0 - 1:.1f} {-box.y1 - 2:.1f} {width:.1f} {height:.1f}"
    path = f'<path fill="currentColor" d="{"".join(steps)}"/>'
    return f'<svg viewBox="{view}" width="{width:.0f}" height="{height:.0f}" aria-hidden="true">{path}</svg>'
