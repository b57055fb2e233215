"""Law: papers.  What a page on a paper prints is what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reading import BLOCK

PAGES = sorted((Path(__file__).parents[1] / "docs" / "papers").glob("[!R]*.md"))
#: What a block prints: a comment after a `print`, or a line of its own.
PRINTED = re.compile(r"^(?:print\(.*\)  )?# (.*)$", re.MULTILINE)
SECTIONS = ("Systems, as printed", "What is false", "The true form", "RuleSieve beside it",
            "Differences from print", "What to use instead")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_prints_what_it_says(path, capsys):
    """Each block prints its comments, in their order."""
    space = {"__name__": "page"}
    for language, _, body in BLOCK.findall(path.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(body, path.name, "exec"), space)

            assert PRINTED.findall(body) == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_the_form_of_the_others(path):
    """The five pages have the same sections, and the map links each."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)

    assert 5 == len(PAGES)
    assert list(SECTIONS) == [heading for heading in headings if "again" not in heading]
    assert any("measured again" in heading for heading in headings)
    assert f"]({path.name})" in (path.parent / "README.md").read_text(encoding="utf-8")
