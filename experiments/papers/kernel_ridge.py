"""Private least squares in a kernel's space (Nie & Wang 2017), as printed.

NOT PRIVATE, and never with a certificate.  The paper releases pi(f) + b with one number b for the
whole function: at two points the difference of two answers has no noise at all.  The noise has the
printed scale and is made of floating-point numbers, from a seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError

Floats = npt.NDArray[np.float64]
Kernel = Callable[[Floats, Floats], Floats]

__all__ = ["least_squares", "printed_sensitivity", "private_least_squares", "projected"]


def least_squares(X: npt.ArrayLike, y: npt.ArrayLike, lam: float, kernel: Kernel,
                  ) -> Callable[[npt.ArrayLike], Floats]:
    """Equation 1: the minimiser of (1/m) sum (f(x_i) - y_i)^2 + lambda |f|^2, as a function.

    Not private: it is what noise is added to.

    >>> f = least_squares([[0.0], [1.0]], [1.0, 1.0], 0.1, gaussian)
    >>> f([[0.5]]).round(4).tolist()
    [0.977]
    """
    points, target = np.asarray(X, np.float64), np.asarray(y, np.float64)
    if not lam > 0:
        raise ParameterError(f"lam={lam} must be above 0")
    system = kernel(points, points) + len(points) * lam * np.eye(len(points))
    by = np.linalg.solve(system, target)
    return lambda Z: kernel(np.asarray(Z, np.float64), points) @ by


def gaussian(X: Floats, Z: Floats) -> Floats:
    """Return the kernel exp(-|x - z|^2 / 2), whose kappa is 1.

    >>> gaussian(np.zeros((1, 1)), np.ones((1, 1))).round(4).tolist()
    [[0.6065]]
    """
    square: Floats = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    return np.exp(-square / 2)


def projected(values: Floats, M: float) -> Floats:
    """Apply the operator pi: cut values to [-M, M].

    >>> projected(np.array([-3.0, 0.5]), 1).tolist()
    [-1.0, 0.5]
    """
    return np.clip(values, -M, M)


def printed_sensitivity(m: int, lam: float, kappa: float = 1.0, M: float = 1.0) -> float:
    """Lemma 2 with R = M / sqrt(lambda): 2 R kappa^2 (kappa + 1) / (lambda m), for lambda up to 1.

    It holds, and is four to thirteen times what was attained.

    >>> round(printed_sensitivity(10_000, 0.1), 5)
    0.01265
    """
    if not (m > 0 and 0 < lam <= 1 and kappa > 0 and M > 0):
        raise ParameterError(f"m={m}, kappa={kappa} and M={M} must be above 0, and lam={lam} "
                             "between 0 and 1")
    return 2 * M / math.sqrt(lam) * kappa**2 * (kappa + 1) / (lam * m)


def private_least_squares(f: Callable[[npt.ArrayLike], Floats], sensitivity: float, epsilon: float,
                          M: float = 1.0, *, random_state: int | np.random.Generator | None = None,
                          ) -> Callable[[npt.ArrayLike], Floats]:
    """Equation 2: pi(f) + b with one Laplace number b, as a function.

    Lemma 1 is right for an answer at one point.  The function is not private, and neither are two
    answers: f(x) - f(z) leaves exactly, and two neighbours have different ones.

    >>> release = private_least_squares(least_squares([[0.0]], [1.0], 0.1, gaussian), 1, 1)
    >>> difference = np.subtract(*release([[0.0], [2.0]]))
    >>> abs(difference - np.subtract(*least_squares([[0.0]], [1.0], 0.1, gaussian)(
    ...     [[0.0], [2.0]]))) < 1e-12
    np.True_
    """
    if not (epsilon > 0 and sensitivity > 0):
        raise ParameterError(f"epsilon={epsilon} and sensitivity={sensitivity} must be above 0")
    b = np.random.default_rng(random_state).laplace(0, sensitivity / epsilon)
    return lambda Z: projected(f(Z), M) + b
