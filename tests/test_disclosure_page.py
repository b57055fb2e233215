"""Law: page.  The section on what groups tell says the release's figures, against ourselves."""

from __future__ import annotations

import re
from html import unescape

import numpy as np

from privsieve.report.figures import count, share_up
from privsieve.report.frame import paths
from privsieve.report.publication import groups, kept
from privsieve.telling import html
from privsieve.telling.document import Document
from privsieve.telling.prose import Prose
from test_verify_values import disclosed, published

FIGURES = {"column": "ill", "role": "target", "rows": 3343, "values": 2, "share": "0.998208",
           "above": [["0.8", 2506], ["0.95", 2061]], "distinct": 2, "entropy": "1.01321",
           "closeness": "0.505537", "ordered": False}

LIMITS = {"share": None, "entropy": None, "closeness": None}


def section(release, **claim):
    """The section of a release."""
    claim = {"l_diversity": 1, "limits": LIMITS, **claim}
    prose = Prose({**groups(release["measured"]), "limits": kept(claim), "sources": None},
                  *paths("publication"))
    return html.page(Document("", parts=prose.parts("disclosure"))).decode().partition("</h1>")[2]


def page(*figures, **claim):
    """The text of the section."""
    new_page = section({"measured": {"disclosure": [{**FIGURES, **figure} for figure in figures]}},
                       **claim)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", new_page)).split())


def test_the_figures_of_a_release_are_said():
    """Waveform, most, k = 5: 62 % of the rows lie in groups of 95 % one class, and it is said."""
    text = page({})

    assert ("For 2,061 of 3,343 rows (62 %) at least 95 % of the group have the same value of ill"
            in text)
    assert "ill class 2 2 99.9 % 1.013 0.506" in text
    assert "No limit was requested" in text
    assert "near to each other" not in text


def test_figures_are_rounded_against_ourselves():
    """Shares and distances up, entropy and nothing else down, and none of it is lost."""
    text = page({"share": "0.500001", "entropy": "1.999999", "closeness": "0.000001",
                 "ordered": True, "role": "sensitive", "column": "age"})

    assert "age sensitive 2 2 50.1 % 1.999 0.001" in text
    assert "For age , neighbouring values count as less different" in text
    assert "100 %" in page({"share": "1"})


def test_limits_are_said():
    """What was asked for stands on the page in the words and digits of the claim."""
    text = page({}, l_diversity=2, limits={"share": "0.8", "entropy": None, "closeness": "0.3"})

    assert ("Requested, and true for every group: different values, at least 2; share of one "
            "value, at most 0.8; distance from the whole table, at most 0.3.") in text


def test_a_release_without_figures_says_so():
    """A release that publishes no such column says so."""
    assert "neither a class nor a sensitive column" in section({"measured": {"disclosure": []}})


def test_names_do_no_harm():
    """A name with markup or directions in it stays text."""
    raw = section({"measured": {"disclosure": [{**FIGURES, "column": "<script>\u202e"}]}})

    assert "<script>" not in raw
    assert "\u202e" not in raw
    assert "&lt;script&gt;" in raw


def test_every_count_of_a_release_is_on_the_page():
    """On 30 random tables all counts of rows and values that a release says are shown."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        _, table, rule, _, _ = published(rng, rows=30)
        figures = disclosed(table, rule)
        text = section({"measured": {"disclosure": figures}})
        for figure in figures:
            assert figure["column"] in text
            for _, rows in figure["above"]:
                assert (count(rows) if rows else "none") in text
                assert share_up(rows, 30) in text
