"""The numbers of the results page are those of its rows."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from support import variants_page  # noqa: E402
from support.study_page import PAGE, ROWS, numbers, page, study_report  # noqa: E402

from fairlevel_study.rows import kept_rows, read_rows  # noqa: E402


@pytest.mark.study
def test_the_page_holds_what_its_rows_say():
    rows, text = kept_rows(ROWS), PAGE.read_text(encoding="utf-8")
    assert page(text, numbers(study_report(rows), rows)) == text, "run python docs/support/study_page.py"
    if ROWS.exists():
        assert ROWS.stat().st_size <= 20 * 2**20


@pytest.mark.study
def test_the_tables_on_variants_are_those_of_their_rows():
    files = variants_page.STUDY, variants_page.SCREENED, variants_page.BIAS_FREE
    found = variants_page.variant_numbers(*map(kept_rows, files))
    assert found in PAGE.read_text(encoding="utf-8"), "run python docs/support/variants_page.py"


@pytest.mark.study
def test_a_published_page_is_drawn_again_from_its_rows():
    """Numbers of docs/results/tabular.md."""
    rows = read_rows(ROOT / "docs/results/tabular.parquet")
    report = study_report(rows)
    regret = report.tables["regret-single-paper"].set_index("method")["mean"].round(3)
    assert regret.to_dict() == {
        "fbo": 0.172,
        "itd": 0.155,
        "r2": 0.374,
        "gdp": 0.114,
        "adversarial": 0.26,
        "hsic": 0.153,
    }
    text = numbers(report, rows)
    assert "| FBO | 0.08 (0.00–\N{WORD JOINER}0.25)" in text
    assert "cannot be told" in text
