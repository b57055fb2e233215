"""What a guarantee takes for granted: a few words, a sentence each, and which theorem needs which.

The proofs say it first, in their lines `assumes:` and `rests on:`.  Proofs are for readers, and no
program needs them: what follows from them stands here, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping

from privsieve.errors import ParameterError

#: Every word that a proof may use, and what it says.
SENTENCES: Mapping[str, str] = {
    "ideal-bits": "The operating system's random numbers cannot be told from coin flips.",
    "ieee-doubles": (
        "Sums, products, quotients and square roots of doubles are rounded as IEEE 754 says, "
        "sums in any order, fused or not; on whole numbers below 2^53 they are exact."),
    "exp-within-4-ulp": "NumPy's exp is within 4 units in the last place of the exact value.",
}
_BITS, _DOUBLES = ("ideal-bits",), ("ideal-bits", "ieee-doubles")
#: What each theorem on a certificate rests on, with all proofs below it.
THEOREMS: Mapping[str, tuple[str, ...]] = {
    "block-fwell": _BITS,
    "felp": tuple(SENTENCES),
    "kernel-ridge-answers": tuple(SENTENCES),
    "noisy-histogram": _BITS,
    "noisy-top-k": _DOUBLES,
    "objective-fwell": tuple(SENTENCES),
    "output-fwell": tuple(SENTENCES),
    "private-tuning": _BITS,
    "ridge": _DOUBLES,
    "rule-sieve": _BITS,
    "rule-sieve-numeric": _BITS,
}


def assumed(*theorems: str) -> tuple[str, ...]:
    """What theorems of this package assume together, in the order of the sentences.

    >>> assumed("private-tuning", "noisy-top-k")
    ('ideal-bits', 'ieee-doubles')
    """
    for theorem in theorems:
        if theorem not in THEOREMS:
            raise ParameterError(f"{theorem!r} is no theorem of this package; a method of your own "
                                 "says itself what its proof assumes")
    return tuple(word for word in SENTENCES
                 if any(word in THEOREMS[theorem] for theorem in theorems))
