"""NoisyTopK: an epsilon-DP set of columns by a score and a race.

What a column is worth is decided by a score (a file in `summaries/scores/`), of which this module
knows the contract only: a summary of rows, one integer a column, and how far one unit can move it.
See noisy_top_k.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.choosing import (
    CountNoise,
    Forecast,
    Places,
    among,
    charged,
    fewer,
    selection,
)
from privsieve.methods.labels import FINE, Labellings, balanced, equal, shares, written_shares
from privsieve.public.domain import Domain
from privsieve.public.event import together
from privsieve.public.option import Choosing, declared, option, settings, settled
from privsieve.public.plan import Chosen, Cost, Plan
from privsieve.release import NoisyCounts
from privsieve.summaries.scores import SCORES, Public, Score, ScoreSummary, score_of
from privsieve.summaries.stages import adding

if TYPE_CHECKING:
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

METHOD = "noisy-top-k/1"
#: Scores that were another mechanism in version 1.
LATER = {"correlation": "noisy-top-k/2"}
#: The share of epsilon that class_prior="noisy" spends on the class counts.
COUNT_SHARE = Fraction(1, 20)


@declared
class TopKOptions(Choosing):
    """What NoisyTopK is asked for."""

    score: str = option(default="mean-difference", choices=tuple(SCORES), rare=True,
                        says="what a column is worth; correlation is for a numeric target")
    class_prior: Any = option(
        default="noisy", read=written_shares, metavar="P", setting="class_share", rare=True,
        says="how the classes are weighed: noisy (a twentieth of epsilon), none, or public class "
             "shares")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        cost = Cost.of(self.epsilon, delta=self.delta, allow_weak=self.allow_weak)
        places = among(self, domain)
        public = Public(domain, domain.public_units(rows))
        if public.units < 2:
            raise ParameterError(f"the table has {public.units} {domain.unit}s; a choice from them "
                                 "needs at least 2")
        cost.check_units(public.units)
        prior = _prior(self, domain, weighed=score_of(self.score, public).weighed)
        terms = settled(Terms, self, n_features_to_select=places.total, epsilon=cost.epsilon,
                        delta=cost.delta, class_prior=prior, public=public, places=places)
        terms = fewer(terms, _forecast)
        race = terms.race
        # [rho] the counts' part is pure
        cost = charged(cost, race, terms.counted**2 / 2)
        terms = replace(terms, delta=cost.delta)
        counts = CountNoise(domain, terms.counted)
        return selection(
            terms, cost, _forecast, method=LATER.get(self.score, METHOD),
            settings=settings(terms), theorem="noisy-top-k",
            noise=race.scale * (1 if public.replace else Fraction(1, 2)),
            event=together(*counts.events, race.event), shows=counts.shows,
            summarise=adding(partial(summarise, terms=terms), domain),
            mechanism=partial(choose, terms=terms))


@declared
class Terms(TopKOptions):
    """The public parameters of one run: the options, settled, and the public facts."""

    public: Public
    places: Places

    @property
    def domain(self) -> Domain:
        """The columns to choose from."""
        return self.public.domain

    @property
    def units(self) -> int:
        """How many rows or persons there are."""
        return self.public.units

    @property
    def scored(self) -> Score[Any]:
        """The score that was asked for."""
        return score_of(self.score, self.public)

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        return self.places.race(self.epsilon - self.counted, delta=self.delta,
                                ordered=self.ordered)

    @property
    def counted(self) -> Fraction:
        """The part of epsilon that goes to class counts."""
        return self.epsilon * COUNT_SHARE if self.class_prior == "noisy" else Fraction(0)


def _forecast(terms: Terms) -> Forecast:
    """What the race is expected to find.

    Where units come and go instead of being replaced, one moves a score by half as much.
    """
    reach = Fraction(terms.units * (1 if terms.public.replace else 2))
    return terms.places.forecast(terms.race, reach, terms.sought)


def summarise(batches: Iterable[Batch], key: int, *, terms: Terms) -> ScoreSummary:
    """Rows become the sum of the score's summaries."""
    from privsieve.summaries.persons import summed

    score = terms.scored
    found: ScoreSummary = summed(batches, key, domain=terms.domain, zero=score.zero(), of=score.of)
    return found


# [choose]
def choose(summary: ScoreSummary, noise: Noise, *, terms: Terms) -> tuple[int, ...]:
    """A summary meets noise: class weights, values, race."""
    if terms.places.certain and not terms.ordered:
        return terms.places.columns()
    values, moves, weights = weighed(summary, noise, terms=terms)
    chosen = terms.places.chosen(values, replace(terms.race, sensitivity=moves), noise)
    return Chosen(chosen, **({} if weights is None else weights.said))


def weighed(summary: ScoreSummary, noise: Noise, *, terms: Terms,
            ) -> tuple[list[int], int, Labellings | None]:
    """A summary meets noise: values, how far a unit moves one of them, and class weights."""
    score = terms.scored
    weights = class_weights(summary.classes, terms, noise) if score.weighed else None
    return list(score.values(summary, weights)), score.sensitivity(weights), weights
# [/choose]


# [class-weights]
def class_weights(counts: Iterable[int], terms: Terms, noise: Noise) -> Labellings:
    """What each class counts for: the same, by declared shares, or by noisy counts."""
    from privsieve.noise.streams import discrete_laplace

    public, classes, unit = terms.public, list(counts), terms.public.weight
    if terms.class_prior is None:
        return equal(len(classes), public.units)
    if terms.class_prior != "noisy":
        return balanced([int(share * public.units * FINE) for share in terms.class_prior], FINE)
    # [count-sensitivity] a replaced unit may leave one class and enter another
    if public.replace and len(classes) == 2:
        mean = unit / terms.counted
        one = classes[1] + discrete_laplace(mean, noise)
        released = [public.units * unit - one, one]
    else:
        mean = (2 if public.replace else 1) * unit / terms.counted
        released = [n + discrete_laplace(mean, noise) for n in classes]
    # [released-counts] as they were drawn
    return balanced(released, unit, margin=4 * mean)._replace(
        counts=NoisyCounts(tuple(released), unit, mean))
# [/class-weights]


def _prior(asked: TopKOptions, domain: Domain, *, weighed: bool) -> object:
    """How the classes are weighed, where the score weighs them."""
    prior = asked.class_prior
    if prior is None or (isinstance(prior, str) and prior == "noisy"):
        return prior if weighed else None
    if not weighed:
        raise ParameterError(f"class_prior is {prior!r}, and score {asked.score!r} weighs no "
                             "classes; leave class_prior out")
    if isinstance(prior, str) and not prior[:1].isdigit():
        raise ParameterError(f'class_prior is {prior!r}; write "noisy", a share between 0 and 1, '
                             "or None")
    return shares(prior, domain.classes)
