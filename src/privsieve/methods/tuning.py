"""PrivateTuning: which of some public candidates to use, found out privately.

The units are cut in two.  A try picks a candidate at random, chooses columns from the first part,
counts noisily how their values go with the classes there, and so predicts the classes of the second
part; its score is the noisy number that it gets right.  Random stopping keeps the best of many
tries at less than twice the price of one: see tuning.proof.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.errors import ParameterError
from privsieve.methods import options_of
from privsieve.methods import plan as by_name
from privsieve.methods.beside import KINDS as BESIDE
from privsieve.methods.branches import Extent
from privsieve.methods.choosing import COSTS
from privsieve.noise.stopping import PRICE
from privsieve.public.canonical import EPSILON_UNITS, Json
from privsieve.public.domain import Domain
from privsieve.public.option import (
    Options,
    current_abouts,
    declared,
    option,
    read_several,
    whole_number,
)
from privsieve.public.plan import Cost, Plan, Takes, assumed
from privsieve.release import Selection

if TYPE_CHECKING:
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.halves import Halves

METHOD = "private-tuning/1"
#: The share of the units from which columns are chosen; the others tell how good they are.
LEARNING = Fraction(2, 3)
#: The share of a try's epsilon that the choice gets; its predictor gets the rest.
CHOOSING = Fraction(2, 3)
LARGEST = 100
#: Bytes of memory for a row while its unit is put into a part, and while a person's is weighed.
CUT_BYTES, WEIGHED_BYTES = 40, 128


def written_candidate(text: str) -> dict[str, Any]:
    """Read a candidate of the command line: a method, how many columns, and its options.

    >>> written_candidate("block-fwell 3 block=4")
    {'method': 'block-fwell', 'k': 3, 'block': 4}
    """
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation without an end
        words = []
    if len(words) < 2 or not whole_number(words[1]):  # a method and a number
        raise ParameterError(f"--candidate {text!r} is not read; write a method and a number of "
                             'columns, such as "rule-sieve 5"')
    known = current_abouts(options_of(words[0]))
    own: dict[str, Any] = {}
    for word in words[2:]:
        name, _, value = word.partition("=")
        about = known.get(name.replace("-", "_"))
        if value and about is None and name.isidentifier():
            raise ParameterError(f"--{name} is no option of {words[0]}; leave it away")
        if about is None or name == "delta" or not value:
            raise ParameterError(f"--candidate {text!r} has {word!r}; write NAME=VALUE with an "
                                 "option of the method")
        try:
            read = read_several(about, f"--{name}", [value]) if about.several else about.read(value)
            own[name.replace("-", "_")] = read
        except ValueError:
            raise ParameterError(f"--candidate {text!r} has {word!r}; its value is not "
                                 "read") from None
    return {"method": words[0], "k": int(words[1]), **own}


@dataclass(frozen=True)
class Tuning:
    """The public parameters of one run; epsilon is that of one try."""

    domain: Domain
    candidates: tuple[Plan, ...]
    learning: int  # units of the first part
    epsilon: Fraction

    @property
    def choosing(self) -> Fraction:
        """What a candidate may cost, to the ledger's unit."""
        return Fraction(int(self.epsilon * CHOOSING * EPSILON_UNITS), EPSILON_UNITS)

    @property
    def predicting(self) -> Fraction:
        """What a predictor may cost."""
        return self.epsilon - self.choosing


class Tried(NamedTuple):
    """What a try gives: the place of its candidate, and the positions that it chose."""

    candidate: int
    selected: tuple[int, ...]

    def __repr__(self) -> str:
        return object.__repr__(self)  # its fields are private


@declared
class TuningOptions(Options):
    """What PrivateTuning is asked for."""

    candidates: Any = option(
        default=(), kw_only=False, needed=True, setting=None, several=True, read=written_candidate,
        metavar='"METHOD K NAME=VALUE …"',
        says='one of the methods to try, such as "rule-sieve 5" or "block-fwell 3 block=4"; '
             "give several")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan a selection by the best of some candidates; reads no row."""
        cost = Cost.of(self.epsilon, allow_weak=self.allow_weak)
        units = domain.public_units(rows)
        _classes = domain.classes  # a try predicts classes: a number is refused in words
        learning = int(units * LEARNING)
        one = Tuning(domain, (), learning, cost.epsilon / PRICE)
        if one.choosing <= 0:
            raise ParameterError(f"epsilon is {cost.text}; about a third goes to each choice, and "
                                 "too little is left: choose a larger one")
        tried = _planned(_half(domain, learning), self.candidates, learning, one.choosing)
        tuning = replace(one, candidates=tried)
        return Plan(
            method=METHOD, kind="selection", domain=domain, cost=cost, units=units,
            settings={"candidates": [made.json() for made in tried]},
            noise=max((made.noise for made in tried), key=lambda noise: noise.amount),
            forecast={**_weakest(tried), "by_cost": _by_cost(one, self.candidates)},
            warning=next((made.warning for made in tried if made.warning), None),
            theorem="private-tuning",
            assumes=assumed("private-tuning", *(made.theorem for made in tried)),
            summarise=partial(summarise, tuning=tuning),
            mechanism=partial(mechanism, tuning=tuning), says=partial(says, tuning=tuning),
            takes=_takes(domain, units, tried))


def summarise(batches: Iterable[Batch], key: int, *, tuning: Tuning) -> Halves:
    """The first part as each candidate's summary and as counts; the second as codes."""
    from privsieve.summaries.halves import halves

    made = halves(batches, key, domain=tuning.domain, first=tuning.learning)
    return replace(made, summaries=tuple(one.summarise(made.learners, key)
                                         for one in tuning.candidates))


# [mechanism]
def mechanism(summary: Halves, noise: Noise, *, tuning: Tuning) -> Tried:
    """The best of a secret number of tries."""
    from privsieve.noise.stopping import best_of

    return best_of(lambda: attempt(summary, noise, tuning), noise)


def attempt(summary: Halves, noise: Noise, tuning: Tuning) -> tuple[int, Tried]:
    """One try: a score, and what was tried."""
    from privsieve.noise.stopping import below
    from privsieve.noise.streams import discrete_laplace
    from privsieve.summaries.halves import WHOLE

    place = below(len(tuning.candidates), noise)
    # [choice] on the first part, at `choosing`
    selected = tuning.candidates[place].mechanism(summary.summaries[place], noise)
    # [predictor] on the first part, at `predicting`: part of what a try gives
    tables = predictor(summary, selected, noise, tuning)
    # [score] on the second part, at the whole epsilon: one unit is worth WHOLE at most
    right = summary.right(selected, tables)
    mean = Fraction(WHOLE * tuning.domain.unit_weight) / tuning.epsilon
    return right + discrete_laplace(mean, noise), Tried(place, tuple(selected))


def predictor(summary: Halves, selected: Sequence[int], noise: Noise, tuning: Tuning,
              ) -> list[list[list[int]]]:
    """Noisy counts per selected column, class and bin."""
    from privsieve.noise.streams import geometric

    exact = summary.counts[list(selected)]
    # [counts] a replaced unit leaves one cell of each column and enters another
    moves = 2 if tuning.domain.replaces else 1
    mean = Fraction(moves * tuning.domain.unit_weight * len(exact)) / tuning.predicting
    drawn = geometric(mean, 2 * exact.size, noise)
    plus, minus = iter(drawn[: exact.size]), iter(drawn[exact.size:])
    return [[[count + next(plus) - next(minus) for count in row] for row in table]
            for table in exact.tolist()]
# [/mechanism]


def says(tried: Tried, *, tuning: Tuning) -> Mapping[str, Json]:
    """What the release says: the columns, and which candidate chose them."""
    return Selection(tuple(tuning.domain.names[j] for j in tried.selected),
                     tried.candidate).write()


def _planned(domain: Domain, candidates: Sequence[Mapping[str, Any]], rows: int,
             epsilon: Fraction) -> tuple[Plan, ...]:
    if not 1 <= len(candidates) <= LARGEST:
        raise ParameterError(f"{len(candidates)} candidates are given; give 1 to {LARGEST}")
    made = []
    for candidate in candidates:
        options = dict(candidate)
        method = options.pop("method", None)
        if "epsilon" in options or "delta" in options or method == "private-tuning":
            raise ParameterError("a candidate has an epsilon or a delta of its own, or is a tuning "
                                 "itself; a candidate is a pure method, and PrivateTuning pays "
                                 "for it: leave them away")
        asked = [name for name in BESIDE if options.get(name) is not None]
        if asked:
            raise ParameterError(f"a candidate is asked for {asked[0]}, and what stands beside the "
                                 "choice of a candidate does not leave; leave it away")
        planned = by_name(str(method), domain, rows=rows, epsilon=epsilon, allow_weak=True,
                          **options)
        if planned.kind != "selection":
            raise ParameterError(f"a candidate is {method}, which releases {planned.kind}; a "
                                 "candidate chooses columns and releases nothing else: take a "
                                 "selection such as rule-sieve or block-fwell")
        made.append(planned)
    return tuple(made)


def _by_cost(one: Tuning, candidates: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """Per cent found by the weakest candidate on a usual table, at this and other costs."""
    found: dict[str, Json] = {}
    for epsilon in sorted({*COSTS, one.epsilon * PRICE}):
        share = replace(one, epsilon=epsilon / PRICE).choosing
        made: Any = _weakest(_planned(_half(one.domain, one.learning), candidates, one.learning,
                                      share))
        found[Cost(epsilon).text] = made["found_percent"][made["usual_gap"]]
    return found


def _half(domain: Domain, units: int) -> Domain:
    """The domain of the first part: declared figures are those of its units."""
    if domain.person is not None:
        return replace(domain, persons=max(1, units))
    return replace(domain, rows=max(1, units))


def _takes(domain: Domain, units: int, tried: Sequence[Plan]) -> Takes:
    """All candidates, and the order in which units are cut in two, which is in memory."""
    cut = CUT_BYTES + (0 if domain.person is None else WEIGHED_BYTES)
    each = [made.takes for made in tried if made.takes is not None]
    return Takes(sum(one.seconds for one in each), max(one.bytes for one in each),
                 max(one.least for one in each) + cut * Extent.of(domain, units).rows)


def _weakest(plans: Sequence[Plan]) -> Mapping[str, Json]:
    """The smallest figures of the candidates' forecasts; gaps are named by the first."""
    found: list[Any] = [made.forecast for made in plans]
    shares = zip(*(one["found_percent"].values() for one in found), strict=True)
    return {
        "guessing_percent": min(one["guessing_percent"] for one in found),
        "usual_gap": found[0]["usual_gap"],
        "found_percent": dict(zip(found[0]["found_percent"], map(min, shares), strict=True)),
        **{name: found[0][name] for name in ("after_coding",) if name in found[0]},
    }
