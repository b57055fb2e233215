"""Law: what a choice says of the classes.  Noisy counts that it paid for leave, and are judged."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privsieve as ps
from privsieve import verify
from privsieve.errors import SchemaError
from privsieve.fit import fit
from privsieve.methods import labels, noisy_top_k, plan
from privsieve.noise.streams import discrete_laplace, replay, system
from privsieve.public.canonical import canonical, digest
from privsieve.release import NEAR, NoisyCounts, Release, Selection
from privsieve.report import html
from privsieve.rows import open_source
from test_cli import DOMAIN, place, privsieve, rows, select  # noqa: F401  # fixtures

pytestmark = pytest.mark.filterwarnings("ignore::privsieve.fit.UnsignedWarning")
WARD = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(6)], target=ps.Label("y", ["nein", "ja"]))
PERSONS = ps.Domain(WARD.columns, target=WARD.target, person="who", persons=600, rows_per_person=4)
COMING = ps.Domain(WARD.columns, target=WARD.target, neighbours="add-remove", rows=700)
THREE = ps.Domain(WARD.columns, target=ps.Label("y", ["nein", "ja", "?"]))


def frame(count=600, share=0.4):
    """Columns of which the first decides the class."""
    import pandas as pd

    rng = np.random.default_rng(5)
    new_frame = pd.DataFrame(rng.random((count, 6)), columns=[f"x{j}" for j in range(6)])
    new_frame["y"] = np.where(new_frame["x0"].rank() <= share * count, "ja", "nein")
    return new_frame


def released(domain, X, method="rule-sieve", noise=None, **options):
    """A release of two columns, with a certificate."""
    if domain.person is not None:
        X = X.assign(who=np.arange(len(X)) // 2 % 600)
    planned = plan(method, domain, **{"k": 2, "epsilon": 2, "rows": len(X), **options})
    return fit(planned, open_source(X), noise=system() if noise is None else noise)


def fitted(domain=WARD, table=None, kind=ps.RuleSieve, **options):
    """A release with a certificate, without a ledger."""
    table = frame() if table is None else table
    if domain.person is not None:
        table = table.assign(who=np.arange(len(table)) // 2 % 600)
    return kind(2, epsilon=2, domain=domain, **options).fit(table).release_


MODES = {
    "rule-sieve": ("rule-sieve", WARD, {}, 1, Fraction(1, 10)),
    "all branches": ("rule-sieve", WARD, {"k": 3, "epsilon": 6}, 1, Fraction(1, 10)),
    "persons": ("rule-sieve", PERSONS, {}, 1, Fraction(1, 10)),
    "add-remove": ("rule-sieve", COMING, {}, 1, Fraction(1, 10)),
    "noisy-top-k": ("noisy-top-k", WARD, {}, 1, Fraction(1, 20)),
    "three classes": ("noisy-top-k", THREE, {"score": "class-counts"}, 2, Fraction(1, 20)),
    "never": ("rule-sieve", WARD, {"never": ["x5"]}, 1, Fraction(1, 10)),
}


@pytest.mark.parametrize(("method", "domain", "options", "moves", "share"), MODES.values(),
                         ids=MODES)
def test_the_counts_are_those_that_the_race_used(monkeypatch, method, domain, options, moves,
                                                 share):
    """They are the table's counts with the first noise that was drawn, and the weights' counts."""
    used, draws, shipped = [], [], discrete_laplace
    for module in (labels, noisy_top_k):
        monkeypatch.setattr(module, "balanced", lambda counts, scale, margin: used.append(
            tuple(counts)) or labels.equal(len(counts), scale))

    def drawn(mean, noise):
        draws.append((mean, shipped(mean, noise)))
        return draws[-1][1]

    monkeypatch.setattr("privsieve.noise.streams.discrete_laplace", drawn)
    body = released(domain, frame(), method, replay(3), **options).body
    counts, epsilon = Selection.counts_of(body), options.get("epsilon", 2)
    per, true = domain.unit_weight, [360, 240, 0][:domain.classes]
    if domain.person is not None:
        true = None  # of 300 persons each has two rows, which weigh a half each

    assert [counts.q] == used
    assert {moves * per / (share * epsilon)} == {counts.scale} == {mean for mean, _ in draws}
    assert "discrete-laplace" == body["class_counts"]["law"]
    if len(draws) == 1:
        assert sum(counts.q) == int(body["plan"]["units"]) * per
    if true is not None:
        table = [int((frame()["y"] == name).sum()) for name in domain.target.values]
        assert [q - noise for q, (_, noise) in zip(counts.q[-len(draws):], draws, strict=True)] == (
            table[-len(draws):])


def test_who_pays_for_no_counts_has_none():
    """Public shares, centred labels, averages and few rows release none."""
    for domain, options in ((WARD, {"class_prior": None}), (WARD, {"class_prior": "centred"}),
                            (WARD, {"class_prior": 0.3}), (THREE, {}), (WARD, {"epsilon": "0.3"})):
        assert "class_counts" not in released(domain, frame(), **options).body
    assert "class_counts" not in released(WARD, frame(), k=6).body
    assert "class_counts" not in fitted(kind=ps.NoisyTopK, class_prior=None).body


@pytest.mark.parametrize("options", [
    {}, {"never": ["x1"]},
    {"domain": PERSONS}, {"domain": COMING}, {"kind": ps.NoisyTopK},
    {"domain": THREE, "kind": ps.NoisyTopK}, {"joint": "pair"}], ids=str)
def test_counts_are_checked(options):
    """A true release holds; counts, noise, sums and branches of another one do not."""
    release = fitted(**options)
    body = copy.deepcopy(dict(release.body))
    counts = body["class_counts"]

    def reasons(**changed):
        forged = {**body, "class_counts": {**counts, **changed}} if changed.get("q", 1) else {
            name: value for name, value in body.items() if name != "class_counts"}
        certificate = {**release.certificate, "release_sha256": digest(canonical(forged))}
        return verify(certificate, forged).reasons

    first, *others = map(int, counts["q"])
    assert () == reasons(law="discrete-laplace") == verify(release.certificate, body).reasons
    assert any("one count for each class" in reason for reason in reasons(q=[*counts["q"], "1"]))
    assert any("only one of release and plan" in reason for reason in reasons(q=None))
    assert any("noise of the class counts differs" in reason for reason in reasons(scale="1"))
    assert any("noise of the class counts" in reason for reason in reasons(per=counts["per"] + 1))
    for wrong in (["1.5"] * len(counts["q"]), [1, 2], ["007", "1"], ["9" * 50, "1"]):
        assert any("class_counts" in reason for reason in reasons(q=wrong))
    if len(others) == 1 and release.body["domain"]["neighbours"] == "replace-one":
        assert any("do not add up" in reason
                   for reason in reasons(q=[str(first + 1), str(others[0])]))
    if body.get("branch") != "one race" and len(body["plan"]["settings"].get("branches", ())) > 1:
        rare = [str(first + others[0]), "0"]
        assert any("branch of the release does not follow" in reason for reason in reasons(q=rare))


def test_a_branch_follows_from_the_counts_in_every_case(monkeypatch):
    """The checker's branch is the one that ran, from no row of a class to all of them."""
    seen = set()
    monkeypatch.setattr("privsieve.noise.streams.discrete_laplace", lambda _mean, _noise: 0)
    for domain, k in ((WARD, 2), (COMING, 2), (WARD, 3)):
        for share in (0, 0.02, 0.08, 0.1, 0.14, 0.2, 0.5, 0.93, 1):
            release = ps.RuleSieve(k, epsilon=2, domain=domain).fit(frame(700, share)).release_
            seen.add(release.body["branch"])
            assert () == verify(release.certificate, release.body).reasons

    assert {"one race", "pairs", "rounds"} == seen


def test_when_a_class_is_not_found():
    """Up to 7 scales of the noise, of these at most a fifth of an even share: public numbers."""
    def gone(*q, scale=10, per=1, units=3000):
        counts = NoisyCounts(q, per, Fraction(scale), tuple("abc"[:len(q)]), units)
        return counts.missing("row")

    assert ["", "class b: about 70 of 3,000 rows", "class b: about 0 of 3,000 rows"] == [
        gone(3000 - number, number) for number in (71, 70, -40)]
    assert ["", "class b: about 20 of 200 rows"] == [gone(200 - number, number, units=200)
                                                     for number in (21, 20)]
    assert "class a: about 0 of 3,000 rows; class c: about 40 of 3,000 rows" == gone(-9, 2900, 40)
    assert ["", "class b: about 5 of 3,000 rows"] == [
        gone(12 * 2900, 12 * number, scale=120, per=12) for number in (71, 5)]
    q = math.exp(-1 / 10)  # of discrete Laplace noise of scale 10
    assert q**(10 * NEAR + 1) / (1 + q) < math.exp(-NEAR) / 2 < 0.0005


def test_a_target_in_other_words_is_the_headline(privsieve, monkeypatch):  # noqa: F811
    """Terminal, page, notebook and verify say that it was not found, and none of them praises."""
    # One in two thousand draws of the noise takes an empty class for one that is there.
    monkeypatch.setattr("privsieve.noise.streams.discrete_laplace", lambda _mean, _noise: 8)
    Path("table.csv").write_text(rows(3000).replace(",yes", ",ja").replace(",no\n", ",nein\n"))
    _code, _out, err = privsieve(*select(data="table.csv"))
    text = " ".join(err.split())
    release = ps.load("first")
    page = Path("first/report.html").read_text()
    gone = "class yes: about 8 of 3,000 rows: check the domain file"

    assert f"NOT FOUND: {gone}" in text
    assert gone == release.missing
    assert str(release).startswith("Release: target NOT FOUND; ")
    assert release.missing in " ".join(str(release).split())
    assert release.missing in release._repr_html_()
    answered = page.partition("What was answered")[2].partition("What it cost")[0]
    assert "<b>The target was not found:</b> class yes: about " in answered
    for praise in ("would be right", "would be found"):
        assert praise not in text + page + str(release)
    assert (None, "") == (release.right, release.expected)
    code, out, _err = privsieve("verify", "first")
    assert 0 == code
    assert "the target was not found" in " ".join(out.split())
    _code, out, _err = privsieve(*select(out="second"), "--json")
    assert "class yes: about" in json.loads(out)["not_found"]


def test_a_target_that_is_read_is_no_headline(privsieve):  # noqa: F811
    """Counts stand on screen and page with how far off they may be; the forecast stands."""
    Path("table.csv").write_text(rows(3000))
    _code, _out, err = privsieve(*select())
    text, release = " ".join(err.split()), ps.load("first")
    page = Path("first/report.html").read_text()

    assert "NOT FOUND" not in text + str(release)
    assert "not found" not in page.replace("counts as not found", "")
    assert Selection.counts_of(release.body).text in text
    assert text.count("would be right on a usual table") == 1
    assert "(± 30)" in Selection.counts_of(release.body).text
    assert 'id="classes"' in page
    assert "the target was not found" not in privsieve("verify", "first")[1]


def test_a_page_of_forged_counts_is_refused_in_words():
    """Counts that privsieve did not write raise one sentence, and no page is made of them."""
    release = fitted()
    for wrong in ({"q": ["1"]}, {"q": ["x", "1"]}, {"scale": "1e999999999"}, {"scale": "1/0"},
                  {"per": 0}, {"per": True}):
        body = {**release.body, "class_counts": {**release.body["class_counts"], **wrong}}
        with pytest.raises(SchemaError):
            Release(body, release.certificate).expected  # noqa: B018  # a property
        with pytest.raises(SchemaError):
            html(body, release.certificate)
