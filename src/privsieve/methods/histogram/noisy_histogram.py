"""NoisyHistogram: a table of counts, each with exact discrete noise, planned and charged once.

Either all of its columns are named, or RuleSieve chooses them and the table follows in the same
release: one plan, one charge, one certificate; see noisy_histogram.proof.md.

A column of the domain is an `Axis`: a category, flag or label has a cell for each level.  A number
or date has bins of equal width on its public grid of codes, and one cell more where missing is a
level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod, sinh, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from privsieve.errors import ParameterError
from privsieve.methods.branches import Extent, takes
from privsieve.methods.choosing import ColumnChoice
from privsieve.methods.method import BITS, PrivateMethod
from privsieve.methods.rule_sieve import RuleSieveOptions
from privsieve.public.canonical import EPSILON_UNITS, Json, exact, read_flag
from privsieve.public.columns import (
    CODES,
    MISSING,
    Category,
    Column,
    Date,
    Flag,
    Label,
    Number,
    Target,
)
from privsieve.public.domain import Domain
from privsieve.public.event import Additive, together
from privsieve.public.option import (
    as_json,
    count,
    current,
    declared,
    how_many,
    integer,
    mapping,
    number,
    option,
    read_options,
    resolve_options,
    whole_of_each,
    written_names,
)
from privsieve.public.plan import Cost, NoiseSize, Plan, Takes
from privsieve.release import Histogram, NoiseLaw, TableCells, figure
from privsieve.summaries.stages import adding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from privsieve.methods.worst import Pair
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch, Passes
    from privsieve.summaries.tables import Dense, Sparse

METHOD = "noisy-histogram/1"
#: Bins of a number where nobody says how many.
BINS = 8
#: Options of the choice; the others are the table's own, or make no sense in front of one.
CHOICE = ("class_prior", "depth", "joint", "max_ops", "numeric")
#: More noise than this on a count is refused.
MOST_NOISE = 2**30
#: TableCells of a table that is released whole, and of one of which only large cells are named.
LARGEST_WHOLE, LARGEST_NAMED = 2**20, 2**53 - 1
#: Warn if fewer cells than this can pass the threshold.
FEW = 10


@declared
class NoisyHistogramOptions(PrivateMethod):
    """Count rows over a few columns and the target under differential privacy, once.

    With a weight in the domain, a row counts as its weight, and noise grows with `weight_max`.
    The noisy table is the release.  It gives corrected counts, margins and synthetic rows as often
    as you like, at no further cost.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, columns=4)
    >>> table = ps.NoisyHistogram(["x0", "x2"], bins=4, epsilon=2, domain=domain)
    >>> table.fit(X, X[:, 2] > 0.5).marginal(["x2", "y"]).shape
    (4, 2)
    >>> sorted(table.sample(100))
    ['x0', 'x2', 'y']
    """

    kind = Histogram
    theorems = ("noisy-histogram",)
    assumes = BITS
    takes_weights = True

    columns: Sequence[str] | None = option(
        default=None, kw_only=False, read=written_names, metavar="A,B,…",
        says="the columns to count; default: all, or the chosen ones")
    n_features_to_select: Any = option(
        default=None, read=how_many, metavar="N", flag="--top",
        says="let RuleSieve choose k columns first, within the same release and epsilon")
    bins: int | Mapping[str, int] = option(
        default=BINS, read=whole_of_each, metavar="N|COLUMN=N",
        says="the number of equal bins of each number and date, or a number for each named column; "
             f"default: {BINS}")
    target: bool = option(default=True, read=read_flag, says="count the target as one more column")
    delta: Any = option(
        default=0, metavar="D", read=number,
        says="the delta of the guarantee: then only cells with enough rows are released, and "
             "the table may have any size")
    share: Any = option(default="0.5", metavar="S", read=number,
                        says="the share of epsilon for the choice")
    choice: Mapping[str, Any] | None = option(
        default=None, read=mapping, flag=None, says=f"options of the choice: {', '.join(CHOICE)}")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one table of counts; reads no row."""
        if self.n_features_to_select is None and exact(self.share, "share") != Fraction(1, 2):
            raise ParameterError("share is for a choice of columns; give their number (k, or "
                                 "--top), or leave share out")
        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        bins = bins_of(domain, self.bins)
        units = domain.public_units(rows)
        if units < 1:
            raise ParameterError(f"the table has {units} rows; a table of counts needs at least 1")
        cost.check_units(units)
        names = _names(domain, self)
        d = len(domain.columns)
        k = len(names) if self.n_features_to_select is None else count(self.n_features_to_select, d)
        if domain.weight is not None and k < len(names):
            raise ParameterError(f"table.weight is {domain.weight!r}, but the choice of columns "
                                 "counts all rows alike; name the columns to count, or remove "
                                 "weight and weight_max from the domain")
        sieve = None if self.n_features_to_select is None or k == d else _sieve(
            self, k, cost, domain, units)
        if sieve is None and self.choice:
            raise ParameterError("the options of a choice are given, but no columns are chosen; "
                                 "leave them out, or give the number of columns")
        run = resolve_options(
            Tabling, self, n_features_to_select=k, bins=bins, domain=domain,
            target=self.target and domain.target is not None, names=names, delta=cost.delta,
            epsilon=cost.epsilon - (sieve.cost.epsilon if sieve else 0), sieve=sieve)
        if run.mean > MOST_NOISE:
            raise ParameterError(f"epsilon is {cost.text}, so each count would get noise of about "
                                 f"{float(run.mean):.2g}; choose a larger epsilon")
        if run.delta:
            from privsieve.noise.discrete import threshold

            # [least] before a row is read, and never again
            run = replace(run, threshold=threshold(run.mean, run.unit_count, run.delta))
        return _plan(self, run, cost, units)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return pairs in which a row moves from a cell to another, for each mode."""
        from privsieve.methods.worst import RULES, flagged, of_codes

        ill = Domain((Flag("ill"),))
        heavy = replace(ill, weight="weight", weight_max=3)
        # the row that moves has the largest weight, and the others weigh 1
        light, most = CODES // 3, CODES - 2
        first, second = ([[0, 0]] * (10 - many) + [[1, 0]] * many for many in (5, 4))
        return {"": of_codes(ill, [[0, 0], [0, 0], [1, 0]], [[0, 0], [1, 0], [1, 0]]),
                "threshold": of_codes(ill, first, second, delta="0.05"),
                "weighted": of_codes(heavy, [[0, light, 0], [0, most, 0], [1, light, 0]],
                                     [[0, light, 0], [1, most, 0], [1, light, 0]]),
                "chosen": flagged(choice=RULES)}


@declared
class Tabling(NoisyHistogramOptions):
    """The public parameters of one run: the options, settled, and the public facts.

    names : what is tabulated, or what is chosen from
    epsilon : of the table
    sieve : the choice before the table
    threshold : the noisy count from which on a cell is named; None: any
    """

    domain: Domain
    names: tuple[str, ...]
    sieve: Plan | None
    threshold: int | None = None

    @property
    def unit_count(self) -> int:
        """The most that the rows of one unit count together."""
        return self.domain.rows_per_person * self.domain.row_weight

    @property
    def sensitivity(self) -> int:
        """How far one unit moves the sum of all counts' moves."""
        # [sensitivity] each row is in one cell: it leaves one, and another may come
        return (2 if self.domain.replaces else 1) * self.unit_count

    @property
    def mean(self) -> Fraction:
        """The mean of each geometric half of the noise."""
        # [noise-scale]
        return Fraction(self.sensitivity) / self.epsilon  # type: ignore[no-any-return]

    def axes(self, names: Sequence[str]) -> tuple[Axis, ...]:
        """Return the axes of these columns, and of the target where it is tabulated."""
        return axes_of(self.domain, names, self.bins, target=self.target)

    @property
    def largest(self) -> tuple[Axis, ...]:
        """The axes of the table, or of the largest one that the choice can ask for."""
        if self.sieve is None:
            return self.axes(self.names)
        columns = axes_of(self.domain, self.names, self.bins, target=False)
        many = sorted(columns, key=lambda axis: -axis.cells)[:self.n_features_to_select]
        return self.axes([axis.name for axis in many])


class NoisyTable(NamedTuple):
    """What leaves: the columns, the cells that are named (None: all), and their noisy counts."""

    names: tuple[str, ...]
    places: list[int] | None
    counts: list[int]


def _plan(options: NoisyHistogramOptions, run: Tabling, cost: Cost, units: int) -> Plan:
    """Return the plan of a run with fixed parameters."""
    axes = run.largest
    check_size(axes, sparse=bool(cost.delta))
    size, (each, distance) = cells(axes), spread(run.mean)
    forecast = {"noise_each": figure(each, 2), "cells": str(size)}
    if not cost.delta and run.domain.weight is None:
        forecast["expected_error"] = figure(size * distance / (2 * units), 2)
    table = Additive.of(
        "discrete-laplace", run.sensitivity, run.mean, threshold=run.threshold,
        rows=None if run.threshold is None else run.unit_count)
    warnings = [run.sieve.warning if run.sieve else None,
                warning(axes, units, each, run.threshold, run.domain.row_weight)]
    settings = _settings(run)
    return Plan(
        method=METHOD, kind=Histogram.kind, domain=run.domain, reads=run.domain.with_weight,
        cost=cost, units=units, settings=settings, options=as_json(options, settings),
        noise=NoiseSize(run.mean, "units on a count"), forecast=forecast,
        event=together(run.sieve.event, table) if run.sieve else table,
        warning="; ".join(text for text in warnings if text) or None,
        theorem="noisy-histogram", assumes=run.assumes,
        summarise=partial(summarise, run=run) if run.sieve else adding(
            partial(summarise, run=run), run.domain.with_weight),
        mechanism=partial(mechanism, run=run),
        says=partial(says, run=run), takes=_takes(run, units),
    )


def _takes(run: Tabling, units: int) -> Takes:
    """Return the memory of each stage: of the choice, if any, and of the table."""
    table = Extent.of(run.domain, units)
    held = 16 * (min(table.rows, cells(run.largest)) if run.delta else cells(run.largest))
    chosen = run.sieve.takes if run.sieve and run.sieve.takes else takes(table)._replace(rows=0)
    return chosen._replace(stages=(*chosen.stages, (held, 2 * held)))


@dataclass(frozen=True, eq=False, repr=False)
class BeforeChoice:
    """What a choice of columns needs, and the rows that are tabulated after it; both private."""

    sieve: Any  # the summary of the method that chooses
    rows: Passes
    key: int


def summarise(batches: Iterable[Batch], key: int, *, run: Tabling) -> Dense | Sparse | BeforeChoice:
    """Count rows; before a choice, return its summary and the cells of the rows."""
    from privsieve.rows.batch import Passes

    if run.sieve is None:
        return counted(batches, key, domain=run.domain, axes=run.axes(run.names),
                       sparse=bool(run.delta))
    # [held] both are made of the same rows, under the same key
    held = Passes.of(batches)
    held.keep()
    return BeforeChoice(run.sieve.summarise(held, key), held, key)


# [mechanism]
def mechanism(summary: Dense | Sparse | BeforeChoice, noise: Noise, *, run: Tabling) -> NoisyTable:
    """Add noise to the counts; choose columns first if the plan says so."""
    from privsieve.noise.discrete import above, noisy
    from privsieve.summaries.tables import Dense, Sparse

    names = run.names
    if isinstance(summary, BeforeChoice):
        assert run.sieve is not None
        # [choose-first] the table that follows is that of the columns that were released
        chosen = run.sieve.mechanism(summary.sieve, noise)
        names = tuple(run.domain.names[j] for j in sorted(chosen))
        summary = _tabulated(summary, names, run)
    if isinstance(summary, Sparse):
        # [threshold-form]
        assert run.threshold is not None
        where, counts = above(summary.counts, run.mean, run.threshold, noise)
        return NoisyTable(names, summary.places[where].tolist(), counts.tolist())
    assert isinstance(summary, Dense)
    return NoisyTable(names, None, noisy(summary.counts, run.mean, noise).tolist())


def _tabulated(held: BeforeChoice, names: Sequence[str], run: Tabling) -> Dense | Sparse:
    """Return the table of the columns that were chosen."""
    return counted(held.rows, held.key, domain=run.domain, axes=run.axes(names),
                   sparse=bool(run.delta))
# [/mechanism]


def on_axes(axes: Sequence[Axis], batch: Batch, domain: Domain) -> Iterator[npt.NDArray[np.int64]]:
    """Return the cell of each row, on one axis after another.

    >>> import numpy as np
    >>> from privsieve.rows.batch import Batch
    >>> age = Number("age", 0, 110, missing="level")
    >>> codes = np.array([[0], [65534], [65535]], np.uint16)
    >>> batch = Batch(codes, np.zeros(3, np.int32), *np.zeros((2, 3), np.uint64))
    >>> [cells.tolist() for cells in on_axes([Axis(age, 4)], batch, Domain([age]))]
    [[0, 3, 4]]
    """
    import numpy as np

    place = {name: j for j, name in enumerate(domain.names)}
    for axis in axes:
        codes = batch.codes[:, place[axis.name]] if axis.name in place else batch.label
        values = codes.astype(np.int64)
        # [cell] a missing value has the code after the last that is used, and so the last cell
        yield values * axis.bins // axis.used if axis.bins else values


def counted(batches: Iterable[Batch], key: int, *, domain: Domain, axes: Sequence[Axis],
            sparse: bool) -> Dense | Sparse:
    """Return the table of some axes over some batches."""
    from privsieve.rows.batch import Batch
    from privsieve.summaries.persons import declared_weights
    from privsieve.summaries.tables import kept, table_of

    sizes = [axis.cells for axis in axes]

    def of(batch: Batch) -> Dense | Sparse:
        return table_of(list(on_axes(axes, batch, domain)), sizes,
                        declared_weights(batch, domain), sparse=sparse)

    return kept(batches, key, domain, of(Batch.empty(len(domain.with_weight.columns))), of)


def says(output: NoisyTable, *, run: Tabling) -> Mapping[str, Json]:
    """Return what a release says of the table."""
    from privsieve.methods.histogram.released import edges

    axes = run.axes(output.names)
    table = TableCells(
        tuple(axis.name for axis in axes), tuple(axis.cells for axis in axes),
        {axis.name: tuple(edges(axis)) for axis in axes if axis.bins},
        "all" if output.places is None else tuple(output.places), tuple(output.counts))
    return Histogram(
        output.names, table,
        NoiseLaw("discrete-laplace", figure(spread(run.mean)[0], 2))).write()


def _names(domain: Domain, options: NoisyHistogramOptions) -> tuple[str, ...]:
    """Return the columns to tabulate, or to choose from, in the order of the domain."""
    if options.columns is None:
        return domain.names
    if options.n_features_to_select is not None:
        raise ParameterError("the columns are named, but a number of columns to choose is also "
                             "given; give only one of them")
    for name in options.columns:
        if name not in domain.names:
            raise ParameterError(f"{name!r} is not a column of the domain; correct it")
    if not options.columns or len(set(options.columns)) < len(options.columns):
        raise ParameterError("columns has no name, or a name twice; name each column once")
    return tuple(name for name in domain.names if name in options.columns)


def _sieve(options: NoisyHistogramOptions, k: int, cost: Cost, domain: Domain, units: int) -> Plan:
    """Plan the choice of columns."""
    wanted = current(RuleSieveOptions, options.choice or {})
    for name in wanted:
        if name not in CHOICE:
            raise ParameterError(f"{name!r} is not an option of the choice of columns; choose "
                                 f"from: {', '.join(CHOICE)}")
    # [share] whole units of the ledger, at least one for each
    spent = int(exact(options.share, "share") * cost.units)
    if not 0 < spent < cost.units:
        raise ParameterError(f"the share of epsilon for the choice is {options.share}; write a "
                             "number between 0 and 1, such as 0.5: the counts need the rest")
    first = read_options(RuleSieveOptions, {
        "n_features_to_select": k, "epsilon": Fraction(spent, EPSILON_UNITS), "allow_weak": True,
        **wanted})
    sieve = RuleSieveOptions(**first)
    return sieve.planned_choice(ColumnChoice(sieve, domain, domain), units)


def _settings(run: Tabling) -> Mapping[str, Json]:
    target = run.domain.target
    assert target is not None or not run.target
    return {
        "k": run.n_features_to_select,
        "columns": list(run.names) if run.sieve is None else None,
        "target": target.name if target is not None and run.target else None,
        "bins": run.bins if isinstance(run.bins, int) else dict(run.bins),
        "threshold": None if run.threshold is None else str(run.threshold),
        "choice": None if run.sieve is None else {
            "method": run.sieve.method, "epsilon": run.sieve.cost.text,
            "settings": run.sieve.settings},
    }


@dataclass(frozen=True)
class Axis:
    """One column of a table of counts.

    bins : of a number or date; 0 where the column has levels.

    >>> Axis(Number("age", 0, 110, missing="level"), 8).cells, Axis(Flag("smoker")).cells
    (9, 2)
    """

    column: Column | Target
    bins: int = 0

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def used(self) -> int:
        """How many codes are used for values."""
        return MISSING if getattr(self.column, "missing_level", False) else CODES

    @property
    def cells(self) -> int:
        """How many cells the column has."""
        if self.bins:
            return self.bins + (self.used == MISSING)
        if isinstance(self.column, Label):
            return len(self.column.values)
        assert isinstance(self.column, Category | Flag)
        return self.column.levels

    @property
    def begins(self) -> tuple[int, ...]:
        """The first code of each bin, and the end of the last.

        >>> Axis(Number("age", 0, 110), 4).begins
        (0, 16384, 32768, 49152, 65536)
        """
        # [bins] code c lies in bin c * bins // used
        return tuple(-(-b * self.used // self.bins) for b in range(self.bins + 1))


def axes_of(domain: Domain, names: Sequence[str], bins: int | Mapping[str, int], *,
            target: bool) -> tuple[Axis, ...]:
    """Return the axes of these columns in the domain's order; the target, if used, is last.

    >>> axes = axes_of(Domain.box(0, 1, columns=3), ["x2", "x0"], {"x2": 5}, target=True)
    >>> [(axis.name, axis.cells) for axis in axes]
    [('x0', 8), ('x2', 5), ('y', 2)]
    """
    wanted = set(names)
    columns: list[Column | Target] = [column for column in domain.columns if column.name in wanted]
    if target and domain.target is not None:
        columns.append(domain.target)
    return tuple(
        Axis(column) if not isinstance(column, Number | Date)
        else Axis(column, bins.get(column.name, BINS) if isinstance(bins, Mapping) else bins)
        for column in columns)


def bins_of(domain: Domain, bins: object) -> int | dict[str, int]:
    """Read numbers of bins as plain integers; refuse columns that have none.

    >>> bins_of(Domain.box(0, 1, columns=3), {"x2": 5})
    {'x2': 5}
    """
    if not isinstance(bins, Mapping):
        return integer(bins, "bins", 1, MISSING - 1)
    columns = {column.name: column for column in (*domain.columns, domain.target) if column}
    for name in bins:
        if name not in columns:
            raise ParameterError(f"bins names {name!r}, which is not a column of the domain; write "
                                 "a name of the domain")
        if not isinstance(columns[name], Number | Date):
            raise ParameterError(f"bins names {name!r}, but only numbers and dates have bins; "
                                 "leave it out")
    return {name: integer(many, f"the number of bins of {name!r}", 1, MISSING - 1)
            for name, many in bins.items()}


def cells(axes: Sequence[Axis]) -> int:
    """Count the cells of a table."""
    return prod(axis.cells for axis in axes)


def check_size(axes: Sequence[Axis], *, sparse: bool) -> None:
    """Refuse a table that is too large to use.

    >>> check_size([Axis(Number("age", 0, 110), 8)] * 6, sparse=False)
    """
    size = cells(axes)
    if not sparse and size > LARGEST_WHOLE:
        raise ParameterError(
            f"the table of {len(axes)} columns would have {size} cells, but at most "
            f"{LARGEST_WHOLE} are released, because a larger table would be almost only noise; "
            f"{fewer(axes, LARGEST_WHOLE)}, or give a delta (then only cells with many rows are "
            "released)")
    if size > LARGEST_NAMED:
        raise ParameterError(f"the table of {len(axes)} columns would have more than 2^53 cells, "
                             f"which is the limit; {fewer(axes, LARGEST_NAMED)}")


def warning(axes: Sequence[Axis], units: int, each: float, threshold: int | None,
            row_weight: int = 1) -> str | None:
    """Warn if the table will be mostly noise, with the largest size that would not.

    Noise and threshold are given in rows of the largest weight.

    >>> warning([Axis(Number("age", 0, 110), 50)] * 2, 1000, 2.8, None)[:61]
    'a cell holds 0.4 rows on average and noise of about 2.8: the '
    """
    size, each = cells(axes), each / row_weight
    rows = "rows" if row_weight == 1 else "rows of the largest weight"
    if threshold is not None:
        threshold = -(-threshold // row_weight)
        if units >= FEW * threshold:
            return None
        return (f"only cells of about {threshold} {rows} or more are named, and there are {units} "
                f"rows: at most {units // threshold} cells can be; a larger epsilon or delta "
                "would help")
    if units >= each * size:
        return None
    sensible = max(1, int(units / each))
    return (f"a cell holds {units / size:.2g} {rows} on average and noise of about {each:.2g}: the "
            f"table will be mostly noise; at this epsilon up to {sensible} cells make sense "
            f"({fewer(axes, sensible)}), or take a larger epsilon")


def fewer(axes: Sequence[Axis], limit: int) -> str:
    """Say how to reduce a table to at most `limit` cells.

    >>> fewer([Axis(Number("age", 0, 110), 50)] * 2, 110)
    'take at most 10 bins a column'
    >>> fewer([Axis(Flag("ill"))] * 7, 64)
    'take at most 6 of the columns'
    """
    most = max((axis.bins for axis in axes), default=0)
    low, high = 1, most + 1
    while high - low > 1:  # the largest number of bins that fits
        middle = (low + high) // 2
        cut = [replace(axis, bins=min(axis.bins, middle)) for axis in axes]
        low, high = (middle, high) if cells(cut) <= limit else (low, middle)
    if most > low > 1:
        return f"take at most {low} bins a column"
    product, columns = 1, 0
    for size in sorted(axis.cells for axis in axes):
        product *= size
        columns += product <= limit
    return f"take at most {columns} of the columns" if columns > 1 else "take fewer columns"


def spread(mean: Fraction) -> tuple[float, float]:
    """Return the standard deviation of the noise on a count, and its mean distance from 0.

    >>> [round(x, 3) for x in spread(Fraction(2))]
    [2.799, 1.919]
    """
    x = min(float(1 / mean), 700.0)  # beyond it there is next to none, and no double for it
    return 1 / (sqrt(2) * sinh(x / 2)), 1 / sinh(x)
