"""Released: predictions from a release alone, a function of what left already: they are free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.errors import ReleaseFailed, SchemaError
from privsieve.methods.ridge.features import features
from privsieve.methods.ridge.maps import WHOLE, Map
from privsieve.public.columns import Column, Label, Number
from privsieve.public.domain import Domain, part_of

if TYPE_CHECKING:
    from privsieve.release import Release
    from privsieve.rows import Source
    from privsieve.rows.batch import Batch


Doubles = npt.NDArray[np.float64]

#: A double has no other exponent.
EXPONENTS = range(-1074, 971)
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """A model that left: features, weights and the target's bounds, all of them public."""

    domain: Domain
    map: Map
    weights: Doubles
    target: Number

    @classmethod
    def of(cls, release: Release) -> Released:
        """Read a release of the kind "regression"."""
        body: Any = release.body
        if body.get("kind") != "regression":
            raise SchemaError(f"the release is of the kind {body.get('kind')!r}; predictions need "
                              "one that `privsieve regress` or PrivateKernelRidge made")
        try:
            columns = tuple(_column(part) for part in body["domain"]["columns"])
            said = dict(body["features"])
            made = Map.of_json(said, columns)
            exponent = body["values"]["exponent"]
            if exponent not in EXPONENTS:
                raise ValueError
            step = Fraction(2) ** exponent
            weights = np.array([float(int(q) * step) for q in body["values"]["q"]])
            target = _column(body["domain"]["target"])
            named = list(body["columns"]) == [column.name for column in columns]
            person = body["domain"]["person"]
            if len(weights) != made.width or not isinstance(target, Number) or not named or (
                    person is not None and not isinstance(person, str)):
                raise ValueError
        except _WRONG:
            raise SchemaError("release.json lacks what a prediction needs; take the file as "
                              "privsieve wrote it") from None
        return cls(Domain(columns), made, weights, target)

    def predict(self, source: Source) -> Doubles:
        """A prediction for each row of a table."""
        parts = [self.value(part) for part in self._middles(source)]
        return np.concatenate([np.empty(0), *parts])

    def _middles(self, source: Source) -> Iterator[Doubles]:
        from privsieve.rows.batch import batches

        for batch in _read(batches(source, self.domain, rows=None, entropy=bytes)):
            # pieces of which the features stay small
            for at in range(0, len(batch), max(1, 2**20 // self.map.width)):
                codes = batch.codes[at:at + max(1, 2**20 // self.map.width)]
                yield features(self.map, codes).astype(np.float64) @ self.weights / WHOLE

    def value(self, middle: Doubles) -> Doubles:
        """The target, from half ranges around its middle: within its bounds, on its scale.

        >>> from privsieve.public.columns import Flag
        >>> none = Released(Domain((Flag("a"),)), Map("linear", (Flag("a"),)), np.zeros(2),
        ...                 Number("days", 0, 100))
        >>> none.value(np.array([-3.0, 0.0, 0.5])).tolist()
        [0.0, 50.0, 75.0]
        """
        low, high = self.target.low, self.target.high
        share = (np.clip(middle, -1, 1) + 1) / 2
        if self.target.scale == "log":
            found = low * (high / low) ** share
        else:
            found = low + share * (high - low)
        return np.clip(found, low, high)

    def lengths(self) -> Doubles | None:
        """For each column the length of its weights; None where features mix all columns.

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


def _read(found: Iterator[Batch]) -> Iterator[Batch]:
    """The rows; nothing is charged for a prediction, and its failure has words of its own."""
    while True:
        try:
            batch = next(found, None)
        except ReleaseFailed:
            raise SchemaError("the table cannot be read to its end: it is damaged; copy or write "
                              "it again") from None
        if batch is None:
            return
        yield batch


def _column(part: Mapping[str, Any]) -> Column:
    """A column as `Domain.json` wrote it."""
    made = part_of(part)
    if isinstance(made, Label):
        raise ValueError  # noqa: TRY004  # a release that lacks what it needs, as the others
    return made
