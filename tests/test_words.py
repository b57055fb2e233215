"""Law: what a page says to a nurse, a lawyer and a statistician."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import options
import privsieve
from privsieve.cli import verbs
from privsieve.public.plan import sentence
from privsieve.report import html, internal_html
from privsieve.report.frame import glossary
from privsieve.report.publication import SHOWN
from releases import KINDS, released
from test_report import CLOSED, ROWS, Page, publication

WORDS = glossary()
SRC = Path(privsieve.__file__).parent
#: A term, as words mark it: by itself, or with the entry that it is listed under.
MARKED = re.compile(r"\[([^\]|\n]+)(?:\|([^\]#]+))?\](?!\n)")


def marked():
    """The entries that templates link to."""
    return {(entry or text).replace(" ", "-") for file in (SRC / "report/words").glob("*.txt")
            for text, entry in MARKED.findall(file.read_text(encoding="utf-8"))}


def test_the_glossary_is_short_and_every_entry_is_used():
    """At most forty words; pages link to each, and to no other."""
    assert len(WORDS) <= 40
    assert set(WORDS) == marked()
    assert list(WORDS) == sorted(WORDS)


def test_each_command_on_a_page_exists():
    """The verbs and options of the commands in words are those of the command line."""
    context = click.Context(verbs)
    lines = [line for file in SRC.rglob("*.txt") for line in re.findall(
        r"privsieve (\w+[^`\n]*)", file.read_text(encoding="utf-8"))
             if line.split()[0] in verbs.list_commands(context)]
    wrong = []
    for verb, *words in map(str.split, lines):
        command = verbs.resolve_command(context, [verb])[1]
        known = {flag for option in command.get_params(click.Context(command))
                 for flag in (*option.opts, *option.secondary_opts)}
        known |= set(re.findall(r"--[a-z-]+", command.help))  # another form of the verb
        wrong += [(verb, word) for word in words
                  if re.match("--[a-z]", word) and word.rstrip("}.,") not in known]

    assert len(lines) > 10
    assert [] == wrong


def test_the_page_of_the_glossary_is_made_of_it():
    """docs/glossary.md is what `make options` writes."""
    assert options.glossary() == options.GLOSSARY.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_each_link_of_a_page_has_its_word_below(kind):
    """A term leads to what it means, on the same page; what is explained there is linked above."""
    page = html(*released(kind)).decode()

    links = re.findall(r'href="#w-([a-z-]+)"', page)
    assert len(links) == len(set(links)) >= 10
    assert sorted(links) == re.findall(r'id="w-([a-z-]+)"', page)


@pytest.mark.parametrize(("epsilon", "message"), [
    ("0.5", "be about as likely: at most 1.65 times more or less likely"),
    ("10", "be at most 22,100 times more or less likely")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_weak_promise_is_not_called_a_strong_one(kind, epsilon, message):
    """Only where the factor is small are results about as likely."""
    words = Page(html(*released(kind, epsilon=epsilon))).words

    assert message in words
    assert ("about as likely:" in words) == (epsilon == "0.5")


def test_a_headline_says_what_a_cost_means():
    """A number of the budget says nothing to a lawyer; what an attacker may learn does."""
    words = Page(html(*released("weights", epsilon="1"))).words

    assert ("A privacy loss of 1. An attacker who was 50 % sure of something about one row can be "
            "at most 74 % sure after this release.") in words


@pytest.mark.parametrize("kind", KINDS)
def test_a_headline_says_the_warning_of_its_release(kind):
    """What was said before the charge is next to the answer that it describes."""
    page = html(*released(kind, warning="this method is useful here from 20 on")).decode()

    assert "<b>But:</b> this method is useful here from 20 on." in page.partition("<nav")[0]
    assert "<b>But:</b>" not in html(*released(kind)).decode()


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_promise_is_a_number(kind, delta):
    """No power of e where people read; the formula is folded."""
    release, certificate = released(kind, epsilon="2", delta=delta)

    assert "by a factor of at most 7.39" in sentence(certificate)
    assert "e^2" not in Page(html(release, certificate)).words


def test_the_internal_edition_speaks_of_closed_columns():
    """It does not say that it would not; the first ones are listed, the others are folded."""
    many = {**CLOSED, "closed": [[f"shut{j}", 2, 4, 0] for j in range(50)]}
    full_page = publication(ROWS, ("a", "b", "c"), ("x", "y", "x", "x", "y", "x"), target="ill")
    page = internal_html(*full_page, many).decode()
    open_part, _, folded = page.partition("<details>")

    assert "does not describe them" not in page
    assert "This edition does not compare" not in page
    assert SHOWN == len(set(re.findall(r"shut\d+", open_part)))
    assert 50 - SHOWN == len(set(re.findall(r"shut\d+", folded.partition("</details>")[0])))
    assert "<details>" not in internal_html(*full_page, CLOSED).decode()
