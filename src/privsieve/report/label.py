"""Label: the privacy label of a release, a small table that a reader takes in at a glance.

Its rows are those of the privacy labels of arXiv 2507.15997, and a last one names what lies in a
range that is not ideal.  The ranges are ours, and are said in the docs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from privsieve.public.canonical import exact
from privsieve.public.plan import UNIT
from privsieve.report.officer import WEAK, Spending, literal
from privsieve.report.page import clean, count

#: Up to here a cost is called usual.
USUAL = 1
#: Above this product of delta and units a delta is called large: whole rows of so many may leave.
LARGE = Fraction(1, 100)
#: Crowds below this are called small.
SMALL = 5


def label(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None = None,
          ) -> str:
    """The label as a table of Markdown."""
    claim = certificate["claim"]
    rows = (_crowd(claim) if claim["kind"] == "containment" else
            _budget(release, certificate, sums))
    said = [f"| {literal(name)} | {literal(value)} |" for name, value in rows]
    head = ["| Privacy label | |", "|---|---|"]
    digest = clean(certificate["release_sha256"])
    return "\n".join([*head, *said, f"| Release | {digest} |", ""])


def _budget(release: Mapping[str, Any], certificate: Mapping[str, Any], sums: Spending | None,
            ) -> Iterator[tuple[str, str]]:
    claim, ledger = certificate["claim"], certificate["ledger"]
    if sums is not None:
        total, left = f"epsilon {sums.limit}", f"epsilon {sums.left}"
    else:
        total = left = "stands in the ledger" if ledger else "no ledger keeps it"
    yield "Total budget", total
    yield "Remaining", left
    yield "Unit", claim["unit"]
    yield "Neighbours", ("one is replaced by another" if claim["neighbours"] == "replace-one" else
                         "one is added or removed")
    yield "Epsilon", claim["epsilon"]
    yield "Delta", claim["delta"]
    yield "Not ideal", "; ".join(not_ideal(claim, release["plan"].get("units"), sums)) or (
        "nothing" if ledger else "no ledger adds up what else is released")


def not_ideal(claim: Mapping[str, Any], units: int | None, sums: Spending | None) -> Iterator[str]:
    """What lies in a range that is not ideal, in words.

    >>> claim = {"epsilon": "6", "delta": "0", "unit": "one row of the table"}
    >>> list(not_ideal(claim, 100, None))[0]
    'epsilon is 5 or more: a weak promise'
    """
    epsilon, delta = exact(claim["epsilon"], "epsilon"), exact(claim["delta"], "delta")
    if epsilon >= WEAK:
        yield f"epsilon is {WEAK} or more: a weak promise"
    elif epsilon > USUAL:
        yield f"epsilon is above {USUAL}: a middling promise"
    if sums is not None and exact(sums.limit, "a limit") >= WEAK:
        yield f"the total budget is {WEAK} or more: all releases together promise little"
    if delta and units is not None and delta * int(units) > LARGE:
        yield "delta times the number of units is above 0.01: it should be far smaller"
    if claim["unit"] != UNIT["person"]:
        yield f"{claim['unit']} is protected: a person who has several is protected less"


def _crowd(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    sources = bool(claim.get("counted"))
    # of so many sources at least; the level is of rows
    small = int(claim["k"] if sources else claim["level"]) < SMALL
    crowd = (f"{count(claim['level'])} rows, of at least {count(claim['k'])} different sources"
             if sources else f"{count(claim['level'])} rows (k = {count(claim['k'])})")
    yield "Total budget", "none: a level does not add up"
    yield "Remaining", "none"
    yield "Unit", "one source of rows" if sources else "one row of the table"
    yield "Neighbours", "none: this is not differential privacy"
    yield "Epsilon", "none"
    yield "Delta", "none"
    yield "Smallest crowd", crowd
    yield "Not ideal", "no epsilon: whoever knows more than was counted is not held back" + (
        f"; the smallest crowd is below {SMALL} {'sources' if sources else 'rows'}" if small
        else "")
