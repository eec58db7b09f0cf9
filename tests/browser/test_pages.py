"""Pages as people meet them: in a real browser, with mouse, keyboard, both colour schemes and an accessibility check.

Set FAIRLEVEL_BROWSER=required to fail instead of skip where there is no Chromium.
"""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairnessPath, audit
from fairlevel.benchmark.report import build_report
from fairlevel.estimators.front_page import front_page
from fairlevel.report.render import write_page
from tests.benchmark.test_report import study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "<img src=x onerror='window.harmed=1'>"

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("FAIRLEVEL_BROWSER") != "required",
        reason="no Chromium found: apt-get install chromium",
    ),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page of each kind; a column and a dataset have names that are code."""
    folder = tmp_path_factory.mktemp("pages")
    random = np.random.default_rng(0)
    sensitive = pd.DataFrame({EVIL: random.standard_normal(200), "age": random.standard_normal(200)})
    x = sensitive.to_numpy() + random.standard_normal((200, 2))
    y = x.sum(axis=1) + random.standard_normal(200)
    path = FairnessPath(solver="spectral", predictor="linear", random_state=0).fit(x, y, sensitive_features=sensitive)
    names = [f"models/point-{number:02d}" for number in range(1, len(path.front_) + 1)]
    write_page(front_page(path, EVIL, names), folder / "front.html")
    audit(path.predict(x), sensitive_features=sensitive.assign(town=random.choice(["a", EVIL], 200))).to_html(
        folder / "audit.html"
    )
    write_page(build_report(study(datasets=("wine", EVIL))).page, folder / "bench.html")
    return folder


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser, pages):
    """Open a page; complaints and requests that leave the page fail the test."""
    troubles, opened = [], []

    def go(name, **settings):
        tab = browser.new_page(**{"viewport": {"width": 1200, "height": 900}, **settings})
        opened.append(tab)
        tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on(
            "request",
            lambda request: (
                troubles.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None
            ),
        )
        tab.goto((pages / f"{name}.html").as_uri())
        tab.wait_for_function(
            "() => [...document.querySelectorAll('.plot')].every(p => !p.offsetParent || p.querySelector('svg'))"
        )
        return tab

    yield go
    assert all(tab.evaluate("window.harmed") is None for tab in opened)
    for tab in opened:
        tab.close()
    assert troubles == []


def shown_panel(tab):
    headings = tab.locator(".panel:visible h3")
    assert headings.count() == 1
    return headings.inner_text()


def test_a_click_on_the_front_changes_the_panel(visit):
    tab = visit("front")
    before = shown_panel(tab)
    first = tab.locator(".chooser .plot").first.locator(".point").first
    box = first.bounding_box()
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_function("() => document.querySelector('input[value=\"0\"]').checked")
    after = shown_panel(tab)
    assert after.startswith("point-01")
    assert after != before
    panel = tab.locator(".panel:visible")
    assert panel.locator(".plot svg").count() > 0
    assert "load('models/point-01')" in panel.locator("code").inner_text()


def test_arrow_keys_choose_too(visit):
    tab = visit("front")
    tab.locator("input[type=radio]:checked").focus()
    chosen = tab.locator("input[type=radio]:checked").get_attribute("value")
    tab.keyboard.press("ArrowLeft")
    now = tab.locator("input[type=radio]:checked").get_attribute("value")
    assert int(now) == int(chosen) - 1
    assert shown_panel(tab).startswith(f"point-{int(now) + 1:02d}")


def test_names_from_data_stay_text(visit):
    for name in ("front", "audit", "bench"):
        tab = visit(name)
        assert tab.locator("img[src=x]").count() == 0
        assert EVIL in tab.locator("body").inner_text() or EVIL in tab.content().replace("&lt;", "<").replace(
            "&gt;", ">"
        )
    titles = visit("audit").locator(".plot .xtitle").all_text_contents()
    assert EVIL in titles


def test_tables_sort_by_number_both_ways(visit):
    tab = visit("front")
    tab.locator(".chooser > figure summary").click()
    table = tab.locator(".chooser > figure table")
    button = table.get_by_role("button", name="MSE")

    def column():
        return [float(cell.replace(",", "")) for cell in table.locator("tbody td:nth-child(2)").all_inner_texts()]

    button.click()
    assert column() == sorted(column())
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("MSE")
    button.focus()
    tab.keyboard.press("Enter")
    assert column() == sorted(column(), reverse=True)


def test_charts_follow_the_colour_scheme(visit):
    tab = visit("front", color_scheme="light")
    ink = "() => getComputedStyle(document.querySelector('.plot .xtitle')).fill"
    light = tab.evaluate(ink)
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(f"() => ({ink})() !== '{light}'")


@pytest.mark.parametrize(
    ("name", "scheme"), [("front", "light"), ("front", "dark"), ("audit", "light"), ("bench", "dark")]
)
def test_pages_are_accessible(visit, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    tab = visit(name, color_scheme=scheme)
    found = Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()
