"""The page of a study, from rows made by hand."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel.report.page import Page, Section, TableBlock
from fairlevel.report.render import render, write_page
from fairlevel_study.pages.report import build_report
from fairlevel_study.rows import tidy


def study(methods=("fbo", "auto"), datasets=("wine", "<img src=x onerror=alert(1)>"), seeds=(0, 1)):
    """Every method has three models; mixtures of auto are better than all."""
    random = np.random.default_rng(0)
    parts = []
    for dataset in datasets:
        for seed in seeds:
            for method in methods:
                for combiner, gain in (("best", 0.0), ("stacked", 0.1)):
                    dpvar = np.array([0.05, 0.3, 0.6])
                    mse = 0.9 - dpvar - gain * (method == "auto") + 0.01 * random.random(3)
                    about = {"dataset": dataset, "seed": seed, "method": method, "combiner": combiner}
                    about |= {"family": method, "status": "finished", "selected": True, "protocol": "p", "version": "0"}
                    about |= {"rows": 100, "features": 5, "attributes": 2, "sensitive": "a, b", "source": "folder"}
                    figures = {"mse_val": mse, "dpvar_val": dpvar, "mse_test": mse, "dpvar_test": dpvar}
                    parts.append(pd.DataFrame(figures).assign(**about))
    return tidy(pd.concat(parts, ignore_index=True))


@pytest.fixture(scope="module")
def built():
    """A report, and the figures that pyplot knows of before and after."""
    mine = plt.figure()
    report = build_report(study())
    return report, [mine.number], plt.get_fignums()


def test_the_page_has_every_figure_and_table(tmp_path, built):
    report, _, _ = built
    report.save_figures(tmp_path)
    names = {drawn.name for drawn in report.figures}
    assert names == {"wins-single", "wins-default", "wins-stacked"}
    assert {path.stem for path in tmp_path.glob("*.png")} == {path.stem for path in tmp_path.glob("*.svg")} == names
    wins = report.tables["wins-default"].set_index(["method", "budget"])
    assert wins.loc["auto", "share"].tolist() == [1, 1, 1]
    page = render(report.page)
    assert "<img src=x" not in page  # a name from data stays text
    assert page.count('<figure class="chart">') == 3 + 2 * 2  # wins, then two panels per dataset
    assert "http" not in page.replace("http-equiv", "")
    assert "data:image" not in page  # drawings take the colours of the page


def test_the_paper_alone_is_compared_where_it_was_run():
    report = build_report(study(methods=("fbo", "r2", "auto"), datasets=("wine",)))
    assert set(report.tables["wins-single-paper"]["method"]) == {"fbo", "r2"}


def test_figures_are_not_left_open_in_pyplot(built):
    _, before, after = built
    assert after == before


def test_incomplete_pairs_are_reported():
    rows = study(datasets=("wine",))
    partial = rows[~((rows["seed"] == 1) & (rows["method"] == "fbo"))]
    assert any("lack some method" in text for text in build_report(partial).page.sections[1].paragraphs)
    with pytest.raises(InvalidInput, match="finish the run"):
        build_report(pd.concat([rows[rows["method"] == "fbo"][:6], rows[rows["method"] == "auto"][-6:]]))


def test_a_page_is_replaced_whole(tmp_path):
    page = Page("t", "s", (Section("x", ("a < b",), (TableBlock.of(pd.DataFrame({"a": [np.nan, 0.5]}), "n"),)),))
    write_page(page, tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    assert "a &lt; b" in text
    assert "–" in text
    assert [path.name for path in tmp_path.iterdir()] == ["p.html"]
