"""Law: reports.  A page says what its two files say, to anybody, and nothing else."""

from __future__ import annotations

import json
import re
import stat
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from math import exp
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from privsieve.containment.labelled import Labelled
from privsieve.containment.measures import closed
from privsieve.containment.publish import Projection, facts
from privsieve.errors import ReleaseFailed, SchemaError
from privsieve.fit import fit
from privsieve.folder import Folder
from privsieve.kernels.patterns import Rule
from privsieve.ledger import chain
from privsieve.public.canonical import canonical, digest, factor
from privsieve.public.plan import Cost
from privsieve.report import html, internal_html
from privsieve.report.figures import belief, share_up
from privsieve.rows import open_source
from privsieve.rows.matrix import Items
from privsieve.telling.document import clean, name
from privsieve.telling.html import shown_text

HOSTILE = (
    "<script>alert(1)</script>", '"></title><img src=x onerror=alert(1)>', "' onload='x",
    "\u202egnp.exe\u202c", "=cmd|' /C calc'!A0", "x" * 10_000, "</style><style>*{}",
    "{0.__class__}", "&lt;b&gt;", "a\x00b\x1b[31m\u2028", "javascript:alert(1)", "]]>",
    "<!--", "%s", "\u200b",
)
SENTINEL = "SENTINEL-4711"
#: What a page may refer to: its own sections.
REFERS = {"src", "href", "action", "data", "poster", "srcset", "xlink:href", "formaction", "style"}


class Page(HTMLParser):
    """What a browser would make of a page: tags, attributes, ids, text by the tag around it."""

    VOID = ("meta", "br", "wbr")
    EMPTY = ("rect", "line", "circle", "path")

    def __init__(self, data):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open, self.titles = [], [], [], [], []
        self.feed(data.decode("utf-8"))
        self.close()
        assert [] == self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in self.EMPTY
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag):
        assert tag == self.open.pop(), tag

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))
        if self.open[-2:] == ["head", "title"]:
            self.titles.append(data)

    @property
    def words(self):
        """All text that is shown."""
        shown_text = "".join(text for tag,
                             text in self.text if tag not in ("style", "title", "desc"))
        return " ".join(shown_text.split())

    def inside(self, tag):
        """The text of all such elements."""
        return "".join(text for path, text in self.text if path == tag)


def harmless(data):
    """The laws of every page: nothing runs, nothing loads, ids are unique, links stay inside."""
    page = Page(data)
    ids = [value for _, key, value in page.attributes if key == "id"]

    assert set() == set(page.tags) & {"script", "img", "iframe", "object", "embed", "link", "base",
                                      "form", "input", "audio", "video", "use", "foreignobject"}
    assert [] == [key for _, key, _ in page.attributes if key.startswith("on")]
    assert set() == {(tag, key, value) for tag, key, value in page.attributes if key in REFERS
                     and (tag, key, value[:1]) != ("a", "href", "#")}
    assert {value[1:] for _, key, value in page.attributes if key == "href"} <= set(ids)
    assert len(set(ids)) == len(ids)
    assert {*ids} >= {value for _, key, text in page.attributes if key == "aria-labelledby"
                      for value in text.split()}
    assert 1 == page.tags.count("style") == page.tags.count("h1") == len(page.titles)
    policy = next(value for _, key, value in page.attributes if key == "content"
                  and "default-src" in value)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "url(" not in page.inside("style")
    assert "@import" not in page.inside("style")
    assert re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0b-\x1f]", data.decode()) is None
    return page


def selection(tmp_path, *, ledger=True, columns=("age", "dose", "sex"), k=2, folder=None,
              **options):
    """A release of a small table; keywords go to the domain."""
    domain = ps.Domain([ps.Number(columns[0], 0, 110), ps.Number(columns[1], 1, 9, scale="log"),
                        ps.Category(columns[2], ["F", "M"])],
                       target=ps.Label("ill", ["no", "yes"]), **options)
    (tmp_path / "t.csv").write_text(",".join([*columns, "ill", "who"]) + "\n"
                                    + "20,1,F,no,a\n70,9,M,yes,b\n" * 50)
    book = None
    if ledger:
        book = ps.Ledger(str(tmp_path / "budget.db"), population="clinic-2026")
        book.grant(epsilon=1)
    plan = ps.plan("rule-sieve", domain, k=k, epsilon="0.5", rows=None if options else 100)
    source = open_source(tmp_path / "t.csv", csv=domain.csv)
    return fit(plan, source, ledger=book, folder=folder)


SRC = Path(ps.__file__).parent
#: The proof of the theorem, and those on which it rests.
PROOFS = [next(SRC.rglob(f"{name}.proof.md")) for name in (
    "rule_sieve", "rules", "race", "streams")]


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """A selection with a ledger."""
    release = selection(tmp_path_factory.mktemp("chosen"))
    return json.loads(canonical(release.body)), json.loads(canonical(release.certificate))


def publication(rows, names, labels=None, *, sensitive=(), **claim):
    """A release and a certificate as `publish` writes them, for any names."""
    target = claim.get("target")
    claim = {"kind": "containment", "k": 2, "model": "containment", "absent": [], "l_diversity": 1,
             "suppressed": 0, "columns": list(names), "target": None, "table_sha256": "0" * 64,
             "rows": len(rows), "origins": list(names),
             "sensitive": [column for column, _ in sensitive],
             "roles": {"presences": list(names), "both": [], "target": target,
                       "sensitive": [column for column, _ in sensitive],
                       "target_known": target is not None},
             "limits": {"share": None, "entropy": None, "closeness": None, "ordered": []},
             "fingerprint": None,
             **claim}
    table = Projection(tuple(names), np.asarray(rows, np.uint8), target, labels, tuple(sensitive))
    measured = {**facts(table, claim), "disclosure": []}
    plan = {"method": "greedy", "k": claim["k"]}
    release = {"format": "privsieve-release/1", "kind": "containment", "columns": list(names),
               "selected": list(names), "partial": {}, "plan": plan, "measured": measured}
    certificate = {
        "format": "privsieve-certificate/1",
        "claim": {**claim, "level": measured["strangers"][measured["promised"]]["level"]},
        "plan": plan, "software": {"privsieve": "0"}, "population": None, "ledger": None,
        "release_sha256": digest(canonical(release)), "key": None, "signature": None}
    return release, certificate


ROWS = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1], [0, 0, 1]])
CLOSED = {"rows": 6, "items": 5, "columns": 4, "classes": 1, "passed_over": 3,
          "closed": [["shut", 1, 4, 2], ["nearly", 3, 0, 0]]}


@pytest.fixture(scope="module")
def published():
    """A publication of three columns and a class."""
    return publication(ROWS, ("a", "b", "c"), ("x", "y", "x", "x", "y", "x"), target="ill")


def test_every_page_is_harmless(chosen, published):
    """Nothing on a page runs or loads; each tag is closed, each link stays on the page."""
    for data in (html(*chosen), html(*published), internal_html(*published, CLOSED)):
        page = harmless(data)
        for word in ("asked", "answered", "cost", "protects", "not protect"):
            assert word in page.inside("dt")


def swapped(value, old, new):
    """A JSON value in which a text is another one."""
    if isinstance(value, dict):
        return {new if key == old else key: swapped(single_value, old, new) for key,
                single_value in value.items()}
    if isinstance(value, list):
        return [swapped(single_value, old, new) for single_value in value]
    return new if value == old else value


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_do_no_harm(chosen, published, text):
    """A hostile column, class, category, population or setting shows as text, and is no more."""
    release, certificate = chosen
    hurt = release
    for old in (release["selected"][0], "ill", "no", "auto"):
        hurt = swapped(hurt, old, text)
    signed = {**swapped(certificate, "clinic-2026", text),
              "domain_sha256": digest(canonical(hurt["domain"]))}
    single_page = html(hurt, signed)
    full_release, claimed = swapped(published[0], "a", text), swapped(published[1], "a", text)
    claimed = {**claimed, "population": text, "ledger": {
        "snapshot": text, "publish": {"seq": 1, "prev": "0", "hash": "0"}, "head": text}}
    inner = internal_html(full_release, claimed, swapped(CLOSED, "shut", text))

    for data in (single_page, html(full_release, claimed), inner):
        page = harmless(data)
        if clean(text):
            assert clean(text) in page.inside("bdi")
            assert clean(text) not in page.inside("style")
        assert len(data) < 100_000
        assert not re.search(r"alert|onerror|\*\{\}|cmd", page.titles[0])
        assert {value for _, key, value in page.attributes if key == "class"} <= CLASSES


#: The words of the style sheet.
CLASSES = {"public", "internal", "page", "top", "nb", "five", "term", "toc", "pt", "t",
           "long", "kv", "r", "me", "bar", "note", "two", "fx", "mark", "decide", "tick",
           "sign", "ends", "officer", "unsigned", "f1", "f2", "f3", "l1", "l2", "l3", "la", "lg",
           "da", "l2 da", "q", "w", "def", "words"}


def test_every_class_has_a_style():
    """The style sheet knows every class that a page uses, but for those of other classes."""
    style = (Path(ps.__file__).parent / "telling" / "style.css").read_text()

    assert set() == {word for word in CLASSES - {"public", "l2 da", "long"}
                     if f".{word}" not in style}


def test_names_are_shown_whole_or_cut():
    """A name of at most 128 characters is shown as it is, a longer one ends with a sign."""
    for length in (1, 16, 17, 128, 129, 1000):
        text = ("ab_c.d-e/f" * 100)[:length]
        this_text = shown_text(name(text), lambda words, _key: words)

        assert clean(text) == this_text.striptags()
        assert (text if length <= 128 else text[:127] + "…") == clean(text)
        assert max(map(len, re.split("<wbr>", this_text.unescape()))) <= 64


def test_a_page_of_the_same_files_is_the_same(chosen, published):
    """Equal files give equal bytes, in any order of keys, and name no path and no time of day."""
    for release, certificate in (chosen, published):
        backwards = json.loads(json.dumps(release), object_pairs_hook=lambda p: dict(p[::-1]))
        data = html(release, certificate)

        assert data == html(backwards, certificate)
        assert b"/tmp" not in data
        assert re.search(rb"\d\d:\d\d", data) is None


def test_a_selection_says_all_of_its_certificate(chosen):
    """Every fact of claim, plan and ledger that a reader needs stands on the page."""
    release, certificate = chosen
    words = Page(html(release, certificate)).words
    claim, ledger = certificate["claim"], certificate["ledger"]

    for fact in (claim["epsilon"], claim["mechanism"], claim["theorem"], *claim["assumes"],
                 claim["unit"], claim["account"], certificate["population"],
                 certificate["release_sha256"], certificate["domain_sha256"],
                 digest(canonical(certificate)), ledger["head"], ledger["request"],
                 ledger["reserved_at"][:10], *release["selected"], "ill",
                 *(f"{percent} %" for percent in release["forecast"]["found_percent"].values()),
                 f"guessing: {release['forecast']['guessing_percent']} %",
                 *(key for key in certificate["plan"]["settings"] if key != "branches"), "rules",
                 *(proof.name for proof in PROOFS),
                 *(digest(proof.read_bytes()) for proof in PROOFS)):
        assert fact in words, fact
    assert ledger["reserved_at"] not in words
    for declared in ("number, 0 to 110", "number, 1 to 9, on a log scale", "one of 2: F, M"):
        assert (declared in words) == any(
            declared == _declared(column) for column in release["domain"]["columns"]
            if column["name"] in release["selected"])


def _declared(column):
    if column["kind"] == "category":
        return f"one of 2: {', '.join(column['values'])}"
    log = ", on a log scale" if column["scale"] == "log" else ""
    return f"number, {float(column['low']):g} to {float(column['high']):g}{log}"


def test_this_release_is_marked_and_guessing_drawn(chosen):
    """The forecast by cost marks the cost of this release, and draws guessing."""
    release, certificate = chosen
    data = html(release, certificate).decode()

    assert {"0.1", "0.3", "0.5", "1", "3"} == set(release["forecast"]["by_cost"])
    assert 1 == data.count('class="f1"/>\n') + data.count('r="7" class="f1"/>')
    assert '<tr class="me"><th scope="row">0.5, this release</th>' in data
    assert "da" in {value.split()[-1] for _, key, value in Page(data.encode()).attributes
                    if key == "class"}


def test_a_selection_says_nothing_else(chosen):
    """What a release might hold of rows, now or by mistake, does not reach the public page."""
    release, certificate = chosen
    planted = dict.fromkeys(("scores", "ranks", "noisy", "accuracy", "count", "seconds", "order",
                             "warnings", "data_sha256", "path", "user"), SENTINEL)
    body = {**release, **planted, "internal": planted,
            "forecast": {**release["forecast"], **planted}, "plan": {**release["plan"], **planted}}

    assert html(release, certificate) == html(body, {**certificate, **planted}).replace(
        digest(canonical({**certificate, **planted})).encode(),
        digest(canonical(certificate)).encode())


def test_the_number_of_rows_is_private_under_add_remove(tmp_path):
    """Under add-remove the page says the declared number, and not how many rows there are."""
    release = selection(tmp_path, neighbours="add-remove", rows=4000)
    words = Page(html(release.body, release.certificate)).words

    assert "a declared number of rows, 4,000; the true number is private" in words
    assert "With or without any one row" in words
    assert re.search(r"\b100 (rows|lines)|number of (rows|lines), 100", words) is None


def test_persons_are_named(tmp_path):
    """Where a person is protected, the page names persons and their rows."""
    release = selection(tmp_path, person="who", rows_per_person=3, persons=500)
    words = Page(html(release.body, release.certificate)).words

    assert "Every person." in words
    assert "At most 3 rows of each person were used." in words
    assert "a declared number of people, 500" in words


def test_gaps_are_sentences(chosen):
    """What a release does not say is said to be missing: no empty cell, no None, no zero."""
    release, certificate = chosen
    alone = {**certificate, "ledger": None, "population": None, "software": {"privsieve": "0.0.0"}}
    pages = [html(release, alone), html(*publication(ROWS, ("a", "b", "c")))]

    for data in pages:
        page = harmless(data)
        empty = re.findall(rb"<(td|th|p|dd|li|h1|h2)\b[^>]*></", data)
        assert ([], []) == ([tag for tag in empty if tag != b"td" or b"sign" not in data],
                            re.findall(r"\bNone\b", page.words))
    pages_words = [Page(data).words for data in pages]
    for number, sentence in ((0, "made without a ledger"), (0, "No ledger adds up"),
                             (0, "Another version of privsieve made this release"),
                             (1, "The table contains no class"), (1, "does not contain a class")):
        assert sentence in pages_words[number], sentence


def test_a_page_needs_files_that_agree(chosen):
    """A domain that is not the certified one, or a field that is missing, is refused."""
    release, certificate = chosen
    other = {**release, "domain": {**release["domain"], "rows": 7}}

    for first, two in ((other, certificate), ({"kind": "selection"}, certificate), (release, {})):
        with pytest.raises(SchemaError, match="lacks a value that a report needs"):
            html(first, two)
    with pytest.raises(SchemaError, match="kind that this version cannot show"):
        html({**release, "kind": "poem"}, certificate)
    with pytest.raises(SchemaError, match="lacks a value that a report needs"):
        html({**release, "kind": "weights"}, certificate)


@pytest.mark.parametrize("epsilon", ["0.000000001", "0.1", "0.5", "1", "5", "10", "25", "1000"])
def test_beliefs_are_rounded_outwards(epsilon):
    """The range that is printed holds the range that is true, and is close to it."""
    cost = Fraction(epsilon)
    for before in (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)):
        low, high = belief(cost, before)
        if cost < 100:
            odds = float(before / (1 - before))
            true = [100 * odds * exp(s * cost) / (1 + odds * exp(s * cost)) for s in (-1, 1)]

            assert float(low) <= true[0] * (1 + 1e-12)
            assert float(high) >= true[1] * (1 - 1e-12)
            assert float(low) > true[0] * 0.89 - 1e-9
            assert float(high) < true[1] * 1.11 + 1e-9
        assert Decimal(0) <= low <= high <= 100


def test_factors_and_shares_are_rounded_up():
    """A factor or a share of rows is never told smaller than it is."""
    for thousandths in range(1, 25_000, 77):
        text = factor(Fraction(thousandths, 1000))
        assert float(text.replace(",", "")) >= exp(thousandths / 1000)
    for own_thousandths in range(1001):
        text = Fraction(share_up(own_thousandths, 1000).removesuffix(" %"))
        assert Fraction(own_thousandths, 10) <= text < Fraction(own_thousandths, 10) + 1
    assert factor(Fraction(1000)) is None


def test_a_weak_promise_is_said(chosen):
    """From 5 on the cost says that it is much; a cost that promises nothing names no factor."""
    release, certificate = chosen
    for epsilon, much in (("4.9", False), ("5", True), ("900", True)):
        claim = {**certificate["claim"], "epsilon": epsilon}
        words = Page(html(release, {**certificate, "claim": claim})).words

        assert much == ("This cost is high:" in words)
        assert ("protects nobody" in words) == (epsilon == "900")


def test_a_delta_is_said(chosen):
    """A promise with a delta shows it everywhere, and no range that would hold without it."""
    release, certificate = chosen
    claim = {**certificate["claim"], "delta": "0.000001", "account": "approximate"}
    words = Page(html(release, {**certificate, "claim": claim})).words

    assert "(ε, δ)-differential privacy" in words
    assert "This page does not show how sure an attacker can become" in words
    assert "+ 0.000001" in words
    assert "times more or less" not in words


def test_a_free_release_is_said(tmp_path):
    """All columns asked for: nothing is charged, and the page says so instead of a forecast."""
    release = selection(tmp_path, k=3)
    words = Page(html(release.body, release.certificate)).words

    assert "Nothing. Every column that could be chosen is named" in words
    assert "Nothing was charged." in words


def naive_facts(rows, k, labels, absent):
    """The same facts by loops: groups of each attacker, and the promised level without columns."""
    every = range(rows.shape[1])

    def crowds(lacking, *, by_class, columns=every):
        def fits(mine, other):
            return all(rows[other][j] >= rows[mine][j]
                       and (j not in lacking or rows[other][j] == rows[mine][j])
                       for j in columns) and (not by_class or labels[mine] == labels[other])

        return [[i for i in range(len(rows)) if fits(mine, i)] for mine in range(len(rows))]

    def text(sizes):
        return {"level": min(sizes), "below": sum(size < k for size in sizes),
                "alone": sizes.count(1), "average": sum(Fraction(1, size) for size in sizes)
                / len(sizes)}

    who = {"known": (absent, False), "known_class": (absent, True), "all": (every, False),
           "all_class": (every, True)}
    sizes = {size: [len(crowd) for crowd in crowds(lacking, by_class=by)]
             for size, (lacking, by) in who.items()}
    without = []
    for j in every:
        rest = [other for other in every if other != j]
        without.append(min(map(len, crowds(absent, by_class=True, columns=rest))))
    return {"strangers": {size: text(count) for size, count in sizes.items()},
            "one_class": sum(len({labels[i] for i in crowd}) == 1
                             for crowd in crowds(absent, by_class=False)),
            "without": without, "sizes": sizes["known_class"]}


@pytest.mark.parametrize("seed", range(12))
def test_facts_are_counted_as_defined(seed):
    """Levels, bins, costs of columns and chances are those of loops; chances are rounded up."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((40, 5)) < 0.5 + seed / 40).astype(int)
    k, absent = 2 + seed % 4, [j for j in range(5) if rng.random() < 0.4]
    labels = rng.choice(["no", "yes", "unknown"], len(rows), p=[0.9, 0.05, 0.05]).tolist()
    names = [f"x{j}" for j in range(5)]
    release, _ = publication(rows, names, tuple(labels), target="ill", k=k,
                             absent=[names[j] for j in absent])
    measured, true = release["measured"], naive_facts(rows, k, labels, absent)

    assert true["one_class"] == measured["one_class"]
    assert true["strangers"].keys() == measured["strangers"].keys()
    for who, group in measured["strangers"].items():
        for figure in ("level", "below", "alone"):
            assert true["strangers"][who][figure] == group[figure]
        average, exact = Fraction(group["average"]), true["strangers"][who]["average"]
        assert exact <= average <= exact + Fraction(2, 10**9)
    assert true["without"] == [without for _, _, without in measured["items"]]
    assert rows.sum(axis=0).tolist() == [held for _, held, _ in measured["items"]]
    bins = measured["strangers"]["known_class"]["bins"]
    assert (1, k - 1, "known_class") == (*bins[0][:2], measured["promised"])
    for low, high, group in bins:
        assert sum(low <= size <= (high or size) for size in true["sizes"]) == group
    assert len(rows) == sum(count for _, _, count in bins)


@pytest.mark.parametrize("model", ["containment", "k-anonymity"])
def test_closed_columns_are_counted_as_defined(model):
    """What a closed column would do is what happens when it is added, from the definition."""
    rng = np.random.default_rng(5)
    rows = (rng.random((60, 6)) < 0.5).astype(int)
    y = rng.integers(0, 2, 60).astype(np.int32)
    rule = Rule(k=3, classes=2, model=model, l_diversity=2)
    closures = closed(Labelled(Items.dense(rows), y, ("no", "yes")), rule, [0, 2])

    true = []
    for j in (1, 3, 4, 5):
        sets = [frozenset(np.flatnonzero(row)) for row in rows[:, [0, 2, j]]]
        crowds = [[i for i, other in enumerate(sets)
                   if (mine == other if model == "k-anonymity" else mine <= other)]
                  for mine in sets]
        true.append([f"x{j}", min(map(len, crowds)), sum(len(group) < 3 for group in crowds),
                     sum(len(set(y[group])) < 2 for group in crowds)])
    assert sorted(true, key=lambda items: (-items[1], items[2], items[3],
                                           items[0])) == closures["closed"]
    assert (60, 6, 0) == (closures["rows"], closures["items"], closures["passed_over"])


def test_a_large_table_is_not_counted_column_by_column(monkeypatch):
    """Above a public bound the costs of columns are left out, and the page says so."""
    from privsieve.containment import publish as module

    monkeypatch.setattr(module, "MOST_PAIRS", 1)
    release, certificate = publication(ROWS, ("a", "b", "c"))

    assert {None} == {without for _, _, without in release["measured"]["items"]}
    assert "The cost of each column was not counted" in Page(html(release, certificate)).words


def test_the_public_edition_knows_no_closed_column(published):
    """Only the internal edition names closed columns; the public one is not given them."""
    public, inner = (Page(data).words for data in (
        html(*published), internal_html(*published, CLOSED)))

    assert [True, True] == [word in inner for word in ("shut", "nearly")]
    assert [False, False] == [word in public for word in ("shut", "nearly")]
    assert "PRIVATE" in inner
    assert "DO NOT RELEASE" not in public
    assert "3 more columns were not examined" in inner


def test_what_is_published_reveals_no_more_than_the_table(published):
    """The facts of a release are those of its published table: rows left behind change nothing."""
    release, certificate = published
    again = facts(Projection(("a", "b", "c"), ROWS.astype(np.uint8), "ill",
                             ("x", "y", "x", "x", "y", "x")), certificate["claim"])

    assert {**again, "disclosure": []} == release["measured"]


@pytest.fixture
def privsieve(tmp_path, monkeypatch, cli):
    """Run one command line in an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return cli


def test_report(privsieve, tmp_path):
    """The verb makes the page again, byte for byte, and never overwrites; verify compares it."""
    selection(tmp_path).save("out")
    first = Path("out/report.html").read_bytes()

    assert 0 == privsieve("verify", "out")[0]
    assert 2 == privsieve("report", "out")[0]
    assert 0 == privsieve("report", "out", "--out", "again.html")[0]
    assert first == Path("again.html").read_bytes()
    assert 0o600 == stat.S_IMODE(Path("again.html").stat().st_mode)
    Path("out/report.html").write_bytes(first.replace(b"Public edition", b"Public  edition"))
    code, out, _ = privsieve("verify", "out")
    assert 7 == code
    assert "it was changed" in " ".join(out.split())
    other = re.sub(b'content="privsieve [^"]*', b'content="privsieve 0', first)
    Path("out/report.html").write_bytes(other)
    assert 7 == privsieve("verify", "out")[0]  # unsigned: such a page may say anything
    Path("out/report.html").unlink()
    assert 0 == privsieve("report", "out")[0]
    assert first == Path("out/report.html").read_bytes()


def test_no_report_of_a_release_that_does_not_hold(privsieve, tmp_path):
    """A changed release, or one without a certificate, gets no page."""
    selection(tmp_path).save("out")
    body = json.loads(Path("out/release.json").read_bytes())
    Path("out/release.json").write_bytes(canonical({**body, "selected": ["age", "sex"],
                                                    "warning": "x"}))
    code, _, err = privsieve("report", "out", "--out", "bad.html")

    assert 7 == code
    assert "is not valid" in err
    Path("out/certificate.json").unlink()
    assert 7 == privsieve("report", "out", "--out", "bad.html")[0]
    assert not Path("bad.html").exists()


@pytest.mark.parametrize("fault", [OSError(28, "full"), MemoryError(), KeyboardInterrupt()])
def test_a_fault_of_the_page_loses_no_release(tmp_path, monkeypatch, fault):
    """Whatever goes wrong with the page, the release that was paid for leaves, and verifies."""
    def broken(*_):
        raise fault

    monkeypatch.setattr("privsieve.report.html", broken)
    with Folder.create(tmp_path / "out") as folder:
        selection(tmp_path, folder=folder)

    assert {"release.json", "certificate.json"} == {
        path.name for path in (tmp_path / "out").iterdir()}
    assert ps.verify(tmp_path / "out" / "certificate.json", tmp_path / "out" / "release.json",
                     ledger=tmp_path / "budget.db").valid


def test_a_fault_before_the_page_is_a_failed_release(tmp_path, monkeypatch):
    """The page is the one part whose fault is forgiven: a certificate's is not."""
    whole = chain.certificate

    def broken(promised, data, *entries):
        if any(entries):  # and not the one that is looked at before the charge
            raise OSError(28, "full")
        return whole(promised, data, *entries)

    monkeypatch.setattr("privsieve.ledger.chain.certificate", broken)
    with Folder.create(tmp_path / "out") as folder, pytest.raises(ReleaseFailed) as failed:
        selection(tmp_path, folder=folder)

    assert "staged" == failed.value.state
    assert ["request.json"] == [path.name for path in (tmp_path / "out").iterdir()
                                if not path.name.startswith(".")]


def table():
    """Text of a small table for `publish`."""
    rng = np.random.default_rng(3)
    lines = ["dose,ward,smoker,ill"]
    for _ in range(200):
        dose = int(rng.integers(0, 10))
        lines.append(f"{dose},{'AB'[int(rng.integers(2))]},{int(rng.integers(2))},"
                     f"{'yes' if dose > 4 else 'no'}")
    return "\n".join([*lines, ""])


PUBLISH = ("publish", "t.csv", "--target", "ill", "-k", "5", "--publish-target")


def test_publish_writes_both_editions(privsieve):
    """The public page lies in the folder; the internal one where it was asked for, 0600."""
    Path("t.csv").write_text(table())
    code, _, err = privsieve(*PUBLISH, "--out", "out", "--internal-report", "in.html")
    assert 0 == code, err

    inner = harmless(Path("in.html").read_bytes())
    public = harmless(Path("out/report.html").read_bytes())
    assert 0o600 == stat.S_IMODE(Path("in.html").stat().st_mode)
    assert "PRIVATE" in inner.words
    assert "PRIVATE" not in public.words
    assert 0 == privsieve("verify", "out")[0]
    assert b"internal" not in Path("out/release.json").read_bytes()


def test_the_internal_report_is_new_and_goes_with_a_refusal(privsieve):
    """An existing file is left alone, nothing is published then; a refusal leaves no file."""
    Path("t.csv").write_text(table())
    Path("in.html").write_text("mine")

    assert 2 == privsieve(*PUBLISH, "--out", "out", "--internal-report", "in.html")[0]
    assert ("mine", False) == (Path("in.html").read_text(), Path("out").exists())
    assert 2 == privsieve(*PUBLISH, "--out", "out", "--internal-report", "out/in.html")[0]
    assert 5 == privsieve("publish", "t.csv", "--target", "ill", "-k", "190", "--out", "out",
                          "--internal-report", "new.html")[0]
    assert (False, False) == (Path("new.html").exists(), Path("out").exists())


def test_the_cost_is_exact(chosen):
    """The page prints the text of the cost, exact to nine decimals."""
    release, certificate = chosen
    claim = {**certificate["claim"], "epsilon": Cost.of("0.123456789").text}

    assert "ε = 0.123456789" in Page(html(release, {**certificate, "claim": claim})).words
