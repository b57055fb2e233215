"""NoisyHistogram: a table of counts with exact discrete noise on each, planned and charged once.

Either all of its columns are named, or RuleSieve chooses them and the table follows in the same
release: one plan, one charge, one certificate; see noisy_histogram.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.errors import DomainError, ParameterError
from privsieve.methods.choosing import count
from privsieve.methods.histogram.axes import BINS, Axis, axes_of, cells, check_bins
from privsieve.methods.histogram.sizes import check_size, digits, spread, warning
from privsieve.methods.option import current
from privsieve.public.assumptions import assumed
from privsieve.public.canonical import Json
from privsieve.public.cost import EPSILON_UNITS, Cost, exact
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import NoiseSize, Plan

if TYPE_CHECKING:
    from privsieve.methods.histogram.tables import Dense, Held, Sparse
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

METHOD = "noisy-histogram/1"
#: Of epsilon, what a choice of columns gets.
SHARE = "0.5"
#: Options of the choice; the others are the table's own, or make no sense in front of one.
CHOICE = ("class_prior", "order", "joint", "max_ops", "numeric")
#: More noise than this on a count is refused.
MOST_NOISE = 2**30


@dataclass(frozen=True)
class Tabling:
    """The public parameters of one run."""

    domain: Domain
    names: tuple[str, ...]  # what is tabulated, or what is chosen from
    bins: int | Mapping[str, int]
    target: bool
    epsilon: Fraction  # of the table
    delta: Fraction
    sieve: Plan | None = field(repr=False)  # the choice before the table
    threshold: int | None = None  # the noisy count from which on a cell is named; None: any

    @property
    def sensitivity(self) -> int:
        """How far one unit moves the sum of all counts' moves."""
        # [sensitivity] each row is in one cell: it leaves one, and another may come
        return self.sides * self.domain.rows_per_person

    @property
    def sides(self) -> int:
        """2 where a unit is replaced, 1 where it comes or goes."""
        return 2 if self.domain.neighbours == "replace-one" else 1

    @property
    def mean(self) -> Fraction:
        """The mean of each geometric half of the noise."""
        return self.sensitivity / self.epsilon  # [noise-scale]

    def axes(self, names: Sequence[str]) -> tuple[Axis, ...]:
        """The axes of these columns, and of the target where it is tabulated."""
        return axes_of(self.domain, names, self.bins, target=self.target)


class Output(NamedTuple):
    """What leaves: the columns, the cells that are named (None: all), and their noisy counts."""

    names: tuple[str, ...]
    places: list[int] | None
    counts: list[int]


def plan(  # the method's public options, all keyword-only
    domain: Domain,
    *,
    epsilon: object,
    delta: object = 0,
    columns: Sequence[str] | None = None,
    k: float | Fraction | None = None,
    bins: int | Mapping[str, int] = BINS,
    target: bool = True,
    share: object = SHARE,
    choice: Mapping[str, Any] | None = None,
    rows: int | None = None,
    allow_weak: bool = False,
) -> Plan:
    """Plan one table of counts; reads no row.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=30), columns=["x0", "x1"], epsilon=1, rows=9000)
    >>> made.cost.text, made.forecast["cells"], made.forecast["noise_each"]
    ('1', '128', '2.8')
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    if isinstance(domain, Box):
        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30)")
    check_bins(domain, bins)
    units = domain.public_units(rows)
    if units < 1:
        raise ParameterError(f"the table has {units} rows; a table of counts needs at least 1")
    cost.check_units(units)
    names = _names(domain, columns, k)
    sieve = _sieve(domain, k, cost, units, share=share, choice=choice)
    spent = sieve.cost.epsilon if sieve else Fraction(0)
    made = Tabling(domain, names, _plain(bins), target and domain.target is not None,
                   cost.epsilon - spent, cost.delta, sieve)
    if made.mean > MOST_NOISE:
        raise ParameterError(f"epsilon is {cost.text}; each count would get noise of about "
                             f"{float(made.mean):.2g}: choose a larger epsilon")
    if made.delta:
        from privsieve.noise.discrete import threshold

        # [least] before a row is read, and never again
        made = replace(made, threshold=threshold(made.mean, domain.rows_per_person, made.delta))
    chosen = len(names) if k is None else count(k, len(domain.columns))
    return _planned(made, cost, units, chosen)


def _planned(made: Tabling, cost: Cost, units: int, k: int) -> Plan:
    """The plan of a run whose parameters are settled."""
    axes = _largest(made, k)
    check_size(axes, sparse=bool(cost.delta))
    size, (each, distance) = cells(axes), spread(made.mean)
    forecast = {"noise_each": digits(each), "cells": str(size)}
    if not cost.delta:
        forecast["expected_error"] = digits(size * distance / (2 * units))
    said = [made.sieve.warning] if made.sieve is not None and made.sieve.warning else []
    said += [text for text in [warning(axes, units, each, made.threshold)] if text]
    return Plan(
        method=METHOD, kind="histogram", domain=made.domain, cost=cost, units=units,
        settings=_settings(made, k), noise=NoiseSize(made.mean, "units on a count"),
        forecast=forecast,
        warning="; ".join(said) or None,
        theorem="noisy-histogram", assumes=assumed("noisy-histogram"),
        summarise=partial(summarise, made=made), mechanism=partial(mechanism, made=made),
        says=partial(says, made=made),
    )


def summarise(batches: Iterable[Batch], key: int, *, made: Tabling) -> Dense | Sparse | Held:
    """Rows become counts; before a choice, what it needs and the cells of the rows."""
    from privsieve.methods.histogram.tables import Held, Rows, counted, kept

    if made.sieve is None:
        return counted(batches, key, domain=made.domain, axes=made.axes(made.names),
                       sparse=bool(made.delta))
    from privsieve.rows.batch import Batch as Read

    # [held] both are made of the same rows, under the same key
    held, axes = list(batches), made.axes(made.names)
    none = Rows.of(Read.empty(len(made.domain.columns)), axes, made.domain)
    rows = kept(held, key, made.domain, none, lambda batch: Rows.of(batch, axes, made.domain))
    return Held(made.sieve.summarise(held, key), rows)


# [mechanism]
def mechanism(summary: Dense | Sparse | Held, noise: Noise, *, made: Tabling) -> Output:
    """Counts meet noise; where columns are chosen, after the choice."""
    from privsieve.methods.histogram.tables import Dense, Held, Sparse
    from privsieve.noise.discrete import above, noisy

    names = made.names
    if isinstance(summary, Held):
        assert made.sieve is not None
        # [choose-first] the table that follows is that of the columns that were released
        chosen = made.sieve.mechanism(summary.sieve, noise)
        names = tuple(made.domain.names[j] for j in sorted(chosen))
        summary = _tabulated(summary, names, made)
    if isinstance(summary, Sparse):
        # [threshold-form]
        assert made.threshold is not None
        where, counts = above(summary.counts, made.mean, made.threshold, noise)
        return Output(names, summary.places[where].tolist(), counts.tolist())
    assert isinstance(summary, Dense)
    return Output(names, None, noisy(summary.counts, made.mean, noise).tolist())


def _tabulated(held: Held, names: Sequence[str], made: Tabling) -> Dense | Sparse:
    """The table of the columns that were chosen."""
    from privsieve.methods.histogram.tables import Dense, Sparse

    axes, known = made.axes(names), [axis.name for axis in made.axes(made.names)]
    sizes = [axis.cells for axis in axes]
    places = held.rows.places([known.index(axis.name) for axis in axes], sizes)
    return Sparse.of(places) if made.delta else Dense.of(places, cells(axes))
# [/mechanism]


def says(output: Output, *, made: Tabling) -> Mapping[str, Json]:
    """What a release says of the table."""
    from privsieve.methods.histogram.values import edges

    axes = made.axes(output.names)
    return {
        "selected": list(output.names),
        "cells": {
            "names": [axis.name for axis in axes],
            "shape": [axis.cells for axis in axes],
            "bins": {axis.name: edges(axis) for axis in axes if axis.bins},
            "place": "all" if output.places is None else output.places,
            "q": output.counts,
        },
        "noise": {"law": "discrete-laplace", "each": digits(spread(made.mean)[0])},
    }


def _names(domain: Domain, columns: object, k: object) -> tuple[str, ...]:
    """What is tabulated, or chosen from, in the order of the domain."""
    if columns is None:
        return domain.names
    if k is not None:
        raise ParameterError("columns are named, and a number of columns to choose is given; "
                             "give one of them")
    listed = [columns] if isinstance(columns, str) else list(columns)  # type: ignore[call-overload]  # read below
    for name in listed:
        if name not in domain.names:
            raise ParameterError(f"{name!r} is no column of the domain; write names of the domain")
    if not listed or len(set(listed)) < len(listed):
        raise ParameterError("columns are named twice, or none is; name each once")
    return tuple(name for name in domain.names if name in listed)


def _sieve(domain: Domain, k: float | Fraction | None, cost: Cost, units: int, *, share: object,
           choice: Mapping[str, Any] | None) -> Plan | None:
    """The plan of the choice; None where nothing is to be chosen."""
    wanted = dict(choice or {})
    if k is None or count(k, len(domain.columns)) == len(domain.columns):
        if wanted:
            raise ParameterError("options of a choice are given, and nothing is chosen; leave "
                                 "them away, or say how many columns")
        return None
    from privsieve.methods import rule_sieve

    for name in wanted:
        if name not in CHOICE:
            raise ParameterError(f"{name!r} is no option of the choice before a table; known are: "
                                 f"{', '.join(CHOICE)}")
    part = exact(share, "share")
    # [share] whole units of the ledger, at least one for each
    spent = int(part * cost.units)
    if not 0 < spent < cost.units:
        raise ParameterError(f"the share of epsilon for the choice is {share}; it must lie between "
                             "0 and 1, and leave something to both: write 0.5, for example")
    options = rule_sieve.RuleSieveOptions(
        k, epsilon=Fraction(spent, EPSILON_UNITS), allow_weak=True,
        **current(rule_sieve.RuleSieveOptions, wanted))
    return options.planned(domain, units)


def _largest(made: Tabling, k: int) -> tuple[Axis, ...]:
    """The axes of the table, or of the largest one that a choice of k columns can ask for."""
    if made.sieve is None:
        return made.axes(made.names)
    columns = axes_of(made.domain, made.names, made.bins, target=False)
    many = sorted(columns, key=lambda axis: -axis.cells)[:k]
    return made.axes([axis.name for axis in many])


def _settings(made: Tabling, k: int) -> Mapping[str, Json]:
    target = made.domain.target
    assert target is not None or not made.target
    return {
        "k": k,
        "columns": list(made.names) if made.sieve is None else None,
        "target": target.name if target is not None and made.target else None,
        "bins": made.bins if isinstance(made.bins, int) else dict(made.bins),
        "threshold": None if made.threshold is None else str(made.threshold),
        "choice": None if made.sieve is None else {
            "method": made.sieve.method, "epsilon": made.sieve.cost.text,
            "settings": made.sieve.settings},
    }


def _plain(bins: int | Mapping[str, int]) -> int | Mapping[str, int]:
    """Numbers of bins as plain integers."""
    return {name: int(n) for name, n in bins.items()} if isinstance(bins, Mapping) else int(bins)
