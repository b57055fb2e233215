"""Law: whatever the arrays, native and NumPy give the same bits, or refuse with the same sentence.

Calls that fit are spoilt at random: values, shapes, types, order, strides, byte order, emptiness.
PRIVSIEVE_FUZZ says how many calls each kernel gets; under sanitizers each is watched as well.
"""

from __future__ import annotations

import os
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from kernel_calls import Calls, serve
from privsieve import kernels
from privsieve.kernels import (
    blocks,
    mining,
    nearest,
    patterns,
    search,
    sums,
)

pytestmark = pytest.mark.skipif(kernels.implementation() != "native",
                                reason="the native kernels are not built")

CALLS = int(os.environ.get("PRIVSIEVE_FUZZ", "150"))
MODULES = (kernels, blocks, mining, nearest, patterns, search, sums)
#: Public, and no kernel.
PLAIN = {"implementation", "reason", "finished", "plane_words"}
ENTRIES = [0, 1, -1, 2, 3, 7, 64, 255, 4096, 65535, 2**31 - 1, -2**31, 2**40, 2**53, 2**58, 2**60,
           2**62, -2**63, 2**63 - 1]
NUMBERS = [0, 1, -1, 2, 3, 4, 5, 8, 16, 63, 64, 300, -2**63, 2**31, 2**62, 2**63, 2**64, True, 1.5]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e100, -1.1e100, np.inf, np.nan]
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64, np.float64,
         np.bool_]


def doors():
    """Every public kernel."""
    return {name: getattr(module, name) for module in MODULES for name in module.__all__
            if name[0].islower() and name not in PLAIN}


# how a call is spoilt


def entries(rng, a):
    """Some entries are others, the ends of their type among them."""
    a = a.copy()
    for _ in range(int(rng.choice([1, 1, 2, 5])) if a.size else 0):
        at = tuple(int(rng.integers(0, s)) for s in a.shape)
        if a.dtype.kind == "f":
            a[at] = rng.choice(FLOATS)
        else:
            number = int(rng.choice(ENTRIES)) if rng.random() < 0.6 else int(rng.integers(-3, 70))
            a[at] = np.array(number % 2**64, np.uint64).astype(a.dtype)
    return a


def doubled(rng, a):
    """Some entries are what their neighbours are: rows that do not rise."""
    a = a.copy()
    for _ in range(int(rng.choice([1, 2, 5])) if a.size > 1 else 0):
        at = int(rng.integers(1, a.size))
        a.reshape(-1)[at] = a.reshape(-1)[at - 1]
    return a


def shaped(rng, a):
    """Longer or shorter along each axis."""
    return np.resize(a, [max(0, s + int(rng.choice([-2, -1, 0, 1, 3]))) for s in a.shape])


def emptied(rng, a):
    """Nothing along an axis."""
    axis = int(rng.integers(0, a.ndim))
    return np.take(a, [], axis)


def unaligned(_rng, a):
    """The same, at an odd place of memory."""
    room = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    room[...] = a
    return room


def read_only(_rng, a):
    """The same, not to be written to."""
    a = a.copy()
    a.flags.writeable = False
    return a


SPOILS = [
    *[entries] * 8, doubled, doubled, doubled, shaped, shaped, emptied, unaligned, read_only,
    lambda rng, a: a.astype(TYPES[rng.integers(0, len(TYPES))]),
    lambda _, a: a.astype(a.dtype.newbyteorder()),
    lambda _, a: np.asfortranarray(a), lambda _, a: a[::-1], lambda _, a: a[..., None],
    lambda _, a: np.repeat(a, 2, axis=0)[::2], lambda rng, a: rng.permutation(a),
    lambda _, a: np.sort(a, axis=0)[::-1].copy(), lambda _, a: np.concatenate([a, a]),
    lambda _, a: a.tolist(), lambda _, _a: None,
]


def spoilt(rng, value, share):
    """A value, of which each part is spoilt with this probability."""
    if isinstance(value, tuple):
        parts = [spoilt(rng, array, share) for array in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value):
        return replace(value, **{f.name: spoilt(rng, getattr(value, f.name), share / 4)
                                 for f in fields(value)})
    if rng.random() >= share:
        return value
    if isinstance(value, np.ndarray):
        with np.errstate(all="ignore"):
            return SPOILS[rng.integers(0, len(SPOILS))](rng, value)
    if isinstance(value, int):
        return NUMBERS[rng.integers(0, len(NUMBERS))]
    return value if value is None else "nothing"


# the outcome of a call


def bits(value):
    """An answer as something that compares bit by bit."""
    if isinstance(value, mining.Top):  # which nodes were looked at, each search may say for itself
        return bits((value.sets, value.value, value.bound)) if value.ended == "all" else "ended"
    if isinstance(value, search.Found):  # nor which of the best sets it is
        return value.value, value.bound, bool(value.proved)
    if isinstance(value, mining.Sets):
        return bits((value.indptr, value.items, value.support))
    if isinstance(value, tuple):
        return tuple(bits(array) for array in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return str(value.dtype), value.shape, value.tobytes()
    return value


def outcome(call, arguments, which, monkeypatch):
    """What one implementation makes of a call; what it wrote into its arguments is told too."""
    mine = copied(arguments)
    with monkeypatch.context() as patch:
        serve(which, patch)
        try:
            answer = bits(call(*mine))
        except (ValueError, TypeError) as error:
            return type(error).__name__, str(error)
    return "answer", answer, bits(tuple(a for a in mine if isinstance(a, np.ndarray)))


def ended(*outcomes):
    """Whether one of two searches met a limit of nodes, which each counts for itself."""
    return {"answer"} == {outcome[0] for outcome in outcomes} and "ended" in [outcome[1] for outcome
                                                                              in outcomes]


def copied(value):
    """The same, with arrays of its own that lie in memory as the others do."""
    if isinstance(value, tuple):
        parts = [copied(array) for array in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, np.ndarray) and value.flags.writeable and value.flags.c_contiguous:
        return value.copy() if value.flags.aligned else unaligned(None, value)
    return value


def test_every_kernel_is_here():
    """A kernel that is public has calls to be spoilt."""
    calls = {name for name in doors() if hasattr(Calls, name)}

    assert calls == set(doors())


def test_no_test_escapes_the_sanitizers_by_its_name():
    """They leave out what asks for NumPy's half, known by the word: no name of a test holds it."""
    root = Path(__file__).parents[1]
    chosen = (root / ".ci/sanitize").read_text()
    files = set(re.findall(r"tests/test_\w+\.py", chosen))
    escaped = [name for file in sorted(files)
               for name in re.findall(r"def (test_\w*numpy\w*)", (root / file).read_text())]

    assert '"not numpy' in chosen
    assert Path(__file__).relative_to(root).as_posix() in files
    assert not escaped


@pytest.mark.parametrize("name", sorted(doors()))
def test_both_answer_or_refuse_alike(name, monkeypatch):
    """The same bits, or the same refusal, whatever the arrays."""
    rng = np.random.default_rng([2026, *name.encode()])
    calls = set()
    for _ in range(CALLS):
        arguments = spoilt(rng, getattr(Calls(rng), name)(), rng.choice([0, 0.1, 0.4]))
        native, numpy = (outcome(doors()[name], arguments, which, monkeypatch)
                         for which in ("native", "numpy"))
        calls.add(native[0])

        assert native == numpy or (ended(native, numpy) and native[2:] == numpy[2:])

    assert {"answer", "TypeError"} <= calls


NOBODY = np.zeros((3, 0), np.uint8), np.zeros(1, np.int64), None
#: Calls of which the two made different things, or a sanitizer told, as long searches found.
FOUND = {
    "no class of all labellings": ("pair_best", (
        *NOBODY[:2], np.zeros(0, np.int64), np.zeros((3, 0), np.int64), 4, np.zeros(3, np.uint8))),
    "no class of products": ("product_sums", (
        np.zeros((4, 0), np.uint64), None, np.full(4, -1), np.zeros(1, np.int64),
        np.zeros(0, np.int64), 2)),
    "no code of patterns": ("peel", (
        np.zeros((2, 1), np.uint64), np.zeros((2, 0), np.int64), 1, 1)),
    "a weight without a size": ("pair_best", (
        np.zeros((2, 0), np.uint8), np.zeros(2, np.int64), None, np.array([[-2**63]]), 4,
        np.zeros(2, np.uint8))),
    "no labelling of heavy rows": ("pair_best", (
        np.zeros((3, 2), np.uint8), np.array([0, 2]), np.array([2**31 - 1, 3000]),
        np.zeros((0, 1), np.int64), 4, np.zeros(3, np.uint8))),
    "one class, by a truth": ("code_sums", (
        np.ones((2, 1), np.uint16), np.zeros(1, np.int32), True)),
    "a cut where a code is missing": ("sign_planes", (
        np.array([[65535, 2]], np.uint16), np.array([0, 2]), np.array([[3, 0], [1, 0]], np.uint64),
        7, tuple(np.array([number], t) for number, t in zip((65535, 0, 0, 1), "HQQq", strict=True)),
        np.ones(1, np.uint8))),
    "classes that the first search does not ask for": ("top_maximal", (
        (np.array([0, 1, 7]), np.array([0, 0, 1, 2, 3, 4, 5], np.int32)), [0, 1, 1, 1, 1, 1],
        np.array([29, 1]), mining.TopRule(2, 1, 3, nodes=1))),
}
REFUSED = {"a weight without a size", "a cut where a code is missing",
           "classes that the first search does not ask for"}


@pytest.mark.parametrize("bounds", FOUND)
def test_what_was_found_is_alike(bounds, monkeypatch):
    """The same bits or the same refusal for each that was found once."""
    name, arguments = FOUND[bounds]
    native, numpy = (outcome(doors()[name], arguments, which, monkeypatch)
                     for which in ("native", "numpy"))

    assert native == numpy
    assert ("answer" == native[0]) == (bounds not in REFUSED)
