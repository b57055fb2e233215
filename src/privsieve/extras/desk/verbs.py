"""Verbs: the choices of a user as commands and as Python, and the answers of commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privsieve.cli import verbs
from privsieve.cli.verb import Outcome
from privsieve.errors import ParameterError
from privsieve.extras.desk.state import DOMAIN, LEDGER, Choices
from privsieve.telling.document import Document


def outcome_of(words: Sequence[str]) -> Document:
    """Run a command that reads no row; return the document that it shows."""
    outcomes: list[Outcome] = []
    verbs.main(list(words), "privsieve", standalone_mode=False, obj=outcomes.append)
    document = outcomes[0].lines if outcomes else None
    if not isinstance(document, Document):
        raise ParameterError("the command shows no document")
    return document


def plan_words(choices: Choices, folder: Path | None, *, epsilon: bool = True) -> list[str]:
    """Return the command that plans; with the paths of a folder, or as a user types it there."""
    place = "" if folder is None else f"{folder}/"
    return ["plan", f"{place}{choices.file}" if place else table(choices.file),
            "--domain", f"{place}{DOMAIN}", *_wishes(choices),
            *(["--epsilon", choices.epsilon] if epsilon and choices.epsilon else [])]


def command_words(choices: Choices) -> list[str]:
    """Return the command that releases."""
    if choices.purpose == "table":
        sensitive = ",".join(roles(choices, "sensitive"))
        never = ",".join(roles(choices, "never"))
        return ["publish", table(choices.file), "--domain", DOMAIN, "-k", choices.k,
                "--profile", choices.profile, *([f"--sensitive={sensitive}"] * bool(sensitive)),
                *([f"--without={never}"] * bool(never)), "--out", choices.out]
    return ["select", table(choices.file), "--domain", DOMAIN, "--epsilon", choices.epsilon,
            *_wishes(choices), "--ledger", LEDGER, f"--population={choices.population}",
            "--request", choices.request, "--out", choices.out]


def python_lines(choices: Choices) -> list[str]:
    """Return the lines of Python that release the same names."""
    wishes = {"always": roles(choices, "always"), "never": roles(choices, "never"),
              "groups": _groups(choices)}
    rest = "".join(f", {name}={value!r}" for name, value in wishes.items() if value)
    return [f"ledger = ps.Ledger({LEDGER!r}, population={choices.population!r})",
            (f"sieve = ps.RuleSieve({choices.count}, epsilon={choices.epsilon!r}, "
             f"domain={DOMAIN!r}, ledger=ledger{rest})"),
            f"sieve.fit({choices.file!r}).release_.save({choices.out!r})"]


def table(file: str) -> str:
    """Return the path of a table as an argument that is no option and no query."""
    return file if file[:1].isalnum() and ":" not in file else f"./{file}"


def roles(choices: Choices, role: str) -> list[str]:
    """Return the columns of a role."""
    return [name for name, own in choices.roles.items() if own == role]


def _groups(choices: Choices) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, group in choices.groups.items():
        groups.setdefault(group, []).append(name)
    return groups


def _wishes(choices: Choices) -> list[str]:
    return [f"--top={choices.count}",
            *(f"--{role}={name}" for role in ("always", "never") for name in roles(choices, role)),
            *(f"--group={group}={','.join(names)}" for group, names in _groups(choices).items())]
