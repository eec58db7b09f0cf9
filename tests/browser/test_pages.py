"""Pages as people meet them: in a real browser, with mouse, keyboard, both colour schemes and an accessibility check.

Set FAIRLEVEL_BROWSER=required to fail instead of skip where there is no Chromium.
"""

import os
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairnessPath, audit
from fairlevel.auditing.page import audit_page
from fairlevel.estimators.front_page import front_page
from fairlevel.exceptions import ProxyWarning
from fairlevel.networks.optimizers import Adam
from fairlevel.report.render import write_page

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
    sensitive["town"] = random.choice(["a", EVIL], 200)
    more = {f"score {number} of a test with a long name": random.standard_normal(200) for number in range(4)}
    path = FairnessPath(solver="spectral", predictor="linear", optimizer=Adam(0.05, steps=60), random_state=0)
    path.fit(x, y, sensitive_features=sensitive.assign(**more))
    names = [f"models/point-{number:02d}" for number in range(1, len(path.front_) + 1)]
    origin = replace(path.provenance(), file=EVIL, rows_in_file=250, rows_dropped=50, why_dropped="no target")
    write_page(front_page(path, EVIL, names, provenance=origin), folder / "front.html")
    write_page(front_page(path_of_known_averages(), "y"), folder / "attributes.html")
    found = audit(path.predict(x), sensitive_features=sensitive, y_true=y)
    write_page(audit_page(found, found.check(max_share=0.01)), folder / "audit.html")
    return folder


TOWNS = {"Aachen": 0.0, "Bonn": 2.0, "(missing)": -2.0}
SEXES = {"0": -1.0, "1": 1.0}
AGES = (20.0, 70.0)  # with negative skew: most are old


def path_of_known_averages():
    """A front whose most accurate model predicts a known average along each attribute: Bonn has most of the rows, the
    town of some is not known, sex is 0 or 1, and y falls by 4 from 20 to 70 years.
    """
    random, rows = np.random.default_rng(0), 600
    town = random.permutation(np.repeat(list(TOWNS), [150, 360, 90]))
    sex = random.permutation(np.repeat([0.0, 1.0], [200, 400]))
    age = AGES[0] + (AGES[1] - AGES[0]) * random.beta(5, 1, rows)
    x = np.column_stack([town == "Bonn", town == "(missing)", sex, age])
    y = pd.Series(town).map(TOWNS).to_numpy() + 2 * sex - 1 - 4 * (age - AGES[0]) / (AGES[1] - AGES[0])
    sensitive = pd.DataFrame({"town": np.where(town == "(missing)", None, town), "sex": sex, "age": age})
    path = FairnessPath(solver="spectral", predictor="linear", optimizer=Adam(0.05, steps=300), random_state=0)
    with warnings.catch_warnings():  # x tells sex and age
        warnings.simplefilter("ignore", ProxyWarning)
        return path.fit(x, y + 0.1 * random.standard_normal(rows), sensitive_features=sensitive)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def tab(browser):
    """One tab for all tests: a new one costs more than most of them."""
    return browser.new_page()


@pytest.fixture
def visit(tab, pages):
    """Open a page as in a new tab; complaints and requests that leave the page fail the test."""
    troubles = []

    def complain(message):
        if message.type == "error":
            troubles.append(message.text)

    def fail(error):
        troubles.append(str(error))

    def ask(request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            troubles.append(request.url)

    def leave():
        assert tab.evaluate("window.harmed") is None
        tab.goto("about:blank")
        tab.mouse.move(0, 0)

    def go(name, viewport=None, color_scheme="light"):
        leave()
        tab.set_viewport_size(viewport or {"width": 1200, "height": 900})
        tab.emulate_media(media="screen", color_scheme=color_scheme)
        tab.goto((pages / f"{name}.html").as_uri())
        return tab

    listeners = {"console": complain, "pageerror": fail, "request": ask}
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield go
    leave()
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert troubles == []


PAGES = ("front", "audit")


def numbers_of_chart(tab, attribute):
    """What a chart's table says: the attribute's values and, for each, the average of the most accurate model."""
    table = tab.locator(f"figure:has(figcaption:text-is('{attribute}')) table")
    rows = [row.locator("th, td").all_text_contents() for row in table.locator("tbody tr").all()]
    return {row[0]: float(row[1].replace("−", "-")) for row in rows}


@pytest.mark.parametrize(("attribute", "known"), [("town", TOWNS), ("sex", SEXES)])
def test_categories_are_drawn_as_given(visit, attribute, known):
    averages = numbers_of_chart(visit("attributes"), attribute)
    assert set(averages) == set(known)
    differences = {level: averages[level] - average for level, average in known.items()}
    assert max(differences.values()) - min(differences.values()) < 0.2, differences


def test_a_number_with_negative_skew_is_drawn_as_given(visit):
    tab = visit("attributes")
    averages = numbers_of_chart(tab, "age")
    ages = np.array(list(averages), dtype=float)
    assert AGES[0] <= ages.min() < 45 < ages.max() <= AGES[1]
    slope = np.polyfit(ages, list(averages.values()), 1)[0]
    assert slope == pytest.approx(-4 / (AGES[1] - AGES[0]), rel=0.3)
    ticks = tab.locator("figure:has(figcaption:text-is('age')) svg text").all_text_contents()
    assert {"50", "60"} <= set(ticks)
    assert not {"−50", "−60"} & set(ticks)


def shown_model(tab):
    headings = tab.locator("article:visible h3")
    assert headings.count() == 1
    return headings.inner_text()


def test_a_click_on_the_front_changes_figures_and_charts(visit):
    tab = visit("front")
    before = shown_model(tab)
    box = tab.locator(".stage .mark .target").first.bounding_box()
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    after = shown_model(tab)
    assert after == "point-01 (most level)"
    assert after != before
    assert "load('models/point-01')" in tab.locator("article:visible code").inner_text()
    layers = tab.locator("svg .layer.on").evaluate_all("all => all.map(each => each.dataset.option)")
    assert len(layers) > 5
    assert set(layers) == {"0"}


def test_arrow_keys_choose_and_the_slider_says_what(visit):
    tab = visit("front")
    slider = tab.get_by_role("slider", name="Choose a model")
    chosen = int(slider.input_value())
    slider.focus()
    tab.keyboard.press("ArrowLeft")
    assert int(slider.input_value()) == chosen - 1
    assert shown_model(tab).startswith(f"point-{chosen:02d}")
    assert slider.get_attribute("aria-valuetext").startswith(f"point-{chosen:02d}: typical error")


def test_the_address_keeps_the_choice(visit):
    tab = visit("front")
    tab.get_by_role("button", name="most level").click()
    assert tab.url.endswith("#point-01")
    tab.reload()
    assert shown_model(tab).startswith("point-01")
    tab.evaluate("location.hash = '#point-03'")
    tab.wait_for_function("() => document.querySelector('article.on').dataset.key === 'point-03'")


def test_knee_and_choice_are_both_marked(visit):
    tab = visit("front")
    tab.get_by_role("button", name="most level").click()
    assert tab.locator(".stage text:visible").filter(has_text="knee").count() == 1
    knee = tab.locator(".stage .knee").bounding_box()
    chosen = tab.locator(".stage .chosen:visible").bounding_box()
    assert abs(knee["x"] - chosen["x"]) > 20


@pytest.mark.parametrize("width", [1280, 390])
def test_the_chart_stays_in_sight_while_figures_scroll(visit, width):
    tab = visit("front", viewport={"width": width, "height": 844})
    tab.locator(".results .chart").nth(2).scroll_into_view_if_needed()
    tab.mouse.wheel(0, 200)
    tab.wait_for_timeout(100)
    assert tab.evaluate("scrollY") > 500
    box = tab.locator(".stage svg").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] < 844
    side_by_side = tab.locator(".results").bounding_box()["x"] > box["x"] + box["width"]
    assert side_by_side == (width == 1280)


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_cuts_no_title_and_no_table(visit, name):
    tab = visit(name, viewport={"width": 390, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    cut = tab.evaluate(
        """() => [...document.querySelectorAll('h1, h2, h3, p, dd, figcaption, caption div, li, svg')]
            .filter(e => e.getClientRects().length && !e.ownerSVGElement)
            .filter(e => e.getBoundingClientRect().right > 391).map(e => e.textContent.slice(0, 40))"""
    )
    assert cut == []
    unreachable = tab.evaluate(
        """() => [...document.querySelectorAll('table')].filter(t => t.scrollWidth > t.parentElement.clientWidth
            && getComputedStyle(t.parentElement).overflowX !== 'auto').length"""
    )
    assert unreachable == 0


@pytest.mark.parametrize("name", PAGES)
def test_no_page_asks_for_anything_or_leads_out(visit, name):
    """Requests fail every test here; in addition, nothing on a page could make one."""
    tab = visit(name)
    tab.get_by_role("button").first.click()
    targets = tab.evaluate(
        """() => [...document.querySelectorAll('[href], [src], [action], [formaction], form, iframe')]
            .map(e => e.getAttribute('href') ?? e.tagName)"""
    )
    assert all(target.startswith("#") for target in targets)
    assert "http" not in tab.content().replace("http-equiv", "")
    rules = tab.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert rules == "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    assert {button.inner_text() for button in tab.locator("main button:not(th button)").all()} <= {
        "most level",
        "knee",
        "most accurate model",
    }


def test_names_from_data_stay_text(visit):
    for name in PAGES:
        tab = visit(name)
        assert tab.locator("img").count() == 0
        assert EVIL in tab.locator("body").inner_text()
    assert EVIL in visit("audit").locator("figcaption").all_inner_texts()


def test_tables_sort_by_number_both_ways(visit):
    tab = visit("front")
    tab.locator(".stage summary").click()
    table = tab.locator(".stage table")
    button = table.get_by_role("button", name="RMSE")

    def column():
        return [float(cell.replace(",", "")) for cell in table.locator("tbody td:nth-child(2)").all_inner_texts()]

    button.click()
    assert column() == sorted(column())
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("RMSE")
    button.focus()
    tab.keyboard.press("Enter")
    assert column() == sorted(column(), reverse=True)


def test_all_attributes_can_be_reached(visit):
    tab = visit("front")
    assert tab.locator(".charts figcaption:visible").count() == 6
    tab.locator(".more > summary").click()
    assert tab.locator(".charts figcaption:visible").count() == 7


def test_a_failed_budget_is_seen_first(visit):
    tab = visit("audit")
    first = tab.locator(".headline").first
    assert first.inner_text().startswith("✗ Failed")
    assert "At most 1.0" in first.inner_text()
    assert "Nothing unusual" not in tab.locator("body").inner_text()
    red, _, blue = tab.evaluate(
        "() => getComputedStyle(document.querySelector('.headline .word')).color.match(/[0-9]+/g).map(Number)"
    )
    assert red > blue + 60


def test_charts_follow_the_colour_scheme_and_paper_is_white(visit):
    tab = visit("front", color_scheme="light")
    colour = """() => [getComputedStyle(document.querySelector('svg text')).fill,
        getComputedStyle(document.body).backgroundColor]"""
    light = tab.evaluate(colour)
    tab.emulate_media(color_scheme="dark")
    dark = tab.evaluate(colour)
    assert light[0] != dark[0]
    assert light[1] == "rgb(255, 255, 255)" != dark[1]
    tab.emulate_media(color_scheme="dark", media="print")
    assert tab.evaluate(colour) == light


def test_print_shows_the_chosen_model_and_no_controls(visit):
    tab = visit("front")
    tab.get_by_role("button", name="most level").click()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    assert shown_model(tab).startswith("point-01")
    assert not tab.locator(".controls").is_visible()
    assert tab.locator(".charts figcaption:visible").count() == 7
    assert tab.locator(".stage").evaluate("e => getComputedStyle(e).position") == "static"
    assert tab.pdf()[:5] == b"%PDF-"


def test_the_pointer_reads_a_curve(visit):
    tab = visit("front")
    curve = tab.locator("svg[data-scale]").first
    curve.scroll_into_view_if_needed()
    curve.hover()
    assert "before" in tab.locator(".tip:visible").inner_text()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("front", "light"), ("front", "dark"), ("audit", "light"), ("audit", "dark")],
)
def test_pages_are_accessible(visit, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    tab = visit(name, color_scheme=scheme)
    found = Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", PAGES)
def test_short_names_in_tables_are_not_broken(visit, name):
    """On phones and on paper, names such as adversarial were cut in the middle."""
    lines = """[...document.querySelectorAll('tbody th')].filter(cell => /^\\S{1,12}$/.test(cell.textContent.trim()))
        .map(cell => { const range = document.createRange(); range.selectNodeContents(cell);
                       return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size; })"""
    for settings, media in (({"width": 390, "height": 800}, "screen"), ({"width": 718, "height": 1000}, "print")):
        tab = visit(name, viewport=settings)
        tab.emulate_media(media=media)
        counts = tab.evaluate(lines)
        assert counts
        assert set(counts) <= {0, 1}, (name, media)


def test_figures_of_tiles_are_not_broken_on_paper(visit):
    """p = .0005 was broken before its last digit."""
    for name in ("front", "audit"):
        tab = visit(name, viewport={"width": 718, "height": 1000})
        tab.emulate_media(media="print")
        wide = tab.evaluate(
            """[...document.querySelectorAll('.tiles strong')].filter(e => e.getClientRects().length)
                .map(e => [e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight),
                           e.scrollWidth - e.parentElement.clientWidth])"""
        )
        assert wide
        assert all(lines < 1.5 and over <= 0 for lines, over in wide), (name, wide)
