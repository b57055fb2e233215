"""NoisyTopK: an epsilon-DP set of columns by a score and a race.

What a column is worth is decided by a score (a file in `summaries/scores/`), of which this module knows the
contract only: a summary of rows, one integer a column, and how far one unit can move it.  See
noisy_top_k.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from privsieve.errors import DomainError, ParameterError
from privsieve.methods import forecast
from privsieve.methods.parameters import charged, count
from privsieve.methods.weights import Labellings, balanced, equal, shares
from privsieve.public.assumptions import assumed
from privsieve.public.canonical import Json
from privsieve.public.cost import Cost
from privsieve.public.domain import Box, Domain
from privsieve.public.plan import Plan
from privsieve.summaries.scores import Counted, Public, Score, score_of

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

METHOD = "noisy-top-k/1"
#: The share of epsilon that class_share="noisy" spends on the class counts.
COUNT_SHARE = Fraction(1, 20)
#: Declared shares become whole numbers of this many parts of a unit.
FINE = 1000

Share = Literal["noisy"] | tuple[Fraction, ...] | None


@dataclass(frozen=True)
class Terms:
    """The public parameters of one run."""

    public: Public
    score_name: str
    mechanism: str
    k: int
    epsilon: Fraction
    class_share: Share
    ordered: bool
    delta: Fraction = Fraction(0)

    @property
    def score(self) -> Score[Any]:
        """The score that was asked for."""
        return score_of(self.score_name, self.public)

    @property
    def free(self) -> bool:
        """Whether there is nothing to choose."""
        return self.k == len(self.public.domain.columns) and not self.ordered

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        from privsieve.noise.race import Race

        return Race.of(len(self.public.domain.columns), self.k, 1, self.epsilon - self.counted,
                       delta=self.delta, ordered=self.ordered, mechanism=self.mechanism)

    @property
    def counted(self) -> Fraction:
        """The part of epsilon that goes to class counts."""
        return self.epsilon * COUNT_SHARE if self.class_share == "noisy" else Fraction(0)

    @property
    def forecast(self) -> forecast.Forecast:
        """What the race is expected to find.

        Where units come and go instead of being replaced, one moves a score by half as much.
        """
        public = self.public
        return forecast.expected(self.race, len(public.domain.columns), self.k,
                                 Fraction(public.units * (1 if public.replace else 2)))


def plan(  # the method's public options, all keyword-only
    domain: Domain,
    *,
    k: float | Fraction,
    epsilon: object,
    delta: object = 0,
    rows: int | None = None,
    score: str = "mean-difference",
    mechanism: str = "exponential",
    class_share: object = "noisy",
    ordered: bool = False,
    allow_weak: bool = False,
) -> Plan:
    """Plan one selection; reads no row.

    >>> from privsieve.public.domain import Domain
    >>> made = plan(Domain.box(0, 1, columns=30), k=3, epsilon=1, rows=569, score="class-counts")
    >>> made.cost.text, made.settings["score"]
    ('1', 'class-counts')
    """
    cost = Cost.of(epsilon, delta=delta, allow_weak=allow_weak)
    if isinstance(domain, Box):
        raise DomainError("this domain fits arrays of any width; to plan before there is one, say "
                          "how many columns: Domain.box(low, high, columns=30)")
    d = len(domain.columns)
    k = count(k, d)
    public = Public(domain, domain.public_units(rows))
    if public.units < 2:
        raise ParameterError(f"the table has {public.units} {domain.unit}s; a choice from them "
                             "needs at least 2")
    cost.check_units(public.units)
    share = _share(class_share, score, weighed=score_of(score, public).weighed, domain=domain)
    terms = Terms(public, score, mechanism, k, cost.epsilon, share, ordered, cost.delta)
    race = terms.race
    # [rho] the counts' part is pure
    cost = charged(cost, race, terms.counted**2 / 2)
    terms = replace(terms, delta=cost.delta)
    expected = terms.forecast
    costs = forecast.by_cost(cost.epsilon, lambda other: replace(terms, epsilon=other).forecast)
    return Plan(
        method=METHOD, kind="selection", domain=domain,
        cost=Cost(Fraction(0)) if terms.free else cost,
        units=public.units, settings=_settings(terms),
        noise=race.scale * (1 if public.replace else Fraction(1, 2)),
        forecast=forecast.json(expected, costs),
        warning=None if terms.free else forecast.warning(expected),
        theorem="noisy-top-k", assumes=assumed("noisy-top-k"),
        summarise=partial(summarise, terms=terms), mechanism=partial(choose, terms=terms),
    )


def summarise(batches: Iterable[Batch], key: int, *, terms: Terms) -> Counted:
    """Rows become the sum of the score's summaries."""
    from privsieve.summaries.persons import summed

    score = terms.score
    # [units] where the proof counts them, no more take part than were declared
    most = terms.public.units if score.counted else None
    found: Counted = summed(batches, key, domain=terms.public.domain, zero=score.zero(),
                            of=score.of, most=most)
    return found


# [choose]
def choose(summary: Counted, noise: Noise, *, terms: Terms) -> tuple[int, ...]:
    """A summary meets noise: class weights, values, race."""
    from privsieve.noise.race import top_k

    if terms.free:
        return tuple(range(terms.k))
    score = terms.score
    weights = class_weights(summary.classes, terms, noise) if score.weighed else None
    return top_k(score.values(summary, weights), terms.k, score.sensitivity(weights),
                 terms.epsilon - terms.counted, noise, ordered=terms.ordered, delta=terms.delta,
                 mechanism=terms.mechanism)
# [/choose]


# [class-weights]
def class_weights(counts: Iterable[int], terms: Terms, noise: Noise) -> Labellings:
    """What each class counts for: the same, by declared shares, or by noisy counts."""
    from privsieve.noise.streams import discrete_laplace

    public, classes, unit = terms.public, list(counts), terms.public.weight
    if terms.class_share is None:
        return equal(len(classes), public.units)
    if terms.class_share != "noisy":
        return balanced([int(share * public.units * FINE) for share in terms.class_share], FINE)
    # [count-sensitivity] a replaced unit may leave one class and enter another
    if public.replace and len(classes) == 2:
        mean = unit / terms.counted
        one = classes[1] + discrete_laplace(mean, noise)
        released = [public.units * unit - one, one]
    else:
        mean = (2 if public.replace else 1) * unit / terms.counted
        released = [n + discrete_laplace(mean, noise) for n in classes]
    return balanced(released, unit, margin=4 * mean)
# [/class-weights]


def _share(share: object, score: str, *, weighed: bool, domain: Domain) -> Share:
    """How the classes are weighed, where the score weighs them."""
    if share is None or (isinstance(share, str) and share == "noisy"):
        return share if weighed else None  # type: ignore[return-value]
    if not weighed:
        raise ParameterError(f"class_share is {share!r}, and score {score!r} weighs no classes; "
                             "leave class_share out")
    if isinstance(share, str) and not share[:1].isdigit():
        raise ParameterError(f'class_share is {share!r}; write "noisy", a share between 0 and 1, '
                             "or None")
    return shares(share, domain.classes, name="class_share")


def _settings(terms: Terms) -> Mapping[str, Json]:
    share = terms.class_share
    return {
        "k": terms.k,
        "score": terms.score_name,
        "mechanism": terms.mechanism,
        "ordered": terms.ordered,
        "class_share": [str(p) for p in share] if isinstance(share, tuple) else share,
    }
