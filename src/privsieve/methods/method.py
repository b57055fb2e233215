"""Method: what every private method declares, and the functions that it must have.

A method is a class in one file.  Its fields are its options, its constants say what it releases
and what its proof assumes, `planned` decides everything that is decided before a row is read, and
`worst_pairs` are tables on which the audit attacks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from privsieve.public.canonical import read_flag
from privsieve.public.domain import Domain
from privsieve.public.option import declared, number, option
from privsieve.public.plan import Plan
from privsieve.release import Kind

if TYPE_CHECKING:
    from privsieve.methods.worst import Pair

#: What a proof assumes: words of `public.plan.SENTENCES`.
BITS, DOUBLES = ("ideal-bits",), ("ideal-bits", "ieee-doubles")
NUMBERS = (*DOUBLES, "exp-within-4-ulp")


@declared
class PrivateMethod:
    """What every private method is asked for."""

    #: The kind of its release.
    kind: ClassVar[type[Kind]]
    #: The theorems that its plans name, and what each assumes with all proofs below it.
    theorems: ClassVar[tuple[str, ...]]
    assumes: ClassVar[tuple[str, ...]]
    #: Whether it computes with the codes of a number, and so needs its bounds.
    needs_bounds: ClassVar[bool] = True
    #: Whether it adds up rows, and so can count each by a declared weight.
    takes_weights: ClassVar[bool] = False

    epsilon: Any = option(default=None, read=number, says="what this release costs", needed=True,
                          setting=None)
    allow_weak: bool = option(default=False, read=read_flag, says="accept an epsilon above 10",
                              setting=None)

    def planned(self, domain: Domain, rows: int | None) -> Plan:
        """Decide all that is decided before a row is read."""
        raise NotImplementedError

    @classmethod
    def worst_pairs(cls) -> Mapping[str, Pair]:
        """Return two neighbouring tables for each mode of the method; "" is the plain mode."""
        raise NotImplementedError
