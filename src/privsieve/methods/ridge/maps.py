"""Maps: which features stand for a kernel, decided by the domain and public parameters alone.

A feature is a whole number from -65535 to 65535; 65536 would be 1.  Features come in slots: of a
slot at most one is not zero, or two are a cosine and a sine, whose squares add up to 65535^2 at
most.  So no row and no query is longer than 65535 times the root of the number of slots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from privsieve.errors import ParameterError, SchemaError
from privsieve.public.canonical import Json, quoted
from privsieve.public.columns import Column, Date, Number
from privsieve.public.cost import exact

#: The largest feature, and what would be 1.
ONE, WHOLE = 65535, 65536
#: More features take more than ten seconds to solve, and more noise than most tables bear.
LARGEST = 1024
#: The name of each kernel's map in a release.
KERNELS = {"linear": "linear", "polynomial": "polynomial", "cosine": "cosine", "rbf": "fourier"}
DEGREES = {"linear": 1, "polynomial": 2, "cosine": 3}
#: As `written` writes it.
_GAMMA = re.compile(r"[0-9]{1,60}(/[0-9]{1,60}|(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?)")
LARGEST_DEGREE, LARGEST_GAMMA, LARGEST_SEED = 16, 10**6, 2**53 - 1

#: A product of powers (harmonics) of columns: (column, power) pairs; of nothing: the constant.
Term = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Map:
    """Features of some columns.

    kind : "linear", "polynomial", "cosine" or "fourier"
    degree : the largest sum of powers (polynomial), or the number of harmonics (cosine)
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
        """What is multiplied, slot by slot; a Fourier map has no terms."""
        return () if self.kind == "fourier" else tuple(_terms(self))

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
        """How many features the slot of a term has."""
        wide = 1
        for j, power in term:
            wide *= self.parts(j, power)
        return wide

    def parts(self, j: int, power: int = 1) -> int:
        """How many features a power (or harmonic) of a column has.

        >>> from privsieve.public.columns import Category, Number
        >>> some = Map("linear", (Number("age", 0, 99, missing="level"), Category("a", ["x"])))
        >>> some.parts(0), some.parts(0, 2), some.parts(1)
        (2, 1, 2)
        """
        column = self.columns[j]
        if isinstance(column, (Number, Date)):
            return 2 if column.missing_level and power == 1 else 1
        return column.levels if column.kind == "category" else 1

    def groups(self) -> list[list[int]]:
        """For each column the positions of the features that it takes part in.

        >>> from privsieve.public.columns import Flag
        >>> Map("polynomial", (Flag("a"), Flag("b")), 2).groups()
        [[1, 3], [2, 3]]
        """
        found: list[list[int]] = [[] for _ in self.columns]
        at = 0
        for term in self.terms:
            wide = self.wide(term)
            for j, _power in term:
                found[j] += range(at, at + wide)
            at += wide
        return found

    def json(self) -> dict[str, Json]:
        """The public parameters, as a release says them."""
        if self.kind == "fourier":
            return {"map": self.kind, "features": self.width, "gamma": written(self.gamma),
                    "seed": self.seed}
        return {"map": self.kind, "features": self.width, "degree": self.degree}

    @classmethod
    def of_json(cls, said: dict[str, Json], columns: tuple[Column, ...]) -> Map:
        """The map that a release says.

        >>> from privsieve.public.columns import Flag
        >>> Map.of_json({"map": "linear", "features": 2, "degree": 1}, (Flag("a"),)).width
        2
        """
        kind = str(said["map"])
        if kind not in KERNELS.values():
            raise SchemaError(f"the release has features of a kind that is not known, {kind!r}")
        kernel = next(name for name, found in KERNELS.items() if found == kind)
        if kind == "fourier":
            gamma = str(said["gamma"])
            if not _GAMMA.fullmatch(gamma):  # an exponent of many digits would never be read
                raise SchemaError("the release has a gamma that is no short number")
            return map_of(columns, kernel, gamma=Fraction(gamma), features=said["features"],
                          seed=said["seed"])
        return map_of(columns, kernel, degree=said["degree"])


def map_of(columns: Sequence[Column], kernel: str, *, gamma: object = None, degree: object = None,
           features: object = 200, seed: object = 0) -> Map:
    """The map of a kernel, from options that somebody wrote.

    >>> from privsieve.public.columns import Flag
    >>> map_of([Flag("a"), Flag("b")], "polynomial").width
    4
    >>> map_of([Flag("a")], "rbf").json()
    {'map': 'fourier', 'features': 200, 'gamma': '1', 'seed': 0}
    """
    if kernel not in KERNELS:
        raise ParameterError(f"kernel is {kernel!r}; write one of {', '.join(KERNELS)}")
    columns = tuple(columns)
    if kernel == "rbf":
        _only(kernel, degree=degree)
        count = _whole(features, "features", 2, LARGEST)
        if count % 2:
            raise ParameterError(f"features is {count}; cosines and sines come in pairs: write an "
                                 "even number")
        wide = Fraction(1, len(columns)) if gamma is None else exact(gamma, "gamma")
        if not 0 < wide <= LARGEST_GAMMA:
            raise ParameterError(f"gamma is {gamma}; it must be above 0 and at most "
                                 f"{LARGEST_GAMMA}, or None for one over the number of columns")
        return Map("fourier", columns, 1, count // 2, wide,
                   _whole(seed, "feature_seed", 0, LARGEST_SEED))
    _only(kernel, gamma=gamma)
    if kernel == "linear" and degree not in (None, 1):
        raise ParameterError(f'degree is {degree}; kernel="linear" has degree 1: leave it out, or '
                             'say kernel="polynomial"')
    found = Map(kernel, columns, DEGREES[kernel] if degree is None
                else _whole(degree, "degree", 1, LARGEST_DEGREE))
    if len(list(islice(_terms(found), LARGEST + 1))) > LARGEST or found.width > LARGEST:
        raise ParameterError(f'kernel="{kernel}" has more than {LARGEST} features for '
                             f"{len(columns)} columns and degree {found.degree}; choose a smaller "
                             'degree, fewer columns, or kernel="rbf" with as many features as '
                             "you like")
    return found


def written(value: Fraction) -> str:
    """A fraction as a decimal number, where that is short and exact.

    >>> written(Fraction(1, 20)), written(Fraction(1, 30))
    ('0.05', '1/30')
    """
    text = f"{float(value):.12g}"
    return text if Fraction(text) == value else str(value)


def _terms(made: Map) -> Iterator[Term]:
    """The constant, then products by their degree; powers of what is 0 or 1 add nothing."""
    powers = [made.degree if isinstance(column, (Number, Date)) else 1 for column in made.columns]
    yield ()
    if made.kind == "polynomial":
        for total in range(1, made.degree + 1):
            yield from _products(powers, 0, total)
        return
    for j, most in enumerate(powers):
        for power in range(1, most + 1):
            yield ((j, power),)


def _products(powers: Sequence[int], first: int, total: int) -> Iterator[Term]:
    """Products of exactly this degree, of columns from `first` on, each column once."""
    for j in range(first, len(powers)):
        for power in range(min(powers[j], total), 0, -1):
            if power == total:
                yield ((j, power),)
            else:
                yield from (((j, power), *rest)
                            for rest in _products(powers, j + 1, total - power))


def _only(kernel: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f'{name} is {value}, and kernel="{kernel}" has none; leave it out')


def _whole(value: object, name: str, low: int, high: int) -> int:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool) or not isinstance(plain, int) or not low <= plain <= high:
        raise ParameterError(f"{name} is {quoted(value)}; write a whole number from {low} to "
                             f"{high}")
    return plain
