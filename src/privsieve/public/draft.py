"""Draft: a domain file to fill in, of names and physical types; it holds no value of a table."""

from __future__ import annotations

from collections.abc import Sequence

_FILL = "<- fill in"
_TABLE_DRAFT = (
    "# What is public about the table.  Write what a code book or the study's plan says;",
    "# never what this table happens to hold.",
    "",
    "[table]",
    f'# unit =   {_FILL}: "row", or "person" with person = "the column that says whose row it is"',
)
_TARGET_DRAFT = (
    "# What is to be predicted; its [[column]] above has to go.  Without a target, delete this.",
    "[target]",
    f"# name =   {_FILL}",
    'kind = "label"',
    f"# values =   {_FILL}: every class",
)
_TEXT_DRAFT = (
    "# not used: texts and identifiers.  For one that has few values, take the # away and",
    "# list them.",
)
_BLANKS = {
    "number": ('kind = "number"', f"# low =   {_FILL}", f"# high =   {_FILL}",
               "# (RuleSieve needs no bounds; near = 2000 helps it with numbers such as years)"),
    "flag": ('kind = "flag"',),
    "date": ('kind = "date"', f"# low =   {_FILL}: a date such as 2020-01-01",
             f"# high =   {_FILL}"),
    "other": (f'# kind =   {_FILL}: "number", "category", "flag" or "date"; or delete the column',
              "# low =        <- for a number or date", "# high =       <- for a number or date",
              "# values = []  <- for a category"),
}


def draft(columns: Sequence[tuple[str, str]]) -> str:
    """A domain file to fill in, from names and physical types alone.

    It is refused until the first thing to fill in is filled in.

    >>> "low =   <- fill in" in draft([("age", "number"), ("name", "text")])
    True
    """
    texts = [name for name, kind in columns if kind == "text"]
    lines = [*_TABLE_DRAFT]
    for name, kind in columns:
        if kind == "unreadable":
            lines += ["", "# not used: of a type that no rule reads", f"# {_named(name)}"]
        elif kind != "text":
            lines += ["", "[[column]]", _named(name), *_BLANKS[kind]]
    lines += ["", *_TARGET_DRAFT]
    if texts:
        lines += ["", *_TEXT_DRAFT]
    for name in texts:
        lines += ["#", "# [[column]]", f"# {_named(name)}", '# kind = "category"',
                  '# values = []  # every value that may occur, for example ["A", "B"]']
    return "\n".join([*lines, ""])


def _named(name: str) -> str:
    import tomli_w

    return tomli_w.dumps({"name": name}).rstrip("\n")
