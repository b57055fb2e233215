"""RuleSieve by votes: one race over sets of columns, where columns and target are numbers.

A set of k columns is worth what the best average of their votes tells about the target
(`summaries/votes.py`).  That a column only repeats others adds nothing, so correlated columns do
not crowd out what matters.  Where there are many sets, a race over single columns comes first, by
two fifths of epsilon, and the sets are those of the columns that it names.

The proof is in `votes.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from privsieve.errors import DomainError, ParameterError
from privsieve.methods.choosing import Forecast, Places, among, fewer, selection
from privsieve.public.columns import Category, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.event import together
from privsieve.public.option import WISHES, Choosing, declared, settings
from privsieve.public.plan import Cost, Plan, Takes
from privsieve.summaries.stages import adding

if TYPE_CHECKING:
    from privsieve.methods.rule_sieve import RuleSieveOptions
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch
    from privsieve.summaries.votes import VoteSums

METHOD = "rule-sieve-votes/1"
#: All cases of k coordinates are tried where a guess is wrong: 3^k of them.
MOST = 6
#: So many sets take a second or two.
SETS = 20_000
#: Each two columns have a sum: of so many, 32 MB.
COLUMNS = 2000
#: The part of epsilon that the first race gets, where there is one.
SCREEN_SHARE = Fraction(2, 5)
#: The columns that it names, for each that is sought.
SCREENED = 3
#: From so many units times epsilon on, for each column sought, votes find more than single scores.
ENOUGH = 400


@dataclass(frozen=True)
class VoteForecast(Forecast):
    """The share of the names that are right after two races: the first names what stays."""

    kept: Forecast
    found: Forecast

    def at(self, gap: float) -> float:
        """Both have to find a column; guessing finds no fewer."""
        return max(self.guessing, self.kept.at(gap) * self.found.at(gap))


@declared
class VoteRules(Choosing):
    """The public parameters of one run by votes."""

    domain: Domain
    units: int
    places: Places

    @property
    def one_race(self) -> bool:
        """No race names columns one by one."""
        return False

    @property
    def screened(self) -> int:
        """How many columns the first race names; all of them where there is none.

        >>> from privsieve.public.domain import Domain
        >>> [VoteRules(k, epsilon=1, domain=Domain.box(0, 1, columns=d), units=9,
        ...            places=None).screened
        ...  for k, d in ((5, 100), (5, 19), (6, 100), (2, 100))]
        [15, 19, 18, 100]
        """
        d = len(self.domain.columns)
        # [screened] by public numbers; 3 k columns of at most 6 have no more sets than `SETS`
        return d if comb(d, self.k) <= SETS else min(d, SCREENED * self.k)

    @property
    def screen(self) -> Race | None:
        """The race over single columns, for scores that one unit moves by 1."""
        from privsieve.noise.race import Race

        d = len(self.domain.columns)
        return None if self.screened == d else Race(d, self.screened, 1,
                                                    SCREEN_SHARE * self.epsilon)

    @property
    def sets(self) -> Race:
        """The race over sets of those columns, for values that one unit moves by 1."""
        from privsieve.noise.race import Race

        share = Fraction(1) if self.screen is None else 1 - SCREEN_SHARE
        # [sets-share] what the first race leaves
        return Race(comb(self.screened, self.k), 1, 1, share * self.epsilon)

    @property
    def forecast(self) -> Forecast:
        """What both races are expected to find, where columns do not depend on each other.

        By half a spread most votes are as large as can be, so a gap counts as it does for rules;
        and in a set, of which one is named, a column is ahead as far as in a race for k.
        """
        from privsieve.noise.race import Race

        d, k, m = len(self.domain.columns), self.k, self.screened
        reach = Fraction(self.units * (1 if self.domain.replaces else 2))
        found = Forecast(Race(m, k, 1, self.sets.epsilon), m, k, reach, k)
        if self.screen is None:
            return found
        kept = Forecast(self.screen, d, k, reach, k)
        return VoteForecast(found.race, d, k, reach, k, kept, found)


def planned(asked: RuleSieveOptions, domain: Domain, rows: int | None) -> Plan:
    """Plan one selection by votes; reads no row.

    >>> import privsieve as ps
    >>> made = ps.plan("rule-sieve", ps.Domain.box(0, 1, columns=100, target=(0, 9)), k=5,
    ...                epsilon=1, rows=3000, joint="votes")
    >>> made.method, made.settings["screened"], made.cost.text
    ('rule-sieve-votes/1', 15, '1')
    """
    # [pure] a delta helps no race for one set: it is not charged
    cost = Cost(Cost.of(asked.epsilon, delta=asked.delta, allow_weak=asked.allow_weak).epsilon)
    _check_domain(domain)
    _check_asked(asked)
    places = among(asked, domain)
    if places.taken or not places.plain:
        raise ParameterError('joint="votes" names all columns together, and always and '
                             "groups are for columns that are raced one by one; leave joint away")
    k = places.k
    if k > MOST:
        raise ParameterError(f"k is {k}, and votes are for sets of at most {MOST} columns; choose "
                             "fewer, or leave joint away")
    units = domain.public_units(rows)
    if units < 1:
        raise ParameterError("the table has no rows; a choice by votes needs at least 1")
    cost.check_units(units)
    _check_size(domain, units, asked.max_ops)
    rules = fewer(VoteRules(
        k, epsilon=cost.epsilon, domain=domain, units=units, places=places, fewer=asked.fewer,
        **{name: getattr(asked, name) for name in WISHES}), lambda one: one.forecast)
    sums = 8 * len(domain.columns)**2
    # A batch as numbers of eight bytes, once more with weights, and the products of its columns.
    takes = Takes(units * domain.rows_per_person * len(domain.columns)**2 / 1e10,
                  ((2 * sums + SETS * 8 * (k * k + 40), 2 * sums + 16 * 2**21),))
    return selection(
        rules, cost, lambda one: one.forecast, method=METHOD, takes=takes,
        settings=settings(rules, joint="votes", screened=rules.screened),
        noise=rules.sets.scale * (1 if domain.replaces else Fraction(1, 2)),
        event=together(*(race.event for race in (rules.screen, rules.sets) if race is not None)),
        theorem="rule-sieve-votes", summarise=adding(partial(summarise, rules=rules), domain),
        mechanism=partial(mechanism, rules=rules))


def summarise(batches: Iterable[Batch], key: int, *, rules: VoteRules) -> VoteSums:
    """Rows become sums of products of votes."""
    from privsieve.summaries.persons import summed
    from privsieve.summaries.votes import VoteSums

    domain = rules.domain
    return summed(batches, key, domain=domain, zero=VoteSums.zero(len(domain.columns)),
                  of=lambda batch, weight: VoteSums.of(batch, weight, domain))


# [vote-mechanism]
def mechanism(summary: VoteSums, noise: Noise, *, rules: VoteRules) -> tuple[int, ...]:
    """Sums meet noise: a race over columns where there are many sets, and one over sets."""
    import numpy as np

    from privsieve.noise.race import top_k
    from privsieve.summaries.votes import values

    if rules.k == len(rules.domain.columns):
        return tuple(range(rules.k))
    kept = tuple(range(rules.screened))
    if rules.screen is not None:
        single = [abs(score) for score in summary.target.tolist()]
        # [first] what is released: the names of the columns that stay
        kept = top_k(single, race_for(rules, rules.screen, 1), noise)
    sets = np.array(list(combinations(kept, rules.k)), np.intp)
    # [second] given the first, a race for one of the sets
    won = top_k(values(summary, sets), race_for(rules, rules.sets, 2 * rules.k**2), noise)[0]
    return tuple(sets[won].tolist())


def race_for(rules: VoteRules, race: Race, times: int) -> Race:
    """A race for scores that lie within so many squares of the largest vote, for each unit."""
    from dataclasses import replace

    from privsieve.summaries.votes import C

    # [vote-sensitivity] twice that for a unit that is replaced, once for one that comes or goes
    moves = (2 if rules.domain.replaces else 1) * times * C * C * rules.domain.unit_weight
    return replace(race, sensitivity=moves)
# [/vote-mechanism]


def suits(domain: Domain, k: int, reach: Fraction) -> bool:
    """Whether votes are likely to find more than single scores; `reach` is units times epsilon.

    Said of numbers whose typical values are declared: bounds alone may be far too wide for a vote.

    >>> numbers = [Number(name, typical=[0, 1]) for name in "abcdefghy"]
    >>> domain = Domain(numbers[:-1], target=numbers[-1])
    >>> suits(domain, 5, Fraction(2000)), suits(domain, 5, Fraction(1999)), suits(domain, 7,
    ...                                                                       Fraction(9999))
    (True, False, False)
    """
    scaled = all(isinstance(part, Number) and part.typical is not None
                 for part in (*domain.columns, domain.target))
    return (scaled and k <= MOST and k < len(domain.columns) <= COLUMNS
            and reach >= ENOUGH * k)


def _check_asked(asked: RuleSieveOptions) -> None:
    if asked.fewer is not None:
        raise ParameterError('joint="votes" names a whole set; leave fewer out')
    if asked.ordered:
        raise ParameterError('joint="votes" gives a set; it needs ordered=False')
    for name, plain in (("numeric", ("auto", None)), ("depth", (None,)),
                        ("class_prior", ("auto", None))):
        given = getattr(asked, name)
        if given not in plain:
            raise ParameterError(f'{name} is {given!r}, and joint="votes" has no use for it; leave '
                                 f"{name} out")


def _check_domain(domain: Domain) -> None:
    """Refuse what has no scale on which it could vote."""
    if not isinstance(domain.target, Number):
        what = "there is no target" if domain.target is None else (
            f"the target {domain.target.name!r} has classes")
        raise DomainError(f'joint="votes" is for a target that is a number, and {what}; leave '
                          "joint away")
    for column in (*domain.columns, domain.target):
        if isinstance(column, Number) and column.gridless:
            raise DomainError(f"{column.name!r} has no scale on which it could vote: write low "
                              "and high from a code book, without near, or typical = [centre, "
                              "spread], never from this table; or leave joint away")
        if isinstance(column, Category | Label):
            raise DomainError(f"column {column.name!r} is a category, and a vote needs a scale; "
                              'leave it out of the domain, or leave joint="votes" away')
    if len(domain.columns) > COLUMNS:
        raise DomainError(f"the domain has {len(domain.columns)} columns, and votes add up a "
                          f"product for each two of at most {COLUMNS}; name fewer in the domain, "
                          "or leave joint away")


def _check_size(domain: Domain, units: int, max_ops: int) -> None:
    """Refuse sums beyond 63 bits, with room for 16 times as many units, and runs of hours."""
    unit, d = domain.unit_weight, len(domain.columns)
    # [sums] squares of votes are 2^12, and a batch has at most 2^16 rows
    if max(units, 2**23) * unit >= 2**47:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}, which {units} "
                          "persons take past 63 bits; write less: of a person with more rows so "
                          "many are used")
    work = units * domain.rows_per_person * d * d // 4
    if work > max_ops:
        raise ParameterError(f"votes would take {work:.1e} operations for {d} columns of {units} "
                             f"units, and max_ops is {max_ops:.1e}; raise it, or name fewer "
                             "columns in the domain")
