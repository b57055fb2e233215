"""Law: an option is declared once.  One field of a toy method is found wherever options are."""

from __future__ import annotations

import sys
from types import ModuleType

import click
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import options
import privsieve as ps
from privsieve import methods
from privsieve.cli.options import OfMethod, given
from privsieve.errors import ParameterError
from privsieve.methods.choosing import Choosing
from privsieve.methods.estimators import estimator_of
from privsieve.public.event import NOTHING
from privsieve.public.option import declared, option, settings
from privsieve.public.plan import Cost, Plan

DOMAIN = ps.Domain.box(0, 1, columns=3)


@declared
class ToyOptions(Choosing):
    """Choose columns of a toy: its one option of its own is this field."""

    colour: str = option(default="red", choices=("red", "blue"), says="how the toy is painted",
                         setting="paint")

    def planned(self, domain, rows):
        """A plan that is never run."""
        return Plan(method="toy/1", kind="selection", domain=domain, cost=Cost.of(self.epsilon),
                    units=rows, settings=settings(self), noise=None, forecast={}, warning=None,
                    theorem="toy", assumes=(), event=NOTHING, summarise=None, mechanism=None,
                    says=None)


@pytest.fixture
def toy(monkeypatch):
    """The toy stands in the registry, as a method of one file does."""
    module = ModuleType("privsieve.methods.toy")
    module.ToyOptions = ToyOptions
    monkeypatch.setitem(sys.modules, "privsieve.methods.toy", module)
    monkeypatch.setitem(methods.METHODS, "toy", ("toy", "Toy"))
    return estimator_of("toy")


def test_the_constructor_takes_it(toy):
    """With its default, in `get_params`, in a clone, and in the docstring with its words."""
    made = toy(2, epsilon=1, colour="blue")

    assert "red" == toy().colour
    assert "blue" == clone(made).get_params()["colour"]
    assert "colour='blue'" in repr(made)
    assert "colour : red | blue, 'red' where left out" in toy.__doc__
    assert "how the toy is painted" in toy.__doc__
    assert "red" == made.set_params(colour="red").colour


def test_the_plan_and_the_release_say_it(toy):
    """A plan takes it by its name, and says it under the name of stored formats."""
    planned = ps.plan("toy", DOMAIN, k=2, epsilon=1, rows=9, colour="blue")

    assert "blue" == planned.settings["paint"] == planned.json()["settings"]["paint"]
    assert planned.json() == toy(2, epsilon=1, colour="blue").plan(rows=9, domain=DOMAIN).json()
    with pytest.raises(ParameterError, match=r"colours is no option of toy; it takes: .*colour"):
        ps.plan("toy", DOMAIN, k=2, epsilon=1, rows=9, colours="blue")


def test_what_is_gone_is_explained(toy):
    """An option that was dropped gets its sentence from constructor, plan and `set_params`."""
    for make in (lambda: toy(2, epsilon=1, resamples=3),
                 lambda: toy(2, epsilon=1).set_params(resamples=3),
                 lambda: ps.plan("toy", DOMAIN, k=2, epsilon=1, rows=9, resamples=3)):
        with pytest.raises(ParameterError, match="resamples is gone: the option is called repeats"):
            make()


def test_the_command_line_asks_for_it(toy):
    """Its word, its choices and its help; what is given is read."""
    command = click.command("toy", cls=OfMethod, methods=("toy",))(lambda **_: None)
    said = CliRunner().invoke(command, ["--help"]).output

    assert "--colour [red|blue]" in said
    assert "How the toy is painted." in said
    assert {"colour": "blue"} == given("toy", {"colour": "blue"})


def test_what_is_another_methods_is_refused_as_such(toy):
    """With the words of who asked for it."""
    command = click.command("pick", cls=OfMethod, methods=("rule-sieve", "toy"))(lambda **_: None)

    with pytest.raises(ParameterError, match="--colour is no option of rule-sieve"):
        command.main(["--colour", "blue"], standalone_mode=False)
    with pytest.raises(click.NoSuchOption, match="--color-of"):
        command.main(["--color-of", "blue"], standalone_mode=False)


def test_the_page_of_options_has_a_row_for_it(toy):
    """The table that is made of the fields: name, default, word, meaning, old name."""
    row = next(line for line in options.page(["toy"]).splitlines() if "`colour`" in line)

    assert "`colour` | `'red'` | `--colour` | how the toy is painted" in row
    assert "one of red, blue" in row


def test_the_page_of_options_is_what_the_fields_say():
    """`make options` would change nothing."""
    assert options.PAGE.read_text(encoding="utf-8") == options.page()
