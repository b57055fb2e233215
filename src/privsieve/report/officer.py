"""Officer: the form that a data protection officer signs, as parts of a document.

It is made from release.json and certificate.json, and from the sums of a ledger if there is one.
People fill in what only they know.  The form never says "anonymous": whether a person can be
identified depends on the recipient, and on what else the recipient has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from privsieve.public.attackers import UNITS, counted, known, limits, spoken
from privsieve.public.canonical import canonical, digest, exact, factor
from privsieve.public.plan import NOUNS, PLURALS, SENTENCES, conversion, sentence, unit_text
from privsieve.release import what
from privsieve.report.figures import belief, capital, count, percent
from privsieve.telling.document import Fact, Part, clean, literal
from privsieve.telling.prose import Prose

#: From this epsilon on, pages and forms call a guarantee weak.
WEAK = 5
#: A line lists names of at most this many letters together, and counts the others.
_LETTERS = 600
#: A longer name is cut: with its quotation marks it then fits into the longest word of a page.
_LONGEST = 100
WORDS = Path(__file__).parent / "words" / "officer.txt"


class Spending(NamedTuple):
    """Sums of epsilon in a ledger for some people: granted, before and after a charge, and left."""

    limit: str
    before: str
    after: str
    left: str

    @property
    def words(self) -> str:
        """Return the sums in a sentence.

        >>> Spending("3", "0.5", "1", "1.5").words
        'epsilon 0.5 before this charge and 1 after it, of 3 granted; 1.5 is left today'
        """
        return (f"epsilon {self.before} before this charge and {self.after} after it, of "
                f"{self.limit} granted; {self.left} is left today")


def form(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None = None,
         ) -> list[Part]:
    """Return the eight sections of the form."""
    claim, ledger = certificate["claim"], certificate["ledger"]
    published = claim["kind"] == "containment"
    columns = claim["columns"] if published else release["selected"]
    prose = Prose({
        "release": release, "certificate": certificate, "claim": {"counted": None, **claim},
        "ledger": ledger, "result": what(release, certificate),
        "columns": quoted(columns) if columns else "none",
        "people": lambda: quoted([certificate["population"]]),
        "day": str((ledger or {}).get("reserved_at", ""))[:10],
        "certificate_sha256": digest(canonical(certificate)),
        "domain_sha256": certificate.get("domain_sha256"),
        "table_sha256": claim.get("table_sha256"),
        "sentence": sentence(certificate).rstrip(". "),
        **(_published(release, certificate) if published
           else _private(release, certificate, sums)),
    }, WORDS)
    return prose.parts("published" if published else "private")


def _private(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None,
             ) -> dict[str, Any]:
    """Return what the form of a release with an epsilon fills in."""
    claim, ledger = certificate["claim"], certificate["ledger"]
    epsilon, noun = exact(claim["epsilon"], "epsilon"), NOUNS[claim["unit"]]
    return {
        "weight": release["domain"].get("weight"),
        "noun": noun, "nouns": PLURALS[noun], "unit": unit_text(claim["unit"]),
        "units": int(release["plan"]["units"]),
        "odds": odds(claim, sentence(certificate)), "summed": summed(certificate, sums),
        "converted": conversion(ledger["charged"], certificate) if ledger else None,
        "how": "limits" if epsilon < WEAK else (
            "limits weakly" if factor(epsilon) else "limits in name only"),
        "bound": "not at all, because no row was read" if not epsilon else
                 f"at most by the factor of section 3{', up to delta' * (claim['delta'] != '0')}",
        "query": " ".join((release["plan"].get("query") or "").split()),
        "assumed": [Fact(literal(f"Assumed ({word})"), SENTENCES.get(str(word), "").rstrip("."))
                    for word in claim["assumes"]],
    }


def _published(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form of a publication fills in."""
    claim, attackers = certificate["claim"], release["measured"]["strangers"]
    source, many = counted(claim)
    return {
        "unit": UNITS[source], "source": source, "many": many, "counted": capital(many),
        "known": known(claim), "limits": "; ".join(" ".join(limit) for limit in limits(claim)),
        "alone": next(attackers[key]["alone"] for key in ("everything", "all_class", "all")
                      if key in attackers),
        "snapshot": lambda: quoted([certificate["ledger"]["snapshot"]]),
        "roles": [Fact(capital(role), literal(quoted(names)),
                       asks="Declared by whom, from which source")
                  for role, names in spoken(claim)],
    }


def quoted(texts: Sequence[object]) -> str:
    """Return names in quotation marks, as many as fit into a line.

    >>> quoted(["age", "ward"]), quoted(["x" * 128] * 9)[-11:]
    ('“age”, “ward”', ' and 4 more')
    """
    names: list[str] = []
    for whole in map(clean, texts):
        text = whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST - 1]}…"
        if sum(map(len, names)) + len(text) > _LETTERS:
            break
        names.append(f"“{text}”")
    rest = len(texts) - len(names)
    return ", ".join(names) + (f" and {count(rest)} more" if rest else "")


def odds(claim: Mapping[str, Any], claim_text: str) -> str:
    """Return the strongest statement of a guarantee, in odds; `claim_text` is its sentence."""
    epsilon, noun = exact(claim["epsilon"], "epsilon"), NOUNS[claim["unit"]]
    if not epsilon:
        return "no odds change, because no row was read"
    if claim["delta"] != "0":
        return f"{claim_text.rstrip('.')}; with a delta, no limit on the odds always holds"
    times = factor(epsilon)
    most = times or f"e^{claim['epsilon']}, which protects nobody"
    low, high = (percent(end) for end in belief(epsilon, exact("0.5", "a half")))
    guess = (f"between two guesses about one {noun}" if claim["neighbours"] == "replace-one" else
             f"whether one {noun} is in the table")
    return (f"if an attacker knows everything else and is undecided {guess}, the odds change by a "
            f"factor of at most {most}: from 50 % to between {low} and {high}")


def summed(certificate: Mapping[str, Any], sums: Spending | None) -> str:
    """Return the sum of all charges for these people, or where it is."""
    if sums is not None:
        return sums.words
    if exact(certificate["claim"]["epsilon"], "epsilon") == 0:
        return "this release adds nothing to it"
    return ("in the ledger (privsieve ledger show)" if certificate["ledger"] else
            "no ledger: nothing shows what else was released about these people")
