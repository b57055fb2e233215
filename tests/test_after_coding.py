"""Law: a forecast names the gap that it means, and which columns cannot be found."""

from __future__ import annotations

import pytest

from privsieve.methods import plan
from privsieve.public.columns import Category, Date, Flag, Label, Number
from privsieve.public.domain import Domain, after_coding
from privsieve.public.domain_file import to_toml

CAN_PLAN = {"rule-sieve": {}, "noisy-top-k": {"score": "mean-difference"}, "block-fwell": {}}


def box(*parts):
    """A domain of these columns and two classes."""
    return Domain(list(parts), Label("y", [0, 1]))


@pytest.mark.parametrize(("parts", "message"), [
    ([Number("a", -1e6, 1e6)], "by less than 8 of 65536 steps (244 for a)"),
    ([Number("a", 120, 160)], "by less than 8 of 65536 steps (0.0049 for a)"),
    ([Number("a", 1, 1000, scale="log")], "by less than 8 of 65536 steps (0.084 % for a)"),
    ([Number("a", near=2000), Number("b")],
     "by less than 0.2 % of their distance from the domain file's near (2000 for a, 0 for b)"),
    ([Number(f"x{j}", 0, 10**j) for j in range(5)],
     "(1.2 for x4, 0.12 for x3, 0.012 for x2, and 2 more)"),
])
def test_what_cannot_be_found_is_said(parts, message):
    """By its declaration: the widest steps first, or 9 bits of a distance."""
    forecast = after_coding(box(*parts))

    assert forecast.endswith(message)
    assert forecast.startswith("privsieve rounds numbers")


def test_levels_are_not_coded_away():
    """Where no column is a number nothing is said."""
    levels = Category("c", ["a"]), Flag("f"), Date("d", "2020-01-01", "2021-01-01")

    assert after_coding(box(*levels)) is None
    assert "after_coding" not in plan("rule-sieve", box(*levels), rows=900, k=1, epsilon=1).forecast


@pytest.mark.parametrize("method", CAN_PLAN)
def test_every_forecast_of_a_choice_says_it(method):
    """A hundred per cent never stands alone, whatever chooses."""
    planned = plan(method, box(*(Number(f"x{j}", -1e6, 1e6) for j in range(9))), rows=10**6, k=3,
                   epsilon=10, **CAN_PLAN[method])

    text = "file's near (0 for x0" if method == "rule-sieve" else "244 for x0"
    assert text in planned.forecast["after_coding"]


def test_the_command_line_says_it(tmp_path, cli):
    """Below the table of per cents."""
    path = tmp_path / "domain.toml"
    path.write_text(to_toml(box(Number("sodium"), Number("born", near=1980))))
    code, output, _err = cli("plan", "--domain", path, "--unit", "row", "--rows", "90000",
                             "--top", "1", "--epsilon", "3")

    assert 0 == code
    assert "file's near (0 for sodium, 1980 for born)." in " ".join(output.split())
