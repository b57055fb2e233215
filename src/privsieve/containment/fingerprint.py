"""Fingerprint: by it a ledger knows a table again, and it tells nothing to who lacks the key.

It is made with the ledger's secret (`ledger_key`) from the multiset of the rows, restricted to the
columns of a claim, with the classes and sensitive values on which the claim rests.  Rows in another
order make the same one; a row that was added, dropped or changed makes another.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privsieve.kernels.patterns import pattern_table
from privsieve.public.canonical import canonical
from privsieve.public.columns import text_of

if TYPE_CHECKING:
    from privsieve.containment.labelled import Labelled
    from privsieve.rows.matrix import Items

    #: The texts that occur in a column, in order, and for each row the position of its own.

Ints = npt.NDArray[np.int64]
Column = tuple[list[str], Ints]

TAG, KEY_TAG = b"privsieve-fingerprint/1\0", b"privsieve-key/1\0"
#: Hexadecimal digits of a fingerprint: first those that tell the key, then those of the table.
OF_KEY, OF_TABLE = 16, 48


@dataclass(frozen=True, eq=False, repr=False)
class Seal:
    """What a fingerprint is bound to: a ledger's secret, the people, the state of their table."""

    key: bytes
    population: str
    snapshot: str


def fingerprint(table: Labelled, claim: Mapping[str, Any], seal: Seal) -> str:
    """The fingerprint of a table on what a claim publishes of it or rests on: 64 digits.

    The whole table is read, with rows that do not leave.

    >>> from privsieve.containment.labelled import Labelled
    >>> from privsieve.rows.matrix import Items
    >>> y, seal = np.zeros(3, np.int32), Seal(b"0" * 32, "clinic", "2026")
    >>> one, other = (Labelled(Items.dense(rows, ["a", "b"]), y, (None,))
    ...               for rows in ([[1, 0], [1, 1], [0, 1]], [[0, 1], [1, 1], [1, 1]]))
    >>> fingerprint(one, {"columns": ["b"]}, seal) == fingerprint(other, {"columns": ["b"]}, seal)
    False
    >>> fingerprint(one, {"columns": ["a"]}, seal) == fingerprint(other, {"columns": ["a"]}, seal)
    True
    """
    names = sorted(claim["columns"])
    place = {name: at for at, name in enumerate(table.items.names)}
    bits, patterns = _patterns(table.items.take([place[name] for name in names]))
    columns = dict(_columns(table, claim))
    made = hmac.new(seal.key, TAG, sha256)
    made.update(canonical({
        "population": seal.population, "snapshot": seal.snapshot, "rows": table.items.rows,
        "columns": names, "beside": {name: texts for name, (texts, _) in columns.items()},
    }))
    made.update(bits.tobytes())
    for piece in _rows(patterns, list(columns.values()), _sources(table, claim)):
        made.update(piece)
    return key_digits(seal.key) + made.hexdigest()[:OF_TABLE]


def key_digits(key: bytes) -> str:
    """The digits with which all fingerprints of a key begin; they do not tell the key."""
    return hmac.new(key, KEY_TAG, sha256).hexdigest()[:OF_KEY]


def rests_on(claim: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether a claim publishes or counts classes, and the sensitive columns of which it does so.

    >>> rests_on({"columns": ["a"], "l_diversity": 2, "target": None})
    (True, ())
    """
    roles = claim.get("roles") or {}
    limits = claim.get("limits") or {}
    limited = claim.get("l_diversity", 1) > 1 or any(
        limits.get(name) is not None for name in ("share", "entropy", "closeness"))
    sensitive = roles.get("sensitive", ()) if limited else claim.get("sensitive", ())
    return limited or claim.get("target") is not None, tuple(sorted(sensitive))


def target_of(claim: Mapping[str, Any]) -> str | None:
    """The target of a claim, published or not; version 0.1.0 noted only a published one."""
    roles = claim.get("roles")
    found: str | None = roles["target"] if roles else claim.get("target")
    return found


def _patterns(items: Items) -> tuple[npt.NDArray[np.uint8], Ints]:
    """The different rows as bits, in the order of these, and for each row the position of its own.

    They do not depend on how a kernel numbers patterns: a ledger is kept for years.
    """
    nobody = np.zeros(items.rows, np.int32)
    found = pattern_table((items.indptr, items.indices), nobody, 1, None).pattern
    bits = np.zeros((int(found.max(initial=-1)) + 1, -(-len(items) // 8)), np.uint8)
    for j in range(len(items)):
        bits[found[items.indices[items.indptr[j]:items.indptr[j + 1]]], j // 8] |= 128 >> j % 8
    order = np.lexsort(bits.T[::-1])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return bits[order], rank[found]


def _columns(table: Labelled, claim: Mapping[str, Any]) -> Iterator[tuple[str, Column]]:
    """The classes and the sensitive columns on which a claim rests."""
    classes, sensitive = rests_on(claim)
    if classes:
        texts = [text_of(one) for one in table.classes]
        yield f"target {table.target}", _coded(texts, table.y)
    for one in sorted(table.sensitive, key=lambda one: one.name):
        if one.name in sensitive:
            yield f"sensitive {one.name}", _coded(one.values, one.codes)


def _coded(texts: Sequence[str], codes: npt.NDArray[np.int32]) -> Column:
    """A column by the texts that occur in it: others may or may not be declared."""
    there = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    known = sorted({texts[at] for at in there.tolist()})
    place = {text: at for at, text in enumerate(known)}
    new = np.array([place.get(text, -1) for text in texts], np.int64)
    return known, new[codes]


def _sources(table: Labelled, claim: Mapping[str, Any]) -> npt.NDArray[np.int32] | None:
    return table.sources if claim.get("counted") == "sources" else None


def _rows(patterns: Ints, columns: Sequence[Column], sources: npt.NDArray[np.int32] | None,
          ) -> Iterator[bytes]:
    """The different rows with their numbers; of sources, the rows of each."""
    row = patterns
    for texts, codes in columns:
        row = np.unique(row * len(texts) + codes, return_inverse=True)[1].reshape(-1)
    _, first, row, counts = np.unique(row, return_index=True, return_inverse=True,
                                      return_counts=True)
    for values in (patterns[first], *(codes[first] for _, codes in columns), counts):
        yield values.astype("<i8").tobytes()
    if sources is not None:
        order = np.lexsort((row, sources))
        ends = np.flatnonzero(np.diff(sources[order])) + 1
        yield b"sources"
        for piece in sorted(part.astype(">i8").tobytes()
                            for part in np.split(row.reshape(-1)[order], ends)):
            yield len(piece).to_bytes(8, "little") + piece
