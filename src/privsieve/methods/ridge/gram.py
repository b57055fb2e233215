"""Gram: kernels of codes on the domain's public grid, with an error that is known beforehand.

A record is a point of whole numbers (`coordinates`), so products and squared distances of points
are exact whatever the order of their sums; what is rounded comes after.  K(x, x) <= 1 everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from privsieve.errors import DomainError, ParameterError
from privsieve.public.canonical import Json
from privsieve.public.columns import CODES, MIDDLE, MISSING, Column, Date, Number
from privsieve.public.domain import Domain

Doubles = npt.NDArray[np.float64]

#: Half of a column's range in coordinates.  Two levels of a category are as far from each other as
#: the ends of a range (2 * 92681^2 is 131072^2 but for 2e-5), and a missing level at least as far.
HALF, LEVEL, ABSENT = CODES, 92_681, 2 * CODES
#: Sums of products stay below 2^53 up to this sum of squared lengths, in units of HALF^2.
WIDEST = 2**18
LARGEST_DEGREE, LARGEST_GAMMA = 16, 10**6
#: How far a computed kernel can be from the exact one, anywhere.
ERROR = Fraction(1, 2**48)


@dataclass(frozen=True)
class Kernel:
    """A kernel of records: public parameters, and the domain that says what a record is.

    ::

        rbf         exp(-gamma |x - x'|^2), columns scaled to a range of 1
        linear      (1 + z.z') / (1 + w), columns from -1 to 1, w their largest squared length
        polynomial  the linear one to a power
    """

    domain: Domain
    name: Literal["rbf", "linear", "polynomial"]
    gamma: float = 1.0
    degree: int = 1

    @classmethod
    def of(cls, domain: Domain, name: str = "rbf", gamma: object = 1.0,
           degree: object = 2) -> Kernel:
        """Check what a person wrote.

        >>> from privsieve.public.domain import Domain
        >>> Kernel.of(Domain.box(0, 1, columns=2), "linear").json()
        {'kernel': 'linear'}
        """
        if name not in ("rbf", "linear", "polynomial"):
            raise ParameterError(f'kernel is {name!r}; write "rbf", "linear" or "polynomial"')
        if length(domain) > WIDEST:
            raise DomainError(f"the columns have a squared length of {length(domain)}; kernels are "
                              f"exact up to {WIDEST}: leave columns out")
        try:
            width = float(gamma)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            width = 0.0
        if not 1 / LARGEST_GAMMA <= width <= LARGEST_GAMMA:
            raise ParameterError(f"gamma is {gamma!r}; write a number from 1e-6 to 1e6.  Columns "
                                 "are scaled to a range of 1")
        if isinstance(degree, bool) or degree not in range(1, LARGEST_DEGREE + 1):
            raise ParameterError(f"degree is {degree!r}; write a whole number from 1 to "
                                 f"{LARGEST_DEGREE}")
        return cls(domain, name, width if name == "rbf" else 1.0,  # type: ignore[arg-type]
                   degree if name == "polynomial" else 1)  # type: ignore[arg-type]

    def json(self) -> dict[str, Json]:
        """What a release says of the kernel."""
        said: dict[str, Json] = {"kernel": self.name}
        if self.name == "rbf":
            said["gamma"] = repr(self.gamma)
        if self.name == "polynomial":
            said["degree"] = self.degree
        return said

    def gram(self, P: Doubles, Q: Doubles) -> Doubles:
        """The kernel of each point of P with each of Q.

        >>> from privsieve.public.domain import Domain
        >>> line = Kernel.of(Domain.box(0, 1, columns=1), "rbf", gamma=0.5)
        >>> P = coordinates(np.array([[0], [65535]], np.uint16), line.domain)
        >>> line.gram(P, P).round(4).tolist()
        [[1.0, 0.6065], [0.6065, 1.0]]
        """
        # [exact] integers below 2^53, whatever the order of the sums
        products = P @ Q.T
        if self.name == "rbf":
            # [distance]
            products *= -2.0
            products += np.einsum("ij,ij->i", P, P)[:, None]
            products += np.einsum("ij,ij->i", Q, Q)
            # [rbf] a power of two and one rounding, then exp
            products *= -(self.gamma / (2 * HALF) ** 2)
            return np.exp(products, out=products)
        return self._power(products)

    def diagonal(self, P: Doubles) -> Doubles:
        """The kernel of each point with itself: at most 1."""
        if self.name == "rbf":
            return np.ones(len(P))
        return self._power(np.einsum("ij,ij->i", P, P))

    def _power(self, products: Doubles) -> Doubles:
        # [linear]
        products += HALF**2
        products /= HALF**2 * (1 + length(self.domain))
        # [power]
        found = products.copy() if self.degree > 1 else products
        for _ in range(self.degree - 1):
            found *= products
        return found


def length(domain: Domain) -> int:
    """The largest squared length of a point, in units of HALF^2.

    >>> from privsieve.public.domain import Domain
    >>> length(Domain.box(0, 1, columns=3))
    3
    """
    # [length]
    return sum(_length(column) for column in domain.columns)


def _length(column: Column) -> int:
    if isinstance(column, (Number, Date)):
        return 4 if column.missing_level else 1
    return 1 if column.kind == "flag" else 2


def coordinates(codes: npt.NDArray[np.uint16], domain: Domain) -> Doubles:
    """Records as points of whole numbers: a range is 131,072 long, with 0 in its middle.

    >>> from privsieve.public.domain import Domain
    >>> from privsieve.public.columns import Category, Flag
    >>> domain = Domain([Number("age", 0, 110), Flag("smoker"), Category("ward", ["A"])])
    >>> coordinates(np.array([[0, 1, 1]], np.uint16), domain).tolist()
    [[-65535.0, 65536.0, 0.0, 92681.0]]
    """
    parts = [np.empty((len(codes), 0))]
    for j, column in enumerate(domain.columns):
        code = codes[:, j].astype(np.float64)
        if isinstance(column, (Number, Date)):
            # [number] the middle of the grid's cell
            at = 2 * code + 1 - HALF
            if column.missing_level:
                # [absent]
                gone = code == MISSING
                parts.append(np.column_stack([np.where(gone, 0, at), gone * float(ABSENT)]))
            else:
                parts.append(at[:, None])
        elif column.kind == "flag":
            parts.append(((2 * code - 1) * HALF)[:, None])
        else:
            # [category]
            parts.append((code[:, None] == np.arange(column.levels)) * float(LEVEL))
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def targets(label: npt.NDArray[np.int32], domain: Domain) -> Doubles:
    """Targets between -1 and 1, from the codes of a target that is a number.

    >>> from privsieve.public.domain import Domain
    >>> domain = Domain.box(0, 1, columns=1, target=(0, 9))
    >>> targets(np.array([0, 65535], np.int32), domain).round(4).tolist()
    [-1.0, 1.0]
    """
    used = MISSING if target(domain).missing_level else CODES
    at = np.where(label >= used, MIDDLE, label)
    # [target] one rounding, which is monotone: never beyond 1
    return (2.0 * at + 1 - used) / used


def original(values: Doubles, domain: Domain) -> Doubles:
    """Numbers between -1 and 1 as values of the target, clipped to its bounds.

    >>> from privsieve.public.domain import Domain
    >>> original(np.array([-3.0, 0.5]), Domain.box(0, 1, columns=1, target=(0, 8))).tolist()
    [0.0, 6.0]
    """
    part = target(domain)
    share = (np.clip(values, -1, 1) + 1) / 2
    if part.scale == "log":
        return np.clip(part.low * (part.high / part.low) ** share, part.low, part.high)
    return part.low + share * (part.high - part.low)


def target(domain: Domain) -> Number:
    """The target, which has to be a number."""
    if not isinstance(domain.target, Number):
        raise DomainError('least squares needs a target that is a number: [target] with kind = '
                          '"number", low and high, or target=Number(...)')
    return domain.target
