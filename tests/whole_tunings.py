"""What the whole of a tuning loses at most, over pairs of tables: `python tests/whole_tunings.py`.

The laws are those that are shipped: of K, of a race's exponential noise, of the predictor's and the
score's Laplace noise, with the shares of a try's price.  Left out is what only blurs: how the cut
falls for the other rows, rounding, and noise in what a class is worth.  One column is told apart
(`mine`): its first candidate names it or a column that never wins; a second candidate names a good
column or a bad one.  A unit that learns is for the first and against the good one, in a choice and
in two cells of each one's counts, which decide about rows of the second part.  A unit that judges
is predicted rightly by the first alone, or by all others.
"""

from __future__ import annotations

import sys
from dataclasses import astuple, dataclass
from math import log

import numpy as np

from privsieve.methods.tuning import CHOOSING, LEARNING
from privsieve.noise.stopping import PRICE, chances

#: The score, in what one unit is worth.
AT = np.linspace(-20, 20, 801)
#: A column whose score never wins.
LOST = -9.0
#: A bound of 99 % is about so many standard errors below what is lost.
DOUBT = 2.58
#: P(K = i) i, the highest first: a polynomial whose value is how often a score is not beaten.
KEPT = [float(w * i) / sum(chances()) for i, w in reversed([*enumerate(chances(), 1)])]


def under(x, epsilon):
    """P(Laplace noise <= x), where a step of 1 costs epsilon."""
    return np.where(x < 0, np.exp(epsilon * np.minimum(x, 0)) / 2,
                    1 - np.exp(-epsilon * np.abs(x)) / 2)


def wins(tries, epsilon):
    """How often the best of K tries is `mine`; tries are (share, score, whether it is mine)."""
    beaten = sum(share * under(AT - score, epsilon) for share, score, _ in tries)
    mine = sum(share * epsilon / 2 * np.exp(-epsilon * np.abs(AT - score))
               for share, score, own in tries if own)
    return float((mine * np.polyval(KEPT, beaten)).sum() * (AT[1] - AT[0]))


def first(gap, epsilon):
    """How often a race for one of two columns names the first, which is so many units ahead.

    Its noise is exponential, of mean 2 / epsilon.
    """
    return float(under(np.array(gap), epsilon / 2))


@dataclass(frozen=True)
class Whole:
    """A pair for a whole tuning at this epsilon.

    share : of the tries whose candidate may name `mine`
    behind : how far it is behind in that race
    gap : how far the good column is ahead of the bad one
    score, step : what `mine` scores, and what each of its two cells decides about
    good, stride : the same of the good column
    """

    share: float = .3
    behind: float = 3.0
    gap: float = 0.0
    score: float = 0.0
    step: float = 1.0
    good: float = 0.0
    stride: float = 1.0

    def tries(self, way, epsilon):
        """The law of one try, where the unit is for `mine` (1), against it (-1), or judges (0)."""
        tried = epsilon / float(PRICE)
        choosing = tried * float(CHOOSING)
        named = self.share * first(way - self.behind, choosing)
        best = (1 - self.share) * first(self.gap - way, choosing)
        cell = float(under(np.array(way / 2), (tried - choosing) / 2))
        made = [(1 - named - best, LOST, False)]
        for up, chance in ((-1, (1 - cell)**2), (0, 2 * cell * (1 - cell)), (1, cell**2)):
            made.append((named * chance, self.score + up * self.step, True))
            made.append((best * chance, self.good - up * self.stride, False))
        return made

    def parts(self, epsilon):
        """How often `mine` is released where the unit learns, and where it judges, each way."""
        tried = epsilon / float(PRICE)
        between = self.tries(0, epsilon)
        judged = [[(share, score + (way if own else -way) / 2, own)
                   for share, score, own in between] for way in (1, -1)]
        return ([wins(self.tries(way, epsilon), tried) for way in (1, -1)],
                [wins(made, tried) for made in judged])

    def released(self, epsilon, learning=float(LEARNING)):
        """How often `mine` is released of each table, where nobody knows who learns."""
        return [learning * learned + (1 - learning) * judged
                for learned, judged in zip(*self.parts(epsilon), strict=True)]


def loss(pair, epsilon):
    """What the release of `mine` loses."""
    more, less = pair.released(epsilon)
    return log(more / less)


def needed(pair, epsilon, claim):
    """How often each table would have to be counted for a bound above the claim."""
    more, less = pair.released(epsilon)
    above = log(more / less) - claim
    return ((1 - more) / more + (1 - less) / less) * (DOUBT / above)**2 if above > 0 else None


def worst(often, epsilon, rng, steps=800):
    """The pair that loses most in what comes so often on one table; a climb from a random place."""
    sizes = np.array([.1, 1, 1, 1, .7, 1, .7])

    def value(pair):
        more, less = pair.released(epsilon)
        return log(more / less) - 3 * max(0.0, log(often / more))

    def moved(pair, far):
        at = np.array(astuple(pair)) + sizes * far * rng.normal(size=7) * (rng.random(7) < .4)
        return Whole(*np.clip(at, [.003, -9, -9, -6, 0, -6, 0], [.997, 9, 9, 6, 6, 6, 6]).tolist())

    best = max((moved(Whole(), 1.5) for _ in range(40)), key=value)
    for _ in range(steps):
        best = max(best, moved(best, rng.choice([1, .3, .1])), key=value)
    return best


def lines(epsilon=2.0, claim=1.0):
    """A row for each probability: the loss, what it is made of, and how many runs would show it."""
    rng = np.random.default_rng(0)
    for often in (.1, .05, .02, .01, .005, .002):
        pair = max((worst(often, epsilon, rng) for _ in range(4)),
                   key=lambda one: loss(one, epsilon))
        learned, judged = (log(more / less) for more, less in pair.parts(epsilon))
        runs = needed(pair, epsilon, claim)
        yield (f"| {often:g} | {loss(pair, epsilon):.2f} | {learned:.2f} | {judged:.2f} | "
               f"{f'{runs:,.0f}' if runs else 'none'} |")


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
