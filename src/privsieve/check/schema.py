"""Schema: every field of a release, with its form, beside those of `check.certificate`.

One closed declaration for each kind; from both `verify` checks, and `check/schemas/*.json` are
made.  Files of version 0.1.0 have fewer fields, and their own declaration.  What a form cannot say
(that numbers follow from each other) is recounted in `check.recount`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from privsieve.check.certificate import (
    AMOUNT,
    CONTAINMENT,
    COUNT,
    COUNTED,
    EXACT,
    FIRST,
    FLAG,
    KERNELS,
    KNOWN,
    MAPS,
    NAME,
    NAMES,
    NOTHING,
    PART,
    PUBLISHING,
    ROWS,
    YES,
    certificate_form,
    plans,
)
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

#: What a release says of its format.
RELEASE_FORMAT = "privsieve-release/1"
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
                 "default": _SCALAR},
                {"ignore_case": YES, "words": Several(Several(Text(longest=1024)), least=2)})
_COLUMN = ByWord("kind", {
    "number": _NUMERIC,
    "date": Fields(
        {"kind": OneOf("date"), "name": NAME, "low": _MOMENT, "high": _MOMENT,
         "format": Either(NOTHING, Text()), "missing": _MISSING},
        {"cuts": Several(_MOMENT, least=1), "role": _ROLE}),
    "flag": Fields({"kind": OneOf("flag"), "name": NAME, "default": FLAG},
                   {"true": _WORDS, "false": _WORDS, "role": _ROLE}),
    "category": Fields({"kind": OneOf("category"), "name": NAME,
                        "values": Several(_SCALAR, least=1)},
                       {"role": _ROLE, "ignore_case": YES}),
})
_DOMAIN = Fields({
    "columns": Several(_COLUMN, least=1),
    "target": Either(NOTHING, ByWord("kind", {"label": _LABEL, "number": _NUMERIC})),
    "unit": OneOf("row", "person"), "person": Either(NOTHING, NAME), "rows_per_person": ROWS,
    "neighbours": OneOf("replace-one", "add-remove"), "rows": ROWS, "persons": ROWS})

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


_CLASS_COUNTS = Fields({
    "q": Several(Text("0|-?[1-9][0-9]{0,39}"), least=2), "per": WholeNumber(1),
    "law": OneOf("discrete-laplace"), "scale": EXACT})
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
    "format": OneOf(RELEASE_FORMAT), "columns": Several(NAME, least=1),
    "domain": _DOMAIN, "selected": NAMES, "warning": _WARNING}
_OWN: Mapping[str, tuple[Mapping[str, Shaped], Mapping[str, Shaped]]] = {
    "selection": ({"forecast": _FOUND}, {
        "branch": OneOf("one race", "pairs", "triples", "quads"),
        "sure": WholeNumber(), "described": _DESCRIBED, "class_counts": _CLASS_COUNTS}),
    "weights": ({"forecast": _NOISY, "values": _GRID, "noise": _law("gamma-norm", "gaussian")}, {}),
    "regression": ({"forecast": _MODEL, "features": _FEATURES, "values": _GRID,
                    "noise": _law("gamma-norm", "gaussian", "laplace")},
                   {"queries": Several(Several(WholeNumber(0, 65535), least=1)),
                    "answers": Several(_SIGNED)}),
    "histogram": ({"forecast": _CELLS_OF, "cells": _CELLS, "noise": _law("discrete-laplace")}, {}),
}
#: What version 0.1.0 did not say of a selection.
_LATER = ("branch", "sure", "described", "class_counts")


def _private(kind: str, *, before: bool) -> Fields:
    needed, optional = _OWN[kind]
    first = {"private": YES} if before else {}
    return Fields({**_HEAD, **first, "kind": OneOf(kind), "plan": plans(kind, before=before),
                   **needed},
                  {name: form for name, form in optional.items()
                   if not (before and name in _LATER)})


# --- a publication ------------------------------------------------------------------------------

_BINS = Several(Row((WholeNumber(1), Either(NOTHING, WholeNumber(1)), COUNTED)), least=1)
_OLD_CROWD = Fields({"average": PART, "below": COUNTED, "level": WholeNumber(1)})
_CROWD = _OLD_CROWD.also({"alone": COUNTED, "bins": _BINS})
_WHO = ("known", "known_class", "all", "all_class", "everything")
_ITEMS = Several(Row((NAME, COUNTED, Either(NOTHING, COUNTED))), least=1)
_MAYBE = Either(NOTHING, COUNTED)
_TOLD = Fields({
    "column": NAME, "role": OneOf("target", "sensitive"), "ordered": FLAG, "rows": COUNTED,
    "values": WholeNumber(1), "share": PART, "above": Several(Row((PART, COUNTED))),
    "distinct": WholeNumber(1), "entropy": PART, "closeness": PART})
_MEASURED = Fields({
    "rows": WholeNumber(1), "patterns": WholeNumber(1), "promised": OneOf("known", "known_class"),
    "strangers": Fields({}, dict.fromkeys(_WHO, _CROWD)), "one_class": _MAYBE, "items": _ITEMS,
    "disclosure": Several(_TOLD)})
_OLD_MEASURED = Fields({
    "rows": WholeNumber(1), "patterns": WholeNumber(1),
    "has": _OLD_CROWD.also({"bins": _BINS}), "all": _OLD_CROWD.also({"alone": COUNTED}),
    "one_class": _MAYBE, "one_class_equals": _MAYBE, "items": _ITEMS})


def _published(*, before: bool) -> Fields:
    return Fields({
        "format": OneOf(RELEASE_FORMAT), "kind": OneOf(CONTAINMENT),
        "columns": Several(NAME, least=1), "selected": Several(NAME, least=1),
        "partial": Named(Several(NAME, least=1), NAME), "complete": FLAG, "plan": PUBLISHING,
        "measured": _OLD_MEASURED if before else _MEASURED})


@cache
def release_form(kind: str, *, before: bool) -> Shaped:
    """The form of a release of a kind; made when it is asked for."""
    return (_published if kind == CONTAINMENT else partial(_private, kind))(before=before)


def release_faults(release: Mapping[str, Any], kind: str, *, before: bool) -> Iterator[str]:
    """Why a release is not of the form of the claimed kind."""
    found = release_form(kind, before=before).fault(release, "")
    if found is not None:
        yield f"the release does not have the fields of {RELEASE_FORMAT}, at {found}"


def public_faults(release: Mapping[str, Any]) -> Iterator[str]:
    """Why the fields that a release has before its rows are read are not of its form."""
    form = _private(release["kind"], before=False)
    for name, value in release.items():
        found = form.needed[name].fault(value, name)
        if found is not None:
            yield f"the release would not have the fields of {RELEASE_FORMAT}, at {found}"


def json_schemas() -> dict[str, dict[str, Any]]:
    """The published JSON Schemas, by the names of their files."""
    found = {}
    for before, version in ((False, ""), (True, f"-{FIRST}")):
        forms = {kind: release_form(kind, before=before) for kind in KNOWN}
        certificates = Either(*(certificate_form(kind, before=before) for kind in KNOWN))
        for name, form in {**forms, "certificate": certificates}.items():
            found[f"{name}{version}.json"] = {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": f"privsieve: {name}" + (f", version {FIRST}" if before else ""),
                **form.schema()}
    return found
