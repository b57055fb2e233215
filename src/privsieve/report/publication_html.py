"""The public edition of a publication: nothing that the published table does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.public.strangers import BOTH, SENSITIVE, TARGET_INSIDE, TARGET_KNOWN
from privsieve.report import publication_end as end
from privsieve.report.charts import Piece, bar
from privsieve.report.disclosure_html import PLACE as TELLS
from privsieve.report.disclosure_html import disclosure
from privsieve.report.markup import (
    clean,
    count,
    five,
    flowing,
    joined,
    name,
    names,
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
    from privsieve.report.publication import Crowds, Measured, PublicationPage

#: More names than this stand in the table only.
_MANY = 30

PLACES = (("cols", "The columns"), ("roles", "Who may know what"), ("crowds", "The crowds"),
          ("risk", "The risk of being found"), TELLS,
          ("use", "Usefulness"), ("not", "What is not protected"), ("assume", "Assumptions"),
          ("expert", "For experts"), ("check", "Check this report"))
FOOTER = Markup("<footer>This page loads nothing, runs nothing and stores nothing.</footer>")


def page(told: PublicationPage) -> bytes:
    """The whole page."""
    body = joined([
        Markup('<main class="page">'), line(told, "Public edition"), question(told), answers(told),
        steps(PLACES), columns(told), roles(told), crowds(told), risk(told),
        disclosure(told.disclosed, told.limits), use(told), end.limits(told),
        end.assumed(told, end.HELD), end.expert(told), end.check(told), FOOTER, Markup("</main>")])
    return whole("Which columns may be published? privsieve report, public edition", "public", body)


def line(told: PublicationPage, edition: str) -> Markup:
    """The line at the top."""
    return Markup('<div class="top"><span><b>privsieve</b> report · <b>{}</b></span>'
                  "<span>Release {}</span></div>").format(edition, told.short)


def question(told: PublicationPage) -> Markup:
    """The question."""
    if told.population is None:
        return Markup("<h1>Which columns of this table may be published?</h1>")
    return Markup("<h1>Which columns about {} may be published?</h1>").format(name(told.population))


def answers(told: PublicationPage) -> Markup:
    """The five answers."""
    k, level = count(told.k), count(told.level)
    return five([
        ("What was asked",
         Markup("Columns that can be published row by row, so that every row hides in a crowd of "
                "at least {}.").format(k),
         Markup("{}, <i>k</i>&nbsp;=&nbsp;{}").format(
             "k-anonymity" if told.equal else "k-anonymity by containment", k)),
        ("What was answered", _answered(told), _answer_term(told)),
        ("What it cost",
         ("No privacy budget: there is no noise in this table. It costs the columns that stay "
          "closed, and this edition does not speak of them."),
         "a level, not an ε; it never adds to a budget"),
        ("What it protects",
         Markup("Each row, from a stranger who knows {}. At least {} rows always fit, so a guess "
                "is right at most 1 time in {}.").format(flowing(told.knows), level, level),
         Markup("level {}; the chance of a hit is at most 1/{}").format(level, level)),
        ("What it does not protect", _unprotected(told),
         "not differential privacy" if not _hidden(told)
         else "weaker than k-anonymity, which covers every column; not differential privacy"),
    ])


def _answered(told: PublicationPage) -> Markup:
    many = len(told.columns)
    shown = names(told.columns) if many <= _MANY else Markup(
        'they stand in <a href="#cols">the table below</a>')
    return Markup('{}, and {}. The smallest crowd is {} rows: <span class="names">{}</span>'
                  ).format("1 column" if many == 1 else f"{count(many)} columns",
                           Markup("the class {}").format(name(told.target)) if told.target
                           else "no class", count(told.level), shown)


def _answer_term(told: PublicationPage) -> str:
    rows = f"{count(told.measured.rows)} rows; " if told.measured else ""
    left_out = (f"; {count(told.suppressed)} rows were left out" if told.suppressed else "")
    return f"{rows}columns of zeros and ones, here from A to Z{left_out}"


def _hidden(told: PublicationPage) -> bool:
    """Whether something is published that does not count as known."""
    return any(role not in (BOTH, TARGET_KNOWN, TARGET_INSIDE, SENSITIVE) for role, _ in told.roles)


def _unprotected(told: PublicationPage) -> Markup:
    if not _hidden(told):
        return Markup("<b>What a whole crowd shares</b>, and what is known from elsewhere: rows "
                      "that look alike can agree, and other tables can tell them apart.")
    first = Markup("<b>Knowing more than was counted.</b> ")
    if told.measured is None:
        return first + Markup("This release does not say how many rows then stand alone.")
    every = told.measured.every
    if not every.alone:
        return first + Markup("Who knows {} finds a crowd of {} for some rows: nobody promised "
                              "more.").format(flowing(every.who), count(every.level))
    return first + Markup("Who knows {} finds {} of the {} rows alone.").format(
        flowing(every.who), count(every.alone), count(told.measured.rows))


def roles(told: PublicationPage) -> Markup:
    """What each column is for a stranger, and what each kind of stranger finds."""
    rows = [[clean(role), names(columns)] for role, columns in told.roles]
    measured = told.measured
    found = [] if measured is None else [table(
        "What a stranger finds, by what is known",
        ["Who knows", "Smallest crowd", f"Rows in a crowd below {count(told.k)}", "Rows alone"],
        [[Markup("<b>{}</b> (promised)").format(flowing(one.who)) if one == measured.promised
          else flowing(one.who), count(one.level), _share(one.below, measured.rows),
          "not counted" if one.alone is None else _share(one.alone, measured.rows)]
         for one in measured.strangers])]
    return section(
        "roles", "Who may know what", pair(
            "What may be known counts toward k. Whoever knows the value of a category, a number or "
            "a date knows all of its columns, those that are no, too. What is declared unknown "
            "was not checked, and cannot be.",
            "roles of the columns"),
        table("What each column is", ["Role", "Columns"], rows, words=2), *found)


def columns(told: PublicationPage, title: str = "The columns, and what each costs") -> Markup:
    """What each published column costs in anonymity."""
    partial = [paragraph(Markup("Of {} only a part is published: {}.").format(
        name(column), names(items))) for column, items in told.partial]
    measured = told.measured
    if measured is None:
        return section("cols", title, paragraph(
            "This release does not say what each column costs."),
            table("What is published", ["Column"], [[name(one)] for one in told.columns]),
            *partial)
    level = measured.promised.level
    counted = [item.without for item in measured.items if item.without is not None]
    if len(counted) < len(measured.items):
        held = [[name(item.name), count(item.rows)]
                for item in sorted(measured.items, key=lambda one: one.name.casefold())]
        return section("cols", title, paragraph(
            "What each column costs was not counted: the table is large. Whoever has it can, with "
            "privsieve check."),
            table("What is published", ["Column", "Rows that have it"], held), *partial)
    most = max([level, *counted])
    rows: list[list[str]] = []
    for item in sorted(measured.items, key=lambda one: (-(one.without or 0), one.name.casefold())):
        without = item.without or level
        base, reach = 100 * level / most, 100 * without / most
        rows.append([bar(name(item.name), [Piece(0, base, "f3"), Piece(base, reach)], base),
                     count(without), count(without - level), count(item.rows)])
    return section(
        "cols", title,
        pair(Markup("Without a column some crowds may grow. By how much the smallest one grows is "
                    "what that column costs: with all of them it is {}.").format(count(level)),
             "level without the column, for the promised stranger"),
        table("What each column costs",
              [f"Column, and smallest crowd without it (line: {count(level)}, with it)",
               "Smallest crowd", "Cost", "Rows that have it"], rows), *partial)


def crowds(told: PublicationPage) -> Markup:
    """How large the crowds are, beginning with the bin that is forbidden."""
    measured, title = told.measured, "The crowds"
    if measured is None:
        return section("crowds", title, paragraph(
            f"Every crowd has at least {count(told.level)} rows. This release does not say more "
            "about their sizes; whoever has the table can count them, with privsieve check."))
    most = max(rows for _, _, rows in measured.bins)
    rows = [[bar(_span(low, high, at), [Piece(0, 100 * found / most)]),
             count(found) if found else "none", share_up(found, measured.rows)]
            for at, (low, high, found) in enumerate(measured.bins)]
    return section(
        "crowds", title,
        pair(Markup("The crowd of a row is all rows that fit what may be known of it, itself "
                    "included. Crowds below {} are forbidden: that line comes first.").format(
                        count(told.k)),
             Markup("crowds of who knows {}; shares rounded up").format(
                 flowing(measured.promised.who))),
        table("In how large a crowd the rows hide", ["Size of the crowd", "Rows", "Share"], rows),
        paragraph("The steps get wider further down: compare neighbours with care.", "note"))


def _span(low: int, high: int | None, at: int) -> str:
    if high is None:
        return f"{count(low)} or more"
    said = count(low) if low == high else f"{count(low)} to {count(high)}"
    return f"{said} (forbidden)" if at == 0 else said


def risk(told: PublicationPage) -> Markup:
    """The three usual strangers, by what they know."""
    measured, title = told.measured, "The risk of being found"
    if measured is None:
        return section("risk", title, paragraph(
            f"A guess at a single row is right at most 1 time in {count(told.level)}. This release "
            "does not say what a stranger finds who knows more."))
    has, every = measured.promised, measured.every
    kept = Markup("<b>yes</b>: 1 in {} at most").format(count(told.k))
    rows: list[list[str]] = [
        [_stranger("For one known row", "prosecutor"), f"1 in {count(has.level)} at most",
         _worst(every)],
        [_stranger("For anybody at all", "journalist"), f"1 in {count(has.level)} at most",
         f"up to 1 in {count(every.level)}"],
        [_stranger("For everybody on a list", "marketer"), _list(has, measured),
         _list(every, measured)],
        [Markup("<b>Promised here</b>"), kept, Markup("<b>no</b>") if _hidden(told) else kept],
    ]
    return section(
        "risk", title,
        pair("Who looks matters less than what is known: what may be known, or all that is "
             "published.",
             "re-identification risk of prosecutor, journalist and marketer; rounded up"),
        table("The chance of a hit", ["Who looks, and for whom", "Knows what may be known",
              "Knows all that is published"], rows, words=3),
        paragraph("The prosecutor knows that the row is in the table; the journalist does not. No "
                  "table of all the people was given, so that the journalist’s chance is only "
                  "known to be no higher.", "note"))


def _stranger(plain: str, term: str) -> Markup:
    return Markup("<b>{}</b><br>{}").format(plain, term)


def _worst(every: Crowds) -> str:
    if every.level == 1:
        return f"1 in 1, for {count(every.alone or 0)} rows"
    return f"1 in {count(every.level)} at most"


def _list(crowd: Crowds, measured: Measured) -> Markup:
    hits = -(-crowd.billionths * measured.rows // 10**9)
    return Markup('about {} of {} right <span class="nb">({})</span>').format(
        count(min(hits, measured.rows)), count(measured.rows), share_up(crowd.billionths, 10**9))


def _share(part: int, rows: int) -> str:
    return f"{count(part)} ({share_up(part, rows)})" if part else "none"


def use(told: PublicationPage) -> Markup:
    """What is said of usefulness: nothing that closed columns would have to be read for."""
    said = ("How well the class can be told from these columns was not measured. Whoever has the "
            "published table can: the class stands in it." if told.target else
            "How useful the columns are was not measured, and cannot be from the published table: "
            "no class stands in it.")
    return section("use", "How useful the published table is", paragraph(said),
                   paragraph("A comparison with all columns would be a fact about closed ones, and "
                             "has no place in this edition.", "note"))
