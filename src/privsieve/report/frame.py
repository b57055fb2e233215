"""The page of a private release: its frame, and the sections in which all kinds speak alike.

A kind brings its `Words`: the question, its answers, and the sections that are its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from privsieve.report import claim_html, claim_proof
from privsieve.report.markup import (
    clean,
    clean_sentence,
    five,
    joined,
    name,
    paragraph,
    steps,
    table,
)
from privsieve.report.markup import page as whole
from privsieve.report.rounding import factor

if TYPE_CHECKING:
    from privsieve.report.claim import Claim, Column, Common

#: From here on a cost says little, and the page says so.
_WEAK = 5
_AFTER = (("budget", "The budget"), ("not", "What is not protected"), ("assume", "Assumptions"),
          ("expert", "For experts"), ("check", "Check this report"))


class Words(NamedTuple):
    """What a kind of release says of itself.

    title : words of ours, never of a table
    asked, answered, unprotected : plain words, and the exact term beside them
    result : what comes out, after "each"
    covered : what the guarantee is for, after "differential privacy of"
    sections : place, title in the list of sections, and the section; before what protection means
    good : how good the answer is: its title in the list, and the section
    limits : what this kind does not protect, before what none protects
    learnt : what of people in general such an answer says
    silent : what does not stand on the page
    parameters : of the kind's own, for experts
    """

    title: str
    question: Markup
    asked: tuple[str, str]
    answered: tuple[str, str]
    unprotected: tuple[str, str]
    result: str
    covered: str
    sections: tuple[tuple[str, str, Markup], ...]
    good: tuple[str, Markup]
    limits: tuple[str, ...]
    learnt: str
    silent: str
    parameters: tuple[tuple[str, str], ...]


def page(told: Common, own: Words) -> bytes:
    """The whole page, in the words of its kind."""
    places = (*((place, title) for place, title, _ in own.sections),
              ("means", "What the protection means"), ("good", own.good[0]), *_AFTER)
    body = joined([
        Markup('<main class="page">'), _line(told), Markup("<h1>{}</h1>").format(own.question),
        _answers(told, own), steps(places), *(shown for _, _, shown in own.sections),
        claim_html.meaning(told), own.good[1], claim_html.budget(told),
        claim_html.limits(told, own.limits, own.learnt), claim_html.assumed(told, own.silent),
        claim_proof.expert(told, own.covered, own.parameters), claim_proof.check(told),
        Markup("<footer>This page loads nothing, runs nothing and stores nothing. It says what "
               "release.json and certificate.json say, and no more.</footer>\n</main>")])
    return whole(f"{own.title} privsieve report, public edition", "public", body)


def outcome(told: Common) -> Markup | str:
    """The name of the target, or a word for it."""
    return name(told.target.name) if told.target else "the outcome"


def declared(caption: str, columns: Iterable[Column]) -> Markup:
    """Names, and what the domain declares of them."""
    return table(caption, ["Column", "Declared in the domain"],
                 [[name(column.name), _declaration(column.declared)] for column in columns],
                 words=2)


def warned(told: Common) -> list[Markup]:
    """What was said before the charge, if anything."""
    return [paragraph(Markup("<b>Said before the charge:</b> {}.").format(
        clean_sentence(told.warning)))] if told.warning else []


def _declaration(said: str | None) -> str | Markup:
    if said is None:
        return "This release does not say what was declared."
    return clean(said) if len(said) <= 128 else Markup("{}…").format(clean(said[:120]))


def _line(told: Common) -> Markup:
    date = (Markup(' · <span class="nb">charged on {}</span>').format(clean(told.charge.date))
            if told.charge else "")
    return Markup('<div class="top"><span><b>privsieve</b> report · <b>Public edition</b></span>'
                  "<span>Release {}{}</span></div>").format(told.short, date)


def _answers(told: Common, own: Words) -> Markup:
    return five([
        ("What was asked", *own.asked),
        ("What was answered", *own.answered),
        ("What it cost", _cost(told), _cost_term(told)),
        ("What it protects", _protects(told, own.result), _protects_term(told.claim)),
        ("What it does not protect", *own.unprotected),
    ])


def _cost(told: Common) -> Markup:
    if told.free:
        return Markup("Nothing. All columns were asked for, so that no row was read.")
    converted = told.charge.converted if told.charge else None
    if converted:
        text = Markup("{} of the privacy budget of the {}s: {} times {}, because it protects "
                      "another change than this release. ").format(
                          clean(converted.epsilon), converted.noun, clean(converted.factor),
                          told.claim.text)
    else:
        text = Markup("{} of the privacy budget of the {}s. ").format(told.claim.text,
                                                                     told.claim.noun)
    if told.claim.epsilon >= _WEAK:
        text += Markup("<b>That is much:</b> at a cost of {} or more the promise is a weak one. "
                       ).format(_WEAK)
    if told.charge is None:
        return text + Markup("<b>No ledger keeps the sum</b> of what was spent on them.")
    return text + Markup("What is left of it stands in the ledger, not in this release.")


def _cost_term(told: Common) -> Markup:
    who = Markup("population {}").format(name(told.charge.population)) if told.charge else Markup(
        "made without a ledger")
    return Markup("ε = {}, δ = {}; {}").format(told.claim.text, clean(told.claim.delta), who)


def _protects(told: Common, result: str) -> Markup:
    if told.free:
        return Markup("Everybody, completely: the answer does not depend on the table.")
    claim = told.claim
    change = (f"Had any one {claim.noun} been entirely different" if claim.replaced
              else f"With or without any one {claim.noun}")
    if claim.delta != "0":
        return Markup("Every {}. {}, each {} would have come out almost as likely; a "
                      "small chance of more, δ, is part of the promise.").format(
                          claim.noun, change, result)
    bound = factor(claim.epsilon)
    most = (f"at most {bound} times more or less" if bound
            else "but at this cost the factor is so large that it promises nothing")
    return Markup("Every {}. {}, each {} would have come out almost as likely: {}."
                  ).format(claim.noun, change, result, most)


def _protects_term(claim: Claim) -> Markup:
    kind = "(ε, δ)" if claim.delta != "0" else "ε"
    neighbours = "replace" if claim.replaced else "add or remove"
    bound = factor(claim.epsilon)
    power = Markup("; e<sup>{}</sup> ≤ {}").format(claim.text, bound) if bound else Markup("")
    return Markup("{}-differential privacy; neighbours: {} {}{}").format(
        kind, neighbours, claim.unit, power)
