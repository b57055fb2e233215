"""Page: a template of `pages/` becomes bytes; and the pieces and roundings that templates use.

A template is HTML.  ``{{ x }}`` shows a Python expression, escaped unless it is markup;
``{% if x %}``, ``{% elif x %}``, ``{% else %}``, ``{% for x in y %}`` and ``{% set x = y %}`` are
Python's, to ``{% end %}``; ``{% block x %}`` names a piece that other templates show as
``{{ x() }}``.  What stands outside of blocks is a comment.  A line that begins with a word goes on
where the last one ended.
"""

from __future__ import annotations

import re
import unicodedata
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, Protocol

from markupsafe import Markup, escape

from privsieve._version import __version__
from privsieve.errors import SchemaError
from privsieve.public.canonical import EXACT, Json, canonical, factor, power, short
from privsieve.public.canonical import digest as sha256
from privsieve.public.plan import sentence
from privsieve.release import WRONG

NAME = "report.html"
#: The module of each kind of release.
KINDS = {"selection": "private", "weights": "numbers", "regression": "numbers",
         "histogram": "numbers", "containment": "publication"}

#: A name of a stranger is cut here.
LARGEST_NAME = 128
#: More names than this stand in a table only.
MANY = 30
#: What a screen does not show, or takes for a direction: controls, formats, surrogates, separators.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
#: Where a name that is not short may be broken: after a mark, and every 16 characters.
_SHORT = 16
_PIECES = r"[^_./-]{0,15}[_./-]|[^_./-]{1,16}"

_FOLDER = Path(__file__).parent / "pages"
#: A bar in a row of a table; every figure also stands there in digits.
_ROW = Markup('<div class="bar"><span>{}</span><svg width="100%" height="14" aria-hidden="true">'
              "{}{}</svg></div>")
_RECT = Markup('<rect x="{}%" y="1" width="{}%" height="12" class="{}"/>')
_LINE = Markup('<line x1="{0}%" x2="{0}%" y1="0" y2="14" class="l1"/>')

#: Patterns of templates: they are compiled where a template is.
_MARK = r"(?s)(\{\{.*?\}\}|\{%.*?%\})"
#: A statement that has its line to itself takes the line away with it.
_OWN_LINE = r"(?s)\n[ \t]*(\{%(?:(?!%\}).)*%\})[ \t]*(?=\n)"
#: Ends of lines before these are not shown; before a word they are a space.
_JOINED = r"\n\s*(?=</(?:section|div|ul|dl|p|tbody)>|<li>)"
_CONTINUED = r"\n\s*(?=[^\s<]|<(?:a|b|i|code|span)[ >])"


class Place(Protocol):
    """Where a release is written."""

    def write(self, name: str, data: bytes) -> None:
        """Put a file there."""


def html(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> bytes:
    """The public edition: the same two files give the same bytes.

    >>> html({"kind": "poem"}, {"claim": {"kind": "poem"}})
    Traceback (most recent call last):
        ...
    privsieve.errors.SchemaError: release.json is of a kind that has no report yet
    """
    kind = release.get("kind")
    if kind not in KINDS:
        raise SchemaError("release.json is of a kind that has no report yet")
    module = import_module(f"privsieve.report.{KINDS[kind]}")
    try:
        page: bytes = module.page(release, certificate)
    except WRONG:
        raise SchemaError("release.json or certificate.json lacks what a report says; take the "
                          "files as privsieve wrote them") from None
    return page


def internal_html(release: Mapping[str, Any], certificate: Mapping[str, Any],
                  closed: Mapping[str, Json]) -> bytes:
    """The internal edition of a publication: PRIVATE, for who holds the table.

    `closed` is what `containment.closed` says of the columns that stay behind.
    """
    from privsieve.report.publication import internal_page

    return internal_page(release, certificate, closed)


def write_report(folder: Place, release: Mapping[str, Any], certificate: Mapping[str, Any],
                 ) -> bool:
    """Lay the report beside its release; whether that could be done.

    A page is not worth a release: that was paid for and says all, and `privsieve report` makes the
    page again.
    """
    with suppress(Exception, KeyboardInterrupt):
        folder.write(NAME, html(release, certificate))
        return True
    return False


def ready(kind: str) -> None:
    """Load and compile what the page of this kind takes: what is broken there is found for free.

    >>> ready("selection")
    """
    if kind in KINDS:
        for module in (KINDS[kind], "officer"):
            import_module(f"privsieve.report.{module}")
        for template in ("base", "private", kind):
            _compiled(template)


@dataclass(frozen=True)
class TwoFiles:
    """What a page works out from release.json and certificate.json, in words for its template."""

    release: Mapping[str, Any]
    certificate: Mapping[str, Any]

    @property
    def claim(self) -> Mapping[str, Any]:
        """The claim, in the certificate's own terms."""
        return self.certificate["claim"]  # type: ignore[no-any-return]

    @property
    def software(self) -> str:
        """What made the release."""
        return pairs(sorted(self.certificate["software"].items()))

    @property
    def form(self) -> Any:
        """The parts that a data protection officer signs."""
        from privsieve.report import officer

        return officer.form(self.release, self.certificate)

    def document(self, *templates: str, kind: str = "public", **names: Any) -> bytes:
        """The page: its templates know the two files, and this as `page`."""
        return document(*templates, page=self, release=self.release, claim=self.claim,
                        certificate=self.certificate, kind=kind, **names)


class Glossary:
    """The terms that one page uses, each a link, where it first stands, to what it means.

    >>> word = Glossary()
    >>> word("ε", "epsilon"), word("ε", "epsilon")
    (Markup('<a class="def" href="#w-epsilon">ε</a>'), Markup('ε'))
    >>> [term for term, _ in word.used]
    ['epsilon']
    """

    def __init__(self) -> None:
        self._used: set[str] = set()

    @property
    def words(self) -> dict[str, str]:
        """Each term that there is, and what it means."""
        lines = (_FOLDER / "glossary.txt").read_text(encoding="utf-8").splitlines()
        return dict(line.split(": ", 1) for line in lines)

    def __call__(self, text: str, term: str = "") -> Markup:
        """A term as it stands in a sentence."""
        key = term or text.replace(" ", "-")
        if key in self._used:
            return escape(text)
        self._used.add(key)
        return Markup('<a class="def" href="#w-{}">{}</a>').format(key, text)

    @property
    def used(self) -> list[tuple[str, str]]:
        """Each term that stands on the page, and what it means."""
        words = self.words
        return [(term, words[term]) for term in sorted(self._used)]


def document(*templates: str, **names: Any) -> bytes:
    """A whole page of some templates; the blocks of a later one go before those of an earlier.

    The base is the frame of all; what is named here is known to every block.
    """
    style = (_FOLDER / "style.css").read_text(encoding="utf-8")
    known = blocks("base", *templates, **names,
                   version=__version__, style=Markup(style),  # noqa: S704  # our own file
                   sha=b2a_base64(bytes.fromhex(sha256(style.encode())), newline=False).decode())
    return f"{known['document']()}\n".encode()


def blocks(*templates: str, **names: Any) -> dict[str, Any]:
    """The blocks of some templates, as functions."""
    known = {**_pieces(), "word": Glossary(), **names}
    for template in templates:
        exec(_compiled(template), known)  # noqa: S102  # our own files
    return known


@cache
def _compiled(template: str) -> CodeType:
    """The code of the Python that a template stands for."""
    place = _FOLDER / f"{template}.html"  # an extra has its template beside it, and a whole path
    return compile("\n".join(_program(place.read_text(encoding="utf-8"))), place, "exec")


def _program(text: str) -> Iterator[str]:
    """The Python of a template: each block is a function that gives markup."""
    depth = 0
    opened: list[str] = []
    for token in re.split(_MARK, re.sub(_OWN_LINE, r"\1", f"\n{text}\n")):
        indent = "    " * depth
        if token.startswith("{{"):
            yield f"{indent}shown.append(escape({token[2:-2].strip()}))"
        elif not token.startswith("{%"):
            said = re.sub(r"\n\s*", "\n", re.sub(_CONTINUED, " ", re.sub(_JOINED, "", token)))
            if depth and said:
                yield f"{indent}shown.append({said!r})"
        else:
            word, _, rest = token[2:-2].strip().partition(" ")
            if word == "end":
                if opened.pop() == "block":
                    yield f"{indent}return Markup(''.join(shown).strip())"
                depth -= 1
            elif word == "set":
                yield f"{indent}{rest}"
            elif word in ("else", "elif"):
                yield f"{'    ' * (depth - 1)}{word} {rest}:"
            else:
                head = rest if "(" in rest else f"{rest}()"
                yield f"{indent}def {head}:" if word == "block" else f"{indent}{word} {rest}:"
                depth += 1
                opened.append(word)
                yield f"{'    ' * depth}{'shown = []' if word == 'block' else 'pass'}"


def _pieces() -> dict[str, Any]:
    """What every template may use."""
    pieces: list[Callable[..., Any]] = [
        escape, clean, clean_sentence, flowing, name, names, joined, facts, table, digest, count,
        plural, listed, place, factor, share_up, wide, canonical, sentence]
    return {"sha256": sha256, "Markup": Markup, "MANY": MANY,
            **{piece.__name__: piece for piece in pieces}}


def clean(text: object) -> str:
    r"""A text that shows as it is: no controls, no directions, at most 128 characters.

    >>> clean("age\u202e\n"), len(clean("x" * 1000)), clean("\x00")
    ('age', 128, '')
    """
    seen = str(text)[:8 * LARGEST_NAME]
    if not (seen.isascii() and seen.isprintable()):
        seen = "".join(c for c in seen if unicodedata.category(c) not in _HIDDEN)
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
    return Markup(" ").join(Markup("<wbr>").join(re.findall(_PIECES, word)) if len(word) > _SHORT
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
    pieces = [shown] if len(shown) <= _SHORT else re.findall(_PIECES, shown)
    return Markup('<code translate="no"><bdi>{}</bdi></code>').format(Markup("<wbr>").join(pieces))


def names(texts: Iterable[object]) -> Markup:
    """Names with commas between them.

    >>> names("ab").striptags()
    'a, b'
    """
    return Markup(", ").join(name(text) for text in texts)


def listed(texts: Sequence[object], place: str) -> Markup:
    """Names, or a link to the table where there are many."""
    return names(texts) if len(texts) <= MANY else Markup(
        'they stand in <a href="#{}">the table below</a>').format(place)


def joined(parts: Iterable[str], between: str = "\n") -> Markup:
    """Pieces one after the other; what is not markup is escaped.

    >>> joined(["<", Markup("<br>")], "")
    Markup('&lt;<br>')
    """
    return escape(between).join(parts)


def facts(rows: Iterable[tuple[str, str]]) -> Markup:
    """Rows of a table of names and what they are."""
    return joined(Markup('<tr><th scope="row">{}</th><td>{}</td></tr>').format(*row)
                  for row in rows)


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *,
          marked: int | None = None, words: int = 1, kind: str = "long") -> Markup:
    """A table; the first `words` columns hold words, the others figures.

    >>> table("t", ["a", "b"], [["x", "1"]]).striptags()
    'tab x1'
    """
    def cells(texts: Sequence[str], tags: Sequence[str]) -> Markup:
        return Markup("").join(
            Markup(f"<{tags[at > 0]}{own[at >= words]}>{escape(text)}</{tags[at > 0][:2]}>")  # noqa: S704  # our tags
            for at, text in enumerate(texts))

    own, mine, line = ("", ' class="r"'), ("", ' class="me"'), ('th scope="row"', "td")
    lines = joined(Markup(f"<tr{mine[at == marked]}>{cells(row, line)}</tr>")  # noqa: S704  # ours
                   for at, row in enumerate(rows))
    return Markup('<table class="{}"><caption>{}</caption><thead><tr>{}</tr></thead>\n<tbody>\n'
                  "{}\n</tbody></table>").format(
                      kind, caption, cells(head, ('th scope="col"',) * 2), lines)


class Piece(NamedTuple):
    """A part of a bar, from here to there in per cent of the width."""

    start: float
    end: float
    kind: str = "f1"


def bar(label: str, pieces: Sequence[Piece], limit: float | None = None) -> Markup:
    """A label with its bar beside it; a thin line marks the limit that the header names.

    >>> bar("x", [Piece(0, 50)]).count("<rect")
    1
    """
    line = Markup("") if limit is None else _LINE.format(wide(limit))
    drawn = joined((_RECT.format(wide(p.start), wide(p.end - p.start), p.kind) for p in pieces
                    if p.end > p.start), "")
    return _ROW.format(label, drawn, line)


def wide(percentage: float) -> str:
    """Where something stands in a figure, in per cent of the width: type is never scaled.

    >>> wide(100 / 3)
    '33.33'
    """
    return f"{percentage:.2f}"


def pairs(said: Iterable[tuple[object, object]]) -> str:
    """Names and their values, in a line."""
    return ", ".join(f"{clean(key)} {clean(value)}" for key, value in said)


def digest(text: object) -> Markup:
    """A digest, broken wherever it has to be."""
    return Markup('<code class="d">{}</code>').format(clean(text))


def count(number: int) -> str:
    """A whole number with its thousands parted.

    >>> count(12480)
    '12,480'
    """
    return f"{number:,}"


def some(number: int) -> str:
    """The same, or that there is none."""
    return count(number) if number else "none"


def plural(number: int, noun: str) -> str:
    """A number of things, in words.

    >>> plural(1, "column"), plural(1200, "column")
    ('1 column', '1,200 columns')
    """
    return f"1 {noun}" if number == 1 else f"{count(number)} {noun}s"


def place(values: Sequence[object], value: object) -> int | None:
    """Where a value stands, if it does."""
    return values.index(value) if value in values else None


def belief(epsilon: Fraction, before: Fraction) -> tuple[Decimal, Decimal]:
    """How sure somebody can become who was `before` sure, in per cent, rounded outwards.

    Odds change by the factor e^epsilon at most, in either direction.

    >>> from fractions import Fraction
    >>> [percent(end) for end in belief(Fraction(1, 2), Fraction(1, 2))]
    ['37 %', '63 %']
    >>> [percent(end) for end in belief(Fraction(5), Fraction(1, 100))]
    ['0.0068 %', '60 %']
    """
    times = power(epsilon)
    sure, unsure = Decimal(before.numerator), Decimal(before.denominator - before.numerator)
    low = EXACT.divide(100 * sure, EXACT.add(sure, EXACT.multiply(unsure, times)))
    much = EXACT.multiply(sure, times)
    high = EXACT.divide(100 * much, EXACT.add(much, unsure))
    return _two(low, ROUND_FLOOR), min(_two(high, ROUND_CEILING), Decimal(100))


def percent(value: Decimal) -> str:
    """A percentage for people, as it was rounded.

    >>> percent(Decimal("63")), percent(Decimal("1E-7"))
    ('63 %', '0 %')
    """
    return "0 %" if value < Decimal("0.001") else f"{short(value)} %"


def share_up(part: int, whole: int) -> str:
    """A share that is bad news, in per cent, rounded up.

    >>> share_up(0, 300), share_up(1, 3000), share_up(299, 300), share_up(41, 1000)
    ('0 %', '0.1 %', '100 %', '5 %')
    """
    if 0 < part * 100 < whole:
        tenths = -(-part * 1000 // whole)
        return f"{tenths // 10}.{tenths % 10} %" if tenths < 10 else "1 %"
    return f"{-(-part * 100 // whole)} %"


def rounded(value: Fraction, place: int, how: str) -> Decimal:
    """A number with its last digit at this power of ten."""
    exact = EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    return exact.quantize(Decimal(1).scaleb(place), rounding=how, context=EXACT)


def _two(value: Decimal, how: str) -> Decimal:
    """Two digits that matter, or whole numbers above them."""
    place = min(value.adjusted() - 1, 0)
    return value.quantize(Decimal(1).scaleb(place), rounding=how, context=EXACT)
