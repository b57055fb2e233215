"""The officer's summary: one printed page for whom decides, in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report.markup import count, joined, names, points
from privsieve.report.rounding import share_up

if TYPE_CHECKING:
    from privsieve.report.exploring import Asked, Explored, Point

#: More names than this are not listed.
MANY = 30

_TICK = Markup('<span class="tick" role="img" aria-label="to tick"></span>')
_SIGN = Markup(
    '<table class="kv"><caption>Decision</caption><tbody>'
    '<tr><th scope="row">The crowd of every row</th><td class="sign">k = </td></tr>\n'
    '<tr><th scope="row">Such a table may be made</th><td>{0}yes &emsp; {0}no &emsp; {0}ask again, '
    "with other settings</td></tr>\n"
    '<tr><th scope="row">Conditions</th><td class="sign"></td></tr>\n'
    '<tr><th scope="row">Name and office</th><td class="sign"></td></tr>\n'
    '<tr><th scope="row">Date, signature</th><td class="sign"></td></tr></tbody></table>')


def summary(told: Explored) -> Markup:
    """What would be released, who could find whom, what was declared, and what is to decide."""
    here = told.point(told.asked.way, told.asked.k)
    parts = ([Markup("<p>At k = {} no column of this table could be published ({}). The curve says "
                     "what a smaller k would allow.</p>").format(count(told.asked.k),
                                                                 told.asked.way)]
             if here is None or not here.items else
             [_released(told, here), _finds(told, here), _declared(told), _decide(told, here)])
    return Markup('<section class="officer" aria-labelledby="officer"><h2 id="officer">For who '
                  "decides</h2>\n{}\n{}</section>").format(joined(parts), _SIGN.format(_TICK))


def knows(asked: Asked) -> Markup:
    """What the stranger of the promise is taken to know, and what of the class."""
    if asked.target is None or asked.known:
        return stranger(asked) + Markup(".")
    return stranger(asked) + (Markup(", but not its class.") if asked.published else
                              Markup(". The class is not published."))


def stranger(asked: Asked) -> Markup:
    """The stranger of the promise."""
    if asked.way == "strict" or (asked.both and not asked.presences):
        said = Markup("Somebody who knows of every published column whether a row has it or not")
    elif asked.both:
        said = Markup("Somebody who knows what a row <b>has</b>, and of {} also what it lacks"
                      ).format(_listed(asked.both))
    else:
        said = Markup("Somebody who knows what a row <b>has</b>, all of it or any part, and not "
                      "what it lacks")
    return said + (Markup(", and its class") if asked.known else Markup(""))


def _listed(columns: Iterable[str]) -> Markup:
    whole = tuple(columns)
    return names(whole) if len(whole) <= MANY else Markup("{} columns").format(count(len(whole)))


def _released(told: Explored, here: Point) -> Markup:
    asked = told.asked
    shown = (names(told.names) if len(told.names) <= MANY else
             Markup("too many to list here"))
    target = (Markup(", and the class of each row") if asked.published and asked.target else
              Markup(", and not the class"))
    return Markup("<p><b>What would be released.</b> A table of {} shuffled rows with {} yes-or-no "
                  "columns, made of {} of the {} columns{}: {}.</p>").format(
        count(asked.rows), count(here.items), count(here.columns), count(asked.columns),
        target if asked.target else "", shown)


def _finds(told: Explored, here: Point) -> Markup:
    asked, every = told.asked, here.strangers.every
    text = Markup("<p><b>Who could find whom.</b> {} finds at least {} {} that fit: a guess is "
                  "right at most 1 time in {}. ").format(
        stranger(asked), count(here.level), "sources" if asked.sources else "rows",
        count(here.level))
    text += Markup("Who knows every published answer, yes and no, finds {} alone").format(
        _of(told, every.alone))
    if asked.classes > 1:
        text += Markup(", and with the class {}").format(
            _of(told, here.strangers.every_class.alone))
    text += Markup(". ")
    guess = next((one for one in told.population.alone if one.on == asked.way), None) if (
        told.population) else None
    if told.population and guess and guess.right is not None:
        text += Markup("Among {} people a match with a row that is alone is right in {} of 100 "
                       "cases{}. ").format(
            count(told.population.people), count(min(-int(-guess.right * 100 // 1), 100)),
            "" if told.population.exact else ", by estimate")
    if here.share is not None:
        text += Markup("In some crowd {} of the rows have one class: who finds that crowd learns "
                       "so much of it.").format(nearly(here.share))
    return text + Markup("</p>")


def nearly(share: float | None) -> str:
    """A share that is bad news, rounded up; all is said only of all.

    >>> nearly(0.98765), nearly(0.99999), nearly(1.0), nearly(None)
    ('98.8 %', '99.9 %', '100 %', '–')
    """
    if share is None or share >= 1:
        return "–" if share is None else "100 %"
    return f"{min(-int(-share * 1000 // 1), 999) / 10:.1f} %"


def _of(told: Explored, rows: int) -> str:
    if not rows:
        return "no row"
    return f"{count(rows)} of {count(told.asked.rows)} rows ({share_up(rows, told.asked.rows)})"


def _declared(told: Explored) -> Markup:
    asked = told.asked
    said: list[Markup | str] = [
        "Several rows may be of one person: k counts persons." if asked.sources
        else "Each row is one person.",
        "Nothing else about these people is published, or it is counted together with this."]
    if asked.presences and asked.way != "strict":
        said.append(Markup("Nobody outside knows for certain what somebody lacks of {}.").format(
            _listed(asked.presences)))
    if asked.published and not asked.known:
        said.append("Nobody outside knows the class of a row.")
    if asked.sensitive:
        said.append(Markup("What must not be learned, and stays out of the table: {}.").format(
            _listed(asked.sensitive)))
    if told.population:
        said.append(f"The rows are a simple random sample of {count(told.population.people)} "
                    "people." if not told.population.exact else
                    "The table of all people holds all people.")
    return Markup("<p><b>What was declared</b>, and nobody checked:</p>") + points(said)


def _decide(told: Explored, here: Point) -> Markup:
    """Questions that nobody but a person can answer."""
    asked = told.asked
    questions = [Markup("Is a crowd of {} large enough for these people, and for who may have the "
                        "table?").format(count(here.level))]
    if here.strangers.every.alone and asked.way != "strict":
        questions.append(Markup("Can anybody know what somebody does <b>not</b> have?"))
    if asked.classes > 1:
        questions.append(Markup("May a whole crowd share a class, or be nearly of one?"))
    if asked.limits:
        questions.append(Markup("Limits that were named and are not part of this page ({}): "
                                "privsieve publish checks them.").format(", ".join(asked.limits)))
    return Markup('<div class="decide"><p><b>To decide</b></p>{}</div>').format(joined(
        Markup("<p>{}{}</p>").format(_TICK, one) for one in questions))
