"""The convex problem by plain gradient descent, one coordinate and one row at a time."""

from __future__ import annotations

from math import exp, log1p, sqrt


def slope(t):
    """1 / (1 + exp(t)), for any t."""
    return exp(-t) / (1 + exp(-t)) if t > 0 else 1 / (1 + exp(t))


def objective(Z, lam, w):
    """(1/N) sum log(1 + exp(-w.z)) + lam |w|^2."""
    total = 0.0
    for z in Z:
        t = sum(a * b for a, b in zip(w, z, strict=True))
        total += log1p(exp(-abs(t))) + max(0.0, -t)
    return total / max(1, len(Z)) + lam * sum(a * a for a in w)


def gradient(Z, lam, w, linear=None):
    """Its gradient, with that of a linear term."""
    actual_slope = [2 * lam * a for a in w]
    for j, value in enumerate(linear or ()):
        actual_slope[j] += value
    for z in Z:
        s = slope(sum(a * b for a, b in zip(w, z, strict=True)))
        for j, value in enumerate(z):
            actual_slope[j] -= s * value / len(Z)
    return actual_slope


def descend(Z, lam, d, steps=None, linear=None):
    """Gradient descent from 0: this number of steps, or until nothing moves."""
    length = max([1.0, *(sqrt(sum(v * v for v in z)) for z in Z)])
    w, eta = [0.0] * d, 2 / (length * length / 4 + 4 * lam)
    done = 0
    while steps is None or done < steps:
        at = gradient(Z, lam, w, linear)
        if steps is None and sqrt(sum(a * a for a in at)) < 1e-13:
            break
        w = [a - eta * b for a, b in zip(w, at, strict=True)]
        done += 1
    return w
