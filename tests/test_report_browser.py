"""Law: reports in a browser.  Every page fits a telephone, a screen and paper, and says nothing."""

from __future__ import annotations

import base64
import os
import re
import shutil
from pathlib import Path

import pytest

from privsieve.extras.steward.curves import explored_page
from privsieve.public.canonical import canonical, digest
from privsieve.report import html, internal_html
from releases import KINDS
from screens import CONTRAST
from test_report import CLOSED, ROWS, publication, selection
from test_report_kinds import HUNDREDS, answered, of_columns
from test_steward_explore import explore_page
from test_steward_inspected import page_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("Chromium and its driver are not installed (Debian: chromium, chromium-driver)",
                allow_module_level=True)
webdriver = pytest.importorskip("selenium.webdriver",
                                reason="selenium, which drives Chromium, is not installed")

pytestmark = pytest.mark.browser

EDITIONS = ("selection", "publication", "internal", "explored", "inspected", *KINDS)
#: What a page may overflow: nothing.
WIDER = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll('body *')].filter(one =>
    one.getBoundingClientRect().right > wide + 0.5).map(one => one.tagName + ' ' + one.className);
"""
#: Labels of a chart that lie over another label, or over a mark.
OVER = """
const over = [];
const meet = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5
    && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
for (const chart of document.querySelectorAll('svg')) {
    const labels = [...chart.querySelectorAll('text')];
    for (const [at, one] of labels.entries()) for (const other of labels.slice(at + 1))
        if (meet(one.getBoundingClientRect(), other.getBoundingClientRect()))
            over.push(one.textContent + ' over ' + other.textContent);
    for (const one of labels) for (const other of chart.querySelectorAll('circle, .lg, .la'))
        if (meet(one.getBoundingClientRect(), other.getBoundingClientRect()))
            over.push(one.textContent + ' over a mark');
}
return over;
"""
#: One main part and one heading above all, a language, parts with a name, no level left out.
LANDMARKS = """
const all = what => [...document.querySelectorAll(what)];
const levels = all('h1, h2, h3, h4').map(one => Number(one.tagName[1]));
return [all('main').length, all('h1').length, document.documentElement.lang,
    all('nav, section').filter(one => !one.ariaLabel && !document.getElementById(
        one.getAttribute('aria-labelledby'))).map(one => one.outerHTML.slice(0, 60)),
    levels.filter((level, at) => at && level > levels[at - 1] + 1)];
"""


@pytest.fixture(scope="module")
def browser():
    """A browser of its own, without a network."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
                   "disable-background-networking", "disable-component-update", "disable-sync",
                   "hide-scrollbars", "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page, with usual names and with the worst that a table may have; 1 and 300 columns."""
    place = tmp_path_factory.mktemp("pages")
    written = {}
    for kind, columns in (("plain", ("age", "length_of_stay", "sex")),
                          ("long", ("W" * 128, "a_b" * 40, "<b>" * 40))):
        (place / kind).mkdir()
        new_release = selection(place / kind, columns=columns, k=2)
        release, certificate = publication(ROWS, columns, ("x", "y") * 3, target=columns[0])
        inner = {**CLOSED, "closed": [[columns[0], 1, 4, 2], ["b", 3, 0, 0]]}
        certificate = {**certificate, "population": columns[1], "ledger": {
            "snapshot": columns[2], "publish": {"seq": 7, "prev": "0", "hash": "0"},
            "head": digest(canonical(release))}}
        for name, data in (("selection", html(new_release.body, new_release.certificate)),
                           ("publication", html(release, certificate)),
                           ("internal", internal_html(release, certificate, inner)),
                           ("explored", explored_page(explore_page(columns[0]))),
                           ("inspected",
                            page_of([column[:120] for column in columns], place / kind)),
                           *((kind_of, html(*of_columns(kind_of, columns))) for kind_of in KINDS)):
            written[name, kind] = place / kind / f"{name}.html"
            written[name, kind].write_bytes(data)
    written["answers", "plain"] = place / "answers.html"
    written["answers", "plain"].write_bytes(html(*answered()))
    for kind, columns in (("one", HUNDREDS[:1]), ("many", HUNDREDS)):
        for name in KINDS:
            written[name, kind] = place / f"{name}-{kind}.html"
            written[name, kind].write_bytes(html(*of_columns(name, columns)))
    return written


def screen(browser, width, scheme, height=900):
    """Take a screen of this width."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})


@pytest.mark.parametrize(("edition", "names"), [
    *((edition, names) for names in ("plain", "long") for edition in EDITIONS),
    *((kind, names) for names in ("one", "many") for kind in KINDS), ("answers", "plain")])
def test_a_page_fits(browser, pages, edition, names):
    """No sideways scrolling, nothing over something, readable contrast, no word on the console."""
    browser.get(pages[edition, names].as_uri())
    assert [] == browser.get_log("browser")
    assert [1, 1, "en", [], []] == browser.execute_script(LANDMARKS)
    for width, scheme, paper in ((360, "light", "rgb(255, 255, 255)"),
                                 (768, "light", "rgb(255, 255, 255)"),
                                 (1280, "dark", "rgb(18, 21, 23)")):
        screen(browser, width, scheme)

        assert width == browser.execute_script("return document.documentElement.scrollWidth")
        assert [] == browser.execute_script(WIDER)
        assert [] == browser.execute_script(OVER)
        assert browser.execute_script(CONTRAST) >= 4.5
        assert paper == browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor")
        if kept := os.environ.get("PRIVSIEVE_SHOTS"):
            screen(browser, width, scheme, 3000)
            browser.save_screenshot(str(Path(kept) / f"{edition}-{names}-{width}-{scheme}.png"))


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_page_prints(browser, pages, edition):
    """Printed on A4 it is a few pages of light paper."""
    screen(browser, 1280, "dark")
    browser.get(pages[edition, "plain"].as_uri())
    printed = base64.b64decode(browser.execute_cdp_cmd(
        "Page.printToPDF", {"preferCSSPageSize": True})["data"])

    assert printed.startswith(b"%PDF-")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 9
    assert b"/MediaBox [0 0 594" in printed or b"/MediaBox [0 0 595" in printed


def test_nothing_runs(browser, tmp_path, pages):
    """A page whose policy is broken on purpose is caught: the console reports it."""
    data = pages["selection", "plain"].read_bytes()
    broken = tmp_path / "broken.html"
    broken.write_bytes(data.replace(b"</main>", b"<img src='x.png' onerror='alert(1)'></main>"))
    browser.get(broken.as_uri())

    assert [] != browser.get_log("browser")
