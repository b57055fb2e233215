"""The head of a proof, one line a function, becomes a list: as text it would run together."""

from __future__ import annotations

import re

HEAD = re.compile(r"^(covers|assumes|rests on): (.*)$", re.MULTILINE)
CODE = re.compile(r"[\w./-]*\w")


def listed(text: str) -> str:
    """A proof whose head is a list; digests and names are code."""
    return HEAD.sub(lambda line: f"- {line[1]}: " + CODE.sub(r"`\g<0>`", line[2]), text)


def read(app, name, source):  # noqa: ARG001 - Sphinx gives them all
    """Change the text of a proof before it is parsed."""
    if name.endswith(".proof"):
        source[0] = listed(source[0])


def setup(app):
    """Hear each page before it is parsed."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
