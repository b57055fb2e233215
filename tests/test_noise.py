"""Noise is a function of endless bits: exact at any prefix, fresh in any process."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import exp, floor

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from exact import gamma_norm
from privsieve.errors import ParameterError, ReleaseFailed
from privsieve.noise import balls
from privsieve.noise import streams as bits
from privsieve.noise.balls import certain, exponential, floors, gumbel
from privsieve.noise.discrete import two_sided as two_sided_counts
from privsieve.noise.race import (
    geometric_race,
    gumbel_race,
)
from privsieve.noise.streams import (
    Noise,
    Uniform,
    discrete_laplace,
    floor_log,
    geometric,
    glimpsed,
    replay,
    system,
    uniforms,
)
from privsieve.noise.values import (
    Grid,
    gamma,
    gaussian,
    laplace,
    normal,
    spherical,
    two_sided,
)
from privsieve.public.canonical import LARGEST, canonical

HALF = Fraction(1, 2)
GRID, NARROW = Grid.of(3, Fraction(1)), Grid.of(3, Fraction(1), norm=1)
#: Every way to draw, by what it takes: one source.
DRAWS = {
    "geometric": lambda noise: geometric(Fraction(10**9), 3, noise),
    "discrete-laplace": lambda noise: discrete_laplace(Fraction(10**9), noise),
    "two-sided": lambda noise: two_sided_counts(Fraction(10**9), 3, noise).tolist(),
    "gamma-norm": lambda noise: gamma_norm([0, 0], Fraction(1), -40, noise),
    "gamma": lambda noise: gamma([1, 2, 3], GRID, Fraction(1, 1000), noise),
    "laplace": lambda noise: laplace([1, 2, 3], NARROW, Fraction(1, 1000), noise),
    "gaussian": lambda noise: gaussian([1, 2, 3], GRID, Fraction(1000), noise),
    "geometric-race": lambda noise: geometric_race([0] * 99, 9, Fraction(5), noise),
    "gumbel-race": lambda noise: gumbel_race([0] * 99, 9, Fraction(5), noise, ordered=True),
}


class Served(Noise):
    """Given numbers as prefixes of `bits` digits, then zeros without end."""

    def __init__(self, numbers, bits):
        self.left = b"".join(int(Fraction(x) * 2**bits).to_bytes(bits // 8) for x in numbers)

    def bytes(self, count):
        served, self.left = self.left[:count], self.left[count:]
        return served.ljust(count, b"\0")


def streams(seed, count, bits):
    """The same endless streams for any number of first digits: one source for each."""
    return [uniforms(1, bits, replay(1000 * seed + i))[0] for i in range(count)]


def test_gamma_norm_adds_the_integers():
    """The value meets noise as integers: moving it moves the answer by as much."""
    w = [5, -(2**40), 7]
    noise = gamma_norm([0, 0, 0], Fraction(7, 3), -20, replay(4))

    assert [a + b for a, b in zip(w, noise, strict=True)] == gamma_norm(
        w, Fraction(7, 3), -20, replay(4))


def test_gamma_norm_is_clamped():
    """An answer is an integer that a release can hold, however large the value."""
    noisy = gamma_norm([2**80, -(2**80)], Fraction(1), -20, replay(1))

    assert [LARGEST, -LARGEST] == noisy == json.loads(canonical(noisy))


def test_geometric_known_answers():
    """A uniform of 1/2 is an exponential of 0.693…, of 1/1024 one of 6.93…."""
    noise = Served([Fraction(1, 2), Fraction(1, 1024)], 64)
    expected = [693, 6931]

    assert expected == geometric(Fraction(1000), 2, noise)


@pytest.mark.parametrize("mean", [0, -1])
def test_geometric_refuses_no_noise(mean):
    """A mean that is not positive would be no noise."""
    with pytest.raises(ParameterError, match="must be larger than 0"):
        geometric(Fraction(mean), 1, replay(1))


@pytest.mark.parametrize("mean", [
    Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(240), Fraction(10**7, 3),
    Fraction(10**9), Fraction(2)**60 / 7, Fraction(10)**40])
def test_logarithms_equal_many_digits_in_balls(mean):
    """Logarithms from 8 to 64 digits, refined, are those of balls with 1,024: 3 x 700 at each."""
    many = streams(1, 700, 1024)
    expected = floors(many, mean, exponential)
    for digits in (8, 16, 64):
        few = streams(1, 700, digits)

        assert expected == [floor_log(stream, mean) for stream in few]
        assert mean < 2**(digits + 4) or sum(s.bits > digits for s in few) > 500
    assert {s.bits for s in many} == {1024}


@pytest.mark.parametrize("mean", [Fraction(1, 9), Fraction(1), Fraction(7, 3), Fraction(40),
                                  Fraction(997)])
@pytest.mark.parametrize("digits", [5, 12])
def test_what_is_certain_holds_at_both_ends_of_the_prefix(mean, digits):
    """Of 16 bits, by decimals of five or twelve: a floor is taken where it is that of both ends."""
    near = {int(exp(-a / mean) * 2**16) for a in range(200)}
    taken, context = 0, Context(digits, traps=[])
    for m in {m + i for m in near for i in (-1, 0, 1) if 0 <= m + i < 2**16}:
        stream, ends = Uniform(m, 16, system()), [floor_at(m + i, mean) for i in (0, 1)]
        for a in {end + i for end in ends if end is not None for i in (-1, 0, 1)}:
            if bits._is_floor(a, stream, mean, context):
                assert [a, a] == ends
                taken += 1
    assert taken > min(9, len(near) / 2)


def floor_at(end, mean):
    """floor(-mean * log(end / 2^16)), in balls; None where it has no limit."""
    with balls.arithmetic(300):
        log = arb(fmpq(end, 2**16)).log() if 0 < end < 2**16 else None
        return (None if not end else 0) if log is None else int(
            (-log * fmpq(mean.numerator, mean.denominator)).floor().unique_fmpz())


@pytest.mark.parametrize("mean", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(27312),
                                  Fraction(10**7, 3), Fraction(2)**24])
def test_what_is_glimpsed_is_the_floor(mean):
    """Next to the ends of a floor none is told that is wrong, and elsewhere nearly each is told.

    One at a time is as many: of 64 digits, and of 64 more where they do not tell.
    """
    ends = [floor(fraction_exp(-a / mean) * 2**64) for a in range(1, 200)]
    near = {m + (i << shift) for m in ends for shift in range(0, 48, 3) for i in (-1, 0, 1)}
    powers = {2**k + i for k in range(64) for i in (-1, 0, 1)} | {2**64 - 1}
    digits = sorted(m for m in near | powers if 0 <= m < 2**64)
    seen = glimpsed(digits, mean)

    for m, number in zip(digits, seen, strict=True):
        rests = 0, 2**64 - 1
        both = [floor_log(Uniform(m << 64 | rest, 128, Served([HALF], 64)), mean) for rest in rests]
        assert number is None or [number, number] == both
        assert both == [floor_log(Uniform(m, 64, Served([Fraction(rest, 2**64), HALF], 64)), mean)
                        for rest in rests]
    assert 1 < sum(number is None for number in seen)
    drawn = glimpsed([stream.digits for stream in streams(3, 5000, 64)], mean)
    assert sum(number is None for number in drawn) <= 5 + 5000 * float(mean) / 2**25


def test_the_logarithm_is_as_near_as_the_proof_says():
    """Within five units of 2^-31, at the ends of the range and at 20,000 places between."""
    places = [2**31, 2**31 + 1, *range(3 * 2**30 - 9, 3 * 2**30 + 9), 2**32 - 1]
    places += [2**31 + (stream.digits >> 33) for stream in streams(5, 20_000, 64)]
    logarithms = bits._log_of(np.array(places, np.int64)).tolist()

    with balls.arithmetic(200):
        off = [float(arb(logarithm) - (arb(x) / (3 * 2**30)).log() * 2**31)
               for logarithm, x in zip(logarithms, places, strict=True)]
        logs = int((arb(2).log() * 2**56).floor().unique_fmpz()), int(
            ((arb(4) / 3).log() * 2**31).floor().unique_fmpz())
    assert -5 < min(off) < -1
    assert max(off) < 5
    assert (bits.LOG_2, bits.LOG_4_3) == logs


def fraction_exp(x):
    """exp(x), to a hundred decimals."""
    with localcontext(Context(prec=100)):
        return Fraction((Decimal(x.numerator) / x.denominator).exp())


def test_a_plain_choice_is_the_same_in_each_arithmetic(monkeypatch):
    """Equal bits name the same set, by logarithms of integers, arrays, decimals or balls: 2,000."""
    for seed in range(2000):
        d, scale = 1 + seed % 12, Fraction(10) ** (seed % 15 - 4) * Fraction(24, 1 + seed % 7)
        scores = [int(word) % 99 for word in replay(seed).bytes(d)]
        k = 1 + seed % d
        answers = set()
        for few, several, largest in ((500, 99, 2**24), (500, 1, 2**24), (500, 99, 0), (0, 1, 0)):
            monkeypatch.setattr(bits, "FEW", few)
            monkeypatch.setattr(bits, "SEVERAL", several)
            monkeypatch.setattr(bits, "LARGEST_MEAN", largest)
            answers.add(geometric_race(scores, k, scale, replay(seed), ordered=bool(seed % 3)))

        assert 1 == len(answers)


@pytest.mark.parametrize(("law", "per"), [(exponential, 1), (gumbel, 1), (two_sided, 1),
                                          (normal, 2), (spherical, 11)])
def test_values_refined_equal_many_digits(law, per):
    """Each law from 32 digits, refined, is that from 1,024 digits: no mismatch in 400."""
    refined = 0
    for seed in range(400):
        few, many = streams(seed, per, 32), streams(seed, per, 1024)
        expected = certain(many, Fraction(10**9, 3), law, shift=HALF)

        assert expected == certain(few, Fraction(10**9, 3), law, shift=HALF)
        assert {s.bits for s in many} == {1024}
        refined += few[0].bits > 32
    assert refined >= 100


class Streams(Noise):
    """One endless stream for each of `count` uniforms, whose first digits are read at once.

    What is read later goes to the next caller: only streams that need no more can be compared.
    """

    def __init__(self, seed, count, bits):
        each = [replay(1000 * seed + i).bytes(bits // 8) for i in range(count)]
        self.first, self.later = b"".join(each), replay(-seed)

    def bytes(self, count):
        if self.first:
            served, self.first = self.first, b""
            assert len(served) == count
            return served
        return self.later.bytes(count)


def test_races_equal_many_digits():
    """Races of real numbers rank as 1,024 digits of each do: no mismatch in 400."""
    scores, scale = [5, 3, 3, 0, 4], Fraction(17, 8)
    for seed in range(400):
        many = [floors([s], scale * 2**900, gumbel)[0] for s in streams(seed, 5, 1024)]
        noisy = [(s << 900) + x for s, x in zip(scores, many, strict=True)]
        expected = sorted(range(5), key=lambda j: -noisy[j])[:3]

        assert expected == list(gumbel_race(scores, 3, scale, Streams(seed, 5, 64), ordered=True))
        assert tuple(sorted(expected)) == gumbel_race(scores, 3, scale, Streams(seed, 5, 64))


def test_refinement_keeps_the_prefix():
    """More digits never change the digits that were read."""
    stream = uniforms(1, 64, replay(3))[0]
    first = stream.digits
    stream.refine()

    assert (first, 128) == (stream.digits >> 64, stream.bits)


def test_broken_bits_end_in_the_constant_failure(monkeypatch):
    """A source of zeros only never decides a number; it ends in the one text.

    One is read on as far as it may be, the others less far.
    """
    longest = bits.LONGEST
    for name in set(DRAWS) - {"laplace"}:  # all digits 0: the largest and the smallest of it
        far = longest if name == "discrete-laplace" else bits.LONG + 8 * bits.STEP
        monkeypatch.setattr(bits, "LONGEST", far)
        with pytest.raises(ReleaseFailed) as caught:
            DRAWS[name](Served([], 64))

        assert str(caught.value) == "release failed; the budget is charged"


@pytest.mark.parametrize("draw", [
    lambda noise: noise.bytes(8), lambda noise: noise.key(), *DRAWS.values(),
])
def test_no_entropy_no_answer(monkeypatch, draw):
    """If the system has no random bits, no draw answers."""
    def broken(_count):
        raise OSError(5, "no entropy")

    monkeypatch.setattr(os, "urandom", broken)

    with pytest.raises(OSError, match="no entropy"):
        draw(system())


@pytest.mark.parametrize("name", DRAWS)
def test_no_more_entropy_no_answer(name):
    """If the bits end in the middle of a refinement, no draw answers."""
    class Ending(Noise):
        served = False

        def bytes(self, count):
            if self.served:
                raise OSError(5, "no entropy")
            self.served = True
            return b"\x80" + bytes(count - 1)  # no answer follows from zeros

    with pytest.raises(OSError, match="no entropy"):
        DRAWS[name](Ending())


def test_precision_is_restored():
    """A draw leaves Arb's working precision as it was, even when it fails."""
    before = ctx.prec
    floors(uniforms(3, 64, system()), Fraction(5), exponential)
    gamma_norm([0], Fraction(1), -20, system())
    with pytest.raises(ReleaseFailed):
        floors(uniforms(1, 64, Served([], 64)), Fraction(3), exponential)

    assert before == ctx.prec


def test_replay_repeats_and_is_not_private():
    """A seed decides a stream, however it is cut; the system's noise never repeats."""
    whole, cut = replay(7), replay(7)
    expected = whole.bytes(300)

    assert expected == b"".join(cut.bytes(n) for n in (1, 99, 0, 200))
    assert expected != replay(8).bytes(300)
    assert (whole.private, system().private) == (False, True)
    assert system().bytes(16) != system().bytes(16)
    assert replay(7).key() == int.from_bytes(expected[:8])


def test_nothing_is_kept_or_shown():
    """System noise has no state, and a stream does not show its digits."""
    assert not hasattr(system(), "__dict__")
    assert "digits" not in repr(Uniform(12345, 64, system()))


def in_child(write):
    """Fork; the child writes bytes, the parent returns the reading end and the child's id."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os.write(writer, write())
        os._exit(0)
    os.close(writer)
    return reader, child


def collect(started):
    """What the children wrote; each must have ended well."""
    outputs = []
    for reader, child in started:
        with os.fdopen(reader, "rb") as pipe:
            outputs.append(pipe.read())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return outputs


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_children_draw_different_answers():
    """Of two forked children and their parent none repeats another, for any way to draw."""
    noise = system()

    def draw():
        return repr([DRAWS[name](noise) for name in DRAWS]).encode()

    draw()  # what was read ahead here would be read by each of them
    first, second = (eval(answers) for answers in collect([in_child(draw), in_child(draw)]))
    for name, first_draw, two, own in zip(DRAWS, first, second, eval(draw()), strict=True):
        assert first_draw != two, name
        assert own not in (first_draw, two), name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_fork_during_a_draw_does_not_stop_the_child():
    """A child that is forked while a thread draws can draw itself."""
    started, finish = threading.Event(), threading.Event()

    def hold():
        with balls._LOCK:
            started.set()
            finish.wait(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    started.wait()
    written = collect([in_child(lambda: b"%d" % len(floors(uniforms(3, 64, system()), Fraction(5),
                                                           exponential)))])
    finish.set()
    holder.join()

    assert written == [b"3"]


def test_one_thread_at_a_time_sets_the_precision():
    """While balls are computed, another thread's draw waits, and then is done."""
    done, waited = threading.Event(), []
    other = threading.Thread(target=lambda: (
        floors(uniforms(1, 64, system()), Fraction(5), exponential), done.set()))

    def watched(options):
        if not waited:
            other.start()
            waited.append(not done.wait(0.1))
        return exponential(options)

    floors([Uniform(5, 64, system())], Fraction(5), watched)
    other.join(10)

    assert waited == [True]
    assert done.is_set()


@pytest.mark.parametrize("name", DRAWS)
def test_threads_draw_what_each_draws_alone(name):
    """Four threads that draw at once get, from sources of their own, what one thread gets."""
    expected = [DRAWS[name](replay(seed)) for seed in range(40)]
    patience = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            actual = list(pool.map(lambda seed: DRAWS[name](replay(seed)), range(40)))
    finally:
        sys.setswitchinterval(patience)

    assert expected == actual
