"""Markup: pieces of a page.  MarkupSafe escapes whatever is put into them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup, escape

from privsieve._version import __version__

#: A name of a stranger is cut here.
LARGEST_NAME = 128
#: What a screen does not show, or takes for a direction: controls, formats, surrogates, separators.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
#: Where a name that is not short may be broken: after a mark, and every 16 characters.
_SHORT = 16
_PIECES = re.compile(r"[^_./-]{0,15}[_./-]|[^_./-]{1,16}")

_PAGE = Markup("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{hash}'; \
base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="generator" content="privsieve {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="{kind}">
{body}
</body>
</html>
""")


def page(title: str, kind: str, body: Markup) -> bytes:
    """A whole page; `title` and `kind` are words of ours, never of a table."""
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _PAGE.format(hash=digest, version=__version__, title=title, style=Markup(style),  # noqa: S704  # our own file
                        kind=kind, body=body).encode()


def clean(text: object) -> str:
    r"""A text that shows as it is: no controls, no directions, at most 128 characters.

    >>> clean("age\u202e\n"), len(clean("x" * 1000)), clean("\x00")
    ('age', 128, '')
    """
    seen = "".join(c for c in str(text)[:8 * LARGEST_NAME]
                   if unicodedata.category(c) not in _HIDDEN)
    return seen if len(seen) <= LARGEST_NAME else seen[:LARGEST_NAME - 1] + "…"


def clean_sentence(text: str) -> str:
    """A sentence of a release, without a stop at its end.

    >>> clean_sentence("too few rows.")
    'too few rows'
    """
    return " ".join(clean(part) for part in text[:1000].split(" ")).rstrip(". ")


def flowing(text: str) -> Markup:
    """A sentence that may hold names of a stranger: long words have places to break.

    >>> str(flowing("who knows " + "W" * 40)).count("<wbr>") > 0
    True
    """
    return Markup(" ").join(Markup("<wbr>").join(_PIECES.findall(word)) if len(word) > _SHORT
                            else word for word in clean_sentence(text).split(" "))


def name(text: object) -> Markup:
    """A name that a stranger chose, harmless and, if it is long, with places to break.

    >>> name("<b>")
    Markup('<code translate="no"><bdi>&lt;b&gt;</bdi></code>')
    >>> name("admissions_last_year").count("<wbr>")
    2
    """
    shown = clean(text)
    if not shown.strip():
        return Markup('<span class="t">(a name that cannot be shown)</span>')
    pieces = [shown] if len(shown) <= _SHORT else _PIECES.findall(shown)
    return Markup('<code translate="no"><bdi>{}</bdi></code>').format(Markup("<wbr>").join(pieces))


def names(texts: Iterable[object]) -> Markup:
    """Names with commas between them.

    >>> names("ab").striptags()
    'a, b'
    """
    return Markup(", ").join(name(text) for text in texts)


def joined(parts: Iterable[str], between: str = "\n") -> Markup:
    """Pieces one after the other; what is not markup is escaped.

    >>> joined(["<", Markup("<br>")], "")
    Markup('&lt;<br>')
    """
    return escape(between).join(parts)


def section(place: str, title: str, *parts: str) -> Markup:
    """A section with its heading."""
    return Markup('<section aria-labelledby="{}"><h2 id="{}">{}</h2>\n{}</section>').format(
        place, place, title, joined(parts))


def pair(plain: str, term: str) -> Markup:
    """Plain words, and the exact term beside them."""
    return Markup('<div class="pt"><p>{}</p><p class="t">{}</p></div>').format(plain, term)


def paragraph(text: str, kind: str = "") -> Markup:
    """A paragraph."""
    return Markup('<p class="{}">{}</p>').format(kind, text) if kind else Markup(
        "<p>{}</p>").format(text)


def points(items: Iterable[str]) -> Markup:
    """A list."""
    return Markup("<ul>{}</ul>").format(
        joined((Markup("<li>{}</li>").format(item) for item in items), ""))


def facts(caption: str, rows: Iterable[tuple[str, str]]) -> Markup:
    """A table of names and what they are."""
    return Markup('<table class="kv"><caption>{}</caption><tbody>{}</tbody></table>').format(
        caption, joined((Markup('<tr><th scope="row">{}</th><td>{}</td></tr>').format(*row)
                         for row in rows), "\n"))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *,
          marked: int | None = None, words: int = 1, kind: str = "long") -> Markup:
    """A table; the first `words` columns hold words, the others figures.

    >>> table("t", ["a", "b"], [["x", "1"]]).striptags()
    'tab x1'
    """
    def cell(at: int, text: str) -> Markup:
        kind = Markup("") if at < words else Markup(' class="r"')
        form = Markup('<th scope="row"{}>{}</th>') if at == 0 else Markup("<td{}>{}</td>")
        return form.format(kind, text)

    top = joined((Markup('<th scope="col"{}>{}</th>').format(
        Markup("") if at < words else Markup(' class="r"'), text)
        for at, text in enumerate(head)), "")
    lines = (Markup("<tr{}>{}</tr>").format(
        Markup(' class="me"') if at == marked else Markup(""),
        joined((cell(place, text) for place, text in enumerate(row)), ""))
        for at, row in enumerate(rows))
    return Markup('<table class="{}"><caption>{}</caption><thead><tr>{}</tr></thead>\n<tbody>\n'
                  "{}\n</tbody></table>").format(kind, caption, top, joined(lines))


def steps(places: Iterable[tuple[str, str]]) -> Markup:
    """Where the sections are."""
    return Markup('<nav class="toc" aria-label="On this page">{}</nav>').format(
        joined((Markup('<a href="#{}">{}</a>').format(*one) for one in places), " · "))


def five(answers: Iterable[tuple[str, str, str]]) -> Markup:
    """The five answers: a heading, plain words, the exact term."""
    return Markup('<dl class="five">{}</dl>').format(joined(
        Markup('<div><dt>{}</dt><dd>{}</dd><dd class="term">{}</dd></div>').format(*answer)
        for answer in answers))


def digest(text: object) -> Markup:
    """A digest, broken wherever it has to be."""
    return Markup('<code class="d">{}</code>').format(clean(text))


def count(number: int) -> str:
    """A whole number with its thousands parted.

    >>> count(12480)
    '12,480'
    """
    return f"{number:,}"
