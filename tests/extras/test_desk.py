"""Desk: the road to a release in a real browser, and who may not walk it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from privsieve.cli import run
from privsieve.extras import desk
from privsieve.extras.desk.columns import form_of, save_sheet, text_of, written_value
from privsieve.extras.desk.state import Desk
from privsieve.public.domain import Domain

pytest.importorskip("starlette", reason="starlette, which the desk needs, is not installed")
pytest.importorskip("uvicorn", reason="uvicorn, which the desk needs, is not installed")
ROOT = Path(__file__).parents[2]
#: 200 names that would run, break a page or leave the folder if a page did not escape them.
HOSTILE = [text for at in range(20) for text in (
    f"<script>document.title='run {at}'</script>", f'"><img src=x onerror=alert({at})>',
    f"' onmouseover='alert({at})", f"</option></select><b>{at}</b>", f"--out=/tmp/{at}",
    f"../{at}", f"a&b;{at}", f"{at}&lt;i&gt;", f"${{{at}}}", f"=cmd|'/c calc'!{at}")]


class Client:
    """A browser without a screen: it holds the cookie, and follows no link by itself."""

    def __init__(self, address):
        parts = urlsplit(address)
        self.port, self.cookie = parts.port, ""
        status, headers, _ = self.ask("GET", f"/?{parts.query}")
        assert status == 303
        self.cookie = headers["set-cookie"].partition(";")[0]

    def ask(self, method, path, body="", **headers):
        """Return the status, the headers and the text of an answer."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        usual = {"cookie": self.cookie, "host": f"127.0.0.1:{self.port}"}
        if method == "POST":
            usual |= {"origin": f"http://127.0.0.1:{self.port}"}
        line.request(method, path, body, {key.replace("_", "-"): value for key, value in
                                          {**usual, **headers}.items() if value is not None})
        answer = line.getresponse()
        text = answer.read().decode("utf-8", "replace")
        line.close()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, text

    def get(self, path):
        """Return a page, after the ways that it leads."""
        status, headers, text = self.ask("GET", path)
        return self.get(headers["location"]) if status == 303 else text

    def post(self, path, **fields):
        """Press a button; return the page that it leads to."""
        status, headers, text = self.ask("POST", path, urlencode(fields))
        return self.get(headers["location"]) if status == 303 else text


@contextmanager
def serving(folder):
    """Start a desk as a user does; yield its address and its process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "privsieve", "desk", str(folder)], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process.stdout.readline().strip(), process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


class Tags(HTMLParser):
    """The tags and attributes of a page, as a browser reads them."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def breast_cancer(folder):
    """A table that ships with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    load_breast_cancer(as_frame=True).frame.to_csv(folder / "table.csv", index=False)
    return {"unit": "row", "target": "target", "values-target": "0, 1"}


def make_table(name):
    """A table of the guides."""
    def make(folder):
        subprocess.run([sys.executable, str(ROOT / "examples" / "made_up.py"), name], cwd=folder,
                       check=True)
        (folder / f"{name}.csv").rename(folder / "table.csv")
        return {"survey": {"unit": "row", "target": "leaves", "values-target": "no, yes"},
                "visits": {"unit": "person", "person": "person", "rows_per_person": "3",
                           "persons": "2500", "target": "infection", "values-target": "0, 1"}}[name]

    return make


TABLES = {"breast cancer": breast_cancer, "survey": make_table("survey"),
          "a hospital with people": make_table("visits")}


def spent(folder, population):
    """Return what a ledger says of a population."""
    done = subprocess.run(
        [sys.executable, "-m", "privsieve", "ledger", "show", "--ledger", "budget.db",
         "--population", population, "--json"], cwd=folder, capture_output=True, text=True,
        check=True)
    return json.loads(done.stdout)


def ready(folder, client, population="clinic", epsilon="1"):
    """Walk to the button that charges; return its fields."""
    fields = TABLES["breast cancer"](folder)
    client.post("/choose", file="table.csv")
    page = client.post("/save", **fields)
    assert "What to release" in page, page
    client.post("/decide", purpose="names", count="3", k="5", profile="few")
    client.post("/price", epsilon=epsilon, population=population)
    page = client.post("/grant", budget="5")
    assert f"Pay epsilon {epsilon}" in page, page
    form = page[page.index('action="/release"'):]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_a_double_click_charges_once(tmp_path):
    """Two clicks at one time, a reload and a click on an old page make one release."""
    with serving(tmp_path) as (address, _):
        client = Client(address)
        button = ready(tmp_path, client)
        pages = []
        clicks = [threading.Thread(target=lambda: pages.append(client.post("/release", **button)))
                  for _ in range(2)]
        [click.start() for click in clicks]
        [click.join() for click in clicks]
        pages.append(client.post("/release", **button))

        assert all("Valid: privsieve verify" in page for page in pages)
        assert "choices changed" in client.post("/release", **{**button, "out": "other"})
        assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["selection-1"]
    assert "1" == str(spent(tmp_path, "clinic")["populations"]["clinic"]["spent"])


def test_a_price_that_changed_is_not_charged(tmp_path):
    """A page with another epsilon than the choices is refused, and costs nothing."""
    with serving(tmp_path) as (address, _):
        client = Client(address)
        button = ready(tmp_path, client)
        client.post("/price", epsilon="0.5", population="clinic")

        assert "choices changed" in client.post("/release", **button)
    assert "0" == str(spent(tmp_path, "clinic")["populations"]["clinic"]["spent"])


@pytest.mark.parametrize("delay", [0.0, 0.6, 1.2])
def test_a_killed_server_charges_once(tmp_path, delay):
    """The server and its commands die at any moment; the next desk finishes, and charges once."""
    with serving(tmp_path) as (address, process):
        client = Client(address)
        button = ready(tmp_path, client)

        def press():
            with suppress(OSError, http.client.HTTPException):
                client.post("/release", **button)

        click = threading.Thread(target=press)
        click.start()
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        click.join()
    with serving(tmp_path) as (address, _):
        client = Client(address)
        page = client.get("/result")
        if "Finish selection-1" in page:
            page = client.post("/recover", folder="selection-1")
        again = client.get("/cost")
        button = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', again))
        if button.get("out") == "selection-1":
            page = client.post("/release", **button)
    charged = float(spent(tmp_path, "clinic")["populations"]["clinic"]["spent"])
    assert charged <= 1
    assert charged == 1 or "Valid" not in page


def test_who_may_not_walk(tmp_path):
    """Another origin, another host, no token, a wrong one and paths outside are refused."""
    (tmp_path.parent / "secret.csv").write_text("a\n1\n")
    with serving(tmp_path) as (address, _):
        client = Client(address)
        button = ready(tmp_path, client)
        client.post("/release", **button)
        port = client.port
        wrong = [
            ("POST", "/release", {"origin": "https://example.org"}),
            ("POST", "/release", {"origin": "null"}), ("POST", "/release", {"origin": None}),
            ("POST", "/grant", {"origin": f"http://localhost:{port + 1}"}),
            ("GET", "/cost", {"origin": "https://example.org"}),
            ("GET", "/cost", {"sec_fetch_site": "cross-site"}),
            ("GET", "/cost", {"host": "example.org"}), ("GET", "/cost", {"host": "127.0.0.1"}),
            ("GET", "/cost", {"cookie": ""}), ("GET", "/cost", {"cookie": f"desk{port}=x"}),
            ("GET", "/?token=x", {"cookie": ""}), ("GET", "/style.css", {"cookie": ""})]
        for method, path, headers in wrong:
            status, _, text = client.ask(method, path, urlencode(button), **headers)
            assert (status, "clinic" in text) == (403, False), (method, path, headers)
        for path in ("/files/selection-1/../../secret.csv", "/files/..%2f/secret.csv",
                     "/files/selection-1/..%2f..%2fsecret.csv", "/files/./budget.db",
                     "/files/%2e%2e/secret.csv", "/zip/..", "/zip/%2e%2e", "/files//etc/passwd"):
            assert client.ask("GET", path)[0] == 404, path
        for file in ("../secret.csv", "/etc/passwd", "budget.db", "", "sql:SELECT 1"):
            assert "choose a table of this folder" in client.post("/choose", file=file)
        (tmp_path / "link.csv").symlink_to(tmp_path.parent / "secret.csv")
        assert "link.csv" not in client.get("/file")
        assert client.ask("POST", "/save", "a=" + "1" * 4_000_001)[0] == 413
        status, headers, _ = client.ask("GET", "/files/selection-1/report.html")
        assert status == 200
        assert headers["content-security-policy"].startswith("sandbox")


def test_only_this_machine_is_served(tmp_path):
    """The desk listens on the loopback address alone."""
    with serving(tmp_path) as (address, process):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", address)
        listening = Path(f"/proc/{process.pid}/net/tcp").read_text()
        port = f"{urlsplit(address).port:04X}"
        places = re.findall(rf"([0-9A-F]{{8}}):{port} 00000000:0000 0A", listening)
    assert places == ["0100007F"]


def test_back_and_forth_loses_nothing(tmp_path):
    """A wrong form comes back as it was filled in; a new desk knows what was chosen."""
    with serving(tmp_path) as (address, _):
        client = Client(address)
        fields = breast_cancer(tmp_path)
        client.post("/choose", file="table.csv")
        page = client.post("/save", **fields, **{"low-0": "7", "high-0": "3"})
        assert 'role="alert"' in page
        assert 'name="low-0" value="7"' in page
        client.post("/save", **fields, **{"low-0": "3", "high-0": "7"})
        client.post("/decide", purpose="names", count="4", **{"role-1": "never", "group-2": "size"})
    with serving(tmp_path) as (address, _):
        client = Client(address)
        page = client.get("/aim")
        assert 'name="count" value="4"' in page
        assert '<option value="never" selected>' in page
        assert 'name="low-0" value="3' in client.get("/columns")
        assert "--never" in client.get("/cost")
        assert "choose a table" not in client.get("/file")


def test_a_sheet_of_excel_is_saved_as_csv(tmp_path):
    """The first sheet becomes a new CSV file; a broken file and a file that exists are refused."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    seen = datetime(2024, 5, 1, tzinfo=UTC).replace(tzinfo=None)  # Excel knows no zone
    for row in [["age", "on time", "seen", "note", "ill"],
                [41.5, True, seen, 'two\nlines, "quoted"', "yes"],
                [7, None, seen.replace(hour=12, minute=30), "=1+1", "no"], [None] * 5]:
        book.active.append(row)
    book.create_sheet("second").append(["other"])
    book.save(tmp_path / "table.xlsx")
    (tmp_path / "broken.XLSX").write_bytes(b"PK no archive")
    with serving(tmp_path) as (address, _):
        client = Client(address)
        page = client.post("/choose", file="table.xlsx")
        assert "<h1>Columns</h1>" in page
        assert all(f"<bdi>{name}</bdi>" in page for name in ("age", "on time", "seen", "note"))
        assert "table.csv is already in the folder" in client.post("/choose", file="table.xlsx")
        assert "cannot be read as an Excel file" in client.post("/choose", file="broken.XLSX")
        assert "What to release" in client.post("/save", unit="row", target="ill", **{
            "values-target": "no, yes", "kind-1": "flag", "kind-3": ""})

    assert (tmp_path / "table.csv").read_text().splitlines() == [
        "age,on time,seen,note,ill", '41.5,true,2024-05-01,"two lines, ""quoted""",yes',
        "7,,2024-05-01 12:30:00,,no"]
    assert 0o600 == (tmp_path / "table.csv").stat().st_mode & 0o777
    assert run(f"inspect {tmp_path}/table.csv --domain {tmp_path}/domain.toml --private-output "
               f"{tmp_path}/seen.json".split()) == 0


def test_a_cell_of_excel_reaches_no_warning(tmp_path, recwarn):
    """The library quotes a date beyond all years; nobody hears it."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["seen"])
    book.active.append([1e10])
    book.active["A2"].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "table.xlsx")

    assert "table.csv" == save_sheet(Desk(tmp_path), "table.xlsx")
    assert [] == [str(warning.message) for warning in recwarn]


def test_the_form_is_the_domain_file(tmp_path, monkeypatch):
    """A saved form gives the domain that the command line reads; the form shows it again."""
    breast_cancer(tmp_path)
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as (address, _):
        client = Client(address)
        client.post("/choose", file="table.csv")
        client.post("/save", unit="row", target="target", **{
            "values-target": "0, 1", "kind-0": "category", "values-0": '"a, b", c', "kind-1": ""})
    domain = Domain.from_toml(tmp_path / "domain.toml")
    form = form_of(tmp_path, "table.csv")

    assert list(domain.columns[0].values) == ["a, b", "c"]
    assert written_value(form.rows[0].facts["values"]) == '"a, b", c'
    assert "mean texture" not in domain.names
    assert Domain.from_toml(tmp_path / "domain.toml") == domain
    (tmp_path / "domain.toml").write_text(text_of(form))
    assert Domain.from_toml(tmp_path / "domain.toml") == domain
    words = "plan table.csv --domain domain.toml --epsilon 1 --top 2"
    assert run(words.split()) == 0


def test_hostile_names_are_texts(tmp_path):
    """Of 200 hostile column names none is a tag, an attribute or an option on any page."""
    rows = "\n".join(",".join("10"[(at + row) % 2] for at in range(len(HOSTILE))) + ",yes"
                     for row in range(50))
    names = ",".join('"' + text.replace('"', '""') + '"' for text in [*HOSTILE, "y"])
    (tmp_path / "table.csv").write_text(f"{names}\n{rows}\n", encoding="utf-8")
    kinds = {f"kind-{at}": "number" for at in range(len(HOSTILE))}
    with serving(tmp_path) as (address, _):
        client = Client(address)
        pages = [client.post("/choose", file="table.csv"),
                 client.post("/save", unit="row", target="y", **{"values-target": "no, yes"},
                             **kinds), client.get("/columns"),
                 client.post("/decide", purpose="names", count="2", **{
                     "role-4": "always", "role-0": "never"}), client.get("/aim")]
        pages.append(client.post("/price", epsilon="5", population="<i>people</i>"))
        pages.append(client.post("/grant", budget="9"))
        button = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', pages[-1]))
        pages.append(client.post("/release", **button, anyway="yes"))
    assert "Valid: privsieve verify" in pages[-1], pages[-1]
    for page in pages:
        tags = Tags(page)
        assert not tags.names & {"script", "img", "i", "iframe", "object", "svg"}
        assert not [name for name in tags.attributes if name.startswith("on")]
        assert tags.names.isdisjoint({"b"}) or page.count("<b>") == 1  # the name of the desk


def test_the_desk_is_small():
    """The desk renders what exists: 1,500 lines of Python, templates and style at most."""
    files = [path for path in Path(desk.__file__).parent.iterdir() if path.is_file()]

    assert 1_500 >= sum(len(path.read_text("utf-8").splitlines()) for path in files)


# --- in a browser --------------------------------------------------------------------------------

WIDER = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll('body *')].filter(one =>
    !one.closest('.skip, .scroll, table.long')
    && one.getBoundingClientRect().right > wide + 0.5
).map(one => one.tagName + ' ' + one.className);
"""
UNNAMED = """
return [...document.querySelectorAll('input:not([type=hidden]), select, button')].filter(one =>
    !(one.labels && one.labels.length) && !one.ariaLabel && !one.textContent.trim()
).map(one => one.outerHTML.slice(0, 80)).concat(
    document.querySelectorAll('main').length === 1 && document.querySelectorAll('h1').length === 1
    ? [] : ['landmarks']);
"""


@pytest.fixture(scope="module")
def browser():
    """A browser of its own, without a network."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium and its driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
                 "disable-background-networking", "disable-component-update", "disable-sync",
                 "hide-scrollbars", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driven = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield driven
    driven.quit()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", TABLES)
def test_the_whole_road(name, width, tmp_path, browser):
    """From a file to a verified release by clicks and keys, at each width, in light and dark."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select, WebDriverWait

    def fill(fields):
        for field, value in fields.items():
            place = browser.find_element(By.NAME, field)
            if place.tag_name == "select":
                Select(place).select_by_value(value)
            else:
                place.clear()
                place.send_keys(value)

    def press(text, then):
        button, = [each for each in browser.find_elements(By.TAG_NAME, "button")
                   if text in each.text]
        button.send_keys("\n")  # by the keyboard
        WebDriverWait(browser, 120).until(lambda _: then in browser.title)
        assert not [each.text for each in browser.find_elements(By.CLASS_NAME, "wrong")
                    if not each.text.startswith("look")]
        assert browser.execute_script(WIDER) == []
        assert browser.execute_script(UNNAMED) == []

    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if width < 500 else "light"}]})
    fields = TABLES[name](tmp_path)
    with serving(tmp_path) as (address, _):
        browser.get(address)
        browser.find_element(By.NAME, "file").click()
        press("Use this table", "Columns")
        fill(fields)
        press("Save the columns", "Purpose")
        browser.get(address.partition("?")[0] + "columns")
        press("Inspect the rows", "Columns")
        assert "PRIVATE" in browser.find_element(By.CLASS_NAME, "mark").text
        browser.get(address.partition("?")[0] + "aim")
        fill({"count": "2"})
        press("Go on to the cost", "Cost")
        fill({"epsilon": "2", "population": "clinic"})
        press("Show this price", "Cost")
        press("Grant this budget", "Cost")
        press("Pay epsilon 2", "Result")
        assert "Valid: privsieve verify" in browser.find_element(By.CLASS_NAME, "right").text
        browser.find_element(By.LINK_TEXT, "report.html").click()
        assert "privsieve" in browser.find_element(By.TAG_NAME, "h1").text or browser.title
        errors = [entry for entry in browser.get_log("browser")
                  if entry["level"] == "SEVERE" and "favicon" not in entry["message"]]
    assert errors == []
    release, ledger = tmp_path / "selection-1", tmp_path / "budget.db"
    assert run(["verify", str(release), "--ledger", str(ledger)]) == 0


def test_a_table_to_publish(tmp_path):
    """The other purpose: a table of yes/no columns, which costs no epsilon."""
    make_table("survey")(tmp_path)
    with serving(tmp_path) as (address, _):
        client = Client(address)
        client.post("/choose", file="table.csv")
        page = client.post("/save", unit="row", target="leaves", **{"values-target": "no, yes"})
        page = client.post("/decide", purpose="table", k="5", profile="few", count="5")
        button = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        page = client.post("/release", **button)
        assert "Valid: privsieve verify" in page, page
        status, headers, _ = client.ask("GET", "/zip/table-1")
    assert (status, headers["content-type"]) == (200, "application/zip")
