"""Law: templates.  What is shown is escaped, and every name that a template uses is known."""

from __future__ import annotations

import dis
from pathlib import Path
from types import FunctionType

import pytest
from markupsafe import Markup

from privsieve.extras.steward import exploring
from privsieve.report import page
from privsieve.report.page import blocks

#: The templates of each page, and the names that its module gives beside the pieces of all.
FILES = {"page", "release", "certificate", "claim", "kind", "version", "style", "sha"}
EXPLORING = str(Path(exploring.__file__).with_name("exploring"))
EXPLORED = {"asked", "chosen", "here", "k", "ks", "ways", "units", "format", "nearly", "fraction",
            "guess", "passed", "marked", "closed_rows", "share_rows", "items_curve", "area_curve",
            "curve_rows", "cost_rows", "stranger_rows", "people_rows"}
PAGES = {("private", "selection"): set(), ("private", "weights"): {"up"},
         ("private", "regression"): {"up"}, ("private", "histogram"): {"up"},
         ("publication",): {"known"}, (EXPLORING,): EXPLORED,
         ("publication", "internal"): {"known", "closed", "would", "SHOWN", "free"}}


@pytest.mark.parametrize("templates", PAGES, ids=" ".join)
def test_every_name_is_known(templates):
    """No branch of a page, however rare, asks for a name that nobody gives."""
    known = blocks("base", *templates)
    asked = {instruction.argval for block in known.values() if isinstance(block, FunctionType)
             and Path(block.__code__.co_filename).suffix == ".html"
             for code in (block.__code__, *(one for one in block.__code__.co_consts
                                            if hasattr(one, "co_code")))
             for instruction in dis.get_instructions(code) if instruction.opname == "LOAD_GLOBAL"}

    assert PAGES[templates] <= asked
    assert set() == asked - set(known) - set(known["__builtins__"]) - FILES - PAGES[templates]


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """What a template of this text shows."""
    monkeypatch.setattr(page, "_FOLDER", tmp_path)

    def show(text, **names):
        (tmp_path / "t.html").write_text(f"a comment {{% block x %}}{text}{{% end %}} another")
        page._compiled.cache_clear()
        return blocks("t", **names)["x"]()

    yield show
    page._compiled.cache_clear()


def test_what_is_shown_is_escaped(shown):
    """A value is text, unless it is markup already."""
    assert "<p>&lt;b&gt;<b></p>" == shown("<p>{{ a }}{{ b }}</p>", a="<b>", b=Markup("<b>"))
    assert "&lt;i&gt;" == shown("{% for one in many %}{{ one }}{% end %}", many=["<i>"])


def test_lines_of_a_template(shown):
    """A line of a word goes on with a space, a tag begins a line, a statement leaves none."""
    text = ("\n<p>one\n  two <b>three</b>\n  <i>four</i></p>\n{% if yes %}\n  <p>five</p>\n"
            "{% else %}\n<p>six</p>\n{% end %}\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n")

    for yes, word in ((True, "five"), (False, "six")):
        assert (f"<p>one two <b>three</b> <i>four</i></p>\n<p>{word}</p>\n"
                "<ul><li>a</li><li>b</li></ul>") == shown(text, yes=yes)


def test_a_later_template_goes_first(tmp_path, monkeypatch):
    """A block of a later template is shown where an earlier one asks for it."""
    monkeypatch.setattr(page, "_FOLDER", tmp_path)
    (tmp_path / "base_t.html").write_text("{% block all %}<p>{{ one() }}</p>{% end %}"
                                          "{% block one %}base{% end %}")
    (tmp_path / "kind_t.html").write_text("{% block one %}kind{% end %}")

    assert "<p>kind</p>" == blocks("base_t", "kind_t")["all"]()
