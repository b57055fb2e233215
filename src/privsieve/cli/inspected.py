"""What is said of the note beside a domain file: somebody looked with it, or nobody has."""

from __future__ import annotations

from privsieve.cli import words
from privsieve.public import inspected


def note(domain_file: str, seen: str) -> None:
    """Write the digest that was seen beside the domain file, and say so."""
    if inspected.note(domain_file, seen):
        words.say("noted", f"{domain_file}{inspected.ENDING}: that somebody looked with this "
                           "domain file, and nothing of the table")
    else:
        words.say("noted", "not: beside the domain file nothing can be written, so that select "
                           "will ask for a look", fg="yellow")


def ask(domain_file: str | None) -> None:
    """Say where nobody has looked: a fact about two files, before a row is read."""
    if domain_file is not None and not inspected.was_seen(domain_file):
        words.say("inspect", "nobody has looked at a table with this domain file as it stands: "
                             "what it misspells, a label above all, is silent here and costs all "
                             "the same; privsieve inspect shows it", fg="yellow")
