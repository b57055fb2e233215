"""Features: rows of codes become whole numbers, each row by itself, the same on every machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privsieve.methods.ridge.frequencies import STEPS, TURN, cosines, frequencies
from privsieve.methods.ridge.maps import ONE, WHOLE, Map, Term
from privsieve.public.columns import MISSING, Category, Date, Flag, Label, Number, Target

Codes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int64]


def features(made: Map, codes: Codes) -> Ints:
    """The features of some rows, rows x width.

    >>> from privsieve.public.columns import Flag
    >>> from privsieve.methods.ridge.maps import Map
    >>> features(Map("linear", (Flag("a"),)), np.array([[1], [0]], np.uint16)).tolist()
    [[65535, 65535], [65535, -65535]]
    """
    if made.kind == "fourier":
        return _fourier(made, codes)
    found = np.empty((made.width, len(codes)), np.int64)
    at, known = 0, {}
    for term in made.terms:
        for j, power in term:
            if (j, power) not in known:
                known[j, power] = _parts(made, j, power, codes[:, j])
        wide = made.wide(term)
        found[at:at + wide] = _product(term, known, len(codes))
        at += wide
    return found.T


def target(column: Target | None, label: npt.NDArray[np.int32]) -> Ints:
    """The target from the public middle, in 65536ths of half its range.

    >>> from privsieve.public.columns import Number
    >>> target(Number("days", 0, 365), np.array([0, 65535], np.int32)).tolist()
    [-65535, 65535]
    """
    assert column is not None
    assert not isinstance(column, Label)
    return centred(column, label)


def centred(column: Number | Date, codes: npt.NDArray[np.uint16] | npt.NDArray[np.int32]) -> Ints:
    """Codes from the middle of their grid, within +- 65535; what is missing is in the middle."""
    code = codes.astype(np.int64)
    # [middle]
    if column.missing_level:
        return np.where(code == MISSING, 0, 2 * code - (MISSING - 1))
    return 2 * code - ONE


def _product(term: Term, known: dict[tuple[int, int], Ints], rows: int) -> Ints:
    """The features of a term's slot: products over its columns' parts, in 65536ths."""
    # [constant]
    found = np.full((1, rows), ONE, np.int64)
    for n, factor in enumerate(term):
        part = known[factor]
        # [product] the first one replaces the constant
        found = part if n == 0 else _times(found[:, None], part[None]).reshape(
            len(found) * len(part), rows)
    return found


def _times(a: Ints, b: Ints) -> Ints:
    """The product in 65536ths, towards zero: never larger in size than either factor."""
    product = a * b
    found: Ints = np.sign(product) * (np.abs(product) // WHOLE)
    return found


def _parts(made: Map, j: int, power: int, codes: Codes) -> Ints:
    """The features of a power (a harmonic) of one column, parts x rows; at most one is not 0."""
    column = made.columns[j]
    # [one-of-a-slot]
    if isinstance(column, Flag):
        return np.where(codes > 0, ONE, -ONE)[None].astype(np.int64)
    if isinstance(column, Category):
        hot: Ints = ONE * (codes == np.arange(column.levels)[:, None]).astype(np.int64)
        return hot
    value = centred(column, codes)
    if made.kind == "cosine":
        # half a turn over the range, from the middle of the first code to that of the last
        phase = power * (value + ONE) * (STEPS // 4) // WHOLE
        shown = cosines()[phase % STEPS]
    else:
        shown = value
        for _ in range(power - 1):
            shown = _times(shown, value)
    if not column.missing_level:
        return shown[None]
    absent = codes == MISSING
    shown = np.where(absent, 0, shown)
    return np.stack([shown, ONE * absent.astype(np.int64)]) if power == 1 else shown[None]


def _fourier(made: Map, codes: Codes) -> Ints:
    """Cosine and sine of each phase, side by side."""
    phase = _steps(made, codes)
    for column, moved, code in zip(made.columns, frequencies(made), codes.T, strict=True):
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
    found = np.empty((len(codes), 2 * made.pairs), np.int64)
    found[:, ::2] = table[at % STEPS]
    found[:, 1::2] = table[(at - STEPS // 4) % STEPS]
    return found


def _steps(made: Map, codes: Codes) -> Ints:
    """What numbers turn the phases by: sums of code times frequency, modulo a turn."""
    ordered = [j for j, column in enumerate(made.columns)
               if not isinstance(column, (Category, Flag))]
    if not ordered:
        return np.zeros((len(codes), made.pairs), np.int64)
    code = codes[:, ordered].astype(np.float64)
    for at, j in enumerate(ordered):
        if made.columns[j].missing_level:
            code[codes[:, j] == MISSING, at] = MISSING // 2
    each = np.stack([frequencies(made)[j][0] for j in ordered])
    # [two-halves] products below 2^32 and at most 2^17 columns: sums that doubles hold exactly
    high = (code @ (each // STEPS).astype(np.float64)).astype(np.int64)
    low = (code @ (each % STEPS).astype(np.float64)).astype(np.int64)
    return high % STEPS * STEPS + low
# [/fourier]
