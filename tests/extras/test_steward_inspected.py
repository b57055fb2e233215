"""Law: the page of a look at a table.  It is private, and harmless whatever a table holds."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from privsieve.extras.steward.inspected import inspected_page
from privsieve.public.columns import Category, Date, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows.inspect import inspect
from test_cli import place, privsieve  # noqa: F401  # fixtures
from test_looks import LOOK
from test_report import harmless


def page_of(columns, folder):
    """A page with whatever it can say, and these names and texts wherever one can stand."""
    first, two, three = columns
    lines = [f"{first};{two};{three};d;y"] + [
        f'{at / 7:.2f};{two if at % 3 else "A"};{at};0{1 + at % 9}.02.2020;{three if at % 4 else 1}'
        for at in range(80)] + ["", '"', "1;2"]
    path = folder / "looked.csv"
    path.write_text("\n".join(lines).replace(".", ","), encoding="cp1252")
    path.write_text(path.read_text(encoding="cp1252").replace(",02,", ".02."), encoding="cp1252")
    domain = Domain([Number(first, 0, 1000), Category(two, ["A", "B", "ä"]), Number(three),
                     Date("d", "2020-01-01", "2021-01-01"), Number(first[:100] + "gone")],
                    target=Label("y", [0, 1]))
    return inspected_page(inspect(path, domain).json())


@pytest.mark.parametrize("columns", [("age", "ward", "n"), ("<script>", "&amp", 'x" onload="'),
                                     ("W" * 100, "a_b" * 30, "<b>" * 30)])
def test_the_page(tmp_path, columns):
    """The page is harmless for any table, and says what was found and where."""
    page = harmless(page_of(columns, tmp_path))

    for text in ("PRIVATE · ABOUT THE ROWS OF A TABLE · DO NOT RELEASE", "STOP.", "read from the",
                 "with an open quote", "line 83", "labels cannot be read",
                 "Columns that the table"):
        assert text in page.words
    assert page.titles[0].startswith("PRIVATE")


def test_a_page_is_written(privsieve):  # noqa: F811
    """A name that ends in .html gets the page, for its owner alone."""
    assert 0 == privsieve(*LOOK, "--private-output", "look.html")[0]
    assert 0o600 == stat.S_IMODE(Path("look.html").stat().st_mode)
    assert "PRIVATE" in harmless(Path("look.html").read_bytes()).titles[0]
