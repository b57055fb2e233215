"""Law: a new option touches two files, its field and its test.

One field of a toy method is found in the constructor, the plan, the release, the command line with
its help and its JSON, and the page of options, without another edit.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from types import ModuleType

import pytest
from sklearn.base import clone

import options
import privsieve as ps
from privsieve import methods
from privsieve.cli import run
from privsieve.errors import ParameterError
from privsieve.estimators import estimator_of
from privsieve.methods.choosing import Choosing
from privsieve.public.event import NOTHING
from privsieve.public.option import declared, option, settings
from privsieve.public.plan import Cost, NoiseSize, Plan

DOMAIN = ps.Domain.box(0, 1, columns=3)


@declared
class ToyOptions(Choosing):
    """Choose columns of a toy: its one option of its own is this field."""

    colour: str = option(default="red", choices=("red", "blue"), says="how the toy is painted",
                         setting="paint")

    def planned(self, domain, rows):
        """A plan that is never run."""
        return Plan(method="toy/1", kind="selection", domain=domain, cost=Cost.of(self.epsilon),
                    units=rows, settings=settings(self), noise=NoiseSize(Fraction(1), "toys"),
                    forecast={}, warning=None, theorem="toy", assumes=(), event=NOTHING,
                    summarise=None, mechanism=None, says=None)


@pytest.fixture
def toy(monkeypatch):
    """The toy is in the registry, as a method of one file does."""
    module = ModuleType("privsieve.methods.toy")
    module.ToyOptions = ToyOptions
    monkeypatch.setitem(sys.modules, "privsieve.methods.toy", module)
    monkeypatch.setitem(methods.METHODS, "toy", ("toy", "Toy"))
    return estimator_of("toy")


def test_the_constructor_takes_it(toy):
    """With its default, in `get_params`, in a clone, and in the docstring with its words."""
    estimator = toy(2, epsilon=1, colour="blue")

    assert "red" == toy().colour
    assert "blue" == clone(estimator).get_params()["colour"]
    assert "colour='blue'" in repr(estimator)
    assert "colour : red | blue, default: 'red'" in toy.__doc__
    assert "how the toy is painted" in toy.__doc__
    assert "red" == estimator.set_params(colour="red").colour


def test_the_plan_and_the_release_say_it(toy):
    """A plan takes it by its name, and says it under the name of stored formats."""
    planned = ps.plan("toy", DOMAIN, k=2, epsilon=1, rows=9, colour="blue")

    assert "blue" == planned.settings["paint"] == planned.json()["settings"]["paint"]
    assert planned.json() == toy(2, epsilon=1, colour="blue").plan(rows=9, domain=DOMAIN).json()
    with pytest.raises(ParameterError, match=r"is not an option of toy; it takes: .*colour"):
        ps.plan("toy", DOMAIN, k=2, epsilon=1, rows=9, colours="blue")


def test_what_is_gone_is_explained(toy):
    """An option that was dropped gets its sentence from constructor, plan and `set_params`."""
    for make in (lambda: toy(2, epsilon=1, resamples=3),
                 lambda: toy(2, epsilon=1).set_params(resamples=3),
                 lambda: ps.plan("toy", DOMAIN, k=2, epsilon=1, rows=9, resamples=3)):
        with pytest.raises(ParameterError, match="resamples was renamed: write repeats"):
            make()


ASKED = ["plan", "--method", "toy", "--rows", "9", "--domain", "d.toml", "--epsilon", "1", "--top",
         "2", "--colour", "blue"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a domain file."""
    monkeypatch.chdir(tmp_path)
    ps.Domain(tuple(map(ps.Flag, "abc")), ps.Label("ill", (0, 1))).to_toml("d.toml")


def test_the_command_line_asks_for_it(toy, place, capsys):
    """Its word, its choices and its help; what is said is read, and is in --json."""
    assert 0 == run(["plan", "--method", "toy", "--help-all"])
    out = capsys.readouterr().out

    assert "--colour [red|blue]" in out
    assert "toy: how the toy is painted." in " ".join(out.split())
    assert 0 == run([*ASKED, "--unit", "row", "--json"]), capsys.readouterr().err
    assert "blue" == json.loads(capsys.readouterr().out)["settings"]["paint"]


def test_the_field_refuses_for_the_command_line_too(toy, place, capsys):
    """A word that is none is refused by the field, in its sentence."""
    assert 2 == run([*ASKED[:-1], "green", "--unit", "row"])
    assert "colour is 'green'; write \"red\" or \"blue\"" in capsys.readouterr().err


def test_what_is_another_methods_is_refused_as_such(toy, place, capsys):
    """With the words of who asked for it."""
    other = [word if word != "toy" else "rule-sieve" for word in ASKED]

    assert 2 == run(other)
    assert "--colour is not an option of rule-sieve" in capsys.readouterr().err
    assert 2 == run([*other[:-2], "--color-of", "blue"])
    assert "--color-of" in capsys.readouterr().err


def test_the_page_of_options_has_a_row_for_it(toy):
    """The table that is made of the fields: name, default, word, meaning, old name."""
    row = next(line for line in options.page(["toy"]).splitlines() if "`colour`" in line)

    assert "`colour` | `'red'` | `--colour` | how the toy is painted" in row
    assert "one of red, blue" in row


def test_the_page_of_options_is_what_the_fields_say():
    """`make options` would change nothing."""
    assert options.PAGE.read_text(encoding="utf-8") == options.page()
