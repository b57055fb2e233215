"""Schema: every field of a release and of a certificate, with its form.

One closed declaration for each kind; from it `verify` checks, and `check/schemas/*.json` are made.
Files of version 0.1.0 have fewer fields, and their own declaration.  What a form cannot say (that
numbers follow from each other) is recounted in `check.recount`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from privsieve.check.form import (
    ByWord,
    Either,
    Fields,
    Named,
    OneOf,
    Row,
    Several,
    Shaped,
    Text,
    WholeNumber,
    sentence,
)
from privsieve.check.settings import (
    AMOUNT,
    BEFORE,
    COUNT,
    DIGEST,
    FLAG,
    KERNELS,
    MAPS,
    NAME,
    NAMES,
    NOTHING,
    NOW,
    YES,
    plan_of,
)
from privsieve.public.plan import FORMAT, KINDS, SENTENCES, THEOREMS, UNIT

#: What a release says of its format.
RELEASE_FORMAT = "privsieve-release/1"
#: The version whose files have forms of their own.
FIRST = "0.1.0"
#: The kind of certificates that promise a level, and no epsilon.
CONTAINMENT = "containment"
_NUMBER = r"[0-9][0-9.,]{0,24}(?:e[+-]?[0-9]{1,3})?%?"
_FIGURE = Text(r"[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?")
_SIGNED = Text(r"-?[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?")
_EDGE = Text(r"-?[0-9]{1,330}(\.[0-9]{1,330})?(e[+-]?[0-9]{1,3})?", 700)
_MOMENT = Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?)?")
_PER_CENT = WholeNumber(0, 100)

_WARNINGS = sentence(
    "the choice will be close to random: of the columns sought about # are found on a usual table, "
    "and # by guessing; more rows, a larger epsilon or fewer columns to choose would help",
    "the choice will be close to random: of the columns named about # are right on a usual table, "
    "and # by guessing; more rows, a larger epsilon or fewer columns to choose would help",
    "with so few rows and so small a share of epsilon no column could be counted as sure, not even "
    "one that tells the classes apart: give sure= a larger share, or leave it away",
    "only cells of about # rows or more are named, and there are # rows: at most # cells can be; a "
    "larger epsilon or delta would help",
    *(f"a cell holds # rows on average and noise of about #: the table will be mostly noise; at "
      f"this epsilon up to # cells make sense ({how}), or take a larger epsilon"
      for how in ("take at most # bins a column", "take at most # of the columns",
                  "take fewer columns")),
    *("the weights will be mostly noise: its length is about #, and no table's weights are longer "
      "than #; they could be as long from an epsilon of about # or from about # "
      f"{unit}, and are usually shorter: to choose columns take a method that releases no weights"
      for unit in ("rows", "persons")),
    "the weights will be mostly noise: it moves them by about #, and no table's weights are longer "
    "than #; they could be as long from an epsilon of about #, and are usually shorter: take more "
    "rows, a larger lam, or, to choose columns, a method that releases no weights",
    "a prediction will have noise of # times half the target's range: the middle of the range is "
    "as good a guess; more rows, a larger epsilon, fewer features or a larger lam would help",
    "the noise on an answer has a standard deviation of # of the target's range: close to pure "
    "noise.  Take a larger epsilon or lam, or more rows; `suggest_lambda` names a lam from public "
    "numbers",
    number=_NUMBER)
_USEFUL = sentence(" (this method is useful here from an epsilon of about #)", number=_NUMBER)
_ONE = f"(?:{_WARNINGS})(?:{_USEFUL})?"
_WARNING = Either(NOTHING, Text(f"{_ONE}(?:; {_ONE}){{0,3}}", 2048))
_ADVICE = Text(sentence(*(
    f"asked for #{beside}: with # {unit}s and this epsilon about # of the # would be right; "
    f'--at-most # (in Python fewer="auto") would name #, about # of {them} right, in the mean over '
    "tables from weak to strong"
    for beside in ("", " beside those that are always in") for unit in ("row", "person")
    for them in ("them", "it")), number=_NUMBER), 1024)

# --- the domain ---------------------------------------------------------------------------------

_ROLE = OneOf("presences", "both", "sensitive")
_SCALAR = Either(Text(longest=1024), WholeNumber(-2**53 + 1), FLAG)
_WORDS = Several(Text(longest=1024), least=1)
_MISSING = OneOf("middle", "level")
_NUMERIC = Fields(
    {"kind": OneOf("number"), "name": NAME, "scale": OneOf("linear", "log"), "missing": _MISSING},
    {"low": _EDGE, "high": _EDGE, "cuts": Several(_EDGE, least=1), "role": _ROLE, "near": _EDGE,
     "typical": Row((_EDGE, _EDGE)), "missing_values": Several(_EDGE, least=1)})
_LABEL = Fields({"kind": OneOf("label"), "name": NAME, "values": Several(_SCALAR, least=2),
                 "default": _SCALAR})
_COLUMN = ByWord("kind", {
    "number": _NUMERIC,
    "date": Fields(
        {"kind": OneOf("date"), "name": NAME, "low": _MOMENT, "high": _MOMENT,
         "format": Either(NOTHING, Text()), "missing": _MISSING},
        {"cuts": Several(_MOMENT, least=1), "role": _ROLE}),
    "flag": Fields({"kind": OneOf("flag"), "name": NAME, "default": FLAG},
                   {"true": _WORDS, "false": _WORDS, "role": _ROLE}),
    "category": Fields({"kind": OneOf("category"), "name": NAME,
                        "values": Several(_SCALAR, least=1)}, {"role": _ROLE}),
})
_ROWS = Either(NOTHING, WholeNumber(1, 2**40))
_DOMAIN = Fields({
    "columns": Several(_COLUMN, least=1),
    "target": Either(NOTHING, ByWord("kind", {"label": _LABEL, "number": _NUMERIC})),
    "unit": OneOf("row", "person"), "person": Either(NOTHING, NAME), "rows_per_person": _ROWS,
    "neighbours": OneOf("replace-one", "add-remove"), "rows": _ROWS, "persons": _ROWS})

# --- what a release says ------------------------------------------------------------------------

_FOUND = Fields(
    {"guessing_percent": _PER_CENT, "usual_gap": OneOf("0.1", "0.2"),
     "found_percent": Named(_PER_CENT, _FIGURE, least=1),
     "by_cost": Named(_PER_CENT, AMOUNT, least=1)},
    {"names": WholeNumber(1), "advice": _ADVICE, "after_coding": Text(longest=1024)})
_NOISY = Fields({"noise_each": _FIGURE, "noise_length": _FIGURE, "longest": _FIGURE})
_MODEL = Fields({"noise_each": _FIGURE, "noise_prediction": _FIGURE, "expected_error": _FIGURE,
                 "longest": _FIGURE}, {"noise_length": _FIGURE})
_CELLS_OF = Fields({"noise_each": _FIGURE, "cells": COUNT}, {"expected_error": _FIGURE})
_Q = Several(WholeNumber(-2**53 + 1))
_GRID = Fields({"exponent": WholeNumber(-1074, 970), "q": _Q})


def _law(*laws: str) -> Fields:
    return Fields({"law": OneOf(*laws), "each": _FIGURE})


_THREE = Row((WholeNumber(),) * 3)
_TEXTS = Row((Text(longest=64),) * 3)
_DESCRIBED = Named(Either(
    Fields({"levels": Several(Text(longest=1024), least=1), "classes": Several(Fields(
        {"class": Text(longest=1024), "counts": Several(_THREE, least=1)}), least=1)}),
    Fields({"scale": OneOf("linear", "log"), "classes": Several(Fields(
        {"class": Text(longest=1024), "counts": Several(_THREE, least=1, most=1),
         "quartiles": Row((_TEXTS,) * 3), "mean": _TEXTS}, {"missing": _THREE}), least=1)})),
    NAME, least=1)
#: A map by its name in a release, which is not that of its kernel.
_FEATURES = ByWord("map", {
    **{"fourier" if name == "rbf" else name:
       Fields({"map": OneOf("fourier" if name == "rbf" else name), **own})
       for name, own in MAPS.items()},
    "answers": Either(*(Fields({"map": OneOf("answers"), "kernel": OneOf(name), "lam": _FIGURE,
                                **own}) for name, own in KERNELS.items()))})
_CELLS = Fields({
    "names": Several(NAME, least=1), "shape": Several(WholeNumber(1, 65536), least=1),
    "bins": Named(Several(Either(_EDGE, _MOMENT), least=2), NAME),
    "place": Either(OneOf("all"), Several(WholeNumber())), "q": _Q})
_HEAD: Mapping[str, Shaped] = {
    "format": OneOf(RELEASE_FORMAT), "private": YES, "columns": Several(NAME, least=1),
    "domain": _DOMAIN, "selected": NAMES, "warning": _WARNING}
_OWN: Mapping[str, tuple[Mapping[str, Shaped], Mapping[str, Shaped]]] = {
    "selection": ({"forecast": _FOUND}, {
        "candidate": WholeNumber(0, 99), "branch": OneOf("one race", "pairs", "triples", "quads"),
        "sure": WholeNumber(), "described": _DESCRIBED}),
    "weights": ({"forecast": _NOISY, "values": _GRID, "noise": _law("gamma-norm", "gaussian")}, {}),
    "regression": ({"forecast": _MODEL, "features": _FEATURES, "values": _GRID,
                    "noise": _law("gamma-norm", "gaussian", "laplace")},
                   {"queries": Several(Several(WholeNumber(0, 65535), least=1)),
                    "answers": Several(_SIGNED)}),
    "histogram": ({"forecast": _CELLS_OF, "cells": _CELLS, "noise": _law("discrete-laplace")}, {}),
}
#: What version 0.1.0 did not say of a selection.
_LATER = ("branch", "sure", "described")


@cache
def _plans(kind: str, *, before: bool) -> ByWord:
    settings = (BEFORE if before else NOW)[kind]
    return ByWord("method", {name: plan_of(name, one) for name, one in settings.items()})


def _private(kind: str, *, before: bool) -> Fields:
    needed, optional = _OWN[kind]
    return Fields({**_HEAD, "kind": OneOf(kind), "plan": _plans(kind, before=before), **needed},
                  {name: form for name, form in optional.items()
                   if not (before and name in _LATER)})


# --- a publication ------------------------------------------------------------------------------

_COUNTED = WholeNumber(0, 2**40)
_SHARE = Text(r"[01](\.[0-9]{1,9})?|[0-9]{1,9}(\.[0-9]{1,9})?")
_MODELS = OneOf("containment", "k-anonymity")
_PUBLISHING = Fields(
    {"method": OneOf("profile", "greedy", "maximal", "exact"),
     "profile": OneOf("few", "strict", "most", None),
     "weights": OneOf("mutual-information", "hamming", "excess", "youden", "even", "distinct",
                      "class-errors", None),
     "k": WholeNumber(2, 2**40), "model": _MODELS, "l_diversity": WholeNumber(1, 2**40),
     "suppress": _COUNTED}, {"counted": OneOf("sources")})
_BINS = Several(Row((WholeNumber(1), Either(NOTHING, WholeNumber(1)), _COUNTED)), least=1)
_OLD_CROWD = Fields({"average": _SHARE, "below": _COUNTED, "level": WholeNumber(1)})
_CROWD = _OLD_CROWD.also({"alone": _COUNTED, "bins": _BINS})
_WHO = ("known", "known_class", "all", "all_class", "everything")
_ITEMS = Several(Row((NAME, _COUNTED, Either(NOTHING, _COUNTED))), least=1)
_MAYBE = Either(NOTHING, _COUNTED)
_TOLD = Fields({
    "column": NAME, "role": OneOf("target", "sensitive"), "ordered": FLAG, "rows": _COUNTED,
    "values": WholeNumber(1), "share": _SHARE, "above": Several(Row((_SHARE, _COUNTED))),
    "distinct": WholeNumber(1), "entropy": _SHARE, "closeness": _SHARE})
_MEASURED = Fields({
    "rows": WholeNumber(1), "patterns": WholeNumber(1), "promised": OneOf("known", "known_class"),
    "strangers": Fields({}, dict.fromkeys(_WHO, _CROWD)), "one_class": _MAYBE, "items": _ITEMS,
    "disclosure": Several(_TOLD)})
_OLD_MEASURED = Fields({
    "rows": WholeNumber(1), "patterns": WholeNumber(1),
    "has": _OLD_CROWD.also({"bins": _BINS}), "all": _OLD_CROWD.also({"alone": _COUNTED}),
    "one_class": _MAYBE, "one_class_equals": _MAYBE, "items": _ITEMS})


def _published(*, before: bool) -> Fields:
    return Fields({
        "format": OneOf(RELEASE_FORMAT), "kind": OneOf(CONTAINMENT),
        "columns": Several(NAME, least=1), "selected": Several(NAME, least=1),
        "partial": Named(Several(NAME, least=1), NAME), "complete": FLAG, "plan": _PUBLISHING,
        "measured": _OLD_MEASURED if before else _MEASURED})


_CONTAINED = Fields(
    {"kind": OneOf(CONTAINMENT), "k": WholeNumber(2), "level": WholeNumber(2), "model": _MODELS,
     "absent": NAMES, "l_diversity": WholeNumber(1), "suppressed": WholeNumber(),
     "columns": Several(NAME, least=1), "target": Either(NOTHING, NAME), "table_sha256": DIGEST},
    {"counted": OneOf("sources")})
_LIMIT = Either(NOTHING, _SHARE)
_ROLES = Fields({"presences": NAMES, "both": NAMES, "sensitive": NAMES,
                 "target": Either(NOTHING, NAME), "target_known": FLAG})
_CONTAINED_NOW = _CONTAINED.also({
    "rows": WholeNumber(1), "origins": NAMES, "roles": _ROLES, "sensitive": NAMES,
    "limits": Fields({"share": _LIMIT, "entropy": _LIMIT, "closeness": _LIMIT, "ordered": NAMES}),
    "fingerprint": Either(NOTHING, DIGEST)})

# --- the certificate ----------------------------------------------------------------------------

_PLACE = Fields({"seq": WholeNumber(1), "prev": DIGEST, "hash": DIGEST})
_PEOPLE = Text(longest=1024)
_TIME = Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_VERSION = Text(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}([a-z.+][a-z0-9.]{0,30})?")
_RHO = Either(NOTHING, AMOUNT)
_NEIGHBOURS = OneOf("replace-one", "add-remove")
_CLAIM: Mapping[str, Shaped] = {
    "kind": OneOf(*KINDS), "account": OneOf("pure", "approximate"), "epsilon": AMOUNT,
    "delta": AMOUNT, "unit": OneOf(*UNIT.values()), "neighbours": _NEIGHBOURS,
    "mechanism": Text("[a-z-]{1,40}/[0-9]{1,3}"), "theorem": OneOf(*THEOREMS),
    "assumes": Several(OneOf(*SENTENCES), least=1)}
_CHARGE = Fields({"request": Text("[0-9a-f]{32}"), "reserved_at": _TIME, "reserve": _PLACE,
                  "commit": _PLACE, "head": DIGEST})
_CHARGED = _CHARGE.also({"rho": _RHO, "charged": Fields({
    "unit": OneOf(*UNIT.values()), "neighbours": _NEIGHBOURS, "rows_per_person": _ROWS,
    "factor": COUNT, "epsilon": AMOUNT, "delta": AMOUNT, "rho": _RHO})})
_NOTED = Fields({"snapshot": _PEOPLE, "publish": _PLACE, "head": DIGEST})


def _certificate(version: Shaped, claim: Shaped, plan: Shaped, ledger: Shaped) -> Fields:
    return Fields({
        "format": OneOf(FORMAT), "claim": claim, "plan": plan, "release_sha256": DIGEST,
        "software": Fields({"privsieve": version}), "population": Either(NOTHING, _PEOPLE),
        "ledger": Either(NOTHING, ledger), "key": Either(NOTHING, Text()),
        "signature": Either(NOTHING, Text())})


@cache
def certificate_form(kind: str, *, before: bool) -> Shaped:
    """The form of a certificate of a kind; made when it is asked for."""
    version: Shaped = OneOf(FIRST) if before else _VERSION
    if kind == CONTAINMENT:
        return _certificate(version, _CONTAINED if before else _CONTAINED_NOW, _PUBLISHING, _NOTED)
    return _certificate(version, Fields({**_CLAIM, "kind": OneOf(kind)}),
                        _plans(kind, before=before),
                        Either(_CHARGED, _CHARGE) if before else _CHARGED,
                        ).also({"domain_sha256": DIGEST})


_KNOWN = (*KINDS, CONTAINMENT)


@cache
def release_form(kind: str, *, before: bool) -> Shaped:
    """The form of a release of a kind; made when it is asked for."""
    return (_published if kind == CONTAINMENT else partial(_private, kind))(before=before)


def of_first(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate says that version 0.1.0 wrote it."""
    software = certificate.get("software")
    return isinstance(software, Mapping) and software.get("privsieve") == FIRST


def kind_of(certificate: Mapping[str, Any]) -> str:
    """The kind that a certificate claims; empty where it claims none that is known."""
    claim = certificate.get("claim")
    kind = claim.get("kind") if isinstance(claim, Mapping) else None
    return kind if isinstance(kind, str) and kind in _KNOWN else ""


def certificate_faults(body: Mapping[str, Any]) -> Iterator[str]:
    """Why a certificate is not of the form of its kind."""
    kind = kind_of(body)
    if not kind:
        yield f"the certificate does not have the fields of {FORMAT}: it claims no known kind"
        return
    found = certificate_form(kind, before=of_first(body)).fault(body, "")
    if found is not None:
        yield f"the certificate does not have the fields of {FORMAT}, at {found}"


def release_faults(release: Mapping[str, Any], kind: str, *, before: bool) -> Iterator[str]:
    """Why a release is not of the form of the claimed kind."""
    found = release_form(kind, before=before).fault(release, "")
    if found is not None:
        yield f"the release does not have the fields of {RELEASE_FORMAT}, at {found}"


def json_schemas() -> dict[str, dict[str, Any]]:
    """The published JSON Schemas, by the names of their files."""
    found = {}
    for before, version in ((False, ""), (True, f"-{FIRST}")):
        forms = {kind: release_form(kind, before=before) for kind in _KNOWN}
        certificates = Either(*(certificate_form(kind, before=before) for kind in _KNOWN))
        for name, form in {**forms, "certificate": certificates}.items():
            found[f"{name}{version}.json"] = {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": f"privsieve: {name}" + (f", version {FIRST}" if before else ""),
                **form.schema()}
    return found
