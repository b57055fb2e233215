"""Features: a finite map that replaces a kernel, and rows of codes as its whole numbers.

The domain and public parameters alone decide the map.  A feature is a whole number from -65535 to
65535; 65536 would be 1.  Features come in slots: of a slot at most one is not zero, or two are a
cosine and a sine, whose squares add up to 65535^2 at most.  So no row and no query is longer than
65535 times the root of the number of slots.

The frequencies of a Fourier map are public random numbers: the same seed gives the same bits on
every machine and in every version, for SHAKE-256 is a standard, and all that follows is arithmetic
of integers.  Nothing here is secret, and nothing is noise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import shake_256
from math import isqrt

import numpy as np
import numpy.typing as npt

from privsieve.errors import ParameterError, SchemaError
from privsieve.public.canonical import Json, exact
from privsieve.public.columns import MISSING, Category, Column, Date, Flag, Label, Number, Target
from privsieve.public.option import integer
from privsieve.release import exactly

Codes = npt.NDArray[np.uint16]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: The largest feature, and what would be 1.
ONE, WHOLE = 65535, 65536
#: More features take more than ten seconds to solve, and more noise than most tables bear.
LARGEST = 1024
#: The name of each kernel's map in a release.
KERNELS = {"linear": "linear", "cosine": "cosine", "rbf": "fourier"}
#: Waves of a column, where nobody says how many.
WAVES = 3
#: As `exactly` writes it.
_GAMMA = r"[0-9]{1,60}(/[0-9]{1,60}|(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?)"
LARGEST_DEGREE, LARGEST_GAMMA, LARGEST_SEED = 16, 10**6, 2**53 - 1
#: Binary places of fixed-point numbers here, and pi with these places.
PLACES = 128
PI = 0x3243F6A8885A308D313198A2E03707344
#: A turn of a phase is 2^32, and one of the table of cosines 2^16.
TURN, STEPS = 2**32, 2**16
#: Bits that are counted for one normal number, and bytes of the jitter beside them.
BITS, JITTER = 1024, 4

#: A column and which of its waves; the value itself is the first.  None is the constant.
Term = tuple[int, int] | None


@dataclass(frozen=True)
class Map:
    """Features of some columns.

    kind : "linear", "cosine" or "fourier"
    degree : how many waves a number has (cosine), or 1
    pairs : of a Fourier map, how many cosines and sines
    gamma, seed : of a Fourier map, exp(-gamma |x - x'|^2) and where its frequencies come from
    """

    kind: str
    columns: tuple[Column, ...]
    degree: int = 1
    pairs: int = 0
    gamma: Fraction = Fraction(1)
    seed: int = 0

    @property
    def terms(self) -> tuple[Term, ...]:
        """What has a slot: the constant, and each wave of a column; a Fourier map has no terms."""
        if self.kind == "fourier":
            return ()
        # waves of what is 0 or 1 add nothing
        return (None, *((j, wave) for j, column in enumerate(self.columns) for wave in range(
            1, 1 + (self.degree if isinstance(column, (Number, Date)) else 1))))

    @property
    def slots(self) -> int:
        """How many slots there are: the squared length of any row is at most 65535^2 of them."""
        # [slots]
        return self.pairs or len(self.terms)

    @property
    def width(self) -> int:
        """How many features there are."""
        return 2 * self.pairs or sum(map(self.wide, self.terms))

    def wide(self, term: Term) -> int:
        """Count the features of a term's slot."""
        return 1 if term is None else self.parts(*term)

    def parts(self, j: int, wave: int = 1) -> int:
        """Count the features of a wave of a column.

        >>> some = Map("linear", (Number("age", 0, 99, missing="level"), Category("a", ["x"])))
        >>> some.parts(0), some.parts(0, 2), some.parts(1)
        (2, 1, 2)
        """
        column = self.columns[j]
        if isinstance(column, (Number, Date)):
            return 2 if column.missing_level and wave == 1 else 1
        return column.levels if column.kind == "category" else 1

    def groups(self) -> list[list[int]]:
        """Return the positions of each column's features.

        >>> Map("cosine", (Flag("a"), Number("b", 0, 1)), 2).groups()
        [[1], [2, 3]]
        """
        groups: list[list[int]] = [[] for _ in self.columns]
        at = 0
        for term in self.terms:
            wide = self.wide(term)
            if term is not None:
                groups[term[0]] += range(at, at + wide)
            at += wide
        return groups

    def json(self) -> dict[str, Json]:
        """Return the public parameters as a release says them."""
        if self.kind == "fourier":
            return {"map": self.kind, "features": self.width, "gamma": exactly(self.gamma, "g"),
                    "seed": self.seed}
        return {"map": self.kind, "features": self.width, "degree": self.degree}

    @classmethod
    def of_json(cls, written: Mapping[str, Json], columns: tuple[Column, ...]) -> Map:
        """Read the map of a release.

        >>> Map.of_json({"map": "linear", "features": 2, "degree": 1}, (Flag("a"),)).width
        2
        """
        kind = str(written["map"])
        kernel = {name: kernel for kernel, name in KERNELS.items()}.get(kind)
        if kernel is None:
            raise SchemaError(f"the release has features of an unknown kind, {kind!r}")
        if kind == "fourier":
            gamma = str(written["gamma"])
            if not re.fullmatch(_GAMMA, gamma):  # an exponent of many digits would never be read
                raise SchemaError("the gamma of the release is not a short number")
            return map_of(columns, kernel, gamma=Fraction(gamma), features=written["features"],
                          seed=written["seed"])
        return map_of(columns, kernel, degree=written["degree"])


def map_of(columns: Sequence[Column], kernel: str, *, gamma: object = None, degree: object = None,
           features: object = 200, seed: object = 0) -> Map:
    """Return the map of a kernel from its options.

    >>> map_of([Flag("a"), Flag("b")], "linear").width
    3
    >>> map_of([Flag("a")], "rbf").json()
    {'map': 'fourier', 'features': 200, 'gamma': '1', 'seed': 0}
    """
    if kernel not in KERNELS:
        raise ParameterError(f"kernel is {kernel!r}; write one of {', '.join(KERNELS)}")
    columns = tuple(columns)
    if kernel == "rbf":
        _only(kernel, degree=degree)
        count = integer(features, "features", 2, LARGEST)
        if count % 2:
            raise ParameterError(f"features is {count}; write an even number, because cosines and "
                                 "sines come in pairs")
        wide = Fraction(1, len(columns)) if gamma is None else exact(gamma, "gamma")
        if not 0 < wide <= LARGEST_GAMMA:
            raise ParameterError(f"gamma is {gamma}; write a number above 0 and at most "
                                 f"{LARGEST_GAMMA}, or None for 1 / (number of columns)")
        return Map("fourier", columns, 1, count // 2, wide,
                   integer(seed, "feature_seed", 0, LARGEST_SEED))
    _only(kernel, gamma=gamma)
    if kernel == "linear" and degree not in (None, 1):
        raise ParameterError(f'degree is {degree}; kernel="linear" has degree 1; leave degree out, '
                             'or write kernel="cosine"')
    waves = 1 if kernel == "linear" else WAVES if degree is None else integer(
        degree, "degree", 1, LARGEST_DEGREE)
    chosen = Map(kernel, columns, waves)
    if chosen.width > LARGEST:
        raise ParameterError(f'kernel="{kernel}" has more than {LARGEST} features for '
                             f"{len(columns)} columns; choose a smaller degree, fewer columns, or "
                             'kernel="rbf", where you choose the number of features')
    return chosen


def _only(kernel: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f'{name} is {value}, but kernel="{kernel}" has none; leave it out')


@lru_cache(8)  # its keys are public: kinds of columns, gamma, a seed
def frequencies(kernel_map: Map) -> tuple[Ints, ...]:
    """Return the turn of each phase by each level of a column; parts x pairs.

    A number has one line, for a step of its code; then one for "missing" if that is a level.  A
    flag has one, for yes; a category has one for each level.
    """
    return tuple(_of_column(column, j, kernel_map) for j, column in enumerate(kernel_map.columns))


def _of_column(column: Column, j: int, kernel_map: Map) -> Ints:
    parts = kernel_map.parts(j)
    drawn = normals(f"privsieve-fourier/1/{kernel_map.seed}/{j}", parts * kernel_map.pairs)
    # Two levels of a category lie at distance 1, each of the two being half of the square.
    share = kernel_map.gamma / 2 if isinstance(column, Category) else kernel_map.gamma
    fine = _turned(share, TURN)
    times = [fine] * parts
    if not isinstance(column, (Category, Flag)):
        times[0] = _turned(share, TURN // STEPS)
    moved = [(drawn[at] * times[at // kernel_map.pairs] + (1 << PLACES - 1) >> PLACES) % TURN
             for at in range(len(drawn))]
    return np.array(moved, np.int64).reshape(parts, kernel_map.pairs)


def _turned(share: Fraction, turn: int) -> int:
    """Return the turn by one unit of `normals`, sqrt(2 share) / (2 pi) a normal, with PLACES."""
    # the variance of `normals` is 2^64 (BITS / 4 + 1 / 12)
    square = 2 * share * 12 / (3 * BITS + 1)
    root = isqrt((square.numerator << 4 * PLACES) // square.denominator)
    return (turn * root // (2 * PI)) >> 32


def normals(label: str, count: int) -> list[int]:
    """Public draws close to a normal law, in units of 2^-32 / sqrt(256 + 1/12).

    Each is how many of 1024 bits are ones, less 512, and a jitter of one: its excess of kurtosis is
    -0.002.

    >>> len(normals("example", 3)), normals("example", 2) == normals("example", 3)[:2]
    (3, True)
    """
    size = BITS // 8 + JITTER
    read = np.frombuffer(shake_256(label.encode()).digest(count * size), np.uint8)
    rows = read.reshape(count, size)
    ones = np.unpackbits(rows[:, :BITS // 8], axis=1).sum(axis=1, dtype=np.int64)
    jitter = np.ascontiguousarray(rows[:, BITS // 8:]).view("<u4")[:, 0].astype(np.int64)
    draws: list[int] = ((ones - BITS // 2) * TURN + jitter - TURN // 2).tolist()
    return draws


@cache
def cosines() -> Ints:
    """65535 cos(2 pi i / 65536), rounded towards zero, for i from 0 to 65535.

    >>> cosines()[[0, 8192, 16384, 32768]].tolist()
    [65534, 46340, 0, -65534]
    """
    quarter = STEPS // 4
    cosine, sine = _small(2 * PI // STEPS)
    c, s, first = 1 << PLACES, 0, []
    for _ in range(quarter + 1):
        # [towards-zero] after 2^14 rotations c is off by less than 2^-100
        first.append(max(0, (ONE * c - (1 << 48)) >> PLACES))
        c, s = (c * cosine - s * sine) >> PLACES, (s * cosine + c * sine) >> PLACES
    half = np.array(first[:-1], np.int64)
    # [symmetric]
    falling = np.concatenate([half, np.zeros(1, np.int64), -half[:0:-1]])
    table = np.concatenate([falling, -falling])
    table.setflags(write=False)
    return table


def _small(angle: int) -> tuple[int, int]:
    """Cosine and sine of a small angle, by their series."""
    power, sums = 1 << PLACES, [0, 0, 0, 0]
    for k in range(16):
        sums[k % 4] += power
        power = (power * angle >> PLACES) // (k + 1)
    return sums[0] - sums[2], sums[1] - sums[3]


def features(kernel_map: Map, codes: Codes) -> Ints:
    """Return the features of some rows, rows x width.

    >>> features(Map("linear", (Flag("a"),)), np.array([[1], [0]], np.uint16)).tolist()
    [[65535, 65535], [65535, -65535]]
    """
    if kernel_map.kind == "fourier":
        return _fourier(kernel_map, codes)
    rows = np.empty((kernel_map.width, len(codes)), np.int64)
    at = 0
    for term in kernel_map.terms:
        wide = kernel_map.wide(term)
        # [constant]
        rows[at:at + wide] = ONE if term is None else _parts(kernel_map, *term, codes[:, term[0]])
        at += wide
    return rows.T


def target(column: Target | None, label: npt.NDArray[np.int32]) -> Ints:
    """Return the target from the public middle, in 65536ths of half its range.

    >>> target(Number("days", 0, 365), np.array([0, 65535], np.int32)).tolist()
    [-65535, 65535]
    """
    assert column is not None
    assert not isinstance(column, Label)
    return centred(column, label)


def original(middle: Doubles, column: Number) -> Doubles:
    """Map half ranges around the middle back to the target's scale, within its bounds.

    >>> original(np.array([-3.0, 0.0, 0.5]), Number("days", 0, 100)).tolist()
    [0.0, 50.0, 75.0]
    """
    share, (low, high) = (np.clip(middle, -1, 1) + 1) / 2, column.ends
    value = low * (high / low) ** share if column.scale == "log" else low + share * (high - low)
    return np.clip(value, low, high)


def centred(column: Number | Date, codes: npt.NDArray[np.uint16] | npt.NDArray[np.int32]) -> Ints:
    """Centre codes on their grid, within +- 65535; missing values are in the middle."""
    code = codes.astype(np.int64)
    # [middle]
    if column.missing_level:
        return np.where(code == MISSING, 0, 2 * code - (MISSING - 1))
    return 2 * code - ONE


def _parts(kernel_map: Map, j: int, wave: int, codes: Codes) -> Ints:
    """Return the features of a wave of one column, parts x rows; at most one is not 0."""
    column = kernel_map.columns[j]
    # [one-of-a-slot]
    if isinstance(column, Flag):
        return np.where(codes > 0, ONE, -ONE)[None].astype(np.int64)
    if isinstance(column, Category):
        hot: Ints = ONE * (codes == np.arange(column.levels)[:, None]).astype(np.int64)
        return hot
    value = centred(column, codes)
    if kernel_map.kind == "cosine":
        # half a turn over the range, from the middle of the first code to that of the last
        phase = wave * (value + ONE) * (STEPS // 4) // WHOLE
        values = cosines()[phase % STEPS]
    else:
        values = value
    if not column.missing_level:
        return values[None]
    absent = codes == MISSING
    values = np.where(absent, 0, values)
    return np.stack([values, ONE * absent.astype(np.int64)]) if wave == 1 else values[None]


def _fourier(kernel_map: Map, codes: Codes) -> Ints:
    """Cosine and sine of each phase, side by side."""
    phase = _steps(kernel_map, codes)
    moves = frequencies(kernel_map)
    for column, moved, code in zip(kernel_map.columns, moves, codes.T, strict=True):
        if isinstance(column, Category):
            phase += moved[code]
        elif isinstance(column, Flag):
            phase += np.where(code[:, None] > 0, moved[0], 0)
        elif column.missing_level:
            phase += np.where((code == MISSING)[:, None], moved[1], 0)
    # [nearest-step]
    at = (phase + TURN // STEPS // 2) // (TURN // STEPS)
    # [pair] a cosine and the sine of the same step
    table = cosines()
    rows = np.empty((len(codes), 2 * kernel_map.pairs), np.int64)
    rows[:, ::2] = table[at % STEPS]
    rows[:, 1::2] = table[(at - STEPS // 4) % STEPS]
    return rows


def _steps(kernel_map: Map, codes: Codes) -> Ints:
    """Sum code times frequency of the numbers, modulo a turn."""
    ordered = [j for j, column in enumerate(kernel_map.columns)
               if not isinstance(column, (Category, Flag))]
    if not ordered:
        return np.zeros((len(codes), kernel_map.pairs), np.int64)
    code = codes[:, ordered].astype(np.float64)
    for at, j in enumerate(ordered):
        if kernel_map.columns[j].missing_level:
            code[codes[:, j] == MISSING, at] = MISSING // 2
    each = np.stack([frequencies(kernel_map)[j][0] for j in ordered])
    # [two-halves] products below 2^32 and at most 2^17 columns: sums that doubles hold exactly
    high = (code @ (each // STEPS).astype(np.float64)).astype(np.int64)
    low = (code @ (each % STEPS).astype(np.float64)).astype(np.int64)
    return high % STEPS * STEPS + low
# [/fourier]
