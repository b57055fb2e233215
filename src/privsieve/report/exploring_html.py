"""The page for whom has to choose k: PRIVATE, of the whole table, closed columns as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report import exploring_officer as officer
from privsieve.report.charts import Piece, Series, bar, curves
from privsieve.report.markup import (
    count,
    five,
    joined,
    name,
    pair,
    paragraph,
    points,
    section,
    steps,
    table,
)
from privsieve.report.markup import page as whole
from privsieve.report.rounding import share_up

if TYPE_CHECKING:
    from privsieve.report.exploring import Alone, Area, Explored, Found

_BAND = Markup('<div class="mark" role="note">PRIVATE · ABOUT ALL ROWS AND CLOSED COLUMNS · DO NOT '
               "RELEASE</div>")
_PLACES = (("curve", "The curve"), ("cost", "What each column costs"), ("risk", "The risk"),
           ("people", "Among all people"), ("who", "Which k others use"),
           ("officer", "For who decides"))
_FOOTER = Markup("<footer>This page loads nothing, runs nothing and stores nothing. It shows no "
                 "row and no combination of answers.</footer>")
#: So many closed columns are shown.
_CLOSED = 15
_UNREACHED = "not reached"
#: Tables whose rows are named by k alone.
_KS = "long ks"
#: What the ways of choosing are for.
_WAYS = {"few": "few: at most 30 yes-or-no columns, chosen one by one",
         "strict": "strict: k-anonymity, whatever is known of published cells",
         "most": "most: as many useful columns as k allows"}
#: Which k is used where, and why: each is a rule that can be looked up.
_PRECEDENTS = (
    ("3", "Cells of tables of counts: some statistics offices ask for at least three respondents.",
     "OECD Glossary of Statistical Terms, “threshold rule”"),
    ("5", ("The same with at least five; the usual “cell size of five” of holders of health data. "
           "A guess at one row is right at most 1 time in 5."),
     ("OECD, as above; El Emam, Guide to the De-Identification of Personal Health Information, "
      "chapter “Cell Size Precedents”")),
    ("10", ("Results of research on the Longitudinal Study of England and Wales: below ten "
            "observations they are looked at one by one."),
     "Office for National Statistics, “10 threshold rule” of the study’s support unit"),
    ("11", ("No cell of 1 to 10 persons may be shown of Medicare and Medicaid data, nor be worked "
            "out from others; also other health data that anybody may have."),
     "CMS Cell Size Suppression Policy, United States; El Emam, as above"),
    ("20", "Some Canadian and United States files that anybody may have.", "El Emam, as above"),
)


def page(told: Explored) -> bytes:
    """The whole page."""
    body = joined([
        _BAND, Markup('<main class="page">'),
        Markup('<div class="top"><span><b>privsieve</b> report · <b>For who chooses k</b></span>'
               "<span>nothing was published</span></div>"),
        Markup("<h1>How large should the crowd of every row be?</h1>"),
        _answers(told), steps(_PLACES), _curve(told), _cost(told), _risk(told), _people(told),
        _precedents(), officer.summary(told), _FOOTER, Markup("</main>")])
    return whole("PRIVATE, do not release: how large should k be? privsieve report", "internal",
                 body)


def _answers(told: Explored) -> Markup:
    asked = told.asked
    said = Markup("{} rows, {} columns, made into {} that say yes or no").format(
        count(asked.rows), count(asked.columns), count(asked.items))
    if asked.target is not None:
        said += Markup(". Columns are chosen for what they say of {}, of {} classes").format(
            name(asked.target), count(asked.classes))
    none = "" if asked.named else " Nobody named a k for the tables below: 5 is taken."
    return five([
        ("What was asked", Markup("{}.").format(said), "the table as it is, before any choice"),
        ("Who looks", officer.knows(asked), "the stranger of the promise"),
        ("What was tried", Markup("k of {}; {}.{}").format(
            ", ".join(map(count, told.ks)), _and(told.ways), none),
         "; ".join([*(_WAYS[way] for way in told.ways if way in _WAYS),
                    f"{count(told.seconds)} seconds at most"])),
        ("What comes out", _outcome(told), "for each k: see the curve"),
        ("What this page is not",
         ("A release. It speaks of columns that stay closed, and of all rows: whoever reads it "
          "learns more than a published table shows."),
         "for the eyes of who holds the table"),
    ])


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _outcome(told: Explored) -> Markup:
    asked = told.asked
    here = told.point(asked.way, asked.k)
    if here is None or not here.items:
        return Markup("At k = {} no column fits ({}).").format(count(asked.k), asked.way)
    area = (f" They rank unseen pairs of rows rightly {100 * here.area.mean:.1f} times in 100."
            if here.area else "")
    return Markup("At k = {}, {}: {} of {} columns, {} yes-or-no columns. The smallest crowd has "
                  "{} {}.{}").format(
        count(asked.k), asked.way, count(here.columns), count(asked.columns), count(here.items),
        count(here.level), "sources" if asked.sources else "rows", area)


def _curve(told: Explored) -> Markup:
    axis = [count(k) for k in told.ks]
    most = max((one.items for one in told.points), default=1)
    areas = [one.area.mean for one in told.points if one.area]
    drawn = [curves("Yes-or-no columns that fit, by k", axis, [
        Series(way, tuple(_at(told, way, k, "items") for k in told.ks)) for way in told.ways],
        [(0, "0"), (most / 2, _half(most)), (most, count(most))])]
    if areas:
        drawn.append(curves("How well they predict rows that the choice has not seen, by k", axis, [
            Series(way, tuple(_at(told, way, k, "area") for k in told.ks)) for way in told.ways],
            _scale(min(areas), max(areas))))
    return section(
        "curve", "The curve",
        pair("A larger crowd costs columns, and with them what the table can tell. Where a curve "
             "is flat a larger k costs little: take it. Every set of columns that keeps a k keeps "
             "each smaller one, too; the choice itself goes step by step, so that a curve may rise "
             "here and there.",
             "honest area: chosen and fitted on four fifths of the rows, judged on the fifth, five "
             "times; logistic regression; .5 is guessing"),
        *drawn, *(_curve_table(told, way) for way in told.ways),
        *([Markup("<h3>What was not reached</h3>"), points(told.unreached)]
          if told.unreached else []),
        paragraph("Crowds are counted on all rows, and where a crowd has to have two classes those "
                  "of all rows are looked at; to compare columns, and to fit, only the labels of "
                  "the four fifths are. The fifths follow from the place of a row, or from its "
                  "source: the same table is always parted in the same way. Where numbers and "
                  "dates are cut at points of the table, they are cut as for k = "
                  f"{count(told.asked.k)}; for a larger k privsieve publish may have to cut them "
                  "coarser.", "note"))


def _at(told: Explored, way: str, k: int, what: str) -> float | None:
    here = told.point(way, k)
    if here is None:
        return None
    if what == "items":
        return float(here.items)
    return here.area.mean if here.area else None


def _half(most: int) -> str:
    return count(most // 2) if most % 2 == 0 else f"{most / 2:,.1f}"


def _scale(least: float, largest: float) -> list[tuple[float, str]]:
    """Heights of whole twentieths around what is drawn."""
    low, high = int(least * 20), -int(-largest * 20 // 1)
    high = max(high, low + 1)
    step = -(-(high - low) // 5)
    return [(at / 20, f"{at / 20:.2f}") for at in range(low, high + step, step)]


def _curve_table(told: Explored, way: str) -> Markup:
    head = ["k", "Columns (yes-or-no ones)", "Smallest crowd", "Honest area",
            "Worst and best fifth"]
    rows = []
    for k in told.ks:
        here = told.point(way, k)
        cut = "" if here is None or here.complete else "; cut"
        rows.append([count(k), *([_UNREACHED, "", "", ""] if here is None else [
            f"{count(here.columns)} ({count(here.items)}{cut})", count(here.level),
            _area(here.area), _spread(here.area)])])
    return table(f"Chosen as {way}", head, rows, marked=_marked(told), kind=_KS)


def _marked(told: Explored) -> int | None:
    return told.ks.index(told.asked.k) if told.asked.k in told.ks else None


def _area(area: Area | None) -> str:
    return "–" if area is None else f"{area.mean:.3f}"


def _spread(area: Area | None) -> str:
    return "–" if area is None else Markup('<span class="nb">{:.3f}–{:.3f}</span>').format(
        area.least, area.largest)


def _cost(told: Explored) -> Markup:
    asked = told.asked
    title, here = "What each column costs", told.point(asked.way, asked.k)
    if here is None or not told.costs:
        return section("cost", title, paragraph(
            f"At k = {count(asked.k)} no column was chosen ({asked.way})."))
    most = max(here.level, *(one.without for one in told.costs))
    rows = [[bar(name(one.name), [Piece(0, 100 * here.level / most, "f3"),
                                  Piece(100 * here.level / most, 100 * one.without / most)],
                 100 * here.level / most), count(one.items), count(one.without)]
            for one in told.costs]
    return section(
        "cost", title,
        pair(f"For k = {count(asked.k)}, {asked.way}. Without a column some crowds may grow. By "
             "how much the smallest one grows is what the column costs.",
             "the smallest crowd without the column, for the stranger of the promise"),
        table("The columns that would be published",
              [f"Column, and smallest crowd without it (line: {count(here.level)}, with it)",
               "Yes-or-no columns", "Smallest crowd"], rows), *_closed(told))


def _closed(told: Explored) -> list[Markup]:
    """What the columns that stay closed would do, the largest crowds first."""
    if not told.shut:
        return [paragraph("No column stays closed." if not told.passed_over else
                          "Closed columns were not looked at: there are too many.")]
    k = count(told.asked.k)
    rows = [[name(one.name), count(one.level), _rows(one.below), _rows(one.poor)]
            for one in told.shut[:_CLOSED]]
    passed = told.passed_over + len(told.shut) - len(rows)
    more = [paragraph(f"{count(passed)} more are not shown.", "note")] if passed else []
    return [table("If one of the closed columns were added",
                  ["Closed column", "Smallest crowd", f"Rows below {k}",
                   "Rows with too few classes"], rows), *more]


def _rows(number: int) -> str:
    return count(number) if number else "none"


def _risk(told: Explored) -> Markup:
    what = "sources" if told.asked.sources else "rows"
    return section(
        "risk", "The risk, by what a stranger knows",
        pair("The promise is one for a stranger who knows certain things. These tables say what "
             f"somebody finds who knows more. Crowds are counted in {what}.",
             f"of {count(told.asked.rows)} rows: how many are in a crowd below k, and how many of "
             "these are alone"),
        *(_strangers(told, way) for way in told.ways), *_shares(told))


def _strangers(told: Explored, way: str) -> Markup:
    """Rows below k, and alone, for the four usual strangers."""
    labelled = told.asked.classes > 1
    head = ["k", "Knows what a row has", "Knows every answer, yes and no"]
    rows = []
    for one in (point for k in told.ks if (point := told.point(way, k))):
        found = one.strangers
        rows.append([count(one.k), _lost(found.has), _lost(found.every),
                     *([_lost(found.has_class), _lost(found.every_class)] if labelled else [])])
    return table(f"{way}: rows in a crowd below k",
                 [*head, *(["What it has, and the class", "Every answer, and the class"]
                           if labelled else [])], rows, kind=_KS)


def _lost(found: Found) -> str:
    if not found.below:
        return "none"
    return f"{count(found.below)}; {count(found.alone)} alone" if found.alone else (
        count(found.below))


def _shares(told: Explored) -> list[Markup]:
    if told.asked.classes < 2:
        return []
    rows = [[count(k), *(officer.nearly(point.share) if (point := told.point(way, k))
                         else _UNREACHED for way in told.ways)] for k in told.ks]
    return [table("The largest share of one class in a crowd of the promise",
                  ["k", *told.ways], rows, kind=_KS),
            paragraph("Who finds a crowd of one class learns the class, and need not find the row. "
                      "privsieve publish takes limits on it: --l-diversity, --max-share.",
                      "note")]


def _people(told: Explored) -> Markup:
    title, people = "Among all people", told.population
    if people is None:
        return section("people", title, paragraph(
            "How many people the rows were drawn from was not said"
            f"{', or a person has several rows' if told.asked.sources else ''}: a row that is "
            "alone in the table is taken to be alone in the world. With --population-size N it is "
            "estimated how many of them are."))
    how = ("counted on the table of all people" if people.exact else
           "estimated: Zayatz (1991) for how many are alone among all; data intrusion simulation "
           "of Skinner and Elliot (2002) for the chance that a match is right")
    rows = [[one.on, count(one.alone), count(one.pairs), _unique(one), _chance(one)]
            for one in people.alone]
    return section(
        "people", title,
        pair(Markup("The table holds {} of {} people: {}. A row that is alone in the table may "
                    "have equals among the others, and who finds it cannot be sure."
                    ).format(count(told.asked.rows), count(people.people),
                             _fraction(told.asked.rows, people.people)), how),
        table("Rows that are alone, for who knows every published answer",
              ["Columns", "Alone in the table", "Pairs of equal rows", "Alone among all",
               "A match is right"], rows, kind=_KS),
        *([] if people.exact else [paragraph(
            "Both take the table for a simple random sample of these people, without replacement. "
            "Of a small part of them the first estimate is too large, often by several times, for "
            "classes of equal rows look smaller in a sample; where few rows are pairs, both are "
            "rough. Who knows that somebody is in the table needs no estimate: for that stranger "
            "each row that is alone is found.", "note")]))


def _fraction(rows: int, people: int) -> str:
    share = 100 * rows / people
    return f"{share:.3g} %" if share < 99.95 else "all of them" if rows == people else "almost all"


def _unique(one: Alone) -> Markup | str:
    if one.share is None:
        return "none"
    many = -int(-one.unique // 1)
    return Markup('<span class="nb">about {}</span> <span class="nb">({})</span>').format(
        count(many), share_up(many, one.alone))


def _chance(one: Alone) -> str:
    return "–" if one.right is None else f"{min(-int(-one.right * 100 // 1), 100)} %"


def _precedents() -> Markup:
    rows = [[k, why, Markup('<span class="t">{}</span>').format(where)]
            for k, why, where in _PRECEDENTS]
    return section(
        "who", "Which k others use, and why",
        pair("Most of these are rules for tables of counts: a cell of k persons is a crowd of k. "
             "They say how small a crowd an office accepts, and nothing of what a stranger is "
             "taken to know; ask for that first.", "no rule here is a law for this table"),
        table("Thresholds in use", ["k", "Where, and why", "Source"], rows, words=3, kind=_KS),
        points([
            Markup("<b>Public to all, for ever:</b> a larger k than for colleagues who signed."),
            Markup("<b>What must not be learned</b> (an illness, an income): k alone does not "
                   "protect it; ask for several classes in a crowd (<code>--l-diversity</code>)."),
            Markup("<b>A stranger who may know absences</b> needs the rule for that, not a larger "
                   "k."),
        ]))
