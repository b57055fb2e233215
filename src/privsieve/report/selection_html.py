"""The public edition of a selection: questions first, proof last, every gap a sentence."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.report import selection_proof
from privsieve.report.charts import Cost, Piece, bar, costs
from privsieve.report.markup import (
    clean,
    count,
    facts,
    five,
    joined,
    name,
    names,
    page as whole,
    pair,
    paragraph,
    points,
    section,
    steps,
    table,
)
from privsieve.report.rounding import belief, down, factor, percent

if TYPE_CHECKING:
    from privsieve.report.selection import Forecast, SelectionPage

#: More names than this stand in the table only.
_MANY = 30
#: How sure somebody is before, in the table of beliefs.
_BEFORE = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
#: From here on a cost says little, and the page says so.
_WEAK = 5

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
        steps(_PLACES), _columns(told), _meaning(told), _good(told), _budget(told), _limits(told),
        _assumed(told), selection_proof.expert(told), selection_proof.check(told),
        Markup("<footer>This page loads nothing, runs nothing and stores nothing. It says what "
               "release.json and certificate.json say, and no more.</footer>\n</main>")])
    return whole(title, "public", body)


def _line(told: SelectionPage) -> Markup:
    date = f" · charged on {told.charge.date}" if told.charge else ""
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
         Markup("feature selection, <i>k</i> = {} of <i>d</i> = {}").format(k, d)),
        ("What was answered", _answered(told), _answer_term(told)),
        ("What it cost", _cost(told), _cost_term(told)),
        ("What it protects", _protects(told), _protects_term(told)),
        ("What it does not protect",
         Markup("<b>The values in these columns.</b> Only their names may leave: to share rows or "
                "counts of them is another question, with a cost of its own."),
         f"the claim speaks of the selected {'list' if told.ordered else 'set'} and of nothing "
         "else"),
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


def _columns(told: SelectionPage) -> Markup:
    if told.ordered:
        order = pair("The first name stands for the column that came out best. The order was paid "
                     "for; there are still no scores, which would tell more and cost more.",
                     "the claim covers the ordered list; scores need a release of their own")
    else:
        order = pair("From A to Z: the order says nothing. Ranks and scores are missing on "
                     "purpose. They would tell more about the table, and would have to be paid "
                     "for.", "the claim covers the unordered set; ranks need an ordered release")
    head = ["Column", "Declared in the domain"]
    rows = [[name(column.name), _declaration(column.declared)] for column in told.chosen]
    return section("cols", f"The {count(len(told.chosen))} columns" if len(told.chosen) > 1
                   else "The column", order,
                   table("What was public about them before", head, rows, words=2),
                   paragraph("The declarations are the table holder’s. None of this was read from "
                             "the rows.", "note"))


def _declaration(declared: str | None) -> str | Markup:
    if declared is None:
        return "This release does not say what was declared."
    return clean(declared) if len(declared) <= 128 else Markup("{}…").format(clean(declared[:120]))


def _meaning(told: SelectionPage) -> Markup:
    title = "What protection of this size means"
    claim = told.claim
    if told.free:
        return section("means", title, paragraph(
            "Nothing can be learnt about anybody: the answer was known before the table was."))
    if claim.delta != "0" or claim.account != "pure":
        return section("means", title, paragraph(
            f"{claim.sentence} Ranges of belief are not shown for a promise that holds only up to "
            "a δ."))
    wavers = (f"two ideas about what yours holds, fifty-fifty. Your {claim.noun}"
              if claim.replaced else
              f"whether your {claim.noun} is in it at all, fifty-fifty. That")
    low, high = (percent(end) for end in belief(claim.epsilon, _BEFORE[0]))
    rows = []
    for before in _BEFORE:
        least, most = belief(claim.epsilon, before)
        rows.append([bar(percent_of(before), [Piece(float(least), float(most))],
                         float(100 * before)), percent(least), percent(most)])
    text = Markup(
        "Picture a stranger who knows all the rest of the table, and wavers between {} is what "
        "the promise is about: after this release the stranger is at least {} and at most {} sure "
        "of either.").format(wavers, low, high)
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


def _good(told: SelectionPage) -> Markup:
    title, forecast = "How good the answer is likely to be", told.forecast
    warning = [paragraph(Markup("<b>Said before the charge:</b> {}.").format(
        clean_sentence(told.warning)))] if told.warning else []
    if told.free:
        return section("good", title, paragraph("All columns were asked for: none can be missing."))
    if forecast is None:
        return section("good", title, *warning, paragraph(
            "This release holds no forecast, and nothing was measured on the table: a measurement "
            "would have cost more of the budget."))
    k = len(told.chosen)
    rows = [[bar(f"{_hundredths(gap)} of the {told.claim.noun}s", [Piece(0, found)],
                 forecast.guessing), f"{down(found, k)} of {k}", f"{found} %"]
            for gap, found in forecast.by_gap]
    return section(
        "good", title, *warning,
        pair(Markup("Nobody looked: this is a forecast from public numbers alone, and it was known "
                    "before the first row was read. How many of the best columns are found "
                    "depends on how much they stand out from the others."),
             "recall, first-order forecast; the gap is by what share of the units the best columns "
             "score higher; rounded down"),
        _by_cost(told, forecast),
        table("At the cost of this release",
              ["How much the best columns stand out, and what is found (line: guessing)",
               "Found", "Share"], rows, marked=_marked(forecast)),
        paragraph(f"Guessing finds {forecast.guessing} %. How much the columns of this very table "
                  "stand out is not known here: to measure it would cost more of the budget."))


def _marked(forecast: Forecast) -> int | None:
    gaps = [gap for gap, _ in forecast.by_gap]
    return gaps.index(forecast.usual_gap) if forecast.usual_gap in gaps else None


def _by_cost(told: SelectionPage, forecast: Forecast) -> Markup:
    if not forecast.by_cost or forecast.usual_gap is None:
        return paragraph("This release holds no forecast at other costs.")
    drawn = [Cost(cost, found, cost == told.claim.text) for cost, found in forecast.by_cost]
    k = len(told.chosen)
    this = [at for at, one in enumerate(drawn) if one.this]
    rows = [[f"{one.text}{', this release' if one.this else ''}", f"{down(one.found, k)} of {k}",
             f"{one.found} %"] for one in drawn]
    return joined([
        costs(drawn, forecast.guessing),
        table(f"The same in numbers, where the best columns stand out in "
              f"{_hundredths(forecast.usual_gap)} of the {told.claim.noun}s",
              ["Cost (ε)", "Found", "Share"], rows, marked=this[0] if this else None)])


def _hundredths(gap: str) -> str:
    """A share of rows, in per cent."""
    share = Fraction(gap) * 100
    return f"{share.numerator} %" if share.denominator == 1 else f"{float(share):g} %"


def clean_sentence(text: str) -> str:
    """A sentence of a release, without a stop at its end.

    >>> clean_sentence("too few rows.")
    'too few rows'
    """
    return " ".join(clean(part) for part in text[:1000].split(" ")).rstrip(". ")


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
    several = (
        "<b>People who stand in several rows.</b> A row is protected, not a person: somebody with "
        "g rows is protected by g times the cost, which is less."
        if noun == "row" else
        "<b>People who appear under several names.</b> Each name counts as a person of its own.")
    first = name(told.chosen[0].name) if told.chosen else "A column"
    return section("not", "What this does not protect", points([
        Markup("<b>The cells of the table.</b> That {} was chosen says almost nothing about "
               "anybody. Its values would.").format(first),
        Markup(several),
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
        "Kinds, bounds, levels and classes come from a code book or a study plan, not from this "
        "table.",
        "All copies of the data of these people draw on the same budget."
        if told.charge else "Nothing else was, or will be, released about these people: no ledger "
        "adds it up."])
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
