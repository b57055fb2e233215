"""Law: a certificate assumes what the proofs that it rests on assume, all of it and no more."""

from __future__ import annotations

import re

import numpy as np
import pytest

import privsieve as ps
import tables
from every_method import THEOREMS
from privsieve.check.verify import verify
from privsieve.methods import METHODS, plan
from privsieve.public.plan import SENTENCES, terms
from privsieve.report import html
from privsieve.summaries.scores import SCORES
from proofs import SRC
from releases import released, true
from test_report import Page

PACKAGE = SRC / "privsieve"
PROOFS = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
          for path in sorted(PACKAGE.rglob("*.proof.md"))}
LEARNED = {"k": 2, "lam": "0.1", "epsilon": 1, "rows": 300}


def line(file, name):
    """The entries of a line such as `assumes: a, b`; none where it says none."""
    matches = re.findall(rf"^{name}: (.*)$", PROOFS[file], re.MULTILINE)
    assert 1 == len(matches), f"{file} has {len(matches)} lines {name!r}"
    return [] if matches[0] == "none" else matches[0].split(", ")


def closure(file):
    """A proof and all that it rests on."""
    reached = [file]
    for theorem in reached:  # grows while it is read
        reached += [other for other in line(theorem, "rests on") if other not in reached]
    return reached


def named_proofs(file):
    """The proofs that one names in its text: with their folder, or alone; one beside it first."""
    for folder, name in re.findall(r"([a-z_/]*/)?([a-z_]+)\.proof\.md", PROOFS[file]):
        beside = f"{folder or file.rpartition('/')[0] + '/'}{name}.proof.md"
        yield from [beside] if beside in PROOFS else [
            other for other in PROOFS if other.endswith(f"/{name}.proof.md")]


def proof_of(theorem):
    """The one file that proves it."""
    files = [file for file, text in PROOFS.items() if text.startswith(f"# {theorem}\n")]
    assert 1 == len(files), theorem
    return files[0]


@pytest.mark.parametrize("file", PROOFS)
def test_proofs_use_the_known_words(file):
    """What a proof assumes is said in words that have a sentence, in the order of the sentences."""
    words = line(file, "assumes")

    assert words == [word for word in SENTENCES if word in words]


@pytest.mark.parametrize("file", PROOFS)
def test_a_proof_rests_on_all_that_it_names(file):
    """Each proof that a proof mentions is listed in its line `rests on`, which names files."""
    rests = line(file, "rests on")

    assert len(rests) == len(set(rests))
    assert set(rests) <= PROOFS.keys() - {file}
    assert set() == set(named_proofs(file)) - {file} - set(rests)


@pytest.mark.parametrize("theorem", THEOREMS)
def test_a_theorem_assumes_what_its_proofs_assume(theorem):
    """The table of theorems is the union of the `assumes` lines of all proofs below each."""
    needed = {word for file in closure(proof_of(theorem)) for word in line(file, "assumes")}

    assert THEOREMS[theorem] == tuple(word for word in SENTENCES if word in needed)


def plans():
    """A plan of each method with its options: name, plan, theorem."""
    labels, numbers = tables.domain("n" * 6), ps.Domain.box(0, 1, columns=6, target=(0, 1))
    sieve, added = {"k": 3, "epsilon": 1, "rows": 300}, {"neighbours": "add-remove", "rows": 300}
    persons = {"person": "who", "persons": 300, "rows_per_person": 3}
    for options in ({}, {"joint": "pair"}, {"joint": "rounds", "k": 5}, {"depth": 1}, {"k": 6},
                    {"class_prior": None}, {"delta": "1e-6"}, {"ordered": True}):
        yield "rule-sieve", labels, {**sieve, **options}, "rule-sieve"
    for way in ("auto", "ranks", "median-cut"):
        yield "rule-sieve", numbers, {**sieve, "numeric": way}, "rule-sieve-numeric"
    for domain in (tables.domain("n" * 6, **added), tables.domain("n" * 6, **persons)):
        yield "rule-sieve", domain, {"k": 3, "epsilon": 1}, "rule-sieve"
        yield "block-fwell", domain, {"k": 3, "epsilon": 1}, "block-fwell"
        yield "noisy-top-k", domain, {"k": 3, "epsilon": 1}, "noisy-top-k"
    yield "block-fwell", labels, {**sieve, "votes": "clip"}, "block-fwell"
    for score in SCORES:
        yield ("noisy-top-k", numbers if score == "correlation" else labels,
               {**sieve, "score": score}, "noisy-top-k")
    for method in ("output-fwell", "felp", "objective-fwell"):
        yield method, labels, LEARNED, method
    yield "output-fwell", labels, {"delta": "1e-6", **LEARNED}, "output-fwell"
    yield "felp", labels, {"delta": "1e-6", **LEARNED}, "felp"
    yield "kernel-ridge", numbers, {"lam": "0.1", "epsilon": 1, "rows": 300}, "ridge"
    yield "noisy-histogram", labels, {**sieve}, "noisy-histogram"
    yield ("noisy-histogram", labels, {"columns": ["x0"], "epsilon": 1, "rows": 300,
                                       "delta": "1e-6"}, "noisy-histogram")


CASES = list(plans())


@pytest.mark.parametrize(("method", "domain", "options", "theorem"), CASES,
                         ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_a_plan_assumes_what_its_theorem_does(method, domain, options, theorem):
    """Whatever the options: the words of the plan are those of its theorem."""
    planned = plan(method, domain, **options)
    claim = terms(planned, {"privsieve": "0"})["claim"]

    assert theorem == planned.theorem == claim["theorem"]
    assert list(THEOREMS[theorem]) == list(planned.assumes) == claim["assumes"]


def test_no_method_and_no_theorem_is_forgotten():
    """The plans above are of every method; with the session's they are of every theorem."""
    with ps.KernelRidgeSession(np.zeros((4, 2)), np.zeros(4), lam="1",
                               domain=ps.Domain.box(0, 1, columns=2, target=(0, 1))) as session:
        planned = session.plan([[0.5, 0.5]], epsilon=1)

    assert planned.assumes == THEOREMS[planned.theorem] == tuple(SENTENCES)[:3]
    assert set(METHODS) == {case[0] for case in CASES}
    assert set(THEOREMS) == {case[3] for case in CASES} | {planned.theorem}


@pytest.mark.parametrize("theorem", ["anything", "block-fwell"])
def test_a_theorem_of_another_method_is_refused(theorem):
    """A claim names a theorem of its method."""
    release, certificate = true("weights")
    certificate["claim"]["theorem"] = theorem

    assert ("this version does not have the theorem or an assumption"
            in verify(certificate, release).reasons)


@pytest.mark.parametrize("words", [("ideal-bits",), ("ideal-bits", "ieee-doubles"),
                                   tuple(SENTENCES), ("a-word-of-tomorrow",)], ids=str)
def test_pages_and_checks_read_old_and_new_words(words):
    """A page has the sentence of each word that it knows; `verify` wants those of the theorem."""
    release, signed = released("weights")
    signed = {**signed, "claim": {**signed["claim"], "assumes": list(words)}}
    full_words = Page(html(release, signed)).words

    real, certificate = true("weights")
    own = tuple(certificate["claim"]["assumes"])
    certificate["claim"]["assumes"] = list(words)
    assert (words == own) == verify(certificate, real).valid
    for word in words:
        assert word in full_words
        assert SENTENCES.get(word, "") in full_words


def test_the_page_of_guarantees_says_every_assumption():
    """guarantees.md and check-a-release.md name each word, and the theorems that need it."""
    for name in ("guarantees", "check-a-release"):
        text = (SRC.parent / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert set() == {word for word in SENTENCES if f"`{word}`" not in text}

    rows = re.findall(r"^\| `([a-z0-9-]+)` \| [^|]*\| ([^|]*) \|$",
                      (SRC.parent / "docs/guarantees.md").read_text(encoding="utf-8"), re.MULTILINE)
    methods_of = {word: set(re.findall(r"`([a-z-]+)`", who)) for word,
                  who in rows if word in SENTENCES}
    needed = {word: {theorem for theorem, words in THEOREMS.items() if word in words}
              for word in SENTENCES}

    assert {**needed, "ideal-bits": set()} == methods_of
    assert needed["ideal-bits"] == set(THEOREMS)
