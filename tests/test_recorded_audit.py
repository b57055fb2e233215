"""Law: on neighbouring tables the calls of noise are the same, and what meets it moves as declared.

The audit looks at the boundary of `privsieve.noise` alone (`recorded.py`): it knows no constant
and no sensitivity of a method.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import privsieve as ps
from every_method import COSTS, ESTIMATORS, GRADED, POINTS
from privsieve import fit as fitting
from privsieve.errors import PrivsieveError, ReleaseFailed
from privsieve.local import constants
from privsieve.methods import block_fwell, labels, noisy_top_k, rule_sieve
from privsieve.methods.histogram import noisy_histogram
from privsieve.methods.ridge import answers as session_answers
from privsieve.methods.ridge import ridge
from privsieve.noise import race, values
from privsieve.public.plan import Cost
from privsieve.rows import open_source, resolve
from privsieve.rows.room import Room
from privsieve.summaries import persons
from privsieve.summaries.scores.class_counts import ClassCounts
from recorded import (
    WRAPPED,
    Coins,
    Record,
    boundary,
    counted,
    norm,
    objective_loss,
    paid,
    reach,
    recording,
    seed_of,
)

#: Pairs of neighbours of each family; a longer search sets the variable.
PAIRS = int(os.environ.get("PRIVSIEVE_PAIRS", "200"))
#: Neighbours of each table.
NEIGHBOURS = 10
#: Rounding of doubles in a ratio.
ONE = 1 + 1e-9

NUMBERS = (0.0, 0.0, 1.0, 1.0, 0.5, 0.49, 0.26, 0.74, 0.1, 0.9, None, float("nan"), -3.0, 7.0,
           1e300, float("inf"), float("-inf"))
MANY = ps.Domain(
    [ps.Number("n", 0, 1), ps.Number("m", 0, 1, missing="level"),
     ps.Number("l", 0.01, 1, scale="log"), ps.Flag("f"), ps.Category("c", ["A", "B", "C"]),
     ps.Date("d", dt.date(2020, 1, 1), dt.date(2024, 12, 31))],
    target=ps.Label("y", [0, 1, 2]))
TWO = replace(MANY, columns=MANY.columns[:5], target=ps.Label("y", [0, 1]))
#: Columns of which some have no bounds.
FREE = ps.Domain([ps.Number("u"), ps.Number("v", near=0.5, missing="level"), ps.Number("n", 0, 1)],
                 target=ps.Label("y", [0, 1]))
WIDE = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(24)], target=ps.Label("y", [0, 1]))
NUMERIC = replace(TWO, target=ps.Number("y", 0, 9, missing="level"))
#: Public rows to look into.
KNOWN = {"reference": pa.table({
    "n": [0.1, 0.9, 0.5, 0.0, 1.0], "m": [None, 0.3, 0.7, 1.0, 0.0], "l": [0.01, 0.1, 1, 0.5, 0.3],
    "f": [0, 1, 0, 1, 1], "c": ["A", "B", "C", "A", "z"], "y": [0, 1, 0, 1, 1]})}


@dataclass(frozen=True)
class Family:
    """A method with options: plans, over tables of a domain."""

    name: str
    kind: object
    options: dict = field(default_factory=dict)
    domain: object = TWO


def _name(place, method):
    """A method of the laws, by its options and its place among them."""
    words = [f"{name}={value}" for name, value in method.options.items()
             if isinstance(value, str | bool)]
    return " ".join([f"law {place}", *words, *["number"] * method.numbers])


_K = {"n_features_to_select": 2}
FAMILIES = (
    *(Family(_name(place, method), method.kind, method.options, method.domain)
      for place, method in enumerate(ESTIMATORS)),
    Family("classes", ps.RuleSieve, _K, MANY),
    Family("ordered", ps.RuleSieve, {**_K, "ordered": True, "joint": "none"}),
    Family("delta", ps.RuleSieve, {"n_features_to_select": 12, "delta": "0.01", "joint": "none"},
           WIDE),
    Family("first order", ps.RuleSieve, {**_K, "depth": 1}),
    Family("third order", ps.RuleSieve, {**_K, "depth": 3, "class_prior": None}),
    Family("centred", ps.RuleSieve, {**_K, "class_prior": "centred"}),
    Family("unbalanced", ps.RuleSieve, {**_K, "class_prior": "unbalanced"}),
    Family("shares", ps.RuleSieve, {**_K, "class_prior": "0.1"}),
    Family("free numbers", ps.RuleSieve, _K, FREE),
    Family("number", ps.RuleSieve, _K, NUMERIC),
    Family("median", ps.RuleSieve, {**_K, "numeric": "median-cut"}, NUMERIC),
    Family("rounds", ps.RuleSieve, {"n_features_to_select": 3, "joint": "rounds"}, NUMERIC),
    Family("rounds of labels", ps.RuleSieve, {"n_features_to_select": 3, "joint": "rounds"}),
    Family("always", ps.RuleSieve, {**_K, "always": ["f"], "never": ["c"]}),
    Family("groups", ps.NoisyTopK, {**_K, "groups": {"g": ["n", "f"]}, "score": "class-counts"}),
    Family("counts ordered", ps.NoisyTopK, {**_K, "ordered": True, "score": "class-counts"}),
    Family("correlation", ps.NoisyTopK, {**_K, "score": "correlation"}, NUMERIC),
    Family("clip", ps.BlockFWELL, {**_K, "votes": "clip", "tau": "0.5", "block": 3}),
    Family("repeats", ps.BlockFWELL, {**_K, "repeats": 3, "block": 3}),
    Family("votes against public rows", ps.BlockFWELL, {**_K, **KNOWN}),
    Family("weights against public rows", ps.OutputFWELL, {**_K, **KNOWN}),
    Family("windows against public rows", ps.FELP, {**_K, **KNOWN, "repeats": 3, "lam": 1}),
    Family("objective against public rows", ps.ObjectiveFWELL, {**_K, **KNOWN}),
    Family("output delta", ps.OutputFWELL, {**_K, "delta": "0.01", "block": 3}, WIDE),
    Family("objective repeats", ps.ObjectiveFWELL, {**_K, "block": 3, "repeats": 3}),
    Family("windows", ps.FELP, {**_K, "block": 3, "repeats": 4, "beta": "0.5", "lam": 1}),
    Family("ridge delta", ps.PrivateKernelRidge, {
        "kernel": "rbf", "features": 40, "delta": "0.01"}, COSTS),
    Family("cosine", ps.PrivateKernelRidge, {"kernel": "cosine", "degree": 2, "lam": 100},
           GRADED),
    Family("named cells", ps.NoisyHistogram, {"columns": ["f", "c"], "delta": "1e-6"}),
    Family("bins", ps.NoisyHistogram, {"columns": ["m", "c"], "bins": 3}, MANY),
    *(Family(f"session {answers} {kernel}", answers, {"kernel": kernel, "lam": 100},
             POINTS)
      for answers in ("one", "batch") for kernel in ("rbf", "linear")),
)


# --- tables ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Row:
    """Cells by column, the target among them; `blank`: it has no id."""

    cells: dict
    blank: bool = False


def cell(rng, column):
    """A cell of a column or target: at its bounds, between, beyond, or nothing that can be read."""
    if isinstance(column, ps.Number):
        value = rng.choice(NUMBERS)
        low, high = (0, 1) if column.low is None else (column.low, column.high)
        return value if value is None else low + (high - low) * value
    if isinstance(column, ps.Date):
        return rng.choice((None, "2020-01-01", "2024-12-31", "2022-06-01", "1900-01-01", "?"))
    if isinstance(column, ps.Flag):
        return rng.choice(("1", "0", "1", "0", "maybe", None))
    return rng.choice((*map(str, column.values), *map(str, column.values), "unlisted", None))


def row(rng, domain):
    """A row of its unit."""
    parts = [*domain.columns, *([domain.target] if domain.target else [])]
    blank = domain.person is not None and rng.random() < 0.1
    return Row({column.name: cell(rng, column) for column in parts}, blank)


def unit(rng, domain):
    """A row, or a person: one row or several, more than count, some twice."""
    if domain.person is None:
        return (row(rng, domain),)
    rows = [row(rng, domain) for _ in range(rng.randint(1, domain.rows_per_person + 2))]
    return tuple(rows[:1] * len(rows) if rng.random() < 0.4 else rows)


def every(unit, change):
    """The unit with all its rows changed."""
    return tuple(change(column) for column in unit)


def _set(rng, domain, kinds, values):
    parts = [column for column in (*domain.columns, domain.target) if isinstance(column, kinds)]

    def change(line):
        if not parts:
            return line
        column = rng.choice(parts)
        return replace(line, cells={**line.cells, column.name: rng.choice(values(column))})
    return change


def _label(column):
    if isinstance(column, ps.Label):
        return [*map(str, column.values)]
    return [0, 1] if column.low is None else [column.low, column.high]


_LABELS = (ps.Label, ps.Number)
#: What becomes of a unit: (rng, domain, old unit, all units) -> new unit.
CHANGES = {
    "another": lambda rng, domain, _old, _all: unit(rng, domain),
    "nan": lambda rng, domain, old, _all: every(old, _set(
        rng, domain, ps.Number, lambda _column: [float("nan")])),
    "infinite": lambda rng, domain, old, _all: every(old, _set(
        rng, domain, ps.Number, lambda _column: [float("inf"), float("-inf")])),
    "beyond bounds": lambda rng, domain, old, _all: every(old, _set(
        rng, domain, ps.Number, lambda _column: [-1e9, 1e9, 1e300])),
    "at bounds": lambda rng, domain, old, _all: every(old, lambda line: replace(line, cells={
        **line.cells, **{column.name: rng.choice(_label(column)) for column in (
            *domain.columns, domain.target) if isinstance(column, _LABELS)}})),
    "flipped label": lambda rng, domain, old, _all: every(old, lambda line: replace(line, cells={
        **line.cells, domain.target.name: rng.choice(_label(domain.target))})),
    "unlisted label": lambda _rng, domain, old, _all: every(old, lambda line: replace(line, cells={
        **line.cells, domain.target.name: "unlisted" if isinstance(domain.target, ps.Label)
        else 1e9})),
    "blank label": lambda _rng, domain, old, _all: every(old, lambda line: replace(line, cells={
        **line.cells, domain.target.name: None})),
    "unlisted category": lambda rng, domain, old, _all: every(old, _set(
        rng, domain, ps.Category, lambda _column: ["unlisted"])),
    "all missing": lambda _rng, _domain, old, _all: every(
        old, lambda line: replace(line, cells=dict.fromkeys(line.cells))),
    "blank ids": lambda _rng, domain, old, _all: every(
        old, lambda line: replace(line, blank=domain.person is not None)),
    "a double": lambda rng, _domain, _old, others: rng.choice(others),
    "more rows": lambda _rng, domain, old, _all: old * (3 if domain.person else 1),
}


@dataclass(frozen=True)
class Table:
    """Units at their places, among which each keeps its place whatever becomes of others."""

    domain: object
    units: dict
    seed: int

    def source(self):
        """The table as Arrow holds it, and the tags that its reader draws."""
        places = random.Random(self.seed)
        at = {i: [places.random() for _ in range(32)] for i in range(64)}
        lines = sorted(((at[i][t], i, line) for i, rows in self.units.items()
                        for t, line in enumerate(rows)), key=lambda line: line[0])
        parts = [*self.domain.columns, *([self.domain.target] if self.domain.target else [])]
        data = {column.name: pa.array(
            [line.cells[column.name] for _, _, line in lines],
            pa.float64() if isinstance(column, ps.Number) else pa.string()) for column in parts}
        tags = []
        if self.domain.person is not None:
            data["id"] = pa.array([None if line.blank else f"p{i}" for _, i, line in lines],
                                  pa.string())
            tags = dict.fromkeys(i for _, i, line in lines if not line.blank)
        elif not self.domain.replaces:
            tags = [i for _, i, _ in lines]
        return open_source(pa.table(data)), [seed_of(self.seed, i) for i in tags]


def table(rng, domain, n):
    """A table of n units, many of them equal, or all of one class."""
    few = [unit(rng, domain) for _ in range(rng.choice((2, n)))]
    units = {i: rng.choice(few) if rng.random() < 0.5 else unit(rng, domain) for i in range(n)}
    if rng.random() < 0.3 and domain.target is not None:
        same = cell(rng, domain.target)
        units = {i: every(rows, lambda line: replace(line, cells={
            **line.cells, domain.target.name: same})) for i, rows in units.items()}
    return Table(domain, units, rng.getrandbits(63))


def neighbour(rng, first):
    """A table that differs in one unit, and what was changed."""
    domain, units = first.domain, dict(first.units)
    at = rng.choice(list(units))
    how = rng.choice(list(CHANGES))
    if domain.replaces:
        units[at] = CHANGES[how](rng, domain, units[at], list(units.values()))
        return replace(first, units=units), f"replaced: {how}"
    if rng.random() < 0.5 and len(units) > 2:
        del units[at]
        return replace(first, units=units), "removed"
    units[len(first.units)] = CHANGES[how](rng, domain, units[at], list(units.values()))
    return replace(first, units=units), f"added: {how}"


# --- runs -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Setting:
    """A plan, or what is asked of a session, with the size of tables for it."""

    family: Family
    plan: object
    domain: object
    cost: object
    size: int
    epsilon: object


def setting(rng, family):
    """A plan of the family that is not refused, by row or person, replaced or coming and going."""
    for _ in range(60):
        size = rng.choice((4, 6, 9, 14, 14))
        domain = family.domain
        if isinstance(family.kind, str):  # a session protects a row that is replaced
            domain, size = replace(domain), max(size, 6)
        else:
            if rng.random() < 0.5:
                domain = replace(domain, person="id", rows_per_person=rng.choice((1, 2, 3)),
                                 persons=rng.choice((size, size, size + 3, size - 2)))
            if rng.random() < 0.5:
                domain = replace(domain, neighbours="add-remove",
                                 **({} if domain.person else {"rows": size}))
        epsilon = rng.choice((1, "0.5", 5, 50))
        try:
            return _planned(family, domain, size, epsilon)
        except PrivsieveError:
            continue
    raise AssertionError(f"{family.name} is refused")


def _planned(family, domain, size, epsilon):
    source, _ = table(random.Random(size), domain, size).source()
    domain = resolve(domain, source.shape(count_rows=domain.rows_are_public), strict=True)
    if isinstance(family.kind, str):
        cost = Cost.of(epsilon, allow_weak=True)
        return Setting(family, None, domain, cost, size, epsilon)
    rows = size if domain.rows_are_public else None
    estimator = family.kind(**{"epsilon": epsilon, **family.options}, domain=domain)
    if "allow_weak" in estimator.get_params(deep=False):
        estimator.set_params(allow_weak=True)
    plan = estimator.plan(rows=rows)
    if not plan.cost.epsilon:
        raise ps.ParameterError("a choice that costs nothing meets no noise; take another")
    return Setting(family, plan, domain, plan.cost, size, epsilon)


def run(where, planned, record):
    """What is released of a table; the calls of its noise go into the record."""
    source, tags = planned.source()
    coins = Coins(record, tags)
    with recording(record):
        if where.plan is not None:
            return fitting.fit(where.plan, source, noise=coins, room=Room()).body
        with ps.KernelRidgeSession(source, domain=where.domain, **where.family.options) as session:
            session._noise = coins
            answer = _race_args(session, where)
        return {"answer": answer, "release": session.release_.body}


def _race_args(session, where):
    if where.family.kind == "one":
        return session.predict_one([40, 20], epsilon=where.epsilon, allow_weak=True)
    points = [[40, 20], [90, 3], [10, 360]]
    return session.predict_batch(points, epsilon=where.epsilon, allow_weak=True).tolist()


@dataclass
class Worst:
    """What a search came to.

    ratio : what met the noise of one call moved, over what its noise and its parameters allow
    spent : epsilons that calls declare, and what counts lose, over the cost of the plan
    """

    pairs: int = 0
    ratio: float = 0.0
    spent: float = 0.0
    faults: list = field(default_factory=list)
    changes: Counter = field(default_factory=Counter)
    calls: Counter = field(default_factory=Counter)

    def fault(self, text):
        """Note a fault."""
        self.faults.append(text)

    def see(self, where, record, played):
        """Compare the numbers of the same calls on both tables."""
        delta = where.cost.epsilon, where.cost.delta
        spent, squares = Fraction(0), 0.0
        for mine, yours in zip(record.calls, played.calls, strict=True):
            allowed = reach(mine, delta)
            spent += (paid(mine) or 0) + counted(mine, yours)
            if allowed is None:
                continue
            if allowed[0] * (1 + Fraction(1, 10**12)) < allowed[1]:
                self.fault(f"{mine.name} has noise for {float(allowed[0])}, and declares "
                           f"{float(allowed[1])}")
            ratio = float(norm(mine, yours) / min(allowed))
            squares += ratio**2 if mine.name == "gaussian" else 0
            self.ratio = max(self.ratio, ratio, squares**0.5)
        self.spent = max(self.spent, float(spent / where.cost.epsilon))
        if record.calls[0].name == "gamma_drawn":
            rows = int(where.plan.settings["vectors"])
            loss = objective_loss(record, played, rows, np.random.default_rng(rows))
            self.ratio = max(self.ratio, loss / float(where.cost.epsilon))
        if max(self.ratio, self.spent) > ONE:
            self.fault(f"moved by {self.ratio:.4f} of what is declared, spent {self.spent:.4f}")


def audited(family, pairs, *, each=NEIGHBOURS, stop=True):
    """Record tables, play them on their neighbours, and compare."""
    worst = Worst()
    for number in range(-(-pairs // each)):
        rng = random.Random(f"{family.name} {number}")
        where = setting(rng, family)
        first = table(rng, where.domain, where.size)
        record = Record(first.seed)
        body = run(where, first, record)
        _declared(where, record, worst)
        for _ in range(each):
            second, how = neighbour(rng, first)
            worst.changes[how] += 1
            worst.pairs += 1
            _compare(where, (record, body), second, worst)
            if worst.faults and stop:
                return worst
    return worst


def _compare(where, first, second, worst):
    """Play a record on a neighbour; faults are noted."""
    record, body = first
    played = Record(record.seed, record)
    try:
        other = run(where, second, played)
    except ReleaseFailed:
        worst.fault(played.different or "no release")
        return
    if [call.kind for call in record.calls] != [call.kind for call in played.calls]:
        worst.fault("other calls, parameters, sizes or scales")
        return
    forced = not {call.name for call in record.calls} & {"above", "gamma_drawn"}
    if forced and repr(body) != repr(other):
        worst.fault("the same noisy values, and another release")
    worst.see(where, record, played)


def _declared(where, record, worst):
    """What the calls declare is the plan's cost; where there are counts, it leaves them a part."""
    for call in record.calls:
        worst.calls.update((call.name, *(step[0] for step in call.drawn)))
        if call.name == "above":
            _named(where, call, worst)
    total = sum(paid(call) or 0 for call in record.calls)
    every = all(paid(call) is not None for call in record.calls)
    if every and total != where.cost.epsilon:
        worst.fault(f"{total} is declared of {where.cost.epsilon}")


def _named(where, call, worst):
    """A cell that one unit alone fills is named with a chance of delta at most."""
    mean, threshold = call.law
    q, most = float(np.exp(-1 / float(mean))), where.domain.rows_per_person
    chance = max(most * q ** (threshold - 1), q ** (threshold - most)) / (1 + q)
    if chance > float(where.cost.delta) * ONE:
        worst.fault(f"an own cell is named with a chance of {chance}")


@pytest.fixture(scope="module", autouse=True)
def _boundary():
    with boundary():
        yield


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_neighbours_differ_as_declared(family):
    """The calls are the same, what meets noise moves by what it is made for, and nothing leaks."""
    worst = audited(family, PAIRS)

    assert [] == worst.faults
    assert PAIRS <= worst.pairs
    assert max(worst.ratio, worst.spent) > 0.1


def test_every_function_of_noise_is_met():
    """Some family calls each function of the boundary, and each change of a unit is tried."""
    seen, changes, rng = Counter(), Counter(), random.Random(1)
    for family in FAMILIES:
        seen.update(audited(family, 1, each=1).calls)
        where = setting(rng, family)
        first = table(rng, where.domain, where.size)
        changes.update(neighbour(rng, first)[1] for _ in range(30))

    assert set(WRAPPED) - {"minimise", "floors", "above", "gaussian", "rounded"} <= set(seen)
    assert {"removed", *(f"{way}: {how}" for way in ("added", "replaced") for how in CHANGES)} \
        == set(changes)


# --- planted faults -------------------------------------------------------------------------------

def _half(original):
    return lambda scores, k, scale, noise, **how: original(scores, k, scale / 2, noise, **how)


def _skipping(original):
    def labellings(counts, kept, rules, noise):
        if counts[1]:
            return original(counts, kept, rules, noise)
        return labels._unreleased(counts, kept, rules)._replace(unit_value=Fraction(1))
    return labellings


def _unbounded(original):
    def row_weights(unit, most, key):
        weight, first = original(unit, most, key)
        return np.full_like(weight, weight.max(initial=0)), first
    return row_weights


def _telling(original):
    def mechanism(summary, noise, *, run):
        output = original(summary, noise, run=run)
        return output._replace(counts=[output.counts[0] * bool(summary.counts[0]),
                                       *output.counts[1:]])
    return mechanism


def _from_the_table(original):
    def weighed(summary, noise, *, terms):
        values, _, weights = original(summary, noise, terms=terms)
        return values, max(map(abs, values), default=1) or 1, weights
    return weighed


def _doubled(original):
    return lambda *arguments: [2 * score for score in original(*arguments)]


def _halved(known):
    def half(noise):
        whole = known.__get__(noise)
        return whole // 2 if isinstance(whole, int) else whole / 2
    return property(half)


def _less(known):
    return lambda *arguments, **how: known(*arguments, **how) / 2


def _more_shares(known):
    def shares(*arguments, **how):
        noise, second = known(*arguments, **how)
        return 2 * noise, second
    return shares


LESS, BEYOND, OTHER = "has noise for", "moved by", "and was"
#: A mistake: the family that makes it, where and how it is planted, and what is said of it.
PLANTED = {
    "half the noise of a race": ("ordered", race, "geometric_race", _half, LESS),
    "half of a race with a delta": ("delta", race, "gumbel_race", _half, LESS),
    "half the noise of weights": ("windows", values.Grid, "beta", lambda known: (
        lambda grid, epsilon: 2 * known(grid, epsilon)), LESS),
    "half the sigma": ("output delta", values.Grid, "sigma", lambda known: (
        lambda *arguments: known(*arguments) / 2), LESS),
    "half the noise of counts": ("bins", noisy_histogram.Tabling, "mean", lambda known: (
        property(lambda run: known.__get__(run) / 2)), BEYOND),
    "half the sensitivity": ("classes", rule_sieve.Rules, "sensitivity", lambda known: (
        lambda *arguments: known(*arguments) // 2), BEYOND),
    "no limit to a person's rows": ("first order", persons, "row_weights", _unbounded, BEYOND),
    "a score that moves twice": ("counts ordered", ClassCounts, "values", _doubled, BEYOND),
    "half the sensitivity of votes": ("clip", block_fwell.Voting, "sensitivity", _halved, BEYOND),
    "half the sensitivity of a model": ("cosine", ridge.LeastSquares, "sensitivity", _halved,
                                        BEYOND),
    "half the sensitivity of answers": ("session batch rbf", session_answers, "sensitivity", _less,
                                        BEYOND),
    "half of what a vector moves weights": ("weights against public rows", constants, "output",
                                            _less, BEYOND),
    "half of what a window moves weights": ("windows", constants, "ensemble", _less, BEYOND),
    "twice the share of the objective": ("objective against public rows", constants, "objective",
                                         _more_shares, BEYOND),
    "a sensitivity from the table": ("correlation", noisy_top_k, "weighed", _from_the_table, OTHER),
    "a call less": ("first order", rule_sieve, "labellings", _skipping,
                    "is declared of"),
    "a release that tells a row": ("bins", noisy_histogram, "mechanism", _telling,
                                   "another release"),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_seen(mistake, monkeypatch):
    """The audit of a method with a mistake is red, and says which kind of mistake it is.

    What is done with noise is held against the claim before each charge, which sees some first.
    """
    name, where, attribute, planted, text = PLANTED[mistake]
    family = next(family for family in FAMILIES if family.name == name)

    assert [] == audited(family, 2 * NEIGHBOURS).faults
    monkeypatch.setattr(where, attribute, planted(getattr(where, attribute)))
    monkeypatch.setattr(fitting, "demand_valid", lambda plan: None)
    faults = audited(family, 40 * NEIGHBOURS).faults
    assert any(text in fault for fault in faults), faults
