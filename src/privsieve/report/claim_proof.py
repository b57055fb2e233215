"""The last sections of a page: for experts, and for whoever checks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from markupsafe import Markup

from privsieve.public.plan import SENTENCES
from privsieve.report.markup import clean, count, digest, facts, joined, name, paragraph, section

if TYPE_CHECKING:
    from privsieve.report.claim import Common


def expert(told: Common, covered: str, own: Iterable[tuple[str, str]]) -> Markup:
    """The exact claim of what it covers, its proof, and all parameters, with the kind's own."""
    claim = told.claim
    delta = "" if claim.delta == "0" else Markup(" + {}").format(clean(claim.delta))
    change = ("differ in the content of" if claim.replaced else "differ by the presence of")
    formula = Markup(
        '<p>For all tables <i>D</i> and <i>D′</i> that {} {}, and every set <i>S</i> of possible '
        'releases:</p>\n<p class="fx"><span>Pr[<i>M</i>(<i>D</i>) ∈ <i>S</i>]</span> '
        "<span>≤ e<sup>{}</sup> · Pr[<i>M</i>(<i>D′</i>) ∈ <i>S</i>]{}</span></p>").format(
            change, claim.unit, claim.text, delta)
    guarantee = facts("Guarantee and proof", [
        ("Claim", claim.sentence),
        ("Guarantee", Markup("{} differential privacy of the {}, ε = {}, δ = {}").format(
            clean(claim.account), covered, claim.text, clean(claim.delta))),
        ("Neighbours", ("replace one, in its place" if claim.replaced else "add or remove one")
         + f"; unit: {claim.unit}, with its label"),
        ("Mechanism", name(claim.mechanism)),
        ("Theorem", name(claim.theorem)),
        ("Assumes", joined(map(_assumption, claim.assumes), Markup("<br>")) if claim.assumes
         else "nothing beyond the declarations above"),
        ("Proofs", _proofs(told)),
        ("Audit", ("Not part of a release. The tests of this software attack the mechanism and "
                   "bound its ε from below.")),
    ])
    parameters = facts("Parameters", [
        *((clean(key), name(value)) for key, value in told.settings),
        ("units", count(int(told.units)) if told.units else "This release does not name them."),
        *own,
        ("outcome", Markup("{}: {}").format(name(told.target.name), clean(told.target.declared))
         if told.target else "This release does not name it."),
        ("noise", "from the system’s entropy; no seed exists"),
        ("software", ", ".join(f"{clean(key)} {clean(value)}" for key, value in told.software)),
    ])
    return section("expert", "For experts", formula, guarantee, parameters)


def _assumption(word: str) -> Markup:
    """A word of the certificate and what it says; a word of another version stands alone."""
    said = SENTENCES.get(str(word))
    return name(word) if said is None else Markup("{}: {}").format(name(word), said)


def _proofs(told: Common) -> Markup:
    if not told.proofs:
        return Markup("This page was not made by the version that made the release, or knows no "
                      "such theorem: the proofs lie beside the code of that version.")
    return Markup("They lie beside the code; SHA-256 of each:<br>{}").format(
        joined((Markup("{} {}").format(name(file), digest(value)) for file, value in told.proofs),
               Markup("<br>")))


def check(told: Common) -> Markup:
    """How to check the page, with the digests of what it was made of."""
    ledger = "" if told.charge is None else " --ledger LEDGER"
    rows = [(clean(what), digest(value)) for what, value in told.digests]
    if told.charge is not None:
        rows.append(("ledger, head", digest(told.charge.head)))
        rows.append(("ledger, request", digest(told.charge.request)))
    rows.append(("Signature", Markup("There is none: the certificate shows what is claimed, not "
                                     "who claims it.")))
    return section(
        "check", "Check this report",
        paragraph("The certificate ties the answer to its charge. In the folder of the release, "
                  "without a network and without the table:"),
        Markup("<pre>privsieve verify .{}\nprivsieve report . --check</pre>").format(ledger),
        facts("Digests (SHA-256)", rows),
        paragraph("There is no digest of the table, on purpose: whoever has one can try out "
                  "guesses about a single row.", "note"))
