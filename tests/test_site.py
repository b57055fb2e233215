"""Law: the site.  What builds it can fail, and what it shows fits a telephone."""

from __future__ import annotations

import importlib.util
import shutil
import tomllib
from itertools import product
from pathlib import Path

import pytest

import privsieve as ps
from screens import CONTRAST

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "docs" / "_build"
NOTES = tomllib.loads((ROOT / "docs" / "pictures" / "notes.toml").read_text(encoding="utf-8"))


def load_part(name):
    """A module of the site's own, by its file."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sidebar_is_the_index():
    """A heading is a part, an entry a page, an inner entry a page below it."""
    text = ("# Top\n\n- [a link before](x.md)\n\n## One\n\n- [a](a.md): words\n  - [b](how/b.md)\n"
            "- [c](../c.md)\n\n## None\n\nText.\n")
    contents = load_part("contents")

    assert [("One", [(0, "/docs/a"), (1, "/docs/how/b"), (0, "/c")])] == contents.parts(text)
    assert {"docs/a": ["/docs/how/b"]} == contents.children(text)


def test_a_docstring_is_plain_text():
    """What looks like markup is text, examples stay, and parameters become a list."""
    lines = ["Weigh `a_` by *b* and c_.", "", "k : how many", "    of them", "", ">>> f(*x_)", "1"]

    assert ["Weigh `a_` by \\*b\\* and c\\_.", "", "", "* ``k``: how many", "  of them", "",
            ">>> f(*x_)", "1"] == load_part("docstrings").marked_up(lines)


def test_the_head_of_a_proof_is_a_list():
    """Functions and their digests are below each other."""
    assert ("- covers: `a.b` @ `0f`\n- rests on: `x/y.proof.md`, `z.proof.md`"
            == load_part("proofs").listed("covers: a.b @ 0f\nrests on: x/y.proof.md, z.proof.md"))


@pytest.mark.parametrize(("link", "fault"), [
    ('<a href="b.html#here">', None), ('<a href="https://elsewhere.org/">', None),
    ('<a href="b.html#there">', "no such place: b.html#there"),
    ('<a href="#x">', "no such place: #x"),
    ('<a href="c.html">', "no file: c.html"), ('<img src="c.png">', "no file: c.png"),
    ('<script src="https://elsewhere.org/a.js">', "loads https://elsewhere.org/a.js"),
    ('<link href="//elsewhere.org/a.css">', "loads //elsewhere.org/a.css")])
def test_the_check_of_links_finds_what_is_wrong(link, fault, tmp_path, capsys):
    """A link to nowhere and a page that loads from outside are named; others are not."""
    (tmp_path / "a.html").write_text(link, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="here">', encoding="utf-8")
    code = load_part("check_site").main(tmp_path)

    assert (1, f"a.html: {fault}\n") == (code, capsys.readouterr().out) if fault else code == 0


def test_an_empty_site_is_not_a_site(tmp_path):
    """Nothing to check is a fault."""
    assert load_part("check_site").main(tmp_path) == 1


def test_a_notebook_is_run_and_shown():
    """A page of a notebook holds text, code, what it printed, and what its last line is.

    A table is shown as HTML and a figure as SVG, as a notebook does; a failing cell fails it.
    """
    pytest.importorskip("myst_parser", reason="the docs extra is not installed")
    cells = [{"cell_type": "markdown", "source": ["Some ", "text"]},
             {"cell_type": "code", "source": ["import made_up\n", "a = 3"]},
             {"cell_type": "code", "source": ["print(a * 2)"]},
             {"cell_type": "code", "source": [
                 "import privsieve as ps\nps.Domain.box(0, 1, columns=2)"]},
             {"cell_type": "code", "source": ["a"]}]
    notebooks, tables = load_part("notebooks"), ROOT / "examples" / "made_up.py"

    table = ps.Domain.box(0, 1, columns=2)
    assert ("Some text\n\n```python\nimport made_up\na = 3\n```\n\n```python\nprint(a * 2)\n```\n\n"
            "```text\n6\n```\n\n```python\nimport privsieve as ps\nps.Domain.box(0, 1, columns=2)\n"
            f"```\n\n{notebooks.fenced('html', table._repr_html_())}\n\n```python\na\n```\n\n"
            "```text\n3\n```" == notebooks.page(cells, tables))
    drawn = ("import privsieve as ps\ndomain = ps.Domain.box(0, 1, columns=9, classes=[0, 1])\n"
             "ps.plan('rule-sieve', domain, k=2, epsilon=1, rows=90).plot()")
    figure = notebooks.page([{"cell_type": "code", "source": [drawn]}], tables)
    assert '<div class="shown" tabindex="0"><svg ' in figure
    with pytest.raises(Exception, match="returned non-zero exit status"):
        notebooks.page([{"cell_type": "code", "source": ["1 / 0"]}], tables)


@pytest.mark.parametrize("name", NOTES)
def test_a_picture_is_small_and_its_notes_are_on_the_page(name):
    """`docs/reports.md` is what `make pictures` writes of these notes; pictures are small."""
    text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    full_notes = NOTES[name]
    notes = "\n".join(f"{at}. {note}" for at, (*_, note) in enumerate(full_notes["notes"], 1))

    assert f"## {full_notes['title']}\n\n{full_notes['words']}\n\n![" in text
    assert f"(pictures/{name}.png)\n\n{notes}\n" in text
    assert 10_000 < (ROOT / "docs" / "pictures" / f"{name}.png").stat().st_size < 100_000


#: Pages with wide tables, long lines, pictures and signatures.
WIDE = ("docs/index", "docs/reports", "docs/options", "docs/command-line", "docs/guarantees",
        "docs/reference/choosing", "docs/quickstart", "docs/for-officers", "docs/rule-sieve",
        "examples/survey", "src/privsieve/noise/race.proof", "README", "search")
LOOKS = ("light", "screen"), ("dark", "screen"), ("light", "print")
#: What sticks out to the right, and does not lie in something that scrolls by itself.
OUT = """
const wide = document.documentElement.clientWidth, scrolls = one => one.tagName != 'ARTICLE' && (
    ['auto', 'scroll'].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
return [document.documentElement.scrollWidth > wide, ...[...document.querySelectorAll('article *')]
    .filter(one => one.getBoundingClientRect().right > wide + 0.5 && !scrolls(one.parentElement))
    .map(one => one.tagName + ' ' + one.className)];
"""

#: How many main parts and first headings, and the language.
MARKS = """
return [document.querySelectorAll('main, [role=main]').length,
    document.querySelectorAll('h1').length, document.documentElement.lang];
"""


def look(driver, width, scheme, media):
    """Take a screen of this width, or paper."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})


#: What a user types into the search of the site, and the page that has to be the first hit.
SEARCHES = {
    "thousands separator": {"Cleaning your file", "How a table is read"},
    "duplicate columns": {"Duplicate and correlated columns"},
    "GDPR": {"Data minimisation"},
    "cross-validation": {"Use privsieve from Python"},
    "data minimisation": {"Data minimisation"},
    "SelectKBest": {"Compared with SelectKBest"},
    "epsilon": {"How much epsilon?"},
    "anonymous": {"For data protection officers", "What k-anonymity protects"},
    "pandas": {"Use privsieve from Python", "How a table is read"},
}
#: Pages that come after all others.
FOR_REVIEWERS = ("src/", "docs/decisions/", "experiments/", "docs/guarantees", "docs/papers",
                 "docs/known-gaps", "docs/reliability", "docs/add-a-selector", "CONTRIBUTING",
                 "SECURITY", "CHANGELOG", "README")
#: The titles and the addresses of what the search shows.
HITS = """
return [...document.querySelectorAll('#search-results li > a')].map(
    link => [link.textContent, link.getAttribute('href')]);
"""


@pytest.fixture
def browser():
    """Open Chromium, which can reach nothing outside, where the site is built."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="Chromium needs selenium")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("Chromium and its driver are not installed")
    if not (BUILT / "docs" / "index.html").exists():
        pytest.skip("the site is not built: make docs")
    options = webdriver.ChromeOptions()
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars",
                   "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{switch}")
    driver = webdriver.Chrome(options=options,
                              service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.mark.browser
@pytest.mark.parametrize("words", SEARCHES)
def test_the_search_finds_guides_first(browser, words):
    """The search finds the page that answers, and pages for reviewers come last."""
    from selenium.webdriver.support.ui import WebDriverWait

    address = (BUILT / "search.html").as_uri()
    browser.get(f"{address}?q={words.replace(' ', '+')}")
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(
        "return document.querySelector('#search-results .search-summary')?.textContent"
        ".includes('found')"))
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(HITS))
    hits = browser.execute_script(HITS)

    assert hits[0][0].startswith(tuple(SEARCHES[words]))
    late = [page.startswith(FOR_REVIEWERS) for _, page in hits]
    assert late == sorted(late)


@pytest.mark.browser
def test_the_site_fits(browser):
    """No page of the built site scrolls sideways or complains; all have a main part and a heading.

    On three widths, light, dark and on paper, with a contrast that can be read.
    """
    driver, sizes = browser, {}
    for name in WIDE:
        look(driver, 360, "light", "screen")  # a telephone, and then others look at it
        driver.get((BUILT / f"{name}.html").as_uri())
        for width, (scheme, media) in product((360, 768, 1280), LOOKS):
            look(driver, width, scheme, media)
            sizes[name, width, scheme, media] = (
                driver.execute_script(OUT)[:3],
                [*driver.execute_script(MARKS), driver.execute_script(CONTRAST) >= 4.5])
        sizes[name] = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]

    right = ([False], [1, 1, "en", True])
    assert {} == {page: sizes_of_page for page,
                  sizes_of_page in sizes.items() if sizes_of_page not in (right, [])}
