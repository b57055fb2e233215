"""Law: a look at a table.  It is private, leaves nothing behind, and fits a terminal."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from privsieve.cli import inspect as verb
from privsieve.rows.inspect import inspect
from test_cli import (  # noqa: F401  # fixtures
    BUDGET,
    DOMAIN,
    on_terminal,
    place,
    privsieve,
    rows,
    select,
    spent,
)

LOOK = ("inspect", "table.csv", "--domain", "domain.toml")


def test_a_look_leaves_nothing(privsieve):  # noqa: F811
    """No file lies beside the domain file, and after a STOP the holder decides."""
    Path("table.csv").write_text(rows().replace(",yes", ",ja").replace(",no\n", ",nein\n"))
    before = sorted(Path().iterdir())

    assert "stop" == inspect("table.csv", "domain.toml").verdict.word
    assert before == sorted(Path().iterdir())
    assert 0 == privsieve(*select())[0]


def test_json_and_text_say_the_same(privsieve):  # noqa: F811
    """What programs are told is what people are, and both files are for their owner alone."""
    for name in ("look.json", "look.txt"):
        assert (0, "") == privsieve(*LOOK, "--private-output", name)[:2]
    privsieve(*LOOK, "--json", "--private-output", "again.dat")
    document, text = json.loads(Path("look.json").read_text()), Path("look.txt").read_text()

    assert document == json.loads(Path("again.dat").read_text())
    assert document["private"] == text.splitlines()[0]
    assert f"{document['verdict'].upper()}: {document['said']}" == text.splitlines()[1]
    assert {"age", "dose", "ward", "smoker",
            "ill"} == {column["name"] for column in document["columns"]}
    for column in document["columns"]:
        assert f"{column['name']} ({column['kind']}): {column['said']}" in text
    assert {0o600} == {stat.S_IMODE(Path(name).stat().st_mode) for name in (
        "look.json", "look.txt", "again.dat")}


def test_lines_fit_a_terminal(place):  # noqa: F811
    """On 80 columns every line is shorter, and a long look goes through the pager."""
    code, seen = on_terminal(*LOOK, NO_COLOR="1", LINES="200")
    _, paged = on_terminal(*LOOK, NO_COLOR="1", LINES="5", PAGER="sed s/^/paged:/")

    assert 0 == code
    assert max(map(len, seen.splitlines())) < 80
    assert "paged:PRIVATE" in paged
    assert "paged:" not in seen


@pytest.mark.parametrize(("line", "word"), [("STOP: x", "STOP:"), ("LOOK: x", "LOOK:"),
                                            ("FINE: x", "FINE:")])
def test_words_are_coloured(line, word):
    """Verdicts have a colour, and never the colour alone."""
    assert verb._fitted(line, 79)[0].startswith("\x1b[")
    assert word in verb._fitted(line, 79)[0]
