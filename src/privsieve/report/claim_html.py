"""The sections in which all private releases speak alike: the promise, the budget, the limits."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report.charts import Piece, bar
from privsieve.report.markup import (
    clean,
    clean_sentence,
    count,
    facts,
    name,
    pair,
    paragraph,
    points,
    section,
    table,
)
from privsieve.report.rounding import belief, percent

if TYPE_CHECKING:
    from privsieve.report.claim import Common

#: How sure somebody is before, in the table of beliefs.
_BEFORE = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))

_SOURCE = ("Kinds, bounds, levels and classes come from a code book or a study plan, not from this "
           "table.")


def meaning(told: Common) -> Markup:
    """What somebody can come to believe."""
    title = "What protection of this size means"
    claim = told.claim
    if told.free:
        return section("means", title, paragraph(
            "Nothing can be learnt about anybody: the answer was known before the table was."))
    if claim.delta != "0" or claim.account != "pure":
        return section("means", title, paragraph(
            f"{claim.sentence} Ranges of belief are not shown for a promise that holds only up to "
            "a δ."))
    wavers = (f"between two ideas of what your {claim.noun} holds" if claim.replaced else
              f"over whether your {claim.noun} is in it at all")
    low, high = (percent(end) for end in belief(claim.epsilon, _BEFORE[0]))
    rows = []
    for before in _BEFORE:
        least, most = belief(claim.epsilon, before)
        rows.append([bar(percent_of(before), [Piece(float(least), float(most))],
                         float(100 * before)), percent(least), percent(most)])
    text = Markup(
        "Picture a stranger who knows all the rest of the table, and wavers {}, fifty-fifty. Of "
        "either, the stranger can be at least {} and at most {} sure after this release.").format(
            wavers, low, high)
    return section(
        "means", title,
        pair(text, "posterior odds ≤ e^ε × prior odds, in both directions; percentages are "
             "rounded outwards"),
        table("How sure such a stranger can be afterwards",
              ["Sure before (line), and the range afterwards", "At least", "At most"], rows),
        paragraph("Nobody can pass these limits, whatever else they know; most learn far less. "
                  "Other releases about the same people widen the range: costs add up. Their sum "
                  "stands in the ledger, not in this release."))


def percent_of(share: Fraction) -> str:
    """A round share in per cent.

    >>> percent_of(Fraction(1, 10))
    '10 %'
    """
    return f"{100 * share.numerator // share.denominator} %"


def budget(told: Common) -> Markup:
    """What was charged, to whom, and where that stands."""
    claim = told.claim
    always = pair(
        "The budget is that of the people, not of a file: every copy of the table, and every "
        "question to it, draws on the same one. A charge is made before a row is read, and stays "
        "made even if the machine fails after it.",
        "pure ε adds up, also where a question depends on earlier answers")
    if told.free:
        said: Markup = paragraph("Nothing was charged.")
    elif told.charge is None:
        said = paragraph(Markup(
            "<b>This release was made without a ledger.</b> It cost ε = {}, and nothing keeps the "
            "sum of what else was spent on the same people.").format(claim.text))
    else:
        said = facts("The charge for this release", [
            ("Population", name(told.charge.population)),
            ("Cost", Markup("ε = {}, δ = {}").format(claim.text, clean(claim.delta))),
            ("Charged", Markup("{}, in entry {} of the ledger; the release is bound in entry {}"
                               ).format(clean(told.charge.date), clean(told.charge.reserve),
                                        clean(told.charge.commit))),
            *([("Converted", clean_sentence(told.charge.converted.sentence))]
              if told.charge.converted else []),
            ("Earlier, and left", Markup(
                "This release does not say. Whoever has the ledger reads it with "
                "<code>privsieve ledger show</code>.")),
        ])
    return section("budget", "The budget", always, said)


def limits(told: Common, own: Iterable[str], learnt: str) -> Markup:
    """What this kind does not protect, and what none does."""
    noun = told.claim.noun
    several = Markup(
        "<b>People who appear under several names.</b> Each name counts as a person of its own."
    ) if noun == "person" else Markup(
        "<b>People who stand in several {0}s.</b> A {0} is protected, not a person: for somebody "
        "with <i>g</i> {0}s the promise is that of <i>g</i> times the cost.{1}").format(
            noun, " A cell with line breaks makes several lines." if noun == "line" else "")
    return section("not", "What this does not protect", points([
        *own,
        several,
        Markup("<b>What is true of people in general.</b> {}").format(learnt),
        Markup("<b>Releases that this ledger does not know</b>: made earlier, elsewhere, or under "
               "another population’s name."),
        Markup("<b>Anybody who holds the table</b>, or can watch the machine while it works: its "
               "clock, memory and disk."),
    ]))


def assumed(told: Common, silent: str) -> Markup:
    """What the holder declared, and what was public; what is silent is not on the page."""
    claim = told.claim
    unit = [f"Protected is {claim.unit}."]
    if claim.noun == "person" and told.rows_per_person is not None:
        unit.append(f"At most {told.rows_per_person} rows of a person were used.")
    owner = points([
        *unit,
        _SOURCE,
        ("All copies of the data of these people draw on the same budget." if told.charge else
         "Nothing else was, or will be, released about these people: no ledger adds it up.")])
    return section("assume", "What was assumed, and what was public", Markup(
        '<div class="two"><div><h3>Declared by the holder of the table</h3>{}{}</div>\n'
        "<div><h3>Public from the start</h3>{}{}</div></div>").format(
            paragraph("privsieve cannot check these. Where one is wrong, the protection is weaker "
                      "than stated.", "note"),
            owner, points([
                _units(told),
                f"the {count(len(told.columns))} columns, and what the domain declares of them",
                "the question, the cost, and every setting below"]),
            paragraph(f"Nothing else of what was read stands on this page: no {silent}.")))


def _units(told: Common) -> str:
    if told.units is None:
        return "the number of units that shaped the method; this release does not name it"
    number = count(int(told.units))
    if told.claim.noun == "person":
        return f"a declared number of persons, {number}; the true one is not said"
    if told.claim.replaced:
        return f"the number of {told.claim.noun}s, {number}"
    return f"a declared number of {told.claim.noun}s, {number}; the true one is private"
