"""Every kind of block is drawn, and what comes from data stays text."""

from importlib.resources import files
from typing import get_args

from markupsafe import Markup

from fairlevel.report.page import Block, Chart, Charts, Chooser, Folded, Option, Page, Section, Series, TableBlock
from fairlevel.report.render import render

EVIL = "<script>x</script>"


def test_every_block_has_a_macro_of_its_name():
    text = (files("fairlevel") / "report/templates/blocks.html.j2").read_text(encoding="utf-8")
    for kind in (*get_args(Block), Chooser):
        assert f"{{% macro {kind.__name__}(block) %}}" in text


def test_blocks_inside_blocks_are_drawn_and_names_escaped():
    table = TableBlock(EVIL, ("name", EVIL), ((EVIL, "1.5"),), EVIL)
    chart = Chart(EVIL, Markup("<svg/>"), EVIL, EVIL, (Series("c0", EVIL),), EVIL, table)
    folded = Folded(EVIL, (Charts((chart,), EVIL, EVIL, (Series("c1", EVIL),)), table))
    options = (Option("a", EVIL, EVIL, (folded,)), Option("b", EVIL, EVIL, (chart,)))
    follow = (Folded(EVIL, (table,), printed=True),)
    chooser = Chooser(EVIL, chart, options, 1, (EVIL, EVIL), ((EVIL, 0),), follow, EVIL)
    page = render(Page(EVIL, EVIL, (Section(EVIL, (EVIL,), (chooser, table)),)))
    assert EVIL not in page
    assert page.count("<svg/>") == 3
    assert page.count('<table class="sortable">') == 6  # behind three charts, in both folds, and alone
    assert (page.count('<details class="behind">'), page.count('<details class="more">')) == (4, 1)
    assert page.count('<ul class="legend">') == 4
    assert page.count('class="layer on"') == 1
