"""Private FWELL (Yang & Li 2014), and Output- and Objective-FWELL (Li, Yang & Ji 2016), as printed.

NOT PRIVATE, and never with a certificate.  The noise has the printed scale, for a sensitivity that
was derived as if each margin came from one record; one record may be the nearest of all others.
It is made of floating-point numbers, from a seed.  The papers tune lambda on the private rows,
which no epsilon pays for.

`private_fwell` is Output-FWELL of the second paper, too, which prints the sign of the margins
reversed: with `Variant(sign="printed")` the columns that tell the classes apart come last.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from papers.fwell import Floats, Variant, argmin, fwell, margins
from privsieve.errors import ParameterError

Seed = int | np.random.Generator | None

__all__ = ["gamma_noise", "objective_budget", "objective_fwell", "printed_sensitivity",
           "private_fwell"]

#: The largest second derivative of the logistic loss.
CURVATURE = 0.25


def printed_sensitivity(n: int, lam: float) -> float:
    """Corollary 1: 2/(lambda n), by which the weights are said to move at most.

    Not private: a row that is the nearest neighbour of many moves them
    hundreds of times as far (see `docs/papers.md`).

    >>> printed_sensitivity(100, 0.1)
    0.2
    """
    if not (n > 0 and lam > 0):
        raise ParameterError(f"n={n} and lam={lam} must be above 0")
    return 2 / (lam * n)


def gamma_noise(d: int, rate: float, random_state: Seed = None) -> Floats:
    """Draw a vector of density proportional to exp(-rate |b|).

    Algorithm 2 lists the constant a of this density as a parameter; it is what makes the density
    integrate to one, and nobody can choose it.

    Not private: floating-point numbers from a seed.

    >>> gamma_noise(2, 1.0, random_state=0).shape
    (2,)
    """
    rng = np.random.default_rng(random_state)
    direction = rng.normal(size=d)
    return direction / np.linalg.norm(direction) * rng.gamma(d, 1 / rate)


def private_fwell(X: npt.ArrayLike, y: npt.ArrayLike, lam: float, epsilon: float,
                  reading: Variant | None = None, *, random_state: Seed = None) -> Floats:
    """Algorithm 2: the weights of FWELL, plus noise of rate n epsilon lambda / 2.

    The step "obtain w according to Algorithm 1" is not the minimiser that the proof takes w for;
    `Variant(weights="argmin")` is.

    Not private: the noise is for a sensitivity of 2/(lambda n), which holds for neither reading.

    >>> X, y = [[0, 0], [0, 0.5], [1, 0], [1, 0.5]], [0, 0, 1, 1]
    >>> private_fwell(X, y, 0.1, epsilon=1000, random_state=0).argmax()
    np.int64(0)
    """
    demand_epsilon(epsilon)
    w = fwell(X, y, lam, reading)
    rate = epsilon / printed_sensitivity(len(np.asarray(y)), lam)
    return w + gamma_noise(len(w), rate, random_state)


def objective_budget(n: int, lam: float, epsilon: float) -> tuple[float, float]:
    """Return the epsilon of the noise in the objective, and the convexity that pays the rest.

    Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 2, with c = 1/4 and their Lambda = 2 lambda.

    Not private: the terms are right for margins of one record each, and these are not.

    >>> spend, extra = objective_budget(100, 0.1, 1.0)
    >>> round(spend, 6), extra, objective_budget(1, 0.001, 1.0)[0]
    (0.975155, 0.0, 0.5)
    """
    demand_epsilon(epsilon)
    strength = 2 * lam
    left = epsilon - 2 * math.log1p(CURVATURE / (n * strength))
    if left > 0:
        return left, 0.0
    return epsilon / 2, CURVATURE / (n * math.expm1(epsilon / 4)) - strength


def objective_fwell(X: npt.ArrayLike, y: npt.ArrayLike, lam: float, epsilon: float,
                    reading: Variant | None = None, *, random_state: Seed = None) -> Floats:
    """Objective-FWELL: the minimiser of the objective plus b.w / n, where b is noise.

    Our copy of the paper ends before this algorithm; this is the one of 2011 that it names.  It
    stands on the minimiser, so `weights` of the reading does not matter.

    Not private: the theorem of 2011 is about losses of one record each, with margins up to 1, and
    about the exact minimiser; one record in many margins moves the gradient by more than 2.

    >>> X, y = [[0, 0], [0, 0.5], [1, 0], [1, 0.5]], [0, 0, 1, 1]
    >>> objective_fwell(X, y, 0.1, epsilon=1000, random_state=0).argmax()
    np.int64(0)
    """
    z = margins(X, y, reading)
    spend, extra = objective_budget(len(z), lam, epsilon)
    b = gamma_noise(z.shape[1], spend / 2, random_state)
    return argmin(z, lam, b / len(z), extra)


def demand_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not above zero."""
    if not epsilon > 0:
        raise ParameterError(f"epsilon={epsilon} must be above 0")
