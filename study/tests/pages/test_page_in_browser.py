"""The page of a study in a real browser; ``tests/browser`` says what is asked of every page."""

import pytest

from fairlevel.report.render import write_page
from fairlevel_study.pages.report import build_report
from study.tests.test_report import study
from tests.browser import test_pages as of_any_page
from tests.browser.test_pages import EVIL, browser, tab, visit  # noqa: F401 (fixtures)

pytestmark = of_any_page.pytestmark


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page on a dataset whose name is code."""
    folder = tmp_path_factory.mktemp("pages")
    write_page(build_report(study(datasets=("wine", EVIL))).page, folder / "study.html")
    return folder


@pytest.mark.parametrize(
    "check",
    [
        of_any_page.test_a_phone_cuts_no_title_and_no_table,
        of_any_page.test_no_page_asks_for_anything_or_leads_out,
        of_any_page.test_short_names_in_tables_are_not_broken,
    ],
    ids=lambda check: check.__name__,
)
def test_it_keeps_to_what_every_page_keeps_to(visit, check):  # noqa: F811
    check(visit, "study")


def test_it_is_accessible(visit):  # noqa: F811
    of_any_page.test_pages_are_accessible(visit, "study", "dark")


def test_names_from_data_stay_text(visit):  # noqa: F811
    page = visit("study")
    assert page.locator("img").count() == 0
    assert EVIL in page.locator("body").inner_text()


def test_names_of_methods_stand_clear_of_their_intervals(visit):  # noqa: F811
    """On phones, where letters are larger than lines are apart, intervals crossed the names."""
    page = visit("study", viewport={"width": 390, "height": 844})
    gaps = page.evaluate(
        """[...document.querySelectorAll('svg text.strong')].map(name => {
            const below = [...name.parentElement.querySelectorAll('circle')].map(e => e.getBoundingClientRect())
                .filter(box => box.bottom > name.getBoundingClientRect().top);
            const range = name.getBBox(), scale = name.getScreenCTM().d;
            const baseline = name.getScreenCTM().f + scale * (range.y + 0.8 * range.height);
            return Math.min(...below.map(box => box.top)) - baseline; })"""
    )
    assert gaps
    assert min(gaps) > -0.5
