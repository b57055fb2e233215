"""Docstrings of the house for Sphinx: plain text stays plain, and `name : words` becomes a list.

A docstring is written for `help()`.  What reStructuredText would take for markup in it (a star, a
bar, a name that ends in an underscore) is text; words between backticks are code.
"""

from __future__ import annotations

import re

#: A line of a list of parameters: a name, and what it is.
FIELD = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")
PROMPT = re.compile(r"^ *>>> ")


def plain(line: str) -> str:
    """A line in which nothing but backticks is markup."""
    pieces = re.split(r"(``?[^`]+``?)", line)
    return "".join(piece if at % 2 else re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", piece)
                   for at, piece in enumerate(pieces))


def marked_up(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText; sections of numpydoc keep their form."""
    out, example, listing = [], False, False
    sections = any(re.match(r"-{4,}$", line) for line in lines)
    for line in lines:
        example = bool(line.strip()) and (example or bool(PROMPT.match(line)))
        field = None if example or sections else FIELD.match(line)
        if field:
            out += ["", f"* ``{field[1]}``: {plain(field[2])}"]
        elif listing and line.startswith("    ") and not example:
            out.append(f"  {plain(line.strip())}")
        else:
            out.append(line if example else plain(line))
        listing = bool(field) or (listing and bool(line.strip()))
    return out


def change(*arguments):
    """Change a docstring in place, as Sphinx wants it: its lines come last."""
    lines = arguments[-1]
    lines[:] = marked_up(lines)


def setup(app):
    """Before numpydoc's sections are read."""
    app.connect("autodoc-process-docstring", change, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
