"""Settings: what a plan of each method says of its options, in the forms of `check.form`.

A test holds them against what the makers declare and write.  Methods of version 0.1.0 have their
own.
"""

from __future__ import annotations

from collections.abc import Mapping

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

#: What a choice of columns may be asked for beside its own options.
WISHES: Mapping[str, Shaped] = {
    "sure": EXACT, "independent_rows": YES, "describe": EXACT, "at_most": K,
    "always": Several(NAME, least=1), "never": Several(NAME, least=1),
    "groups": Named(Several(NAME, least=1), NAME, least=1), "costs": Named(EXACT, NAME, least=1),
    "price": EXACT, "targets": Several(NAME, least=1), "over": OneOf("mean"),
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
_SCORES = ("mean-difference", "class-counts", "disagreement", "mutual-information")
_RANKS: Mapping[str, Shaped] = {"numeric": OneOf("ranks"), "order": _ORDER, "grid": _GRID,
                                "branches": _BRANCHES}
#: Where the settings for another target differ from those of the first.
_BY_TARGET = Named(Fields({}, {
    **_SIEVE, **_PAIRS, **_VOTES, **_SCORE, "numeric": OneOf("ranks", "median-cut"),
    "score": Text("[a-z-]{1,40}")}), NAME, least=1)


def _sieve(**more: Shaped) -> Fields:
    return _CHOOSING.also(_SIEVE, **_PAIRS, by_target=_BY_TARGET).also(more)


#: Choices of columns, by method; one of RuleSieve for numbers goes several ways.
CHOICES: Mapping[str, Shaped] = {
    "rule-sieve/3": _sieve(),
    "rule-sieve-numeric/2": ByWord("numeric", {
        "ranks": _CHOOSING.also(_RANKS, by_target=_BY_TARGET,
                                pairs_without_grid=_PAIRS["pairs_without_grid"]),
        **{way: _sieve(numeric=OneOf(way)).also({"class_prior": NOTHING})
           for way in ("median-cut", "median-and-spread")}}),
    "rule-sieve-votes/1": _CHOOSING.also({"joint": OneOf("votes"), "screened": K}),
    "block-fwell/1": _CHOOSING.also({**_BLOCKS, **_VOTES}, by_target=_BY_TARGET),
    "noisy-top-k/1": _CHOOSING.also({**_SCORE, "score": OneOf(*_SCORES)}, by_target=_BY_TARGET),
    "noisy-top-k/2": _CHOOSING.also({**_SCORE, "score": OneOf("correlation")},
                                    by_target=_BY_TARGET),
}


def plan_of(method: str, settings: Shaped, **more: Shaped) -> Fields:
    """A plan of a method with these settings."""
    return Fields({"method": OneOf(method), "epsilon": AMOUNT, "delta": AMOUNT,
                   "settings": settings, "units": COUNT, **more})


def _tuned(choices: Mapping[str, Shaped]) -> Fields:
    each = ByWord("method", {name: plan_of(name, one) for name, one in choices.items()})
    return Fields({"candidates": Several(each, least=1, most=100)})


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
        "score": OneOf(*_SCORES, "correlation")}),
}

#: What several sites can be asked together: a summary of theirs is a sum.
OF_SITES = ("rule-sieve/3", "rule-sieve-numeric/2", "rule-sieve-votes/1", "noisy-top-k/1",
            "noisy-top-k/2", "kernel-ridge/1", "noisy-histogram/1")
#: The settings of each method of a kind, now and in version 0.1.0.
NOW: Mapping[str, Mapping[str, Shaped]] = {
    "selection": {**CHOICES, "private-tuning/1": _tuned(CHOICES)},
    "weights": WEIGHTS,
    "regression": REGRESSIONS,
    "histogram": {"noisy-histogram/1": _table(CHOICES)},
}
BEFORE: Mapping[str, Mapping[str, Shaped]] = {
    "selection": {**_OLD_CHOICES, "private-tuning/1": _tuned(_OLD_CHOICES)},
    "weights": WEIGHTS,
    "regression": REGRESSIONS,
    "histogram": {"noisy-histogram/1": _table(_OLD_CHOICES)},
}
