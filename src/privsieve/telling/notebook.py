"""Notebook: any document as a small piece of HTML, without scripts and colours.

It is rendered like a page, without the frame and the style sheet.
"""

from __future__ import annotations

import re
from dataclasses import replace

from privsieve.telling import html
from privsieve.telling.document import Document, Facts, shortened

#: A notebook shows at most this many rows of a table, and the number of the others.
MANY = 20
_STYLE = {
    "table": "border-collapse:collapse;font-size:inherit;color:inherit;background:none",
    "cell": "padding:.15em .8em .15em 0;text-align:left;vertical-align:top"}
#: Parts that a notebook does not need: classes, links inside of a page, pictures.
_LEFT_OUT = re.compile(r' (?:class|id|aria-labelledby|scope|translate)="[^"]*"'
                       r'|(?s:<svg.*?</svg>)|<caption></caption>|<thead><tr></tr></thead>')


def fragment(document: Document) -> str:
    """Return a document as HTML.

    >>> "<script>" in fragment(Document("a <script>"))
    False
    """
    short = shortened(replace(document, glossary={}), MANY)
    facts = [Facts("", document.facts)] if document.facts else []
    title = html.parts([f"**{document.title}**"], short)
    text = _LEFT_OUT.sub("", f"{title}{html.parts([*facts, *short.parts], short)}")
    for tag in ("table", "td", "th"):
        style = _STYLE["table" if tag == "table" else "cell"]
        text = re.sub(rf"<{tag}(?=[ >])", f'<{tag} style="{style}"', text)
    return f"<div>{text}</div>"
