"""Places: what a choice is among, once public wishes are known.

always : in the answer whatever the rows say, and not raced
never : not looked at: the method is given a domain without them
groups : raced, chosen and released as one; what a group is worth is the most of its columns
costs, price : a race for as many as can be paid

All of it is public, so that nothing here costs anything; see places.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.methods.choosing import count
from privsieve.public.canonical import quoted
from privsieve.public.cost import exact
from privsieve.public.domain import Domain
from privsieve.public.option import Choosing
from privsieve.public.plan import Chosen, Plan
from privsieve.release import exactly
from privsieve.summaries.stages import Summarise, seen

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

#: Options that say what a choice is among.
WISHES = ("always", "never", "groups", "costs", "price", "targets", "over")


#: The largest price, and how many parts of 1 there are.
MOST = 10**9


@dataclass(frozen=True)
class Places:
    """What is raced, and for how many places.

    items : of each that is raced the positions of its columns: one, or those of a group
    always : positions that are in without a race
    total : how many places there are, those that are taken always among them
    k : how many items are named, or at most so many where there is a price
    prices, price : whole numbers, and empty where no price binds

    >>> from privsieve.public.domain import Domain
    >>> asked = Choosing(n_features_to_select=3, always=("x1",), groups={"both": ["x0", "x3"]})
    >>> among(asked, Domain.box(0, 1, columns=5))
    Places(items=((0, 3), (2,), (4,)), always=(1,), total=3, k=2, prices=(), price=0)
    """

    items: tuple[tuple[int, ...], ...]
    always: tuple[int, ...]
    total: int
    k: int
    prices: tuple[int, ...] = ()
    price: int = 0

    @property
    def d(self) -> int:
        """How many items are raced."""
        return len(self.items)

    @property
    def taken(self) -> int:
        """How many places are taken before the race."""
        return self.total - self.k

    @cached_property
    def plain(self) -> bool:
        """Whether each place is for a column on its own, and nothing has a price."""
        return (not self.prices and len(self.always) + self.k == self.total
                and all(len(item) == 1 for item in self.items))

    @property
    def certain(self) -> bool:
        """Whether there is nothing to choose."""
        return self.k == self.d

    def race(self, epsilon: Fraction, **own: Any) -> Race:
        """The race for scores that one unit moves by 1; `own` are further fields of it."""
        from privsieve.noise.race import Race

        return Race(self.d, self.k, 1, epsilon, prices=self.prices, price=self.price, **own)

    def scores(self, scores: Sequence[int]) -> list[int]:
        """What each item is worth: the most of its columns."""
        # [most-of-its-columns]
        return [max(scores[j] for j in item) for item in self.items]

    def columns(self, named: Iterable[int] | None = None, *, ordered: bool = False,
                ) -> tuple[int, ...]:
        """The positions of the columns of some items, of all where none are given."""
        raced = [j for item in (range(self.d) if named is None else named)
                 for j in self.items[item]]
        return (*self.always, *raced) if ordered else tuple(sorted((*self.always, *raced)))

    def chosen(self, scores: Sequence[int], race: Race, noise: Noise) -> tuple[int, ...]:
        """One race over scores of columns: positions, in order where that is released."""
        from privsieve.noise.race import top_k

        if self.certain and not race.ordered:
            # [nothing-to-choose]
            return self.columns()
        return self.columns(top_k(self.scores(scores), race, noise), ordered=race.ordered)


def among(asked: Choosing, domain: Domain) -> Places:
    """Read what a choice of columns of this domain is among; refuses what makes no sense."""
    members = _members(asked, domain)
    always = _known(asked.always, members, asked, "always")
    raced = [name for name in members if name not in always]
    total = _total(asked, domain, len(members))
    if total <= len(always):
        raise ParameterError(f"always names {len(always)} and {total} are to be chosen: nothing is "
                             "left to choose; choose more, or name fewer")
    k, price = total - len(always), 0
    prices: tuple[int, ...] = ()
    if asked.price is not None or asked.costs:
        k, prices, price = _paid(asked, members, always, k)
    return Places(tuple(members[name] for name in raced),
                  tuple(j for name in always for j in members[name]), len(always) + k, k,
                  prices, price)


def _members(asked: Choosing, domain: Domain) -> dict[str, tuple[int, ...]]:
    """The positions of each column alone and of each group, by its name and in order."""
    position = {name: j for j, name in enumerate(domain.names)}
    group_of: dict[str, str] = {}
    for group, columns in (asked.groups or {}).items():
        if group in position:
            raise ParameterError(f"a group is called {quoted(group)}, as a column is; give it "
                                 "another name")
        for name in columns:
            if name not in position:
                raise ParameterError(f"group {quoted(group)} has {quoted(name)}, which is no "
                                     "column to choose; write names of the domain's columns")
            if name in group_of:
                raise ParameterError(f"{quoted(name)} is in group {quoted(group_of[name])} and in "
                                     f"{quoted(group)}; groups may not overlap: write it once")
            group_of[name] = group
    found: dict[str, list[int]] = {}
    for name, j in position.items():
        found.setdefault(group_of.get(name, name), []).append(j)
    return {name: tuple(columns) for name, columns in found.items()}


def _known(names: Iterable[str] | None, members: Mapping[str, object], asked: Choosing,
           option: str) -> list[str]:
    """Names of columns alone or of groups; others are refused."""
    known = list(names or ())
    for name in known:
        if name in members:
            continue
        inside = [group for group, columns in (asked.groups or {}).items() if name in columns]
        if inside:
            raise ParameterError(f"{option} names {quoted(name)}, which is a part of group "
                                 f"{quoted(inside[0])}; name the group")
        raise ParameterError(f"{option} names {quoted(name)}, which is no column to choose, nor a "
                             "group; write names of the domain's columns")
    return known


def _total(asked: Choosing, domain: Domain, items: int) -> int:
    """How many places there are, those that are taken always among them."""
    wanted: Any = asked.n_features_to_select
    if wanted is None and asked.price is not None:
        return items
    if items == len(domain.columns) and not asked.never and not asked.targets:
        return count(wanted, items)
    wanted = wanted.item() if hasattr(wanted, "item") else wanted
    total = count(wanted, items if isinstance(wanted, float | Fraction) else MOST)
    if total > items:
        raise ParameterError(f"{total} are to be chosen, and {items} columns and groups are left "
                             "to choose from; choose fewer")
    return total


def _paid(asked: Choosing, members: Mapping[str, object], always: Sequence[str], k: int,
          ) -> tuple[int, tuple[int, ...], int]:
    """How many can be paid at most, what each that is raced costs, and what may be spent."""
    if asked.price is None:
        raise ParameterError("costs are given and no price to stay within; write price=, or leave "
                             "costs away")
    costs = {name: _amount(cost, f"costs[{quoted(name)}]")
             for name, cost in (asked.costs or {}).items()}
    _known(costs, members, asked, "costs")
    price = _amount(asked.price, "price")
    one = lcm(price.denominator, *(cost.denominator for cost in costs.values()))
    each = {name: int(costs.get(name, 1) * one) for name in members}
    left = int(price * one) - sum(each[name] for name in always)
    prices = tuple(cost for name, cost in each.items() if name not in always)
    if left < min(prices):
        rest = " what is left of it pays" if always else " it pays"
        raise ParameterError(f"price is {exactly(price)}, and{rest} for no column; the cheapest "
                             f"costs {exactly(min(prices) / exact(one, 'one'))}: raise the price")
    # [most] by the cheapest
    most = sum(spent <= left for spent in list(accumulate(sorted(prices)))[:k])
    if sum(sorted(prices)[-k:]) <= left:
        # [free-of-price] whichever are named can be paid
        return k, (), 0
    return most, prices, left


def _amount(value: object, name: str) -> Fraction:
    try:
        found = exact(value, name)
    except ParameterError:  # below 0, or no number
        found = Fraction(-1)
    if not 0 <= found <= MOST or (found * MOST).denominator != 1:
        raise ParameterError(f"{name} is {quoted(value)}; write a number from 0 to {MOST}, with at "
                             "most 9 decimals")
    return found


# --- from what somebody gave to a plan ----------------------------------------------------------

def planned(asked: Choosing, domain: Domain, rows: int | None) -> Plan:
    """Plan a choice of columns among those that may be chosen; reads no row.

    >>> from privsieve.methods import plan
    >>> from privsieve.public.domain import Domain
    >>> made = plan("rule-sieve", Domain.box(0, 1, columns=9), k=3, epsilon=1, rows=500,
    ...             never=["x4"], always="x0")
    >>> made.settings["k"], made.settings["always"], made.settings["never"]
    (3, ['x0'], ['x4'])
    """
    wishes = written(asked, domain)
    if wishes is None:
        return asked.planned(domain, rows)
    asked = replace(asked, **wishes)
    if asked.targets:
        from privsieve.methods.targets import planned_for_all

        return planned_for_all(asked, domain, rows)
    keep = kept(asked, domain)
    if len(keep) == len(domain.columns):
        return asked.planned(domain, rows)
    inner = asked.planned(narrow(domain, keep), rows)
    return replace(
        inner, domain=domain, certain=None if inner.certain is None else widened(
            inner.certain, keep),
        summarise=narrowed(inner.summarise, keep),
        mechanism=partial(chosen_of, keep=keep, mechanism=inner.mechanism))


def written(asked: Choosing, domain: Domain) -> dict[str, Any] | None:
    """The public wishes in one form; None where there are none."""
    if asked.over != "maximum" and not asked.targets:
        raise ParameterError(f"over is {quoted(asked.over)}, and there is one target; leave it "
                             "away, or name targets=")
    if all(getattr(asked, name) is None for name in WISHES if name != "over"):
        return None
    wishes: dict[str, Any] = {name: _names(getattr(asked, name), name)
                              for name in ("always", "never", "targets")}
    wishes["groups"] = _mapping(asked.groups, "groups", "address", ["street", "zip"])
    if wishes["groups"]:
        wishes["groups"] = {name: _group(columns, name)
                            for name, columns in wishes["groups"].items()}
    wishes["costs"] = _mapping(asked.costs, "costs", "mri", 5)
    both = [name for name in wishes["always"] or () if name in (wishes["never"] or ())]
    if both:
        raise ParameterError(f"{quoted(both[0])} is named by always and by never; name it once")
    for option in ("never", "targets"):
        for name in wishes[option] or ():
            if name not in domain.names:
                raise ParameterError(f"{option} names {quoted(name)}, which is no column of the "
                                     "domain; write names of its columns")
            _only_there(name, option, wishes)
    if asked.price is not None:
        wishes["price"] = exactly(_amount(asked.price, "price"))
    if wishes["costs"]:
        wishes["costs"] = {name: exactly(_amount(cost, f"costs[{quoted(name)}]"))
                           for name, cost in wishes["costs"].items()}
    return wishes


def _only_there(name: str, option: str, wishes: Mapping[str, Any]) -> None:
    """Refuse a column that cannot be chosen and is named where it would be."""
    why = "is never chosen" if option == "never" else "is a target, and so is never chosen"
    if option == "targets" and name in (wishes["never"] or ()):
        raise ParameterError(f"{quoted(name)} is named by never and by targets; a target is not "
                             "chosen anyhow: take it out of never")
    groups = [group for group, columns in (wishes["groups"] or {}).items() if name in columns]
    if groups:
        raise ParameterError(f"{quoted(name)} {why}, and group {quoted(groups[0])} has it; take it "
                             "out of one of them")
    for other in ("always", "costs"):
        if name in (wishes[other] or ()):
            raise ParameterError(f"{quoted(name)} {why}, and {other} names it; take it out of one "
                                 "of them")


def _names(value: object, option: str) -> tuple[str, ...] | None:
    """One name, or several; each once."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else value
    if isinstance(names, Mapping) or not isinstance(names, Iterable):
        names = [None]
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        raise ParameterError(f'{option} is {quoted(value)}; write a list of names, such as ["age"]')
    for name in listed:
        if listed.count(name) > 1:
            raise ParameterError(f"{option} names {quoted(name)} twice; name it once")
    return tuple(map(str, listed)) or None


def _mapping(value: object, option: str, name: str, one: object) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"{option} is {quoted(value)}; write a mapping from names, such as "
                             f"{({name: one})!r}")
    return dict(value) or None


def _group(columns: object, name: str) -> list[str]:
    listed = _names(columns, f"group {quoted(name)}")
    if listed is None:
        raise ParameterError(f"group {quoted(name)} has no columns; name at least one, or leave it "
                             "away")
    return list(listed)


# --- columns that are not looked at -------------------------------------------------------------

def kept(asked: Choosing, domain: Domain) -> tuple[int, ...]:
    """The positions of the columns that a method is given."""
    out = {*(asked.never or ()), *(asked.targets or ())}
    found = tuple(j for j, name in enumerate(domain.names) if name not in out)
    if not found:
        raise ParameterError("never and targets name all columns; leave some to choose from")
    return found


def narrow(domain: Domain, keep: Sequence[int], **changed: Any) -> Domain:
    """The domain with some of its columns."""
    return replace(domain, columns=tuple(domain.columns[j] for j in keep), **changed)


def narrowed(summarise: Summarise, keep: Sequence[int], label: int | None = None) -> Summarise:
    """A summary of some of the columns, and of another label where one is named."""
    # [cell-by-cell] units, positions and tags stay: one unit is changed in one unit's rows
    return seen(summarise, partial(narrower, keep=keep, label=label))


def narrower(batch: Batch, keep: Sequence[int], label: int | None = None) -> Batch:
    """Rows with some of their columns; `label` is the column that is their target."""
    import numpy as np

    codes = np.ascontiguousarray(batch.codes.T[list(keep)]).T
    if label is None:
        return replace(batch, codes=codes)
    return replace(batch, codes=codes, label=batch.codes[:, label].astype(np.int32))


def widened(named: Iterable[int], keep: Sequence[int]) -> tuple[int, ...]:
    """Positions among the columns that were kept, as positions among all; what is said, too."""
    return Chosen((keep[j] for j in named), **getattr(named, "said", {}))


def chosen_of(summary: Any, noise: Noise, *, keep: Sequence[int], mechanism: Any,
              ) -> tuple[int, ...]:
    """What a mechanism names of the columns that were kept."""
    return widened(mechanism(summary, noise), keep)
