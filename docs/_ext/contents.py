"""The sidebar is read from the lists of `docs/index.md`: a part a section, inner lists below.

So the pages hold no directive that a viewer of Markdown would show raw, and a page that is missing
from the lists fails the build.
"""

from __future__ import annotations

import posixpath
import re

INDEX = "docs/index"
#: Pages whose children are files of a kind, and not a list that somebody keeps.
ALL_OF = {"docs/guarantees": "/src/privsieve/**", "docs/decisions/README": "*",
          "docs/python": "reference/*",
          "experiments/README": "results/*"}
ENTRY = re.compile(r"^( *)- \[[^\]]*\]\(([^)#:]+)\)")


def tree(*lines: str) -> str:
    """A table of contents that the page itself does not show."""
    return "\n".join(["", "```{toctree}", ":hidden:", *lines, "```", ""])


def parts(text: str) -> list[tuple[str, list[tuple[int, str]]]]:
    """The sections of the index: a heading, and its entries with their depth."""
    sections: list[tuple[str, list[tuple[int, str]]]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            sections.append((line[3:], []))
        elif (entry := ENTRY.match(line)) and sections:
            page = posixpath.normpath(posixpath.join("/docs", entry[2]))
            sections[-1][1].append((len(entry[1]) // 2, posixpath.splitext(page)[0]))
    return [(name, entries) for name, entries in sections if entries]


def children(text: str) -> dict[str, list[str]]:
    """Return the pages of each inner list, by the page above it."""
    below: dict[str, list[str]] = {}
    for _, entries in parts(text):
        above = ""
        for depth, page in entries:
            if depth:
                below.setdefault(above, []).append(page)
            else:
                above = page.lstrip("/")
    return below


def add(app, name, source):
    """Append to a page what the sidebar shows below it."""
    if name == INDEX:
        for caption, entries in parts(source[0]):
            top = [page for depth, page in entries if not depth]
            source[0] += tree(f":caption: {caption}", "", *top)
    else:
        index = (app.srcdir / f"{INDEX}.md").read_text(encoding="utf-8")
        below = children(index).get(name)
        if below:
            source[0] += tree("", *below)
        if name in ALL_OF:
            source[0] += tree(":glob:", "", ALL_OF[name])


def setup(app):
    """Hear each page before it is parsed."""
    app.connect("source-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
