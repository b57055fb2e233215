"""FELP: the mean of FWELL over bootstrap samples, plus noise (Liu 2018), as printed.

NOT PRIVATE, and never with a certificate.  The sensitivity of the mean is said to be that of one
FWELL.  On the way there a record is given the weight that it has in the average list; but a
bootstrap holds some records five or seven times, and privacy is a promise to those, too.  Each
FWELL has the fault that it has alone: a record is the nearest of many others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from papers.fwell import Floats, Ints, Variant, fwell
from papers.private_fwell import Seed, demand_epsilon, gamma_noise, printed_sensitivity
from privsieve.errors import ParameterError

__all__ = ["FwellEN", "felp", "stability"]


@dataclass(frozen=True)
class FwellEN:
    """FWELL-EN: the mean of FWELL over k bootstrap samples of ceil(beta n) records each.

    The copies of a record are records, and a copy is the nearest hit of the other at distance zero:
    nothing is said about it, so it stays.  k and beta are the paper's.

    Not private: it adds no noise.

    >>> ensemble = FwellEN(lam=0.1, k=3)
    >>> samples = ensemble.samples(12, random_state=0)
    >>> samples.shape
    (3, 11)
    >>> X, y = [[0, 0], [0, 0.5], [1, 0], [1, 0.5]] * 3, [0, 0, 1, 1] * 3
    >>> ensemble.weights(X, y, samples).argmax()
    np.int64(0)
    """

    lam: float
    k: int = 20
    beta: float = 0.9
    reading: Variant = field(default_factory=Variant)

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 < self.beta <= 1:
            raise ParameterError(f"k={self.k} and beta={self.beta} do not make samples; "
                                 "give a k from 1 and a beta above 0, up to 1")

    def samples(self, n: int, random_state: Seed = None) -> Ints:
        """Draw the records of each of the k samples with replacement."""
        rng = np.random.default_rng(random_state)
        return rng.integers(n, size=(self.k, math.ceil(self.beta * n)))

    def weights(self, X: npt.ArrayLike, y: npt.ArrayLike, samples: Ints) -> Floats:
        """Return the mean of the samples' weights; neighbours are searched within a sample."""
        table, labels = np.asarray(X, np.float64), np.asarray(y)
        each = [fwell(table[r], labels[r], self.lam, self.reading) for r in samples]
        mean: Floats = np.mean(each, axis=0)
        return mean


def stability(n: int, lam: float, beta: float) -> float:
    """Return the stability that is printed; twice this is Lemma 1's bound.

    The share beta of lists that hold a record is an average over lists and samples without
    replacement: a list holds it or not, and then up to all of its places.

    Not private: for one list, a record that it holds seven times moves the weights by more.

    >>> round(2 * stability(1000, 0.1, 0.9), 6) == printed_sensitivity(1000, 0.1)
    True
    """
    return beta / (math.ceil(beta * n) * lam)


def felp(X: npt.ArrayLike, y: npt.ArrayLike, ensemble: FwellEN, epsilon: float, *,
         random_state: Seed = None) -> Floats:
    """FELP: the weights of FWELL-EN, plus noise of rate n epsilon lambda / 2.

    The proof has twice the stability, 2 beta / (ceil(beta n) lambda); the noise has 2/(lambda n),
    which is not less.

    Not private: the noise is for a sensitivity of 2/(lambda n), which neither one margin nor the
    mean over samples keeps to.

    >>> X, y = [[0, 0], [0, 0.5], [1, 0], [1, 0.5]], [0, 0, 1, 1]
    >>> felp(X, y, FwellEN(lam=0.1, k=5), epsilon=1000, random_state=1).argmax()
    np.int64(0)
    """
    demand_epsilon(epsilon)
    rng = np.random.default_rng(random_state)
    n = len(np.asarray(y))
    w = ensemble.weights(X, y, ensemble.samples(n, rng))
    rate = epsilon / printed_sensitivity(n, ensemble.lam)
    return w + gamma_noise(len(w), rate, rng)
