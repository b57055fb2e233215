"""Noise that is exactly rounded, against peers that round and peers that do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
from sklearn.feature_selection import f_classif

from measure import Goal, call
from privsieve.noise.discrete import two_sided
from privsieve.noise.race import Race, top_k
from privsieve.noise.streams import system
from privsieve.noise.values import Grid, gamma, gaussian, laplace

SCORES, LENGTH, ROWS = 88_000, 12_600, 5_000


def races(rng, runs, f):
    """A choice among many scores, by each race, against a filter on a narrower table."""
    scores = [int(s) for s in rng.integers(0, 240_000, SCORES)]
    ways = {"race": {}, "ordered race": {"ordered": True},
            "race with delta": {"delta": Fraction(1, 10**6)}}
    for name, options in ways.items():
        race = Race(SCORES, 20, 24, Fraction(1), **options)
        ours = call(lambda race=race: top_k(scores, race, system()), runs)
        yield Goal(f"{name}, {SCORES} scores / f_classif {ROWS} x {LENGTH}", ours / f, 10,
                   f"ours {ours:.3f} s, f_classif {f:.3f} s")


def vectors(runs):
    """Vectors of 12,600 numbers, against the same noise of OpenDP."""
    dp.enable_features("contrib")
    numbers = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    peers = {"Laplace": dp.m.make_laplace(numbers, dp.l1_distance(T=float), scale=1.0),
             "Gaussian": dp.m.make_gaussian(numbers, dp.l2_distance(T=float), scale=1.0)}
    zeros, w = [0.0] * LENGTH, [0] * LENGTH
    spent = {name: call(lambda peer=peer: peer(zeros), runs) for name, peer in peers.items()}
    wide, narrow = Grid.of(LENGTH, Fraction(1)), Grid.of(LENGTH, Fraction(1), norm=1)
    ways = {
        ("Gamma-norm", "Laplace"): lambda: gamma(w, wide, Fraction(1), system()),
        ("Laplace", "Laplace"): lambda: laplace(w, narrow, Fraction(1), system()),
        ("Gaussian", "Gaussian"): lambda: gaussian(w, wide, Fraction(4), system()),
    }
    for (name, peer), draw in ways.items():
        ours = call(draw, runs)
        yield Goal(f"{name} vector of {LENGTH} / OpenDP {peer}", ours / spent[peer], 1,
                   f"ours {ours:.3f} s, OpenDP {spent[peer]:.3f} s")


def counts(runs):
    """Noise on 65,536 counts, against the discrete Laplace law of OpenDP."""
    dp.enable_features("contrib")
    peer = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int),
                             scale=2.0)
    zeros = [0] * 2**16
    spent = call(lambda: peer(zeros), runs)
    ours = call(lambda: two_sided(Fraction(2), len(zeros), system()), runs)
    yield Goal("noise on 65,536 counts / OpenDP discrete Laplace", ours / spent, 1 / 5,
               f"ours {ours:.3f} s, OpenDP {spent:.3f} s")


def goals(*, short):
    """Goals of exact noise: a race is no longer than ten filters, a vector than OpenDP's."""
    rng, runs = np.random.default_rng(0), 3 if short else 7
    X, y = rng.standard_normal((ROWS, LENGTH)), rng.integers(0, 2, ROWS)
    f = call(lambda: f_classif(X, y), runs)
    return [*counts(runs), *vectors(runs), *races(rng, runs, f)]
