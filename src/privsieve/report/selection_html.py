"""The public edition of a selection: questions first, proof last, every gap a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report import selection_middle as middle
from privsieve.report import selection_proof
from privsieve.report.markup import (
    clean,
    count,
    facts,
    five,
    joined,
    name,
    names,
    pair,
    paragraph,
    points,
    section,
    steps,
)
from privsieve.report.markup import (
    page as whole,
)
from privsieve.report.rounding import down, factor

if TYPE_CHECKING:
    from privsieve.report.selection import Forecast, SelectionPage

#: More names than this stand in the table only.
_MANY = 30
#: From here on a cost says little, and the page says so.
_WEAK = 5

_SOURCE = ("Kinds, bounds, levels and classes come from a code book or a study plan, not from this "
           "table.")
_PLACES = (("cols", "The columns"), ("means", "What the protection means"),
           ("good", "How good the answer is"), ("budget", "The budget"),
           ("not", "What is not protected"), ("assume", "Assumptions"),
           ("expert", "For experts"), ("check", "Check this report"))


def page(told: SelectionPage) -> bytes:
    """The whole page."""
    title = (f"Which {len(told.chosen)} of {told.candidates} columns say most about the outcome? "
             "privsieve report, public edition")
    body = joined([
        Markup('<main class="page">'), _line(told), _question(told), _answers(told),
        steps(_PLACES), middle.columns(told),
        middle.meaning(told), middle.good(told), _budget(told), _limits(told), _assumed(told),
        selection_proof.expert(told), selection_proof.check(told),
        Markup("<footer>This page loads nothing, runs nothing and stores nothing. It says what "
               "release.json and certificate.json say, and no more.</footer>\n</main>")])
    return whole(title, "public", body)


def _line(told: SelectionPage) -> Markup:
    date = (Markup(' · <span class="nb">charged on {}</span>').format(clean(told.charge.date))
            if told.charge else "")
    return Markup('<div class="top"><span><b>privsieve</b> report · <b>Public edition</b></span>'
                  "<span>Release {}{}</span></div>").format(told.short, date)


def _question(told: SelectionPage) -> Markup:
    if told.target is None:
        return Markup("<h1>Which columns say most about the outcome?</h1>")
    return Markup("<h1>Which columns say most about {}?</h1>").format(name(told.target.name))


def _answers(told: SelectionPage) -> Markup:
    outcome = name(told.target.name) if told.target else "the outcome"
    k, d = len(told.chosen), told.candidates
    return five([
        ("What was asked",
         Markup("Which {} of {} columns say most, alone or together, about {}?").format(
             k, d, outcome),
         Markup("feature selection, <i>k</i>&nbsp;=&nbsp;{} of <i>d</i>&nbsp;=&nbsp;{}").format(
             k, d)),
        ("What was answered", _answered(told), _answer_term(told)),
        ("What it cost", _cost(told), _cost_term(told)),
        ("What it protects", _protects(told), _protects_term(told)),
        ("What it does not protect",
         Markup("<b>The values in these columns.</b> Only their names may leave: to share rows or "
                "counts of them is another question, with a cost of its own."),
         f"the claim is about the {'list' if told.ordered else 'set'} of names alone"),
    ])


def _answered(told: SelectionPage) -> Markup:
    shown = names(c.name for c in told.chosen) if len(told.chosen) <= _MANY else Markup(
        'they stand in <a href="#cols">the table below</a>')
    return Markup('{}: <span class="names">{}</span>').format(_number(told), shown)


def _number(told: SelectionPage) -> str:
    k = len(told.chosen)
    said = "1 name" if k == 1 else f"{count(k)} names"
    usual = _usual(told.forecast)
    if told.free or usual is None:
        return said
    found = down(usual, k)
    return f"{said}, of which about {found} would be right on a usual table"


def _usual(forecast: Forecast | None) -> int | None:
    """What is found at the usual gap, in per cent."""
    if forecast is None or forecast.usual_gap is None:
        return None
    return dict(forecast.by_gap).get(forecast.usual_gap)


def _answer_term(told: SelectionPage) -> str:
    order = "a list, the best first" if told.ordered else "an unordered set, here from A to Z"
    return f"{order}; the share that is right is a forecast, and was not measured"


def _cost(told: SelectionPage) -> Markup:
    if told.free:
        return Markup("Nothing. All columns were asked for, so that no row was read.")
    text = Markup("{} of the privacy budget of the {}s. ").format(told.claim.text, told.claim.noun)
    if told.claim.epsilon >= _WEAK:
        text += Markup("<b>That is much:</b> at a cost of {} or more the promise is a weak one. "
                       ).format(_WEAK)
    if told.charge is None:
        return text + Markup("<b>No ledger keeps the sum</b> of what was spent on them.")
    return text + Markup("What is left of it stands in the ledger, not in this release.")


def _cost_term(told: SelectionPage) -> Markup:
    who = Markup("population {}").format(name(told.charge.population)) if told.charge else Markup(
        "made without a ledger")
    return Markup("ε = {}, δ = {}; {}").format(told.claim.text, clean(told.claim.delta), who)


def _protects(told: SelectionPage) -> Markup:
    if told.free:
        return Markup("Everybody, completely: the answer does not depend on the table.")
    claim, result = told.claim, "list" if told.ordered else "set"
    change = (f"Had any one {claim.noun} been entirely different" if claim.replaced
              else f"With or without any one {claim.noun}")
    if claim.delta != "0":
        return Markup("Every {}. {}, each {} of names would have come out almost as likely; a "
                      "small chance of more, δ, is part of the promise.").format(
                          claim.noun, change, result)
    bound = factor(claim.epsilon)
    most = (f"at most {bound} times more or less" if bound
            else "but at this cost the factor is so large that it promises nothing")
    return Markup("Every {}. {}, each {} of names would have come out almost as likely: {}."
                  ).format(claim.noun, change, result, most)


def _protects_term(told: SelectionPage) -> Markup:
    claim = told.claim
    kind = "(ε, δ)" if claim.delta != "0" else "ε"
    neighbours = "replace" if claim.replaced else "add or remove"
    bound = factor(claim.epsilon)
    power = Markup("; e<sup>{}</sup> ≤ {}").format(claim.text, bound) if bound else Markup("")
    return Markup("{}-differential privacy; neighbours: {} {}{}").format(
        kind, neighbours, claim.unit, power)


def _budget(told: SelectionPage) -> Markup:
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
            ("Earlier, and left", Markup(
                "This release does not say. Whoever has the ledger reads it with "
                "<code>privsieve ledger show</code>.")),
        ])
    return section("budget", "The budget", always, said)


def _limits(told: SelectionPage) -> Markup:
    noun = told.claim.noun
    several = Markup("<b>People who stand in several rows.</b> A row is protected, not a person: "
                     "for somebody with <i>g</i> rows the promise is that of <i>g</i> times the "
                     "cost.") if noun == "row" else Markup(
        "<b>People who appear under several names.</b> Each name counts as a person of its own.")
    first = name(told.chosen[0].name) if told.chosen else "A column"
    return section("not", "What this does not protect", points([
        Markup("<b>The cells of the table.</b> That {} was chosen says almost nothing about "
               "anybody. Its values would.").format(first),
        several,
        Markup("<b>What is true of people in general.</b> If a column goes with the outcome, that "
               "is learnt about everybody who has such a value, in the table or not."),
        Markup("<b>Releases that this ledger does not know</b>: made earlier, elsewhere, or under "
               "another population’s name."),
        Markup("<b>Anybody who holds the table</b>, or can watch the machine while it works: its "
               "clock, memory and disk."),
    ]))


def _assumed(told: SelectionPage) -> Markup:
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
                f"the {count(told.candidates)} columns, and what the domain declares of them",
                "the question, the cost, and every setting below"]),
            paragraph("Nothing else of what was read stands on this page: no score, count, "
                      "accuracy, warning or running time.")))


def _units(told: SelectionPage) -> str:
    if told.units is None:
        return "the number of units that shaped the method; this release does not name it"
    number = count(int(told.units))
    if told.claim.noun == "person":
        return f"a declared number of persons, {number}; the true one is not said"
    if told.claim.replaced:
        return f"the number of rows, {number}"
    return f"a declared number of rows, {number}; the true one is private"
