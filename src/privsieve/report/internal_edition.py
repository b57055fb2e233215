"""The internal edition: PRIVATE.  It adds what closed columns would do, and what is to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report import publication_end as end
from privsieve.report import publication_html as shared
from privsieve.report.charts import Piece, bar
from privsieve.report.disclosure_html import disclosure
from privsieve.report.markup import (
    count,
    flowing,
    joined,
    name,
    pair,
    paragraph,
    section,
    steps,
    table,
)
from privsieve.report.markup import (
    page as whole,
)
from privsieve.report.rounding import share_up

if TYPE_CHECKING:
    from privsieve.report.publication import InternalPage

_BAND = Markup('<div class="mark" role="note">PRIVATE · INTERNAL EDITION · DO NOT RELEASE</div>')
_ADDS = Markup(
    "<h3>What this edition adds</h3><ul><li>what each closed column would do</li><li>what is to be "
    "decided before release</li></ul><p>Neither edition shows a row or a combination of answers."
    "</p>")
_HEAD = ("Column, and smallest crowd if it were added (line: the {} asked for; longer bars end at "
         "{})")
_TICK = Markup('<span class="tick" role="img" aria-label="to tick"></span>')
_SIGN = Markup(
    '<section aria-labelledby="sign"><h2 id="sign">Decision</h2>\n<table class="kv"><caption>To be '
    'filled in by hand, or kept in a records system</caption><tbody><tr><th scope="row">This table '
    "is released</th><td>{0}yes &emsp; {0}no &emsp; {0}ask again, with other settings</td></tr>\n"
    '<tr><th scope="row">Conditions</th><td class="sign"></td></tr>\n'
    '<tr><th scope="row">Name and office</th><td class="sign"></td></tr>\n'
    '<tr><th scope="row">Date, signature</th><td class="sign"></td></tr></tbody></table></section>')


def page(told: InternalPage) -> bytes:
    """The whole page."""
    public = told.public
    places = (shared.PLACES[0], ("closed", "Closed columns"), *shared.PLACES[1:],
              ("sign", "Decision"))
    body = joined([
        _BAND, Markup('<main class="page">'), shared.line(public, "Internal edition"),
        shared.question(public), shared.answers(public), _decide(told), steps(places),
        shared.columns(public, "The open columns, and what each costs"), _closed(told),
        shared.roles(public), shared.crowds(public), shared.risk(public),
        disclosure(public.disclosed, public.limits), shared.use(public),
        end.limits(public), end.assumed(public, _ADDS), end.expert(public), end.check(public),
        _SIGN.format(_TICK), shared.FOOTER, Markup("</main>")])
    return whole("INTERNAL, do not release: which columns may be published? privsieve report",
                 "internal", body)


def _decide(told: InternalPage) -> Markup:
    """Questions that nobody but a person can answer, each with its number and a way out."""
    public = told.public
    asked = [_known(told)]
    asked.append(_classes(told))
    if public.suppressed:
        asked.append(("May rows be missing?", Markup(
            "{} of {} rows were left out, and whoever knows that somebody belongs here learns "
            "that theirs are rare. Without <code>--suppress</code> fewer columns fit.").format(
                count(public.suppressed), count(told.rows))))
    other = (Markup("The ledger counts all publications of its snapshot together; of others it "
                    "does not know.") if public.population else
             Markup("No ledger noted this publication. With <code>--ledger</code>, later ones are "
                    "counted together with it."))
    asked.append(("Is anything else about these people published?", other))
    return Markup('<section class="decide" aria-labelledby="dec"><h2 id="dec">To decide before '
                  "release</h2>\n{}</section>").format(joined(
                      Markup("<p>{}<b>{}</b> {}</p>").format(_TICK, *one) for one in asked))


def _known(told: InternalPage) -> tuple[str, Markup]:
    asked = "Can a recipient know more of a person than was counted?"
    measured = told.public.measured
    first = Markup("Counted was who knows {}. ").format(flowing(told.public.knows))
    out = Markup("If more can be known, ask again with <code>--absences</code>, without "
                 "<code>--target-unknown</code>, or with <code>--profile strict</code>.")
    if measured is None:
        return asked, first + out
    every = measured.every
    return asked, first + Markup("Of who knows {}, {} of {} rows ({}) fall below {}, and {} stand "
                                 "alone. ").format(
        flowing(every.who), count(every.below), count(measured.rows),
        share_up(every.below, measured.rows), count(told.public.k), count(every.alone or 0)) + out


def _classes(told: InternalPage) -> tuple[str, Markup]:
    public = told.public
    asked = "May the class be known for a whole crowd?"
    if public.target is None:
        return asked, Markup("The class is not published, and crowds may agree on it all the "
                             "same: whoever learns it elsewhere learns it for all.")
    number = public.measured.one_class if public.measured else None
    said = ("It was not counted how many crowds agree." if number is None
            else f"For {count(number)} rows the whole crowd has one class." if number
            else "No row has a crowd of one class.")
    return asked, Markup("{} A limit can be asked for with <code>--l-diversity</code>."
                         ).format(said)


def _closed(told: InternalPage) -> Markup:
    public = told.public
    title = f"The {count(told.items - len(public.columns))} closed columns, and why"
    if not told.closed:
        return section("closed", title, paragraph(
            "No column stays closed." if not told.passed_over else
            "Closed columns were not looked at: there are too many, or too many rows."))
    k = public.k
    most = max(k, *(min(one.level, 2 * k) for one in told.closed))
    rows = [[bar(name(one.name), [Piece(0, 100 * min(one.level, 2 * k) / most, "f2")],
                 100 * k / most), count(one.level), _rows(one.below), _rows(one.poor)]
            for one in told.closed]
    free = sum(not one.below and not one.poor for one in told.closed)
    notes = [paragraph(
        f"{count(free)} of them would keep what was asked: the method stopped before them, or they "
        "say nothing about the class.", "note")] if free else []
    if told.passed_over:
        notes.append(paragraph(f"{count(told.passed_over)} more were not looked at: that would "
                               "have taken too long.", "note"))
    return section(
        "closed", title,
        pair(f"Each is counted as if it alone were added to the open columns. Below {count(k)} it "
             "would expose somebody; with too few classes it would tell the class. The largest "
             "crowds stand first.",
             f"on all {count(told.rows)} rows of the table; {count(told.items)} yes-or-no columns "
             f"made of {count(told.columns)}"),
        table("What each closed column would do", [_HEAD.format(count(k), count(2 * k)),
              "Smallest crowd", f"Rows below {count(k)}", "Rows with too few classes"], rows),
        *notes)


def _rows(number: int) -> str:
    return count(number) if number else "none"
