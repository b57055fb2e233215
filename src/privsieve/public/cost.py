"""What a release costs: exact fractions in, integer units stored."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from privsieve.errors import ParameterError
from privsieve.frozen import dataclass
from privsieve.public.canonical import quoted

#: Units per 1: the ledger adds integers, so no sum depends on its order.
EPSILON_UNITS = 10**9
DELTA_UNITS = 10**18
RHO_UNITS = 10**12
#: The largest amount that an account holds, of any kind: more is as much as this.
TOP = 2**62 - 1

#: Above this a claim says little; it needs `allow_weak`.
WEAK_EPSILON = 10
#: Above this it says nothing at all, and is refused.
LARGEST_EPSILON = 1000

#: Digits of e^epsilon that are computed: far more than are shown.
EXACT = Context(prec=60)
#: Above this epsilon the factor is a number that nobody reads.
LARGEST_FACTOR = 25

_NUMBER = r"\+?[0-9]{1,18}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?"


def exact(value: object, name: str) -> Fraction:
    """Read a privacy parameter as the fraction that its decimal text says.

    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1e-6", "epsilon")
    Fraction(1, 1000000)
    """
    if isinstance(value, Fraction):
        return value
    text = quoted(value) if isinstance(value, int) else str(value).strip(" ")
    if isinstance(value, bool) or not re.fullmatch(_NUMBER, text):
        raise ParameterError(f"{name} is {quoted(text)}; write a positive decimal number such "
                             "as 0.5")
    return Fraction(text)


def factor(epsilon: Fraction) -> str | None:
    """e^epsilon in three digits, rounded up; None where it says nothing to anybody.

    >>> factor(Fraction(1, 2)), factor(Fraction(10)), factor(Fraction(26))
    ('1.65', '22,100', None)
    """
    if epsilon > LARGEST_FACTOR:
        return None
    times = power(epsilon)
    return short(times.quantize(Decimal(1).scaleb(times.adjusted() - 2), rounding=ROUND_CEILING,
                                context=EXACT))


def power(epsilon: Fraction) -> Decimal:
    """e^epsilon."""
    return EXACT.exp(EXACT.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))


def short(value: Decimal) -> str:
    """Digits without an exponent and without zeros at the end, thousands parted.

    >>> short(Decimal("1200.50"))
    '1,200.5'
    """
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class Cost:
    """A cost: epsilon, exact to 1e-9, and delta, exact to 1e-18.  Pure where delta is 0.

    rho : what the release spends as concentrated privacy (zCDP), where that is known of it.

    >>> Cost.of("0.3").units, Cost.of("0.3", delta="1e-6").delta_units
    (300000000, 1000000000000)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @classmethod
    def of(cls, epsilon: object, *, delta: object = 0, allow_weak: bool = False) -> Cost:
        """Check an epsilon, and a delta, that a person wrote."""
        value = exact(epsilon, "epsilon")
        if value <= 0:
            raise ParameterError(f"epsilon is {epsilon}; it must be larger than 0")
        if value * EPSILON_UNITS % 1:
            raise ParameterError(f"epsilon is {epsilon}; nine decimals are kept: shorten it")
        if value > LARGEST_EPSILON:
            raise ParameterError(f"epsilon is {epsilon}; above {LARGEST_EPSILON} nothing is "
                                 "promised to anybody")
        if value > WEAK_EPSILON and not allow_weak:
            raise ParameterError(f"epsilon is {epsilon}; above {WEAK_EPSILON} the promise is weak: "
                                 "choose a smaller one, or say allow_weak (--allow-weak)")
        also = exact(delta, "delta")
        if not 0 <= also < 1:
            raise ParameterError(f"delta is {delta}; it must be 0, or lie between 0 and 1")
        if also * DELTA_UNITS % 1:
            raise ParameterError(f"delta is {delta}; eighteen decimals are kept: shorten it")
        return cls(value, also)

    def check_units(self, units: int) -> None:
        """Refuse a delta of 1/n or more, for n units: it would let one of them out whole.

        >>> Cost.of(1, delta="1e-6").check_units(5000)
        """
        if self.delta and self.delta * units >= 1:
            raise ParameterError(f"delta is {self.delta_text} and {units} units are protected; "
                                 f"above 1/{units} the whole of somebody's rows could be released "
                                 "within the promise: choose a delta far below that, such as 1e-9")

    @property
    def account(self) -> str:
        """What kind of promise it pays for: "pure", or "approximate" where there is a delta."""
        return "approximate" if self.delta else "pure"

    @property
    def units(self) -> int:
        """Integer units of 1e-9, rounded up: a charge is never too small."""
        return -(-self.epsilon * EPSILON_UNITS // 1)

    @property
    def delta_units(self) -> int:
        """Integer units of 1e-18, rounded up."""
        return -(-self.delta * DELTA_UNITS // 1)

    @property
    def rho_units(self) -> int | None:
        """Integer units of 1e-12, rounded up; None where nothing is known of rho.

        A pure release spends at most epsilon^2 / 2, whatever else is known of it.

        >>> Cost.of(1).rho_units, Cost.of(1, delta="1e-6").rho_units
        (500000000000, None)
        """
        known = [self.rho] if self.rho is not None else []
        if not self.delta:
            known.append(self.epsilon**2 / 2)
        return min(TOP, -(-min(known) * RHO_UNITS // 1)) if known else None

    @property
    def text(self) -> str:
        """The decimal text of epsilon, exact.

        >>> Cost.of("0.50").text
        '0.5'
        """
        return decimal(self.units)

    @property
    def delta_text(self) -> str:
        """The decimal text of delta, exact.

        >>> Cost.of(1, delta="1e-6").delta_text, Cost.of(1).delta_text
        ('0.000001', '0')
        """
        return decimal(self.delta_units, DELTA_UNITS)

    @property
    def words(self) -> str:
        """Both, for people; delta where there is one.

        >>> Cost.of(1, delta="1e-6").words, Cost.of(1).words
        ('epsilon 1 and delta 0.000001', 'epsilon 1')
        """
        return f"epsilon {self.text}" + (f" and delta {self.delta_text}" if self.delta else "")


def decimal(units: int, per: int = EPSILON_UNITS) -> str:
    """Units, of 1e-9 or of 1e-18, as a decimal text.

    >>> decimal(2_500_000_000), decimal(3_000_000_000), decimal(0), decimal(10**12, DELTA_UNITS)
    ('2.5', '3', '0', '0.000001')
    """
    whole, rest = divmod(units, per)
    return f"{whole}.{rest:0{len(str(per)) - 1}d}".rstrip("0").rstrip(".")


def units_of(text: object, per: int) -> int | None:
    """The integer units of a decimal text, if it is the one text for them.

    >>> units_of("0.5", 10**9), units_of("0.50", 10**9)
    (500000000, None)
    """
    try:
        units = exact(text, "an amount") * per
    except ParameterError:
        return None
    return int(units) if units.denominator == 1 and decimal(int(units), per) == text else None
