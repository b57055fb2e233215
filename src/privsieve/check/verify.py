"""Verify: check a certificate without the program that made it.

Whatever is wrong becomes a reason, in words that quote nothing of the file; nothing raises, but
where a ledger's server does not answer: that says nothing of a certificate.  It
reads two JSON files and, where given, a ledger and a published table.  Of a release it shows that
it selects what was planned and holds the numbers of its kind; these were drawn with fresh noise,
and nobody can recount them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from privsieve.check.certificate import CONTAINMENT, bound, certificate_faults
from privsieve.check.reasons import Unreadable, failed
from privsieve.check.recount import (
    WISHES,
    agrees,
    claim_reasons,
    release_reasons,
    rho_holds,
    unseen,
)
from privsieve.check.schema import RELEASE_FORMAT, public_faults
from privsieve.errors import BudgetExceeded, LedgerError, ParameterError
from privsieve.frozen import dataclass
from privsieve.public.canonical import (
    DELTA_UNITS,
    EPSILON_UNITS,
    canonical,
    digest,
    parsed,
    units_of,
)
from privsieve.public.plan import FORMAT, KINDS, UNIT

if TYPE_CHECKING:
    from pathlib import Path

    from privsieve.ledger.ledger import Ledger

#: A release folder's file is far below; more is an attack on memory.
LARGEST_FILE = 64 * 2**20

#: What leaves is clamped to the integers that a double holds exactly, on grids of doubles.
LARGEST = 2**53
EXPONENTS = range(-1074, 971)
#: Instead of a number of columns: all whose released weight is above zero, and at least one.
POSITIVE = "positive"
#: How the numbers of a regression's features are called; of "answers" there are queries, too.
ANSWERS = "answers"
MAPS = ("linear", "fourier", "cosine", "polynomial", ANSWERS)
#: A column has at most as many cells as codes.
CODES = 65536
CELLS = {"names", "shape", "bins", "place", "q"}
#: A decimal text, as an amount of noise or an answer is told.
_NUMBER = r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?"
_GRID = "the values of the release are not integers on a grid of doubles"

Source = str | os.PathLike[str] | bytes | Mapping[str, Any]
#: The note that a signature takes away.
UNSIGNED = "Unsigned: nothing shows who made this release"

_WORD = {"reserve": "charge", "commit": "release", "publish": "publication"}


@dataclass(frozen=True)
class Verification:
    """What a check found: `reasons` say why it fails, `notes` what it cannot show.

    says : of a folder that holds, what is true of it, in a sentence
    signed : of a folder, the fingerprints of who signed it, and as what
    unchecked : of a folder, the files that were not checked, and why

    >>> Verification(reasons=("the digest differs",), notes=()).valid
    False
    """

    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    says: str = ""
    signed: Mapping[str, str] = field(default_factory=dict)
    unchecked: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether nothing was found against the claim."""
        return not self.reasons


def verify(certificate: Source, release: Source | None = None, *,
           ledger: str | Path | Ledger | None = None, table: object = None) -> Verification:
    """Check a certificate, and what is given with it: release, ledger, published table.

    >>> verify({}).reasons[0]
    'the certificate does not have the fields of privsieve-certificate/1: it claims no known kind'
    """
    try:
        body = _read(certificate, "the certificate")
        _check_shape(body)
        if body["claim"]["kind"] == CONTAINMENT:
            return _containment(body, release, ledger, table)
        reasons = [*_claim(body), *claim_reasons(body["claim"], body["plan"]), *_unkeyed(body)]
        if body["ledger"] is not None:
            reasons += _entries(body)
        if release is not None:
            said = _read(release, "the release")
            reasons += _release(body, said)
        if ledger is not None:
            reasons += _ledger(body, ledger)
        more = [] if release is None or reasons else unseen(body, said)
    except Unreadable as error:
        return Verification((str(error),), ())
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return Verification(("a field of the files is of a type that it cannot have",), ())
    notes = [*_unseen(body, release, ledger, ("spent on these people", "the charge was made")),
             *failed({"the table was not read: fresh noise cannot be recounted": table is None}),
             *more]
    return Verification(tuple(reasons), tuple(notes))


def verify_plan(certificate: Mapping[str, Any], public: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what `verify` would find wrong with the release of a plan, before it is made.

    public : the fields of the release that are known before its rows are read.
    """
    return verify(certificate).reasons or tuple(public_faults(public))


def _read(source: Source, what: str) -> dict[str, Any]:
    """The JSON of a file or a mapping, of allowed types and, for a file, in canonical form."""
    try:
        if isinstance(source, Mapping):
            data, body = canonical(source), source
        elif isinstance(source, bytes):
            data, body = source, parsed(source)
        else:
            with open(os.fspath(source), "rb") as file:  # noqa: PTH123  # no import
                data = file.read(LARGEST_FILE + 1)
            if len(data) > LARGEST_FILE:
                raise Unreadable(f"{what} is larger than 64 MB")
            body = parsed(data)
        if not isinstance(body, Mapping) or canonical(body) != data:
            raise Unreadable(f"{what} is not a JSON object in canonical form")
    except OSError:
        raise Unreadable(f"{what} cannot be read") from None
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise Unreadable(f"{what} is not JSON of strings, integers, booleans and null") from None
    return dict(body)


def _containment(body: Mapping[str, Any], release: Source | None,
                 ledger: str | Path | Ledger | None, table: object) -> Verification:
    """A certificate that promises a level, and no epsilon."""
    from privsieve.check import containment

    reasons = [*containment.claim_reasons(body), *_unkeyed(body)]
    if body["ledger"] is not None:
        reasons += containment.entry_reasons(body)
    said = None if release is None else _read(release, "the release")
    if said is not None:
        reasons += [*_certified(body, said), *containment.release_reasons(body, said)]
    if ledger is not None:
        reasons += _ledger(body, ledger, ("publish",))
    if isinstance(table, str | os.PathLike | bytes):
        reasons += containment.table_reasons(body, table, said)
    elif table is not None:
        reasons.append("the table is to be given as a file")
    words = "published of these people", "this was noted there"
    notes = [*_unseen(body, release, ledger, words), *containment.notes(body["claim"]),
             *failed({"the table was not given: its level was not recounted": table is not None})]
    return Verification(tuple(reasons), tuple(notes))


def _check_shape(body: Mapping[str, Any]) -> None:
    for fault in certificate_faults(body):
        if body.get("format", FORMAT) != FORMAT:
            raise Unreadable(f"the certificate is not a {FORMAT}; a newer privsieve may read it")
        raise Unreadable(fault)


def _claim(body: Mapping[str, Any]) -> Iterator[str]:
    claim, plan = body["claim"], body["plan"]
    return failed({
        "the claim names no known kind of release": claim["kind"] in KINDS,
        "the claimed epsilon is not an exact amount":
            units_of(claim["epsilon"], EPSILON_UNITS) is not None,
        "the claimed delta is not an exact amount":
            units_of(claim["delta"], DELTA_UNITS) is not None,
        "the account is not the one of the claimed delta":
            claim["account"] == ("pure" if claim["delta"] == "0" else "approximate"),
        "the claim names no known unit": claim["unit"] in UNIT.values(),
        "the claim names no known neighbours":
            claim["neighbours"] in ("replace-one", "add-remove"),
        "the epsilon of the plan is not the claimed one": plan.get("epsilon") == claim["epsilon"],
        "the delta of the plan is not the claimed one": plan.get("delta") == claim["delta"],
        "the method of the plan is not the claimed one": plan.get("method") == claim["mechanism"],
    })


def _unkeyed(body: Mapping[str, Any]) -> Iterator[str]:
    return failed({
        "a population stands without a ledger, or a ledger without a population":
            (body["population"] is None) == (body["ledger"] is None),
        "the certificate names a key or signature, which this version cannot check":
            body["key"] is None and body["signature"] is None,
    })


def _entries(body: Mapping[str, Any]) -> Iterator[str]:
    """Write both ledger entries anew from the certificate; their hashes must be its own."""
    known = body["ledger"]
    common = {"population": body["population"], "request": known["request"]}
    terms = {name: body[name] for name in ("claim", "plan", "domain_sha256", "software")}
    reserve = {**common, "units": units_of(body["claim"]["epsilon"], EPSILON_UNITS),
               "delta": body["claim"]["delta"], "claim": terms,
               "reserved_at": known["reserved_at"],
               **{name: known[name] for name in ("rho", "charged") if name in known}}
    commit = {**common, "release_sha256": body["release_sha256"]}
    return failed({
        "the charge is not what the release comes to in the change that the account protects":
            "charged" not in known or _converted(known, terms),
        "the claim is not the one that was charged":
            bound(known["reserve"], "reserve", reserve),
        "the release is not the one that was charged":
            bound(known["commit"], "commit", commit),
        "the release was committed before it was charged":
            known["reserve"]["seq"] < known["commit"]["seq"],
        "the charge and the release are not in one chain":
            known["reserve"]["seq"] + 1 != known["commit"]["seq"]
            or known["commit"]["prev"] == known["reserve"]["hash"],
        "the rho of the charge does not follow from the plan":
            "rho" not in known or rho_holds(body),
        "the head is not the entry of the release": known["head"] == known["commit"]["hash"],
    })


def _converted(known: Mapping[str, Any], terms: Mapping[str, Any]) -> bool:
    """Whether factor and amounts follow from the claim and from what the account protects."""
    from privsieve.ledger.account import recharged

    try:
        return recharged(known["charged"], known["rho"], terms)
    except (BudgetExceeded, ValueError):
        return False


def _certified(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    return failed({
        "the digest of the release is not the certified one":
            digest(canonical(release)) == body["release_sha256"],
        f"the release is not a {RELEASE_FORMAT}": release.get("format") == RELEASE_FORMAT,
        "the kind of the release is not the claimed one":
            release.get("kind") == body["claim"]["kind"],
    })


def _release(body: Mapping[str, Any], release: Mapping[str, Any]) -> Iterator[str]:
    yield from _certified(body, release)
    yield from failed({
        "the noise of the release was replayed, so that it protects nobody":
            "replayed" not in release,
        "the plan of the release is not the certified one": release.get("plan") == body["plan"],
        "the domain of the release is not the certified one":
            "domain" not in release
            or digest(canonical(release["domain"])) == body["domain_sha256"],
        **checks(body["claim"]["kind"], body["plan"], release),
    })
    yield from release_reasons(body, release)


def _ledger(body: Mapping[str, Any], ledger: str | Path | Ledger,
            kinds: tuple[str, ...] = ("reserve", "commit")) -> Iterator[str]:
    from privsieve.ledger.ledger import Ledger, recount
    from privsieve.ledger.sql import served

    known = body["ledger"]
    if known is None:
        if body["claim"].get("epsilon") != "0":  # what costs nothing stands in no ledger
            yield "a ledger was given, and the certificate was made without one"
        return
    place = ledger.path if isinstance(ledger, Ledger) else str(ledger)
    try:
        report, entries = recount(place)
    except (LedgerError, ParameterError) as error:
        if served(place):  # of a server that does not answer nothing follows for the certificate
            raise LedgerError(f"nothing was checked, for {error}") from None
        yield f"the ledger cannot be checked: {error}"
        return
    yield from (f"the ledger does not add up: {reason}" for reason in report.reasons)
    held = {entry.kind + entry.hash for entry in entries}
    yield from failed({
        **{f"the ledger does not hold the {_WORD[kind]}: it is another one, or was set back":
           kind + known[kind]["hash"] in held for kind in kinds},
        "the ledger does not hold the head: it is another one, or was set back":
            known["head"] in {entry.hash for entry in entries},
    })


def _unseen(body: Mapping[str, Any], release: object, ledger: object, words: tuple[str, str],
            ) -> Iterator[str]:
    """What the check cannot show for want of a signature, a ledger or a release."""
    done, noted = words
    return failed({
        UNSIGNED: body["signature"] is not None,
        f"made without a ledger: nothing shows what else was {done}": body["ledger"] is not None,
        f"the ledger was not given: only its own hashes show that {noted}":
            body["ledger"] is None or ledger is not None,
        "the release was not given: only its digest was seen": release is not None,
    })


# --- what a release says ------------------------------------------------------------------------

def checks(kind: str, plan: Mapping[str, Any], release: Mapping[str, Any]) -> dict[str, bool]:
    """What has to hold of a release of this kind, and whether it does.

    >>> found = checks("selection", {"settings": {"k": 1}}, {"columns": ["a"], "selected": []})
    >>> [reason for reason, holds in found.items() if not holds]
    ['the release does not select as many columns as planned']
    """
    selected, columns = _names(release.get("selected")), _names(release.get("columns"))
    found = {"the release selects what is not among its columns, or twice":
             len(set(selected)) == len(selected) and set(selected) <= set(columns)}
    if kind != "regression":
        asked = plan.get("settings")
        settings = asked if isinstance(asked, Mapping) else {}
        count = settings.get("k")
        if kind == "weights" and count == POSITIVE:
            q = _on_grid(release.get("values")) or []
            count = max(1, sum(weight > 0 for weight in q))
        wishes = any(settings.get(name) is not None for name in WISHES)
        found["the release does not select as many columns as planned"] = (
            agrees(settings, columns, selected) if wishes
            else type(count) is int and len(selected) == count)
        most = settings.get("at_most")
        found["the plan names more columns than were asked for at most"] = (
            most is None or (type(most) is int and type(count) is int and count <= most))
    if kind == "selection":
        found |= _beside(release, plan.get("settings"), selected)
    numbers = {"weights": _weights, "regression": _regression, "histogram": _histogram}.get(kind)
    if numbers is not None:
        found |= {**numbers(release), "the noise of the release is not a law and an amount":
                  _noise(release.get("noise"))}
    return found


def _beside(release: Mapping[str, Any], settings: object, selected: tuple[str, ...],
            ) -> dict[str, bool]:
    """What was asked for beside a choice, and nothing else of it, is there and makes sense."""
    asked = settings if isinstance(settings, Mapping) else {}
    sure, said = release.get("sure"), release.get("described")
    if said is None and "describe" not in asked and sure is None and "sure" not in asked:
        return {}
    from privsieve.public.description import descriptions

    try:
        held = not selected or set(descriptions(said or {}, selected)) == set(selected)
    except (TypeError, ValueError, LookupError, AttributeError):
        held = said is None
    return {
        "the release counts sure columns that were not asked for, or more than it selects":
            ("sure" in release) == ("sure" in asked)
            and (sure is None or (type(sure) is int and 0 <= sure <= len(selected))),
        "the release does not describe the columns that it selects, and these alone":
            ("described" in release) == ("describe" in asked) and held,
    }


def _names(value: object) -> tuple[str, ...]:
    """A list of names; empty, and so in agreement with no plan, where it is not one."""
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(listed) if all(isinstance(name, str) for name in listed) else ()


def _weights(release: Mapping[str, Any]) -> dict[str, bool]:
    q, columns = _on_grid(release.get("values")), _names(release.get("columns"))
    whole = q is None or len(q) == len(columns)
    return {
        _GRID: q is not None,
        "the release does not hold one weight for each column": whole,
        "the release does not select the columns of its largest weights":
            q is None or not whole or _largest(q, columns, _names(release.get("selected"))),
    }


def _largest(q: list[int], columns: tuple[str, ...], selected: tuple[str, ...]) -> bool:
    """Whether no other column has a larger weight, or the same one at an earlier place."""
    best = sorted(range(len(q)), key=lambda j: (-q[j], j))[:len(selected)]
    return {columns[j] for j in best} == set(selected)


def _regression(release: Mapping[str, Any]) -> dict[str, bool]:
    q, features = _on_grid(release.get("values")), release.get("features")
    known = isinstance(features, Mapping) and features.get("map") in MAPS
    return {
        _GRID: q is not None,
        "the release names no known map of features": known,
        "the release does not hold one weight for each feature, or one answer for each query":
            q is None or not known or _whole_model(release, len(q)),
    }


def _whole_model(release: Mapping[str, Any], numbers: int) -> bool:
    if release["features"]["map"] != ANSWERS:
        return bool(release["features"].get("features") == numbers)
    queries, answers = release.get("queries"), release.get("answers")
    return (isinstance(queries, list | tuple) and isinstance(answers, list | tuple)
            and len(queries) == len(answers) and all(map(_number, answers)))


def _histogram(release: Mapping[str, Any]) -> dict[str, bool]:
    cells = release.get("cells")
    if not isinstance(cells, Mapping) or cells.keys() != CELLS:
        return {"the release does not have the fields of a table of cells": False}
    names, selected = _names(cells["names"]), _names(release.get("selected"))
    shape, q = _integers(cells["shape"], 1, CODES), _integers(cells["q"], -LARGEST, LARGEST)
    return {
        # what is tabulated beside the selected columns is the target
        "the table of cells is not one of the selected columns":
            bool(names) and names[:len(selected)] == selected and len(names) <= len(selected) + 1,
        "the shape of the cells is not a number of bins for each column":
            shape is not None and len(shape) == len(names),
        "the bins of the cells are not told by column": isinstance(cells["bins"], Mapping),
        "the counts of the release are not integers that a double holds": q is not None,
        "the release does not hold one count for each of its cells":
            shape is None or q is None or _placed(cells["place"], len(q), _cells(shape)),
    }


def _on_grid(values: object) -> list[int] | None:
    """The integers of released values; None where they are something else."""
    if not isinstance(values, Mapping) or values.keys() != {"exponent", "q"}:
        return None
    if type(values["exponent"]) is not int or values["exponent"] not in EXPONENTS:
        return None
    return _integers(values["q"], -LARGEST, LARGEST)


def _integers(value: object, low: int, high: int) -> list[int] | None:
    if not isinstance(value, list | tuple):
        return None
    fit = all(type(one) is int and low <= one <= high for one in value)
    return list(value) if fit else None


def _cells(shape: list[int]) -> int | None:
    """How many cells there are; None where their places are beyond what a double holds.

    >>> _cells([4, 3, 2]), _cells([65536] * 4)
    (24, None)
    """
    cells = 1
    for bins in shape:
        cells *= bins
        # a product of as many numbers as a file may hold would never be done
        if cells >= LARGEST:
            return None
    return cells


def _placed(place: object, held: int, cells: int | None) -> bool:
    """Whether so many counts stand at known cells, each once and in order."""
    if cells is None:
        return False
    if place == "all":
        return held == cells
    known = _integers(place, 0, cells - 1)
    return (known is not None and len(known) == held
            and all(one < other for one, other in pairwise(known)))


def _noise(said: object) -> bool:
    return (isinstance(said, Mapping) and said.keys() == {"law", "each"}
            and isinstance(said["law"], str) and _number(said["each"])
            and float(said["each"]) > 0)


def _number(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(_NUMBER, text) is not None
