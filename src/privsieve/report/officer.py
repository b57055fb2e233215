"""Officer: the form that a data protection officer signs, as parts of a document.

Made of release.json and certificate.json alone, and of the sums of a ledger where one is given.
What only people know is a line to fill in.  Nothing here is called anonymous: whether somebody can
be identified depends on who receives a release, and on what else they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from privsieve.public.canonical import canonical, digest, exact, factor
from privsieve.public.plan import SENTENCES, UNIT, conversion, sentence
from privsieve.public.strangers import UNITS, counted, known, limits, spoken
from privsieve.release import what
from privsieve.report.figures import belief, capital, count, percent
from privsieve.telling.document import Fact, Part, clean, literal
from privsieve.telling.prose import Prose

#: From here on a promise is called a weak one, as everywhere on a page.
WEAK = 5
#: Letters of names that stand in one line; of more the number.
_LETTERS = 600
#: A longer name is cut here: with its quotation marks it is a word that no page cuts.
_LONGEST = 100
NOUNS = {words: noun for noun, words in UNIT.items()}
WORDS = Path(__file__).parent / "words" / "officer.txt"


class Spending(NamedTuple):
    """What a ledger says of the people: epsilon granted, before this charge, after it, now left."""

    limit: str
    before: str
    after: str
    left: str

    @property
    def words(self) -> str:
        """The same in a sentence.

        >>> Spending("3", "0.5", "1", "1.5").words
        'epsilon 0.5 before this charge and 1 after it, of 3 granted; 1.5 is left today'
        """
        return (f"epsilon {self.before} before this charge and {self.after} after it, of "
                f"{self.limit} granted; {self.left} is left today")


def form(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None = None,
         ) -> list[Part]:
    """The eight parts."""
    claim, ledger = certificate["claim"], certificate["ledger"]
    published = claim["kind"] == "containment"
    columns = claim["columns"] if published else release["selected"]
    told = Prose({
        "release": release, "certificate": certificate, "claim": {"counted": None, **claim},
        "ledger": ledger, "result": what(release, certificate),
        "columns": quoted(columns) if columns else "none",
        "people": lambda: quoted([certificate["population"]]),
        "day": str((ledger or {}).get("reserved_at", ""))[:10],
        "certificate_sha256": digest(canonical(certificate)),
        "domain_sha256": certificate.get("domain_sha256"),
        "table_sha256": claim.get("table_sha256"),
        "sentence": sentence(certificate).rstrip(". "),
        **(_published if published else _private)(release, certificate, sums),
    }, WORDS)
    return told.parts("published" if published else "private")


def _private(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None,
             ) -> dict[str, Any]:
    """What the form of a release with an epsilon knows."""
    claim, ledger = certificate["claim"], certificate["ledger"]
    epsilon = exact(claim["epsilon"], "epsilon")
    return {
        "noun": NOUNS[claim["unit"]], "units": int(release["plan"]["units"]),
        "odds": odds(claim, sentence(certificate)), "summed": summed(certificate, sums),
        "converted": conversion(ledger["charged"], certificate) if ledger else None,
        "how": "limits" if epsilon < WEAK else (
            "limits weakly" if factor(epsilon) else "limits in name only"),
        "bound": "not at all, for no row was read" if not epsilon else
                 f"by the factor of part 3 at most{', up to the delta' * (claim['delta'] != '0')}",
        "query": " ".join((release["plan"].get("query") or "").split()),
        "assumed": [Fact(literal(f"Assumed ({word})"), SENTENCES.get(str(word), "").rstrip("."))
                    for word in claim["assumes"]],
    }


def _published(release: Mapping[str, Any], certificate: Mapping[str, Any], _sums: Spending | None,
               ) -> dict[str, Any]:
    """What the form of a publication knows."""
    claim, strangers = certificate["claim"], release["measured"]["strangers"]
    source, many = counted(claim)
    return {
        "unit": UNITS[source], "source": source, "many": many, "counted": capital(many),
        "known": known(claim), "limits": "; ".join(" ".join(limit) for limit in limits(claim)),
        "alone": next(strangers[who]["alone"] for who in ("everything", "all_class", "all")
                      if who in strangers),
        "snapshot": lambda: quoted([certificate["ledger"]["snapshot"]]),
        "roles": [Fact(capital(role), literal(quoted(names)), asks="By whom, from which source")
                  for role, names in spoken(claim)],
    }


def quoted(texts: Sequence[object]) -> str:
    """Names in quotation marks, as many as a line holds.

    >>> quoted(["age", "ward"]), quoted(["x" * 128] * 9)[-11:]
    ('“age”, “ward”', ' and 4 more')
    """
    shown: list[str] = []
    for whole in map(clean, texts):
        text = whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST - 1]}…"
        if sum(map(len, shown)) + len(text) > _LETTERS:
            break
        shown.append(f"“{text}”")
    more = [f"and {count(len(texts) - len(shown))} more"] if len(texts) > len(shown) else []
    return ", ".join(shown) + " ".join(["", *more])


def odds(claim: Mapping[str, Any], said: str) -> str:
    """The strongest statement of a promise, in odds; `said` is the claim as a sentence."""
    epsilon, noun = exact(claim["epsilon"], "epsilon"), NOUNS[claim["unit"]]
    if not epsilon:
        return "none change: no row was read"
    if claim["delta"] != "0":
        return f"{said.rstrip('.')}; with a delta no range of odds holds always"
    times = factor(epsilon)
    most = times or f"e^{claim['epsilon']}, so large that nothing is promised"
    low, high = (percent(end) for end in belief(epsilon, exact("0.5", "a half")))
    idea = (f"between two ideas of one {noun}" if claim["neighbours"] == "replace-one" else
            f"over whether one {noun} is in the table")
    return (f"whoever knows all the rest, and wavers {idea}, changes the "
            f"odds by a factor of at most {most}; from 50 % to no less than {low} and no more than "
            f"{high}")


def summed(certificate: Mapping[str, Any], sums: Spending | None) -> str:
    """What these people have been charged together."""
    if sums is not None:
        return sums.words
    if exact(certificate["claim"]["epsilon"], "epsilon") == 0:
        return "this release adds nothing to it"
    return ("stands in the ledger (privsieve ledger show)" if certificate["ledger"] else
            "no ledger keeps it: nothing shows what else was released of these people")
