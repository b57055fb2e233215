"""Law: every error of docs/errors.md comes from the command line, with its code and its words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import privsieve as ps
from privsieve import errors
from test_cli import place, privsieve, select  # noqa: F401  # fixtures
from test_crash import STATES

PAGE = (Path(__file__).parents[1] / "docs" / "errors.md").read_text(encoding="utf-8")
#: Each row of the first table: an error, and its exit code.
TABLE = {name: int(code)
         for name, code in re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE)}


def forged():
    """A release of which somebody changed a name."""
    path = Path("first/release.json")
    path.write_bytes(path.read_bytes().replace(b'"selected":["', b'"selected":["no'))


#: What to type for each, after what was done before; and a word of what is said.
TYPED = {
    "ParameterError": ((), select("--epsilon", "-1"), "epsilon"),
    "DomainError": ((lambda: Path("domain.toml").write_text('[[column]]\nname = "age"\n'),),
                    select(), "kind is missing"),
    "SchemaError": ((lambda: Path("table.csv").write_text("age,dose\n1,2\n"),), select(), "ward"),
    "BudgetExceeded": ((), select("--epsilon", "3"), "left"),
    "LedgerError": ((), select("--population", "nobody"), "nobody"),
    "NothingFits": ((), ("publish", "table.csv", "--domain", "domain.toml", "-k", "399", "--out",
                         "out"), "399"),
    "CheckFailed": ((select(), forged), ("verify", "first"), ""),
}


def test_the_table_is_whole():
    """It has each error of the package with the code that it has, and this file types each."""
    public = {name: error.exit_code for name, error in vars(errors).items()
              if isinstance(error, type) and issubclass(error, ps.errors.PrivsieveError)}

    assert public == TABLE
    assert set(TYPED) == set(TABLE) - {"PrivsieveError", "ReleaseFailed"}


@pytest.mark.parametrize("name", TYPED)
def test_an_error_is_met(privsieve, name):  # noqa: F811
    """The code of the table, nothing on stdout but what a check says, and a word that helps."""
    before, typed, word = TYPED[name]
    for step in before:
        step() if callable(step) else privsieve(*step)
    code, _, err = privsieve(*typed)

    assert TABLE[name] == code
    assert word in err
    assert "Traceback" not in err


def test_each_end_of_a_failed_release_is_on_the_page():
    """The texts that `test_crash` meets from the command line are those of the second table."""
    ends = dict(re.findall(r"^\| `(\w+)` \| `([^`…]+)", PAGE, re.MULTILINE))

    assert set(STATES.values()) == set(ends)
    assert all(text.startswith(ends[state].strip()) for text, state in STATES.items())
