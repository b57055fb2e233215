"""NoisyTopK: an epsilon-DP set of columns, by a score and a noisy top-k selection.

Each score is a file in `summaries/scores/`.  This module knows its contract only: a summary of
rows, an integer for each column, and the largest move of it by one unit.
See noisy_top_k.proof.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from privsieve.errors import ParameterError
from privsieve.methods.choosing import Choosing, ColumnChoice, Run, charged, selection
from privsieve.methods.labels import (
    FINE,
    CountNoise,
    Labellings,
    balanced,
    equal,
    shares,
    written_shares,
)
from privsieve.methods.method import DOUBLES
from privsieve.public.domain import Domain
from privsieve.public.event import together
from privsieve.public.option import declared, option, settings
from privsieve.public.plan import Chosen, Plan
from privsieve.summaries.scores import SCORES, Public, Score, ScoreSummary, score_class, score_of
from privsieve.summaries.stages import adding

if TYPE_CHECKING:
    from privsieve.methods.worst import Pair
    from privsieve.noise.race import Race
    from privsieve.noise.streams import Noise
    from privsieve.rows.batch import Batch

METHOD = "noisy-top-k/1"
#: Scores that were another mechanism in version 1.
LATER = {"correlation": "noisy-top-k/2"}
#: The share of epsilon that class_prior="noisy" spends on the class counts.
COUNT_SHARE = Fraction(1, 20)


@declared
class NoisyTopKOptions(Choosing):
    """Choose columns under pure epsilon-DP by a noisy score of each column.

    A score sees one column at a time.  `RuleSieve` finds columns that matter only together.

    Examples
    --------
    >>> import privsieve as ps
    >>> domain = ps.Domain.box(0.0, 1.0, columns=4)
    >>> ps.NoisyTopK(1, epsilon=2, domain=domain).plan(rows=1000).settings["score"]
    'mean-difference'
    """

    theorems = ("noisy-top-k",)
    assumes = DOUBLES

    score: str = option(default="mean-difference", choices=tuple(SCORES), rare=True,
                        says="the score of a column; correlation is for a numeric target")
    class_prior: Any = option(
        default="noisy", read=written_shares, metavar="P", setting="class_share", rare=True,
        says="how rare classes gain weight: noisy (costs a twentieth of epsilon), none, or public "
             "class shares")

    def planned_choice(self, choice: ColumnChoice, rows: int | None) -> Plan:
        """Plan one selection; reads no row."""
        cost, units = choice.priced(rows)
        domain = choice.domain
        weighs_classes = score_of(self.score, Public(domain, units)).weighed
        terms = choice.run(Terms, cost, units, class_prior=self._prior(domain, weighs_classes))
        race = terms.race
        # [rho] the noise of the counts is pure
        cost = charged(cost, race, terms.counted**2 / 2)
        terms = replace(terms, delta=cost.delta)
        return selection(
            choice, terms, cost, method=LATER.get(self.score, METHOD),
            settings=settings(terms), theorem="noisy-top-k",
            noise=race.scale * (1 if domain.replaces else Fraction(1, 2)),
            event=together(*terms.counts.events, race.event), shows=terms.counts.shows,
            summarise=adding(partial(summarise, terms=terms), domain),
            mechanism=partial(choose, terms=terms))

    def _prior(self, domain: Domain, weighs_classes: bool) -> object:  # noqa: FBT001
        """Return how the classes are weighed, where the score weighs them."""
        prior = self.class_prior
        if prior is None or (isinstance(prior, str) and prior == "noisy"):
            return prior if weighs_classes else None
        if not weighs_classes:
            raise ParameterError(f"class_prior is {prior!r}, but score {self.score!r} does not "
                                 "weigh classes; leave class_prior out")
        if isinstance(prior, str) and not prior[:1].isdigit():
            raise ParameterError(f'class_prior is {prior!r}; write "noisy", a share between 0 and '
                                 "1, or None")
        return shares(prior, domain.classes)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return the pairs of each score, and of class counts."""
        from privsieve.methods.worst import counted

        pairs = {name: _score_pair(name) for name in SCORES}
        return {"": pairs.pop("mean-difference"), **pairs, "counts": counted(1)}


def _score_pair(name: str) -> Pair:
    """Return the pair of a score; by default a row takes a unit from one column to another."""
    from privsieve.methods.worst import TOP, in_two, of_codes, sides

    rows = getattr(score_class(name), "worst_rows", None)
    if rows is None:
        return in_two(sides(), k=1, score=name, class_prior=None)
    first, second = ([[TOP * int(cell) for cell in row] for row in table] for table in rows)
    return of_codes(Domain.box(0, 1, columns=2, target=(0, 1)), first, second, k=1, score=name)


@declared
class Terms(NoisyTopKOptions, Run):
    """The public parameters of one run."""

    @property
    def public(self) -> Public:
        """The facts that the score knows."""
        return Public(self.domain, self.units)

    @property
    def scored(self) -> Score[Any]:
        """The score of the columns."""
        return score_of(self.score, self.public)

    @property
    def race(self) -> Race:
        """The race for scores that one unit moves by 1."""
        return self.places.race(self.epsilon - self.counted, delta=self.delta, ordered=self.ordered)

    @property
    def counts(self) -> CountNoise:
        """The noise of the class counts that are drawn before the race."""
        return CountNoise(self.domain, self.units, self.counted)

    @property
    def counted(self) -> Fraction:
        """The epsilon of class counts."""
        return self.epsilon * COUNT_SHARE if self.class_prior == "noisy" else Fraction(0)


def summarise(batches: Iterable[Batch], key: int, *, terms: Terms) -> ScoreSummary:
    """Add up the score's summaries of rows."""
    from privsieve.summaries.persons import summed

    score = terms.scored
    total: ScoreSummary = summed(batches, key, domain=terms.domain, zero=score.zero(), of=score.of)
    return total


# [choose]
def choose(summary: ScoreSummary, noise: Noise, *, terms: Terms) -> tuple[int, ...]:
    """Draw the class weights, and run one race over the values."""
    if terms.places.certain and not terms.ordered:
        return terms.places.columns()
    values, moves, weights = weighed(summary, noise, terms=terms)
    chosen = terms.places.chosen(values, replace(terms.race, sensitivity=moves), noise)
    return Chosen(chosen, **({} if weights is None else weights.fields))


def weighed(summary: ScoreSummary, noise: Noise, *, terms: Terms,
            ) -> tuple[list[int], int, Labellings | None]:
    """Return values, the largest move of a value by one unit, and class weights."""
    score = terms.scored
    weights = class_weights(summary.classes, terms, noise) if score.weighed else None
    return list(score.values(summary, weights)), score.sensitivity(weights), weights
# [/choose]


# [class-weights]
def class_weights(counts: Iterable[int], terms: Terms, noise: Noise) -> Labellings:
    """Return the weights of classes: equal, or from declared shares or noisy counts."""
    public, known = terms.public, list(counts)
    if terms.class_prior is None:
        return equal(len(known), public.units)
    if terms.class_prior != "noisy":
        return balanced([int(share * public.units * FINE) for share in terms.class_prior], FINE)
    return terms.counts.balanced(terms.counts.draw(known, noise))
# [/class-weights]
