"""`privsieve start`: questions that lead to a domain file, to a plan, and to their commands.

It runs the commands that it shows, so both do the same.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from itertools import chain
from json import loads
from pathlib import Path
from typing import Any, TypeVar

import click

from privsieve.cli import verbs, words
from privsieve.cli.domain import TargetOptions
from privsieve.cli.options import refuse
from privsieve.cli.verb import Outcome, verb
from privsieve.errors import DomainError, ParameterError, PrivsieveError
from privsieve.public.canonical import first_of, quoted, visible
from privsieve.public.domain import Domain
from privsieve.public.domain_file import parse
from privsieve.public.draft import UNKNOWN, TableFacts, draft
from privsieve.public.option import whole_number
from privsieve.report.planning import odds_document
from privsieve.rows.drafting import opened, propose_columns
from privsieve.telling.terminal import short

Answer = TypeVar("Answer")
#: This many answers to one question are read.
_TRIES = 3
_INTRO = ("At most ten questions lead to a domain file and a plan.  Nothing is charged or "
          "released.  Rows are not read unless you agree.  Enter takes the answer in [brackets]; "
          "Ctrl-C stops.")
_TARGET = "Which column do the others predict?  It is the target."
_KIND = ("What does the target hold?  Write its classes, such as no,yes, or write number.  Take "
         "the classes from a code book, not from the rows.")
_UNIT = ("Whose privacy is protected?  Write row if each person has one row.  If a person may have "
         "several rows, write the column with the person ids.")
_EACH = "How many rows of one person may be used?  Rows beyond this number are left out."
_PEOPLE = ("About how many people are in the table?  Write a public round figure, such as 5000; do "
           "not count the ids.")
_ROWS = ("How many rows does the table have?  This number is public.  Write it, or write count to "
         "let privsieve count the rows without reading their cells.")
_NUMBERS = ("The names of these columns do not say what they hold: {names}.  Does a code book say "
            "that all of them are numbers?  Write yes or no; no leaves them out.")
_OUT = "Into which new file do you want to write the domain file?"
_TOP = "How many of the {columns} columns do you want to name?"
_EPSILON = "Which epsilon?  A smaller epsilon protects better and finds fewer right names."
_LOOK = ("May privsieve read the rows and write what the columns hold to {path}?  That file is "
         "PRIVATE; it helps you to complete the domain file.  Write yes or no.")
#: The commands at the end.
_STEPS = (
    "The domain file.  Complete it from a code book; then run the next commands again.",
    "Compare the table with the domain file.  What you see is PRIVATE.",
    "The plan.",
    "A budget for all releases about these people.  Choose their name and total epsilon.",
    "The release.  It charges the budget, then reads the rows.")


@verb("patients.csv")
def command(data: str) -> Outcome:
    """Ask at most ten questions about DATA, write a domain file, and show a plan.

    Charges nothing and releases nothing.  Reads the header of DATA; counts or reads its rows only
    if you agree.  Below each answer is the command that does the same.
    """
    as_json = click.get_current_context().params["as_json"]
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        commands = _Dialogue(data).commands()
    return Outcome({"commands": [["privsieve", *arguments] for arguments in commands]})


class _Dialogue:
    """Numbered questions about one table; the options of its commands come from the answers."""

    def __init__(self, data: str) -> None:
        self._data, self._number, self._existing = data, 0, ""
        self._options, self._flags = dict[str, Any](), list[str]()
        self._source, self._csv = opened(data)

    def commands(self) -> list[list[str]]:
        """Ask the questions, and return the commands that do the same."""
        columns = self._source.columns
        words.show(_INTRO)
        click.echo()
        words.show("columns", ", ".join(first_of(columns)))
        self._add(_TARGET, columns[-1], lambda answer: {"target": answer})
        self._add(_KIND, "0,1", lambda answer: {"numeric_target": True} if answer == "number" else
                  {"classes": answer})
        self._add(_UNIT, "row", lambda answer: {"unit": "row"} if answer == "row" else
                  {"unit": "person", "person": answer})
        table = self._count()
        self._flags = self._numbers()
        out = self._ask(_OUT, "domain.toml", self._write)
        self._look(out)
        listed = [self._draft("--out", out), ["inspect", self._data, "--domain", out],
                  *self._plan(out, table)]
        click.echo()
        for title, arguments in zip(_STEPS, listed, strict=True):
            words.show(title, bold=True)
            words.command(arguments)
        return listed

    def _ask(self, question: str, default: str | None, check: Callable[[str], Answer]) -> Answer:
        """Ask until an answer passes its check; give up after three answers."""
        self._number += 1
        click.echo()
        words.show(f"{self._number}.  {question}", bold=True)
        for _ in range(_TRIES):
            try:
                answer = input(visible(f"[{short(default, 60)}] > " if default else "> ")).strip()
            except (EOFError, RuntimeError):  # Python without stdin raises RuntimeError
                click.echo()
                raise ParameterError(
                    f"the answers end at question {self._number}. Answer at a terminal, or run "
                    f"privsieve {shlex.join(self._draft('--out', 'domain.toml'))}, then privsieve "
                    "plan and privsieve select") from None
            if not sys.stdin.isatty():
                click.echo(visible(answer))
            try:
                return check(answer or default or "")
            except PrivsieveError as error:
                words.show(re.sub(r"line \d+: ", "", str(error)), fg="yellow")
        raise ParameterError(f"question {self._number} got {_TRIES} answers that are not allowed; "
                             "start again, or run the commands: privsieve domain --help")

    def _add(self, question: str, default: str | None,
             read: Callable[[str], Mapping[str, Any]]) -> None:
        """Ask for options of `domain`; its drafting code checks them."""
        def check(answer: str) -> dict[str, Any]:
            options = {**self._options, **read(answer)}
            facts = TargetOptions(**options).facts(self._csv)
            text = draft(*propose_columns(self._source, facts, numbers=True))
            if len(options) > 1 and "\n[[column]]" in text:  # without classes it is not complete
                parse(text)
            return options

        self._options = self._ask(question, default, check)
        words.command(self._draft())

    def _draft(self, *flags: str) -> list[str]:
        """Return the command that drafts a domain file by the answers so far."""
        answers = [[f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
                   for name, value in self._options.items()]
        return ["domain", self._data, *chain.from_iterable(answers), *self._flags, *flags]

    def _count(self) -> list[str]:
        """Ask for the size of the table; return the arguments with which a plan knows it."""
        table = [self._data]
        if self._options["unit"] == "row":
            table = self._ask(_ROWS, None if self._source.count is None else "count", lambda answer:
                              table if answer == "count" else ["--rows", str(_whole(answer))])
            words.command(["plan", *table])
        else:
            self._add(_EACH, "1", lambda answer: {"rows_per_person": _whole(answer)})
            self._add(_PEOPLE, None, lambda answer: {"persons": _whole(answer)})
        return table

    def _numbers(self) -> list[str]:
        """Ask whether columns with unknown names are numbers; return the flag for it."""
        names = [entry.name for entry in propose_columns(self._source, TableFacts())[0]
                 if entry.why == UNKNOWN and entry.name not in self._options.values()]
        if not names or not self._ask(_NUMBERS.format(names=", ".join(first_of(names))), "no",
                                      _agrees):
            return []
        words.command(self._draft("--numbers"))
        return ["--numbers"]

    def _write(self, answer: str) -> str:
        """Write the domain file; keep a file that has its name, or rename it if asked to."""
        if answer == "replace":
            answer, old = self._existing, f"{self._existing}.old"
            refuse(not (answer and os.access(Path(answer).parent, os.W_OK)) or os.path.lexists(old),
                   f"{quoted(answer)} cannot be renamed to {quoted(old)}; name a new file")
            Path(answer).rename(old)
        elif os.path.lexists(answer):
            is_domain = Path(answer).suffix == ".toml" and Path(answer).is_file()
            self._existing = answer * is_domain
            raise ParameterError(f"{quoted(answer)} exists; name a new file" + is_domain * (
                f", or write replace to rename it to {quoted(f'{answer}.old')} first"))
        _run(self._draft("--out", answer))
        return answer

    def _look(self, out: str) -> None:
        """Write what the rows hold into a private file, if the holder of the table agrees."""
        path = str(Path(out).with_suffix(".private.toml"))

        def check(answer: str) -> None:
            if _agrees(answer):
                _run(self._draft("--look", "--out", path))

        self._ask(_LOOK.format(path=path), "no", check)

    def _plan(self, out: str, table: Sequence[str]) -> list[list[str]]:
        """Ask for the number of columns and epsilon; show the plan, and return its commands."""
        plan = ["plan", *table, "--domain", out]
        try:
            columns = len(Domain.from_toml(out).columns)
        except DomainError:  # the other facts were checked with their questions
            raise DomainError(f"no column of {quoted(out)} is complete. Complete those below `Set "
                              f"aside` from a code book; then run privsieve {shlex.join(plan)} "
                              "--top N") from None
        top = self._ask(_TOP.format(columns=columns), str(min(5, columns)),
                        lambda answer: _whole(answer, columns))
        plan += ["--top", str(top)]
        words.command(plan)
        words.tell(odds_document(_facts(plan)["epsilons"], top, self._options["unit"]))
        epsilon = self._ask(_EPSILON, "1", lambda answer: _facts([
            *plan, "--epsilon", answer]) and answer)
        plan += ["--epsilon", epsilon]
        _run(plan)
        budget = ["--ledger", "budget.db", "--population", Path(self._data).stem or "people"]
        return [plan, ["ledger", "grant", *budget, "--epsilon", epsilon],
                ["select", self._data, "--domain", out, "--top", str(top), "--epsilon", epsilon,
                 *budget, "--out", "release"]]


def _agrees(answer: str) -> bool:
    """Return whether an answer is yes."""
    refuse(answer not in ("yes", "no"), f"{quoted(answer)} is not allowed; write yes or no")
    return answer == "yes"


def _whole(answer: str, most: int = 10**9) -> int:
    """Return the whole number that an answer says."""
    refuse(not whole_number(answer) or not 1 <= int(answer) <= most,
           f"{quoted(answer)} is not allowed; write a whole number from 1 to {most:,}")
    return int(answer)


def _run(arguments: Sequence[str]) -> None:
    """Show a command and run it."""
    words.command(arguments)
    verbs.main(arguments, "privsieve", standalone_mode=False,
               color=click.get_current_context().color)


def _facts(arguments: Sequence[str]) -> Any:
    """Return what a command prints as JSON."""
    with redirect_stdout(StringIO()) as output:
        verbs.main([*arguments, "--json"], "privsieve", standalone_mode=False)
    return loads(output.getvalue())
