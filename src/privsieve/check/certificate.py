"""Certificate: every field of one, with its form, and what its plan says of a method's options.

A closed declaration for each kind, in the words of `check.form`; a test holds it against what the
makers declare and write.  Files of version 0.1.0 have fewer fields, and their own declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from privsieve.check.form import (
    ByWord,
    Either,
    Fields,
    Named,
    OneOf,
    Several,
    Shaped,
    Text,
    WholeNumber,
)
from privsieve.public import strangers
from privsieve.public.canonical import canonical, link
from privsieve.public.plan import FORMAT, KINDS, LONGEST_QUERY, SENTENCES, THEOREMS, UNIT

#: The version whose files have forms of their own.
FIRST = "0.1.0"
#: The kind of certificates that promise a level, and no epsilon; and all that are known.
CONTAINMENT = "containment"
KNOWN = (*KINDS, CONTAINMENT)
NAME = Text(longest=128)
NAMES = Several(NAME)
#: An amount of epsilon or delta; a public number, exactly; a double as Python writes it.
AMOUNT = Text(r"(0|[1-9][0-9]{0,17})(\.[0-9]{0,17}[1-9])?")
EXACT = Text(r"[1-9][0-9]{0,59}/[1-9][0-9]{0,59}"
             r"|(0|[1-9][0-9]{0,59})(\.[0-9]{0,59}[1-9])?(e[+-]?[0-9]{1,3})?")
DOUBLE = Text(r"[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?")
COUNT = Text(r"0|[1-9][0-9]{0,18}")
DIGEST = Text("[0-9a-f]{64}")
NOTHING = OneOf(None)
FLAG = OneOf(True, False)
YES = OneOf(True)
K = WholeNumber(1, 2**40)
#: Rows or persons that are declared; rows that were counted; a part of one, rounded.
ROWS = Either(NOTHING, WholeNumber(1, 2**40))
COUNTED = WholeNumber(0, 2**40)
PART = Text(r"[01](\.[0-9]{1,9})?|[0-9]{1,9}(\.[0-9]{1,9})?")

#: What a choice of columns may be asked for beside its own options.
WISHES: Mapping[str, Shaped] = {
    "sure": EXACT, "independent_rows": YES, "describe": EXACT, "at_most": K,
    "always": Several(NAME, least=1), "never": Several(NAME, least=1),
    "groups": Named(Several(NAME, least=1), NAME, least=1),
}
_CHOOSING = Fields({"k": K, "ordered": FLAG}, WISHES)
_BRANCHES = Several(OneOf("one race", "pairs", "triples", "quads"), least=1, most=4)
_PRIOR = Either(OneOf("auto", "centred", "unbalanced", "average", None), Several(EXACT, least=2))
_SHARE = Either(OneOf("noisy", None), Several(EXACT, least=2))
_ORDER, _GRID = WholeNumber(1, 3), OneOf(0, 4, 8, 16)
_PAIRS: Mapping[str, Shaped] = {
    "slopes": YES, "thirds": YES, "pairs_without_grid": OneOf("all cuts", "none")}
_SIEVE: Mapping[str, Shaped] = {
    "class_prior": _PRIOR, "order": _ORDER, "grid": _GRID, "branches": _BRANCHES,
    "joint": OneOf("auto", "none", "pair", "triple", "quad")}
_BLOCKS: Mapping[str, Shaped] = {
    "block": Either(NOTHING, WholeNumber(3, 64)), "repeats": WholeNumber(1, 1000),
    "reference": Either(NOTHING, DIGEST)}
_VOTES: Mapping[str, Shaped] = {"votes": OneOf("sign", "clip"), "tau": Either(NOTHING, COUNT)}
_SCORE: Mapping[str, Shaped] = {"mechanism": OneOf("exponential", "laplace"),
                                "class_share": _SHARE}
#: What a column of a class can be worth, and whether class weights go into it.
SCORES: Mapping[str, bool] = {
    "mean-difference": True,
    "class-counts": True,
    "disagreement": False,
    "mutual-information": False,
}
_RANKS: Mapping[str, Shaped] = {"numeric": OneOf("ranks"), "order": _ORDER, "grid": _GRID,
                                "branches": _BRANCHES}


def _sieve(**more: Shaped) -> Fields:
    return _CHOOSING.also(_SIEVE, **_PAIRS).also(more)


#: Choices of columns, by method; one of RuleSieve for numbers goes several ways.
CHOICES: Mapping[str, Shaped] = {
    "rule-sieve/3": _sieve(),
    "rule-sieve-numeric/2": ByWord("numeric", {
        "ranks": _CHOOSING.also(_RANKS, pairs_without_grid=_PAIRS["pairs_without_grid"]),
        **{way: _sieve(numeric=OneOf(way)).also({"class_prior": NOTHING})
           for way in ("median-cut", "median-and-spread")}}),
    "rule-sieve-votes/1": _CHOOSING.also({"joint": OneOf("votes"), "screened": K}),
    "block-fwell/1": _CHOOSING.also({**_BLOCKS, **_VOTES}),
    "noisy-top-k/1": _CHOOSING.also({**_SCORE, "score": OneOf(*SCORES)}),
    "noisy-top-k/2": _CHOOSING.also({**_SCORE, "score": OneOf("correlation")}),
}


def plan_of(method: str, settings: Shaped, **more: Shaped) -> Fields:
    """A plan of a method with these settings."""
    return Fields({"method": OneOf(method), "epsilon": AMOUNT, "delta": AMOUNT,
                   "settings": settings, "units": COUNT, **more})


_WEIGHTS = Fields({
    **_BLOCKS, "k": Either(OneOf("positive"), K), "lam": EXACT, "clip": EXACT, "vectors": K})
_MEMBERS = Fields({**{name: form for name, form in _WEIGHTS.needed.items() if name != "repeats"},
                   "resamples": WholeNumber(1, 1000), "beta": EXACT,
                   "sampling": OneOf("balanced", "bootstrap")})
WEIGHTS: Mapping[str, Shaped] = {
    "output-fwell/1": _WEIGHTS,
    "felp/1": _MEMBERS,
    "objective-fwell/1": _WEIGHTS.also({"second_ridge": DOUBLE}),
}


def _kernels(alike: Mapping[str, Mapping[str, Shaped]], more: Mapping[str, Shaped],
             optional: Mapping[str, Shaped] | None = None) -> ByWord:
    return ByWord("kernel", {name: Fields({"kernel": OneOf(name), **own, **more}, optional or {})
                             for name, own in alike.items()})


_AMONG = WholeNumber(0, 8191)
_DEGREE, _FEATURES = WholeNumber(1, 16), WholeNumber(1, 1024)
#: What a kernel of records is made of, by its name; and a map of features.
KERNELS: Mapping[str, Mapping[str, Shaped]] = {
    "rbf": {"gamma": DOUBLE}, "linear": {}, "polynomial": {"degree": _DEGREE}}
MAPS: Mapping[str, Mapping[str, Shaped]] = {
    **{name: {"features": _FEATURES, "degree": _DEGREE}
       for name in ("linear", "polynomial", "cosine")},
    "rbf": {"features": _FEATURES, "gamma": EXACT, "seed": WholeNumber()}}
REGRESSIONS: Mapping[str, Shaped] = {
    "kernel-ridge/1": _kernels(MAPS, {"lam": EXACT}),
    "kernel-ridge-session/1": _kernels(KERNELS, {
        "answers": OneOf("one", "batch", "function"), "lam": DOUBLE,
        "queries": WholeNumber(0, 8192), "kept": WholeNumber(1, 2048)},
        {"points": Several(_AMONG, least=1, most=2048)}),
}


def _table(choices: Mapping[str, Shaped]) -> Fields:
    bins = WholeNumber(1, 65534)
    before = ByWord("method", {name: Fields({
        "method": OneOf(name), "epsilon": AMOUNT, "settings": one})
        for name, one in choices.items() if name.startswith("rule-sieve")})
    return Fields({
        "k": K, "columns": Either(NOTHING, Several(NAME, least=1)), "target": Either(NOTHING, NAME),
        "bins": Either(bins, Named(bins, NAME)), "threshold": Either(NOTHING, COUNT),
        "choice": Either(NOTHING, before)})


# --- version 0.1.0 ------------------------------------------------------------------------------

_OLD = Fields({"k": K, "ordered": FLAG})
_OLD_SIEVE = _OLD.also({"class_prior": _PRIOR, "order": _ORDER, "grid": _GRID,
                        "joint": OneOf(None, "pair", "triple", "quad")})
_OLD_CHOICES: Mapping[str, Shaped] = {
    "rule-sieve/2": _OLD_SIEVE,
    "rule-sieve-numeric/1": ByWord("numeric", {
        **{way: _OLD.also({"numeric": OneOf(way), "order": _ORDER, "grid": _GRID})
           for way in ("ranks", "all-cuts", "kendall")},
        "median-cut": _OLD_SIEVE.also({"numeric": OneOf("median-cut")})}),
    "block-fwell/1": _OLD.also({**_BLOCKS, **_VOTES}),
    "noisy-top-k/1": _OLD.also({
        "mechanism": OneOf("exponential", "gumbel", "laplace"), "class_share": _SHARE,
        "score": OneOf(*SCORES, "correlation")}),
}

#: The settings of each method of a kind, now and in version 0.1.0.
NOW: Mapping[str, Mapping[str, Shaped]] = {
    "selection": CHOICES,
    "weights": WEIGHTS,
    "regression": REGRESSIONS,
    "histogram": {"noisy-histogram/1": _table(CHOICES)},
}
BEFORE: Mapping[str, Mapping[str, Shaped]] = {
    "selection": _OLD_CHOICES,
    "weights": WEIGHTS,
    "regression": REGRESSIONS,
    "histogram": {"noisy-histogram/1": _table(_OLD_CHOICES)},
}
#: SQL whose rows a table is: signs that can be shown, and ends of lines.
_QUERY = Text(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f]+", longest=LONGEST_QUERY)


@cache
def plans(kind: str, *, before: bool) -> ByWord:
    """The form of a plan of a kind, in a certificate and in its release."""
    settings = (BEFORE if before else NOW)[kind]
    more = {} if before else {"query": _QUERY}
    return ByWord("method", {name: plan_of(name, one).also({}, **more)
                             for name, one in settings.items()})


# --- a publication ------------------------------------------------------------------------------

_MODELS = OneOf("containment", "k-anonymity")
#: The plan of a publication.
PUBLISHING = Fields(
    {"method": OneOf("profile", "greedy", "maximal", "exact"),
     "profile": OneOf("few", "strict", "most", None),
     "weights": OneOf("mutual-information", "hamming", "excess", "youden", "even", "distinct",
                      "class-errors", None),
     "k": WholeNumber(2, 2**40), "model": _MODELS, "l_diversity": WholeNumber(1, 2**40),
     "suppress": COUNTED}, {"counted": OneOf(*strangers.COUNTED)})
_CONTAINED = Fields(
    {"kind": OneOf(CONTAINMENT), "k": WholeNumber(2), "level": WholeNumber(2), "model": _MODELS,
     "absent": NAMES, "l_diversity": WholeNumber(1), "suppressed": WholeNumber(),
     "columns": Several(NAME, least=1), "target": Either(NOTHING, NAME), "table_sha256": DIGEST},
    {"counted": OneOf(*strangers.COUNTED)})
_LIMIT = Either(NOTHING, PART)
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
    "unit": OneOf(*UNIT.values()), "neighbours": _NEIGHBOURS, "rows_per_person": ROWS,
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
        return _certificate(version, _CONTAINED if before else _CONTAINED_NOW, PUBLISHING, _NOTED)
    return _certificate(version, Fields({**_CLAIM, "kind": OneOf(kind)}),
                        plans(kind, before=before),
                        Either(_CHARGED, _CHARGE) if before else _CHARGED,
                        ).also({"domain_sha256": DIGEST})


def of_first(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate says that version 0.1.0 wrote it."""
    software = certificate.get("software")
    return isinstance(software, Mapping) and software.get("privsieve") == FIRST


def kind_of(certificate: Mapping[str, Any]) -> str:
    """The kind that a certificate claims; empty where it claims none that is known."""
    claim = certificate.get("claim")
    kind = claim.get("kind") if isinstance(claim, Mapping) else None
    return kind if isinstance(kind, str) and kind in KNOWN else ""


def certificate_faults(body: Mapping[str, Any]) -> Iterator[str]:
    """Why a certificate is not of the form of its kind."""
    kind = kind_of(body)
    if not kind:
        yield f"the certificate does not have the fields of {FORMAT}: it claims no known kind"
        return
    found = certificate_form(kind, before=of_first(body)).fault(body, "")
    if found is not None:
        yield f"the certificate does not have the fields of {FORMAT}, at {found}"


def bound(known: Mapping[str, Any], kind: str, content: Mapping[str, Any]) -> bool:
    """Whether a ledger's entry of this content has the hash that a certificate knows of it."""
    payload = canonical({**content, "kind": kind, "seq": known["seq"]})
    try:
        return bool(link(known["prev"], payload) == known["hash"])
    except ValueError:  # prev is no hash
        return False
