"""PrivateKernelRidge: the weights of a least-squares model over public features, with noise.

Rows become whole-number features and their sums of products; from the sums the weights follow
exactly, as fractions: no rounding and no solver stands between rows and noise.  A prediction is
a function of what was released, and costs nothing.  See `ridge.proof.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from flint import fmpz_mat

from privsieve.errors import DomainError, ParameterError, ReleaseFailed, SchemaError
from privsieve.methods.method import DOUBLES, PrivateMethod
from privsieve.methods.ridge.features import (
    ONE,
    WHOLE,
    Doubles,
    Ints,
    Map,
    features,
    map_of,
    original,
    target,
)
from privsieve.methods.ridge.sensitivity import longest, ridge, sensitivity
from privsieve.noise.approximate import root_up, rounded_up
from privsieve.noise.streams import Noise
from privsieve.noise.values import Grid, VectorNoise
from privsieve.public.canonical import LARGEST, Json
from privsieve.public.columns import Column, Flag, Label, Number
from privsieve.public.domain import Domain, read_column
from privsieve.public.option import as_json, declared, number, number_or_auto, option, whole
from privsieve.public.plan import Cost, NoiseSize, Plan, Takes
from privsieve.release import (
    ANSWERS,
    WRONG,
    GridNumbers,
    NoiseLaw,
    Regression,
    Release,
    exactly,
    figure,
)
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import Batch, batches
from privsieve.summaries.persons import summed
from privsieve.summaries.stages import adding

if TYPE_CHECKING:
    from privsieve.methods.worst import Pair

T = TypeVar("T")
METHOD = "kernel-ridge/1"
#: Units times the weight of each: sums of this many products are below 2^63.
LARGEST_WEIGHT = 2**30
#: Rows of a person that can be told apart by their weight.
MOST_ROWS = 4096
#: Where the noise of a prediction is this part of half the target's range, guessing is as good.
PURE_NOISE = 0.5
#: What lam="auto" chooses from.
LAMS = tuple(f"{digit}e{power}" for power in range(-5, 3) for digit in (1, 2, 5))
#: Features of a piece of rows that are in memory at a time.
PIECE = 2**20
#: Products are below 2^32, and doubles hold their sums exactly below 2^52.
EXACT_ROWS = 2**20


@declared
class PrivateKernelRidgeOptions(PrivateMethod):
    """Predict by least squares under pure epsilon-DP: only `fit` costs epsilon.

    Examples
    --------
    >>> import numpy as np, privsieve as ps
    >>> X = np.arange(40_000.0).reshape(10_000, 4) % 97 / 97
    >>> domain = ps.Domain.box(0.0, 1.0, target=(0, 100))
    >>> model = ps.PrivateKernelRidge("linear", epsilon=5, domain=domain).fit(X, 100 * X[:, 2])
    >>> int(model.feature_importances_.argmax())
    2
    """

    kind = Regression
    theorems = ("ridge",)
    assumes = DOUBLES

    kernel: str = option(
        default="rbf", kw_only=False, choices=("rbf", "linear", "cosine"),
        says="the form of the model")
    gamma: Any = option(
        default=None, metavar="G", read=number,
        says="for rbf: the width of the kernel exp(-gamma |x - x'|^2) on columns scaled to 0 to "
             "1; default: one over the number of columns")
    degree: int | None = option(
        default=None, read=whole, metavar="N",
        says="for cosine: the number of waves in each column (default 3)")
    features: int = option(
        default=200, read=whole, metavar="N", rare=True, says="for rbf: the number of random "
                                                              "cosines and sines")
    feature_seed: int = option(
        default=0, read=whole, metavar="N", rare=True,
        says="for rbf: the public seed of their frequencies")
    delta: Any = option(
        default=0, metavar="D", read=number,
        says="the delta of the guarantee, such as 1e-9: less noise if there are many features")
    lam: Any = option(
        default="auto", metavar="L", read=number_or_auto, rare=True,
        says="the penalty on large coefficients: more of it means less noise; auto takes the "
             "value with the smallest expected error, from public numbers")

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Plan one model; reads no row."""
        if self.kernel != "rbf":
            for known in fields(self):
                if (known.name in ("features", "feature_seed")
                        and getattr(self, known.name) != known.default):
                    raise ParameterError(f"{known.name} is for kernel rbf, but the kernel is "
                                         f"{self.kernel}; leave it out")
        return planned(self, domain, rows)

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return two rows at one end, one of them with its target at the other; and a session."""
        from privsieve.methods.ridge.answers import SessionPair
        from privsieve.methods.worst import TOP, of_codes

        domain = Domain((Flag("x0"),), target=Number("y", 0, 10))
        return {"": of_codes(domain, [[1, TOP], [1, 0]], [[1, TOP], [1, TOP]], kernel="linear",
                             lam=100),
                "one-answer": SessionPair.of("one"), "batch": SessionPair.of("batch")}


def planned(options: PrivateKernelRidgeOptions, domain: Domain, rows: int | None) -> Plan:
    """Plan one model; reads no row.  lam="auto" is chosen from public numbers."""
    cost = Cost.of(options.epsilon, delta=options.delta, allow_weak=options.allow_weak)
    if not isinstance(domain.target, Number):
        raise DomainError('a regression needs a target that is a number; write [target] with '
                          'kind = "number", low and high')
    if domain.rows_per_person > MOST_ROWS:
        raise DomainError(f"table.rows_per_person is {domain.rows_per_person}; write at "
                          f"most {MOST_ROWS}")
    units = domain.public_units(rows)
    chosen = map_of(domain.columns, options.kernel, gamma=options.gamma, degree=options.degree,
                    features=options.features, seed=options.feature_seed)
    auto = options.lam == "auto"
    model = LeastSquares(domain, chosen, Fraction(1) if auto else ridge(options.lam), units,
                       cost.epsilon)
    _check_size(model)
    cost.check_units(units)
    model = best(model, cost.delta) if auto else model.with_delta(cost.delta)
    # the delta is not spent where it would buy nothing
    cost = replace(cost, delta=model.delta, rho=model.noise.rho)
    _check_noise(model)
    settings = {"kernel": options.kernel, "lam": exactly(model.lam, "g"),
                **{name: value for name, value in chosen.json().items() if name != "map"}}
    return Plan(
        method=METHOD, kind=Regression.kind, domain=domain, cost=cost, units=units,
        settings=settings, options=as_json(options, settings),
        forecast=forecast(model), event=model.noise.event,
        noise=NoiseSize(Fraction(model.noise.each), "on a weight"), warning=warning(model),
        theorem="ridge", assumes=options.assumes,
        summarise=adding(partial(summarise, model=model), domain,
                         placed=not domain.rows_are_public),
        mechanism=partial(mechanism, model=model),
        says=partial(says, model=model),
        # Sums as whole numbers of Python and of flint; features of some rows in three forms.
        takes=Takes(0.0, ((128 * chosen.width**2, 16 * chosen.width**2 + 24 * PIECE),)),
    )


def summarise(batches: Iterable[Batch], key: int, *, model: LeastSquares) -> Products:
    """Sum products of features over at most the public number of units."""
    domain = model.domain
    of = partial(Products.of, kernel_map=model.map, domain=domain, most=domain.unit_weight)
    # [capped] the divisor is public, so that no more units may take part
    return summed(batches, key, domain=domain, zero=Products.zero(model.map.width), of=of,
                  most=model.units)


def mechanism(summary: Products, noise: Noise, *, model: LeastSquares) -> tuple[int, ...]:
    """Add noise to the weights, on the public grid."""
    # [leave]
    return model.noise.add(weights(summary, model), noise)


def weights(summary: Products, model: LeastSquares) -> list[Fraction]:
    """Solve for the exact weights of a table; private."""
    width, ridge_ = model.map.width, model.ridge
    # [normal-equations] in whole numbers, positive definite for every table
    system = fmpz_mat(width, width, [ridge_.denominator * int(x) for x in summary.products.ravel()])
    for j in range(width):
        system[j, j] = int(system[j, j]) + ridge_.numerator
    right = fmpz_mat(width, 1, [ridge_.denominator * int(x) for x in summary.with_target])
    # [solved] over the rationals: nothing is rounded
    solution = system.solve(right)
    return [Fraction(int(solution[j, 0].p), int(solution[j, 0].q)) for j in range(width)]


def says(output: Sequence[int], *, model: LeastSquares) -> Mapping[str, Json]:
    """Return what the release says beyond the plan."""
    return Regression(model.domain.names, model.map.json(),
                      GridNumbers(model.grid.exponent, tuple(output)),
                      NoiseLaw(model.noise.law, write_figure(model.noise.each))).write()


def _check_size(model: LeastSquares) -> None:
    # [sums-fit] units times their weight times the square of the largest feature is below 2^62
    most = LARGEST_WEIGHT // model.domain.unit_weight
    if not 1 <= model.units <= most:
        raise ParameterError(f"the table has {model.units} rows or persons; least squares takes "
                             f"1 to {most}, because its sums must fit 64 bits")


def _check_noise(model: LeastSquares) -> None:
    """Refuse, before the charge, noise that its grid could not hold."""
    grid = model.grid
    if model.noise.size >= LARGEST * grid.step:
        raise ParameterError(f"epsilon is {float(model.epsilon):g}, so the noise of "
                             f"{model.map.width} weights would not fit their grid; choose a larger "
                             "epsilon or fewer features")
    if model.longest >= LARGEST * grid.step:
        raise ParameterError(f"lam is {float(model.lam):g} for {model.units} rows or persons, so "
                             "the weights would not fit a grid as fine as their noise; choose a "
                             "smaller lam")


@dataclass(frozen=True)
class LeastSquares:
    """The public parameters of one run; a delta of 0 is Gamma-norm noise, else it is Gaussian."""

    domain: Domain
    map: Map
    lam: Fraction
    units: int
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def ridge(self) -> Fraction:
        """What is added to the diagonal of the products, once for each unit's whole weight."""
        # [scaled-ridge] rows are as long as the root of `slots` times 65535; theirs is to be 1
        return self.lam * self.units * self.domain.unit_weight * ONE**2 * self.map.slots

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit moves the weights, in the Euclidean norm."""
        # [unit] rows and target are at most 1 after scaling
        unit = Fraction(WHOLE, ONE) * root_up(Fraction(1, self.map.slots))
        return rounded_up(sensitivity(self.lam, self.units) * unit)

    @property
    def longest(self) -> Fraction:
        """A bound of the length of the weights before noise, for every table."""
        return longest(self.lam) * Fraction(WHOLE, ONE) * root_up(Fraction(1, self.map.slots))

    @cached_property
    def grid(self) -> Grid:
        """The public grid of the weights."""
        return Grid.of(self.map.width, self.sensitivity)

    @cached_property
    def noise(self) -> VectorNoise:
        """The noise on the weights."""
        return VectorNoise(self.grid, self.epsilon, self.delta)

    @property
    def prediction(self) -> float:
        """The standard deviation of noise on one prediction, at most; in half ranges."""
        return self.noise.each * sqrt(self.map.slots) * ONE / WHOLE

    @property
    def error(self) -> float:
        """Root of the mean square of what noise and ridge take from a prediction, in half ranges.

        If the true function has a length of 1 in the kernel's space, the ridge takes lam at most.
        """
        return sqrt(self.prediction**2 + float(self.lam))

    def with_delta(self, delta: Fraction) -> LeastSquares:
        """Gaussian noise, where this delta makes it the smaller one; else the same model."""
        if not delta:
            return self
        # [cheapest] from public numbers
        gaussian = replace(self, delta=delta)
        return gaussian if gaussian.noise.each < self.noise.each else self


def best(model: LeastSquares, delta: Fraction) -> LeastSquares:
    """Choose the lam of smallest expected error among round values, from public numbers.

    >>> from privsieve.public.columns import Flag, Number
    >>> domain = Domain((Flag("a"),), Number("days", 0, 9))
    >>> some = LeastSquares(domain, Map("linear", domain.columns), Fraction(1), 10_000, Fraction(1))
    >>> float(best(some, Fraction(0)).lam)
    0.02
    """
    models = (replace(model, lam=Fraction(lam)).with_delta(delta) for lam in LAMS)
    return min(models, key=lambda candidate: candidate.error)


def forecast(model: LeastSquares) -> Mapping[str, Json]:
    """Public figures: of weights in their own unit, of predictions in half the target's range."""
    return {
        "noise_each": write_figure(model.noise.each),
        "noise_length": write_figure(model.noise.length),
        "longest": write_figure(float(model.longest)),
        "noise_prediction": write_figure(model.prediction),
        "expected_error": write_figure(model.error),
    }


def warning(model: LeastSquares) -> str | None:
    """Warn if a prediction is close to pure noise."""
    if model.prediction < PURE_NOISE:
        return None
    return (f"a prediction will have noise of {model.prediction:.2g} times half the target's "
            "range: the middle of the range is as good a guess; more rows, a larger epsilon, "
            "fewer features or a larger lam would help")


def write_figure(value: float) -> str:
    """Write a figure as a decimal text.

    >>> write_figure(0.0312345), write_figure(0.0000312345)
    ('0.0312', '3.123e-05')
    """
    return figure(value, 3, "g") if 0.001 <= value < 1000 else figure(value, 4, "e")


@dataclass(frozen=True, eq=False, repr=False)
class Products:
    """The summary: any cut of the rows into parts gives the same sums."""

    products: Ints  # width x width
    with_target: Ints  # width

    @classmethod
    def zero(cls, width: int) -> Products:
        """Return the sums of no rows."""
        return cls(np.zeros((width, width), np.int64), np.zeros(width, np.int64))

    @classmethod
    def of(cls, batch: Batch, weight: Ints | None, *, kernel_map: Map, domain: Domain,
           most: int = 1) -> Products:
        """Sum over some rows; `weight` is what each counts for, at most `most`; None is 1."""
        width = kernel_map.width
        sums = cls.zero(width)
        # [exact] each partial sum, in any order, is a whole number that a double holds
        size = max(1, min(PIECE // width, EXACT_ROWS // most))
        for at in range(0, len(batch), size):
            rows = slice(at, at + size)
            phi = features(kernel_map, batch.codes[rows]).astype(np.float64)
            y = target(domain.target, batch.label[rows]).astype(np.float64)
            weighed = phi if weight is None else phi * weight[rows, None]
            sums += cls((weighed.T @ phi).astype(np.int64), (weighed.T @ y).astype(np.int64))
        return sums

    def __add__(self, other: Products) -> Products:
        return Products(self.products + other.products, self.with_target + other.with_target)


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """A model that left: features, weights and the target's bounds, all of them public."""

    domain: Domain
    map: Map
    weights: Doubles
    target: Number

    @classmethod
    def of(cls, release: Release) -> Released:
        """Read a release of a regression."""
        regression = Regression.read(release.body)
        if regression.map == ANSWERS:
            raise SchemaError("the release has answers of a session, which cannot predict; use "
                              "the release of a PrivateKernelRidge")
        try:
            domain: Any = release.body["domain"]
            columns = Domain(tuple(column_of(column) for column in domain["columns"]))
            number, person = column_of(domain["target"]), domain["person"]
            if list(release.columns) != list(columns.names) or not isinstance(number, Number) or (
                    person is not None and not isinstance(person, str)):
                raise ValueError
            kernel_map = Map.of_json(regression.features, tuple(columns.columns))
            weights = np.array(regression.values.doubles)
            if len(weights) != kernel_map.width:
                raise ValueError
        except SchemaError:
            raise
        except WRONG:
            raise SchemaError("release.json lacks fields that a prediction needs; use the file "
                              "that privsieve wrote") from None
        return cls(columns, kernel_map, weights, number)

    def predict(self, X: Any) -> Doubles:
        """Predict each row of a table: in half ranges, then on the target's scale."""
        source, predictions = open_source(X), [np.empty(0)]
        resolve(self.domain, source.shape(count_rows=False), strict=False)
        size = max(1, PIECE // self.map.width)
        try:
            for batch in batches(source, self.domain, rows=None, entropy=bytes):
                predictions += [features(self.map, batch.codes[at:at + size]).astype(np.float64)
                          @ self.weights / WHOLE for at in range(0, len(batch), size)]
        except ReleaseFailed:  # nothing was charged for a prediction
            raise SchemaError("the table cannot be read to its end: it is damaged; copy or save "
                              "it again") from None
        return original(np.concatenate(predictions), self.target)

    def lengths(self) -> Doubles | None:
        """Return the length of each column's weights; None if features mix all columns.

        >>> from privsieve.public.columns import Flag
        >>> flags = (Flag("a"), Flag("b"))
        >>> Released(Domain(flags), Map("linear", flags), np.array([9.0, 0, -2]),
        ...          Number("days", 0, 100)).lengths().tolist()
        [0.0, 2.0]
        """
        if self.map.kind == "fourier":
            return None
        squares = self.weights**2
        return np.sqrt([float(squares[group].sum()) for group in self.map.groups()])


def column_of(written: Mapping[str, Any]) -> Column:
    """Read a column that `Domain.json` wrote."""
    column = read_column(written)
    if isinstance(column, Label):
        raise ValueError  # noqa: TRY004  # a release that lacks what it needs, as the others
    return column
