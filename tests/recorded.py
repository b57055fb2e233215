"""The noise of a release recorded at its boundary, and played again on a neighbouring table.

After the protocol of Re:cord-play (arXiv 2602.17454), written anew.  Each function of
`privsieve.noise` that a method calls is wrapped.  On table A the calls are recorded: the numbers
that meet noise, the declared parameters, the scale that is drawn with, and the output.  On table
B, with the same key and tags, the outputs of A are played, so that later steps see the same
released values.  A boundary that keeps its promise shows the same calls with the same parameters,
numbers that moved by no more than the noise is made for, and the same release.

How far numbers may move follows from the scale that was drawn with and the epsilon of the call, by
the theorem of the noise; no constant of a method is read.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import hypot

import numpy as np

from privsieve.local import solver
from privsieve.noise import approximate, balls, discrete, race, streams, values

#: What methods call, and what these draw with: all are wrapped wherever they were imported.
WRAPPED = {
    "top_k": race.top_k, "discrete_laplace": streams.discrete_laplace,
    "geometric": streams.geometric, "two_sided": discrete.two_sided, "noisy": discrete.noisy,
    "above": discrete.above, "gamma": values.gamma, "laplace": values.laplace,
    "gaussian": values.gaussian, "gamma_drawn": values.gamma_drawn, "rounded": values.rounded,
    "floors": balls.floors,
    "minimise": solver.minimise,
}
#: What meets noise inside the call, by its first argument.
HANDED = ("top_k", "noisy", "above", "gamma", "laplace", "gaussian")
#: Counts declare no epsilon: what the mean of their noise says is what they cost.
COUNTS = ("noisy", "above", "discrete_laplace", "geometric")
#: Calls of the solver are recorded for their arguments; they draw nothing.
SOLVED = "minimise"


class Different(Exception):
    """On B the calls are others than on A."""


@dataclass(eq=False)
class Call:
    """A call of the boundary.

    law : the parameters, which have to be the same on both tables
    met : the numbers that meet its noise
    drawn : what is drawn inside, with which parameters
    """

    name: str
    law: tuple
    met: list = field(default_factory=list)
    drawn: list = field(default_factory=list)
    output: object = None

    @property
    def kind(self):
        """What has to be the same on both tables."""
        # A Gumbel race refines its draws; cells that are 0 have no draw where others are named.
        drawn = self.drawn[:1] if self.name == "top_k" else self.drawn
        if self.name == "above":
            return self.name, self.law, [step[:2] for step in drawn]
        return self.name, self.law, len(self.met), drawn


class Coins(streams.Noise):
    """Tags and a key that are given, and draws that a seed decides."""

    private = False

    def __init__(self, record, tags):
        self._record, self._tags = record, iter(tags)
        self._draws = streams.replay(record.seed)

    def key(self):
        return self._record.seed

    def bytes(self, count):
        if self._record.inside:
            return self._draws.bytes(count)
        return b"".join(next(self._tags).to_bytes(8, "little") for _ in range(count // 8))


class Count:
    """Noise that is yet to be added to a count by the caller; the sum is played."""

    __array_ufunc__ = None

    def __init__(self, record, call, draw, place=0):
        self.record, self.call, self.draw, self.place = record, call, draw, place

    def __radd__(self, count):
        self.call.met.append(int(count))
        return self.record.play(self.call, len(self.call.met) - 1, int(count) + self.draw)


class Half(Count):
    """A geometric draw that is added, and another that is then taken away."""

    def __radd__(self, count):
        return Met(self, int(count))


class Met(Count):
    """A count and the first half of its noise."""

    def __init__(self, half, count):
        self.half, self.count = half, count

    def __sub__(self, other):
        self.half.call.met.append(self.count)
        return self.half.record.play(self.half.call, len(self.half.call.met) - 1,
                                     self.count + self.half.draw - other.draw)


@dataclass(eq=False)
class Record:
    """The calls of one run; those of another run, whose outputs are played."""

    seed: int
    played: Record | None = None
    calls: list = field(default_factory=list)
    solved: list = field(default_factory=list)
    inside: list = field(default_factory=list)
    different: str = ""

    def play(self, call, place, output):
        """The output number `place` of a call: its own on A, that of A on B."""
        if call.output is None:
            call.output = []
        if self.played is None:
            call.output.append(output)
            return output
        other = self.played.calls[self.calls.index(call)].output
        if not isinstance(other, list) or place >= len(other):
            raise self.differs(f"{call.name} meets more numbers")
        return other[place]

    def differs(self, how):
        """What to raise where calls go apart; it is remembered, as a release hides its text."""
        self.different = self.different or how
        return Different(how)

    def begun(self, call):
        """A call of the boundary; on B it has to be the next one of A."""
        place = len(self.calls)
        self.calls.append(call)
        if self.played is None:
            return
        others = self.played.calls
        known = (others[place].name, others[place].law) if place < len(others) else "nothing"
        if known != (call.name, call.law):
            raise self.differs(f"call {place} is {call.name} {call.law}, and was {known}")

    def ended(self, call, output):
        """Remember an output, or play that of A."""
        if self.played is not None and call.name not in ("above", "gamma_drawn"):
            return self.played.calls[self.calls.index(call)].output
        call.output = output
        return output


_CURRENT = []


def _law(name, values):
    """The parameters of a call as values that can be compared."""
    if name == "top_k":
        race = values["race"]
        return (*(getattr(race, name) for name in (
            "d", "k", "sensitivity", "epsilon", "delta", "ordered")),)
    return tuple(value for own_name, value in values.items()
                 if own_name not in ("noise", "streams", "law")
                 and not (name in HANDED and own_name in ("w", "counts", "scores")))


def _wrapper(name, original):
    signature = inspect.signature(original)

    def call(*args, **kwargs):
        if not _CURRENT:
            return original(*args, **kwargs)
        record = _CURRENT[-1]
        arguments = signature.bind(*args, **kwargs).arguments
        if name == SOLVED:
            output = original(*args, **kwargs)
            record.solved.append((arguments["Z"], arguments["lam"], arguments.get("start"),
                                  output.w))
            return output
        if record.inside:
            record.inside[-1].drawn.append((name, *_law(name, arguments)))
            return original(*args, **kwargs)
        new_call = Call(name, _law(name, arguments))
        if name in HANDED:
            new_call.met = [int(x) for x in next(iter(arguments.values()))]
        record.begun(new_call)
        record.inside.append(new_call)
        try:
            output = original(*args, **kwargs)
        finally:
            record.inside.pop()
        if name == "discrete_laplace":
            return Count(record, new_call, output)
        if name == "geometric":
            return [Half(record, new_call, draw) for draw in output]
        return record.ended(new_call, output)

    return call


@contextmanager
def boundary():
    """Wrap the functions of the boundary in each module that has them."""
    wrapped = {id(original): (_wrapper(name, original), original)
               for name, original in WRAPPED.items()}
    _exchange({key: pair[0] for key, pair in wrapped.items()})
    try:
        yield
    finally:
        _exchange({id(wrapper): original for wrapper, original in wrapped.values()})


def _exchange(others):
    for name, module in list(sys.modules.items()):
        if name.startswith("privsieve"):
            for own_name, value in list(vars(module).items()):
                if id(value) in others:
                    setattr(module, own_name, others[id(value)])


@contextmanager
def recording(record):
    """Calls go into this record."""
    _CURRENT.append(record)
    try:
        yield record
    finally:
        _CURRENT.pop()


# --- what noise is made for -----------------------------------------------------------------------



@cache
def gaussian_reach(epsilon, delta):
    """How far one sigma lets the numbers move, for (epsilon, delta)."""
    return 1 / approximate.analytic_sigma(epsilon, delta)


def race_reach(call):
    """How far a race's scores may move, by the scale that it drew with and its epsilon."""
    d, k, _, epsilon, delta, ordered = call.law
    named = min(k, d - 1 if ordered else d - k)
    if not named:
        return None
    kind, scale = call.drawn[0][0], call.drawn[0][1]
    if kind == "floors":
        return scale / 2**race.PLACES / approximate.gumbel_scale(named, epsilon, delta)
    return scale * epsilon / (2 * named)


def paid(call):
    """The epsilon that a call declares; None where it is what others leave."""
    if call.name == "top_k":
        return call.law[3] if race_reach(call) is not None else Fraction(0)
    if call.name in ("gamma", "laplace"):
        return call.law[1]
    return None


def reach(call, delta):
    """How far the numbers of a call may move: by its noise, and as its parameters declare.

    In the norm of the noise, and on its grid; None where nothing declares it.
    """
    drawn = {step[0]: step[1:] for step in call.drawn}
    if call.name == "top_k":
        by_noise = race_reach(call)
        return None if by_noise is None else (by_noise, call.law[2])
    if call.name not in ("gamma", "laplace", "gaussian"):
        return None
    grid, epsilon = call.law
    if call.name == "gamma":
        by_noise = epsilon / drawn["gamma_drawn"][1] / Fraction(2) ** grid.exponent
    elif call.name == "laplace":
        by_noise = drawn["rounded"][1] * epsilon
    else:
        by_noise = drawn["rounded"][1] * gaussian_reach(*delta)
    return by_noise, grid.sensitivity / grid.step


def norm(call, other):
    """How far the numbers of a call moved, in the norm of its noise."""
    a, b = call.met, other.met
    if call.name == "above":  # the cells that are not 0, in an order that is not that of B
        size = max(len(a), len(b))
        a, b = (sorted([0] * (size - len(x)) + x) for x in (a, b))
    moves = [abs(x - y) for x, y in zip(a, b, strict=True)]
    if call.name == "top_k":
        return max(moves)
    return sum(moves) if call.name not in ("gamma", "gaussian") else hypot(*moves)


def counted(call, other):
    """What a pair loses by counts that meet noise, whatever else is declared."""
    if call.name not in COUNTS:
        return Fraction(0)
    drawn = [*call.drawn, (call.name, *call.law)]
    return norm(call, other) / next(step[1] for step in drawn
                                    if step[0] in ("two_sided", "geometric"))


# --- the problem that contains noise -------------------------------------------------------------

def objective_loss(first, second, each, luck):
    """What a minimiser of an objective with noise loses at most, over many answers.

    By the gradients: for an answer w there is one linear term on each table, and its density is
    exp(-beta length); the change of volume is that of the Hessians.  And what the second noise
    loses by how far the solver is from the minimisers.
    """
    (_, beta, _), (_, fine, _) = (call.law for call in first.calls)
    tables = [np.asarray(record.solved[0][0], float) for record in (first, second)]
    half, rate = float(first.solved[0][1]), float(beta)
    answers = [luck.normal(size=tables[0].shape[1]) * 10 ** luck.uniform(-2, 2) for _ in range(20)]
    terms = max(rate * np.linalg.norm(_linear(tables[0], w, half, each)
                                      - _linear(tables[1], w, half, each))
                + abs(_volume(tables[0], w, half) - _volume(tables[1], w, half)) for w in answers)
    away = sum(_away(*record.solved[0]) for record in (first, second))
    return float(terms) + float(fine) * away


def _linear(Z, w, half, each):
    """The linear term for which w is the minimiser, `each` the rows of a partition."""
    return each * (Z.T @ (1 / (1 + np.exp(np.clip(Z @ w, -500, 500)))) / len(Z) - 2 * half * w)


def _volume(Z, w, half):
    """The logarithm of the determinant of the second derivatives."""
    near = 1 / (1 + np.exp(np.clip(np.abs(Z @ w), 0, 500)))
    whole = (Z * (near * (1 - near))[:, None]).T @ Z / len(Z) + 2 * half * np.eye(Z.shape[1])
    return np.linalg.slogdet(whole)[1]


def _away(Z, half, start, v):
    """How far a solver's point is from the minimiser: the gradient over the convexity."""
    shift = np.zeros(len(Z)) if start is None else start
    pull = 1 / (1 + np.exp(np.clip(Z @ v + shift, -500, 500)))
    gradient = -Z.T @ pull / len(Z) + 2 * float(half) * v
    return float(np.linalg.norm(gradient) / (2 * float(half)))


def seed_of(*texts):
    """A number that texts decide."""
    return int.from_bytes(hashlib.blake2b(repr(texts).encode(), digest_size=8).digest())
