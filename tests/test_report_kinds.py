"""Law: reports of numbers.  Weights, models and tables, each told as far as its noise lets."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from privsieve.check.verify import verify
from privsieve.errors import SchemaError
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import canonical, digest
from privsieve.public.plan import sentence
from privsieve.release import Histogram, Release
from privsieve.report import html
from privsieve.report.figures import up
from privsieve.report.histogram import labels, margins
from privsieve.report.numbers import NoiseFigure
from privsieve.report.regression import labels_of
from privsieve.telling.document import clean
from releases import ANSWERS, KINDS, NAMES, SAYS, TARGETS, domain_of, many, released, true
from test_report import CLASSES, HOSTILE, SENTINEL, Page, harmless, privsieve, swapped

__all__ = ["privsieve"]  # a fixture of theirs

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
LONG = ("W" * 128, "a_b" * 40, "<b>" * 40)
HUNDREDS = (*NAMES, *(f"flag_number_{j}" for j in range(297)))


def of_columns(kind, columns):
    """A release of this kind for any columns."""
    says = many(kind, columns)
    return released(kind, says=says, settings={"k": len(says["selected"])},
                    domain=domain_of(columns, target=TARGETS.get(kind)))


def answered():
    """A release of answers, as a session makes it."""
    return released("regression", says=ANSWERS, forecast={
        "noise_each": "22.5", "noise_prediction": "0.2", "expected_error": "0.5",
        "longest": "9"})


@pytest.fixture
def book(tmp_path):
    """A ledger with 3 granted."""
    ledger = Ledger(str(tmp_path / "budget.db"), population="clinic-2026")
    ledger.grant(epsilon=3)
    return ledger


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_is_harmless(kind):
    """Nothing runs or loads, whatever the columns are called and however many they are."""
    pages = [harmless(html(*of_columns(kind, columns)))
             for columns in (NAMES[:1], NAMES, LONG, HUNDREDS)]

    for page in pages:
        assert {value for _, key, value in page.attributes if key == "class"} <= CLASSES
        for word in ("asked", "answered", "cost", "protects", "not protect"):
            assert word in page.inside("dt")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_do_no_harm(kind, text):
    """A hostile column, level, edge, setting or warning shows as text, and is no more."""
    release, certificate = released(kind, warning=text)
    hurt = release
    for old in ("age", "M", "27.5", "0.1"):
        hurt = swapped(hurt, old, text)
    signed = {**certificate, "domain_sha256": digest(canonical(hurt["domain"])),
              "claim": swapped(certificate["claim"], "ideal-bits", text)}
    data = html(hurt, signed)
    page = harmless(data)

    assert len(data) < 100_000
    assert not re.search(r"alert|onerror|\*\{\}|cmd", page.titles[0])
    assert {value for _, key, value in page.attributes if key == "class"} <= CLASSES
    if clean(text):
        assert clean(text) in page.inside("bdi")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_all_of_its_certificate(kind, book):
    """Every fact of claim, plan, charge and release that a reader needs stands on the page."""
    release, certificate = released(kind, ledger=book, warning="few rows")
    words = Page(html(release, certificate)).words
    claim, ledger = certificate["claim"], certificate["ledger"]

    for fact in (claim["epsilon"], claim["mechanism"], claim["theorem"], *claim["assumes"],
                 claim["unit"], claim["account"], sentence(certificate), "clinic-2026",
                 certificate["release_sha256"], certificate["domain_sha256"], ledger["head"],
                 ledger["request"], digest(canonical(certificate)), *release["selected"],
                 *certificate["plan"]["settings"], release["domain"]["target"]["name"],
                 "Warning before the charge: few rows.", up(Fraction(release["noise"]["each"]))):
        assert fact in words, fact
    assert ledger["reserved_at"] not in words


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_nothing_else(kind):
    """What a release might hold of rows by mistake does not reach the page."""
    release, certificate = released(kind)
    planted = dict.fromkeys(("true", "exact", "counts", "moments", "seconds", "path", "user",
                             "data_sha256", "rows_read"), SENTINEL)
    body = {**release, **planted, "forecast": {**release["forecast"], **planted},
            "plan": {**release["plan"], **planted}}
    signed = {**certificate, **planted}

    assert html(release, certificate) == html(body, signed).replace(
        digest(canonical(signed)).encode(), digest(canonical(certificate)).encode())
    for key in ("noise", "values", "cells"):
        if key in release:
            with pytest.raises(SchemaError, match="lacks a value that a report needs"):
                html({**release, key: {**release[key], **planted}}, certificate)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_the_same_files_is_the_same(kind):
    """Equal files give equal bytes, in any order of keys."""
    release, certificate = released(kind)
    backwards = json.loads(json.dumps(release), object_pairs_hook=lambda p: dict(p[::-1]))

    assert html(release, certificate) == html(backwards, certificate)


@pytest.mark.parametrize("kind", KINDS)
def test_a_delta_is_said(kind):
    """A promise with a delta shows it, and no range that would hold without it."""
    words = Page(html(*released(kind, delta="1e-6"))).words

    assert "(ε, δ)-differential privacy" in words
    assert "This page does not show how sure an attacker can become" in words
    assert "+ 0.000001" in words
    assert "times more or less" not in words


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [-30, -9, -3, 0, 3, 9, 30])
def test_digits_follow_the_noise(seed, size):
    """A number is shown to the second digit of its noise: no finer, and half a step off."""
    rng = np.random.default_rng(seed)
    each = Fraction(int(rng.integers(100, 999))) * Fraction(10)**size
    value = each * Fraction(int(rng.integers(-9999, 9999)), 10**int(rng.integers(1, 5)))
    changed = NoiseFigure("gaussian", each).text_of(value).replace(",", "").replace(MINUS, "-")
    step = Fraction(10)**(size + 1)  # the noise has three digits, and the third is dropped

    assert abs(Fraction(changed) - value) <= step / 2
    assert 0 == Fraction(changed) % step
    assert "-0" != changed.rstrip("0.")
    assert len(changed.partition(".")[2]) == max(0, -size - 1)


def test_noise_is_rounded_up():
    """A standard deviation is never told smaller than it is, nor a tenth larger."""
    for whole in range(1, 5000, 7):
        for scale in (-12, -2, 0, 5):
            value = Fraction(whole) * Fraction(10)**scale
            number = Fraction(up(value).replace(",", ""))

            assert value <= number <= value * Fraction(11, 10)


def test_weights_are_drawn_where_they_are():
    """Bars begin at zero, end at their value, and the band is one deviation on each side."""
    release, certificate = released("weights")
    values = [Fraction(q, 2**10) for q in SAYS["weights"]["values"]["q"]]
    each = Fraction(release["noise"]["each"])
    low, high = min(-each, *values), max(each, *values)
    page = html(release, certificate).decode().partition("Released weights")[2]
    rects = re.findall(r'x="([\d.]+)%" y="1" width="([\d.]+)%" height="12" class="(f\d)"', page)

    expected = []
    for value, kind in ((values[0], "f1"), (values[2], "f1"), (values[1], "f2")):
        for begin, end, mark in ((-each, each, "f3"), (min(0, value), max(0, value), kind)):
            expected.append((f"{float(100 * (begin - low) / (high - low)):.2f}",
                             f"{float(100 * (end - begin) / (high - low)):.2f}", mark))
    assert expected == rects[:6]


def test_weights_are_told_and_chosen():
    """Chosen columns stand first, the larger weight before; each weight is next to its name."""
    page = html(*released("weights")).decode().partition("Released weights")[2]
    rows = re.findall(r'<code translate="no"><bdi>(\w+)</bdi></code>.*?<td>(?:<[^>]*>)?([^<]+).*?'
                      r'<td class="r">([^<]+)</td>', page.partition("</table>")[0], re.DOTALL)

    assert [("age", "chosen", "0.88"), ("sex", "chosen", "0.41"),
            ("dose", DASH, f"{MINUS}0.13")] == rows


def test_many_weights_are_cut_with_a_word():
    """Of more weights than a page takes the first ones are shown, and it says where the rest is."""
    columns = tuple(f"c{j}" for j in range(3, 350))
    data = html(*of_columns("weights", (*NAMES, *columns)))

    assert 300 == data.partition(b"</table>")[0].count(b'class="bar"')
    assert "The other 50 weights are in release.json." in Page(data).words


@pytest.mark.parametrize("length", [("3", "1.9"), ("0.5", "2")])
def test_the_strength_of_noise_is_said(length):
    """Noise that is longer than the weights can be is called noise; else its part is told."""
    noise, longest = length
    words = Page(html(*released("weights", forecast={
        "noise_each": "0.12", "noise_length": noise, "longest": longest}))).words

    assert ("close to noise alone" in words) == (Fraction(noise) >= Fraction(longest))
    assert ("about 25 % as long" in words) == (noise == "0.5")


@pytest.mark.parametrize("seed", range(10))
def test_margins_are_the_sums(seed):
    """The counts of a column are the sums of the table, whole or with cells that are not named."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 5, int(rng.integers(1, 5))).tolist()
    counts = rng.integers(-5, 50, shape)
    axes = range(len(shape))
    expected = [counts.sum(axis=tuple(a for a in axes if a != axis)).tolist() for axis in axes]
    named = np.flatnonzero(counts.ravel() > 10)

    assert expected == margins(shape, counts.ravel().tolist(), range(counts.size))
    few = np.where(counts > 10, counts, 0)
    assert [few.sum(axis=tuple(a for a in axes if a != axis)).tolist() for axis in axes] == margins(
        shape, counts.ravel()[named].tolist(), named.tolist())


def test_margins_are_not_negative():
    """A sum that noise made negative is shown as zero; the others as they are."""
    says = {**SAYS["histogram"], "cells": {**SAYS["histogram"]["cells"], "q": [-9] * 12 + [7] * 12}}
    page = html(*released("histogram", says=says)).decode().partition('<h2 id="alone">')[2]
    counts = re.findall(r'<td class="r">([^<]+)</td>', page.partition("</section>")[0])

    assert ["0", "0", "42", "42", "0", "0", "0", "0", "0"] == counts
    assert MINUS not in "".join(counts)


@pytest.mark.parametrize(("kind", "message"), [
    ("weights", ["standard deviation 0.13", "about 0.22 long", "at most 1.9 long",
                 "2 of 3 released weights", "about 12 % as long",
                 "3 weights, of which 2 stand out from the noise. The 2 largest"]),
    ("regression", ["standard deviation 0.13", "about 0.22 long", "at most 1.6 long",
                    "standard deviation 0.018 of half the target",
                    "0.22 of half the target"]),
    ("histogram", ["standard deviation 2.9", "Noise on a sum of 6 cells", "standard deviation 7.0",
                   "about 0.61 % of the rows"])])
def test_the_forecast_is_told(kind, message):
    """Every figure of a forecast stands on the page, rounded up."""
    words = Page(html(*released(kind))).words

    assert [] == [text for text in message if text not in words]


def test_cells_that_are_not_named_are_said():
    """Where only large cells are named the page says so, and how many."""
    says = {**SAYS["histogram"],
            "cells": {**SAYS["histogram"]["cells"], "place": [0, 4, 5], "q": [40, 31, 77]}}
    words = Page(html(*released("histogram", says=says, delta="1e-6"))).words

    assert "3 counts, of 24 combinations" in words
    assert "3 cells are named. Their noisy counts reached a threshold" in words


def test_a_table_counts_rows_whoever_is_protected():
    """Where a person is protected, counts are still of rows, and the page says both."""
    domain = domain_of(person="who", rows_per_person=3, persons=500)
    words = Page(html(*released("histogram", domain=domain))).words

    assert "How many rows are there for each combination of 3 columns?" in words
    assert "If any one person were replaced by any other, each table of counts" in words
    assert "At most 3 rows of each person were used." in words
    assert "their sum is the noisy sum" in words
    assert "persons by" not in words


def test_a_choice_before_a_table_is_said():
    """Where columns were chosen first, the page says by what, and what that cost."""
    choice = {"method": "rule-sieve/2", "epsilon": "0.2", "settings": {"k": 2}}
    words = Page(html(*released("histogram", settings={"k": 2, "choice": choice}))).words

    assert "chosen first, out of 3, by rule-sieve/2. This choice cost ε = 0.2 of the total" in words
    assert "chosen first" not in Page(html(*released("histogram"))).words


def test_cells_have_the_names_of_the_domain():
    """A level, a range, a date and what is missing are named by the domain and the public edges."""
    dates = ["2020-01-01", "2020-07-01T12:00:00", "2020-12-31"]

    assert ["A", "1", "other"] == labels({"kind": "category", "values": ["A", 1]}, None, 3)
    assert ["no", "yes"] == labels({"kind": "label", "values": ["no", "yes"]}, None, 2)
    assert [f"{dates[0]} to {dates[1]}", f"{dates[1]} to {dates[2]}"] == labels(
        {"kind": "date"}, dates, 2)
    assert ["0 to 50", "50 to 1,234,567", "missing"] == labels(
        {"kind": "number"}, ["0.0", "50.00076296", "1234567.0"], 3)
    with pytest.raises(ValueError, match="not those"):
        labels({"kind": "flag"}, None, 3)


def test_a_linear_model_names_its_weights():
    """Constant, columns and levels are named in the order of the features; others have no bars."""
    words = Page(html(*released("regression"))).words
    other = {**SAYS["regression"], "features": {"map": "fourier", "features": 6, "gamma": "1",
                                                "seed": 0}}

    assert ["(constant)", "age", "dose", "sex: F", "sex: M", "sex: other"] == labels_of(
        released("regression")[0]["domain"])
    assert "sex: other" in words
    assert "sex: other" not in Page(html(*released("regression", says=other))).words
    assert "None of them belongs to one column alone." in Page(
        html(*released("regression", says=other))).words


def test_answers_are_told_with_their_noise():
    """Answers of a session stand on the page as far as their noise lets, and no formula does."""
    data = html(*answered())
    words = harmless(data).words

    assert "2 answers, with noise." in words
    assert ["88", f"{MINUS}3"] == re.findall(r'<td class="r">([^<]+)</td>', data.decode())[:2]
    assert "privsieve predict" not in words


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_saved_checked_and_reported(kind, book, privsieve, tmp_path):
    """Of each kind the folder holds a page that its files give, and is valid with its ledger."""
    Release(*true(kind, ledger=book)).save("out")

    assert {"release.json", "certificate.json", "report.html"} == {
        path.name for path in Path("out").iterdir()}
    assert 0 == privsieve("report", "out", "--out", "again.html")[0]
    assert Path("out/report.html").read_bytes() == Path("again.html").read_bytes()
    assert (0, "valid") == (privsieve("verify", "out", "--ledger", book.path)[0],
                            privsieve("verify", "out")[1].split()[0])
    assert ps.load("out").selected == tuple(SAYS[kind]["selected"])


#: Changes of a true release that its checker has to find, and a word of the reason.
WRONG = [
    ("weights", ("values", "exponent"), "x"),
    ("weights", ("values", "exponent"), 5000),
    ("weights", ("values", "q"), [1, 2]),
    ("weights", ("values", "q"), [1, 2, True]),
    ("weights", ("values", "q"), ["1", "2", "3"]),
    ("weights", ("values",), {"exponent": -3, "q": [1, 2, 3], "w": []}),
    ("weights", ("values",), None),
    ("weights", ("noise",), None),
    ("weights", ("noise", "each"), "-1"),
    ("weights", ("noise", "each"), "0"),
    ("weights", ("noise", "each"), "much"),
    ("weights", ("selected",), ["age"]),
    ("weights", ("selected",), ["age", "nobody"]),
    ("weights", ("selected",), ["age", "dose"]),
    ("regression", ("features",), None),
    ("regression", ("features", "map"), "magic"),
    ("regression", ("features", "features"), 7),
    ("regression", ("values", "q"), [1]),
    ("regression", ("selected",), ["age", "age"]),
    ("histogram", ("cells",), None),
    ("histogram", ("cells", "shape"), [4, 3]),
    ("histogram", ("cells", "shape"), [4, 3, 0]),
    ("histogram", ("cells", "shape"), [4, 3, 65537]),
    ("histogram", ("cells", "names"), ["sex", "age", "ill"]),
    ("histogram", ("cells", "names"), ["age", "sex", "ill", "x"]),
    ("histogram", ("cells", "bins"), []),
    ("histogram", ("cells", "q"), [1, 2]),
    ("histogram", ("cells", "q"), ["1"] * 24),
    ("histogram", ("cells", "place"), [3, 2]),
    ("histogram", ("cells", "place"), list(range(23))),
    ("histogram", ("cells", "place"), [*range(23), 24]),
    ("histogram", ("cells", "place"), [*range(22), 23, 23]),
]


def changed(release, path, value):
    """A release in which one thing is another."""
    if not path:
        return value
    return {**release, path[0]: changed(release[path[0]], path[1:], value)}


@pytest.mark.parametrize(("kind", "path", "value"), WRONG, ids=range(len(WRONG)))
def test_wrong_numbers_are_found(kind, path, value):
    """A certificate of numbers that are not what their kind is does not hold, with a reason."""
    body, certificate = true(kind)
    wrong = changed(body, path, value)
    signed = {**certificate, "release_sha256": digest(canonical(wrong))}
    reasons = verify(signed, wrong).reasons

    assert re.search(rf"{path[0]}|select", reasons[0])
    assert not verify(certificate, wrong).valid


@pytest.mark.parametrize("columns", [4, 300_000])
def test_a_table_beyond_all_places_is_refused(columns):
    """More cells than a double tells apart were never planned; they are not even counted."""
    names = [f"x{j}" for j in range(columns)]
    table = {"names": names, "shape": [65536] * columns, "bins": {}, "place": [], "q": []}

    with pytest.raises(SchemaError, match="table of counts"):
        Histogram.read({"selected": names, "cells": table,
                        "noise": {"law": "discrete-laplace", "each": "1"}})


@pytest.mark.parametrize("kind", [*KINDS, "selection"])
def test_the_kind_is_bound(kind):
    """A release of one kind does not pass for another, and no unknown kind passes."""
    body, certificate = true(kind if kind in KINDS else "weights")
    assert verify(certificate, body).valid
    for other in {*KINDS, "selection", "poem"} - {body["kind"]}:
        claim = {**certificate["claim"], "kind": other}
        reasons = verify({**certificate, "claim": claim}, body).reasons

        assert re.match("the (certificate does not have the fields|kind of the release|claim "
                        "does not name a known kind)", reasons[0])


def test_positive_weights_are_as_many_as_there_are():
    """Where columns above zero were asked for, those are selected, and one where there is none."""
    for q, selected, valid in (([9, -3, 1], ["age", "sex"], True), ([9, -3, 0], ["age"], True),
                               ([-9, -3, -4], ["dose"], True), ([9, -3, 1], ["age"], False),
                               ([-9, -3, -4], [], False), ([0, 0, 0], ["age"], True)):
        body, certificate = true("weights", settings={"k": "positive"}, numbers=q)
        body["selected"] = selected
        certificate["release_sha256"] = digest(canonical(body))

        assert valid == verify(certificate, body).valid


@pytest.mark.parametrize(("kind", "path", "value"), [
    ("weights", ("forecast", "longest"), "1e999999999"), ("weights", ("noise", "each"), "1e99999"),
    ("weights", ("values", "exponent"), 10**9), ("weights", ("forecast", "noise_length"), 7),
    ("regression", ("forecast", "expected_error"), "9" * 10_000),
    ("histogram", ("cells", "shape"), [2**40, 3, 2]), ("histogram", ("noise", "each"), "nan")])
def test_a_page_takes_no_number_that_would_take_for_ever(kind, path, value):
    """A number that privsieve does not write is refused at once, and not computed."""
    body, certificate = released(kind)
    wrong = changed(body, path, value)
    if path[0] == "cells":
        wrong["cells"]["place"] = [1] * 24

    with pytest.raises(SchemaError, match="lacks a value that a report needs"):
        html(wrong, certificate)


def test_answers_are_checked():
    """Answers belong to queries, and are numbers."""
    X, _, days = _rows(60)
    domain = ps.Domain.box(0, 1, columns=4, target=(0, 100))
    with ps.KernelRidgeSession(X, days, domain=domain) as session:
        session.predict_batch(X[:2], epsilon=5)
        body, certificate = session.release_.body, session.release_.certificate
    assert verify(certificate, body).valid
    for wrong in ({"answers": ["1"]}, {"answers": [1, 2]}, {"answers": ["1", "x"]},
                  {"queries": None}):
        less = {**body, **wrong}
        reasons = verify({**certificate, "release_sha256": digest(canonical(less))}, less).reasons
        assert re.search("answers|queries|refuses to plan it|at the file$", reasons[0])


@pytest.mark.parametrize(("kind", "claim", "several"), [
    ("weights", "any released vector of weights by a factor",
     "any collection of released vectors of weights by a factor"),
    ("regression", "any released model by", "any collection of released models by"),
    ("histogram", "any released table of counts by",
     "any collection of released tables of counts by")])
def test_the_claim_is_a_sentence(kind, claim, several):
    """Each kind has its sentence; with a delta it describes collections."""
    assert claim in sentence(released(kind)[1])
    assert several in sentence(released(kind, delta="1e-6")[1])
    assert "at most 0.000001 beyond that." in sentence(released(kind, delta="1e-6")[1])


def _rows(n=400):
    rng = np.random.default_rng(3)
    X = rng.random((n, 4))
    return X, (X[:, 0] > 0.5).astype(int), 100 * X[:, 0]


def _learnt(kind, **options):
    X, y, _ = _rows()
    return getattr(ps, kind)(epsilon=5, domain=ps.Domain.box(0, 1, columns=4), **options).fit(X, y)


def _fitted(kernel):
    X, _, days = _rows()
    domain = ps.Domain.box(0, 1, columns=4, target=(0, 100))
    return ps.PrivateKernelRidge(kernel=kernel, epsilon=5, domain=domain, lam="0.1").fit(X, days)


REAL = {
    "output": lambda: _learnt("OutputFWELL", n_features_to_select=2),
    "positive": lambda: _learnt("OutputFWELL", n_features_to_select="positive"),
    "felp": lambda: _learnt("FELP", n_features_to_select=1),
    **{kernel: lambda kernel=kernel: _fitted(kernel)
       for kernel in ("linear", "rbf", "cosine")},
    "table": lambda: _learnt("NoisyHistogram", columns=["x0", "x2"], bins=3),
    "named": lambda: _learnt("NoisyHistogram", columns=["x0"], bins=3, delta="1e-6"),
    "chosen": lambda: _learnt("NoisyHistogram", n_features_to_select=1, bins=3),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REAL)
def test_what_methods_release_is_told_and_holds(name):
    """A release of every method is valid, and its page is harmless and names its proofs."""
    release = REAL[name]().release_
    page = harmless(html(release.body, release.certificate))

    assert () == verify(dict(release.certificate), dict(release.body)).reasons
    assert "The proofs are in the package" in page.words
    assert f"{release.certificate['claim']['theorem']}" in page.words


@pytest.mark.filterwarnings("ignore")
def test_what_a_session_releases_is_told_and_holds():
    """The releases of a session, too: one answer, and some answers."""
    X, _, days = _rows()
    domain = ps.Domain.box(0, 1, columns=4, target=(0, 100))
    releases = []
    with ps.KernelRidgeSession(X, days, domain=domain) as session:
        for ask in (lambda: session.predict_one(X[0], epsilon=1),
                    lambda: session.predict_batch(X[:3], epsilon=1)):
            ask()
            releases.append(session.release_)
    pages = []
    for release in releases:
        page = harmless(html(release.body, release.certificate))
        pages.append(page.words)

        assert () == verify(dict(release.certificate), dict(release.body)).reasons
        assert "The proofs are in the package" in page.words
    assert all("in the order of the queries" in words for words in pages)
