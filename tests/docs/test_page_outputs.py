"""Pages show what their code prints: all are well-formed, quick ones are run here, the others by `make study`."""

import re

import pytest
from pages_of_docs import PAGES, ROOT, api, name, pages, text_of

from fairlevel.exceptions import FairLevelError
from fairlevel_study.sources import resolve_source

QUICK = {"docs/command-line.md", "docs/add-a-penalty.md", "docs/index.md"}
NUMBER = re.compile(r"[-+−]?\d+(?:[.,]\d+)*(?:e[-+]\d+)?")
IMPORTED = re.compile(r"from (fairlevel[\w.]*) import (\w+(?:, \w+)*)")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
HIDDEN_OR_CODE = re.compile(r"^```.*?^```$|^<!-- run.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
LARGEST_PICTURE = 60_000  # bytes


def assert_alike(found, shown):
    """The same words, and numbers that differ by rounding on another machine at most."""
    assert NUMBER.sub("#", " ".join(found.split())) == NUMBER.sub("#", " ".join(shown.split()))
    for mine, theirs in zip(NUMBER.findall(found), NUMBER.findall(shown), strict=True):
        mine, theirs = (float(each.replace("−", "-").replace(",", "")) for each in (mine, theirs))
        assert mine == pytest.approx(theirs, rel=0.05, abs=0.02)


@pytest.mark.parametrize("found", ["MSE 40, part 5%", "MSE 40", "MSE 46, share 5%"])
def test_other_words_and_other_numbers_are_noticed(found):
    assert_alike("MSE  41,\nshare 5%", "MSE 40, share 5%")
    with pytest.raises(AssertionError):
        assert_alike(found, "MSE 40, share 5%")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_marks_are_complete(page):
    text = text_of(page)
    found = list(pages.pieces(text))
    visible = sum(piece.visible for piece in found)
    assert len(re.findall(r"^```python", text, re.MULTILINE)) == visible
    assert len(re.findall(r"^<!-- run", text, re.MULTILINE)) == len(found) - visible
    assert len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0
    for piece in found:
        compile(piece.code, str(page), "exec")
        assert "support" not in piece.code
        assert piece.visible or piece.output.strip() or "print" not in piece.code, "run `make pages`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_visible_code_that_prints_is_followed_by_its_output(page):
    for piece in pages.pieces(text_of(page)):
        prints = re.search(r"^print\(", piece.code, re.MULTILINE) is not None
        assert not (piece.visible and prints) or piece.output, f"line {piece.line}: run `make pages`"


@pytest.mark.parametrize("word", ["profile", "share", "knee"])
@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/getting-started.md"])
def test_words_are_explained_where_a_newcomer_first_meets_them(page, word):
    """The first mention in prose is set apart, and the sentence or cell goes on to say what the word means."""
    prose = HIDDEN_OR_CODE.sub("", text_of(ROOT / page))
    first = re.search(rf"(\*+|`|\| ){word}(\*+|`| \|)|\b{word}", prose)
    assert first[1], prose[first.start() - 60 : first.end() + 60]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    links = LINK.findall(re.sub(r"^```.*?^```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL | re.MULTILINE))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_pictures_are_small_and_shown():
    written = sorted((ROOT / "docs/pictures").glob("*/*.png"))
    assert written
    assert [path.name for path in written if path.stat().st_size > LARGEST_PICTURE] == []
    everything = "".join(map(text_of, PAGES))
    assert [path for path in written if f"{path.parent.name}/{path.name}" not in everything] == []


def test_the_reference_lists_every_name_that_pages_import():
    listed = set(re.findall(r"^<!-- api ([\w.]+)", text_of(ROOT / "docs/api.md"), re.MULTILINE))
    imported = {
        f"{module}.{word.strip()}"
        for page in PAGES
        for module, words in IMPORTED.findall(text_of(page))
        for word in words.split(",")
    }
    assert imported > {"fairlevel.FairRegressor"}
    assert sorted(imported - listed) == []


def test_the_reference_says_what_docstrings_say():
    text = text_of(ROOT / "docs/api.md")
    assert api.sentences(text) == text, "run `make pages PAGES=docs/api.md`"


def test_a_directive_of_the_reference_becomes_a_mark_and_back():
    marked = api.sentences("::: fairlevel.load\n\n::: fairlevel.FairRegressor\n    options:\n      members: [fit]\n")
    assert "- **`fairlevel.load`**: " in marked
    assert api.directives(marked).split() == (
        [":::", "fairlevel.load", ":::", "fairlevel.FairRegressor", "options:", "members:", "[fit]"]
    )


def test_outputs_are_put_in_place_of_old_ones(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```python\nx = 2\nprint(x)\n```\n\n```text\nold\n```\n\n<!-- run\nprint(f'*{x}*')\n-->\nold\n"
        "<!-- end -->\n\n```python\nx += 1\n```\n\n```text\ngone\n```\n",
        encoding="utf-8",
    )
    found = pages.with_outputs(text_of(page), pages.outputs(page, tmp_path))
    assert found == (
        "# Page\n\n```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n\n<!-- run\nprint(f'*{x}*')\n-->\n\n*2*\n\n"
        "<!-- end -->\n\n```python\nx += 1\n```\n"
    )
    assert pages.with_outputs(found, pages.outputs(page, tmp_path)) == found


def runs(page):
    return next(pages.pieces(text_of(page)), None) is not None


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name(page), marks=[] if name(page) in QUICK else [pytest.mark.study])
        for page in PAGES
        if runs(page)
    ],
)
def test_pages_show_what_their_code_prints(page, tmp_path):
    if (slug := pages.needed_table(text_of(page))) is not None:
        try:
            resolve_source().load(slug)
        except FairLevelError as error:
            pytest.skip(str(error))
    shown = pages.pieces(text_of(page))
    for found, piece in zip(pages.outputs(page, tmp_path), shown, strict=True):
        assert_alike(found, piece.output)
