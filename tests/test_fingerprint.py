"""Laws: a fingerprint is that of the rows, whatever their order, and its key is a secret."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from claims import SEAL, claimed, sealed, table_of
from privsieve.containment.labelled import Sensitive
from privsieve.containment.snapshot import Seal, fingerprint, key_digits, rests_on, seal_of
from privsieve.errors import LedgerError
from privsieve.ledger.ledger import Ledger


def seen(table, claim):
    """What a claim rests on, row by row: naive."""
    names = list(table.items.names)
    cells = np.zeros((table.items.rows, len(names)), int)
    for j in range(len(names)):
        cells[table.items.indices[table.items.indptr[j]:table.items.indptr[j + 1]], j] = 1
    classes, hidden = rests_on(claim)
    rows = []
    for i in range(table.items.rows):
        row = [cells[i, names.index(name)] for name in sorted(claim["columns"])]
        row += [table.classes[table.y[i]]] if classes else []
        row += [column.values[column.codes[i]] for column in table.sensitive
                if column.name in hidden]
        rows.append(tuple(row))
    if claim.get("counted") == "sources":
        return Counter(tuple(sorted(row for row, who in zip(rows, table.sources, strict=True)
                                    if who == source)) for source in set(table.sources.tolist()))
    return Counter(rows)


def any_table(rng, rows, width):
    """A small table with sensitive values and sources, so small that many are alike."""
    cells = rng.random((rows, width)) < 0.5
    hidden = Sensitive("s", rng.integers(0, 2, rows).astype(np.int32), ("u", "v"))
    return table_of(cells, rng.integers(0, 2, rows), sensitive=(hidden,),
                    sources=rng.integers(0, 2, rows).astype(np.int32))


def test_a_fingerprint_is_that_of_the_rows():
    """On 300 pairs of tables fingerprints are equal if and only if the rows are, in any order."""
    rng = np.random.default_rng(5)
    alike = 0
    for _ in range(300):
        rows, width = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        table, other = any_table(rng, rows, width), any_table(rng, rows, width)
        names = rng.permutation([f"c{j}" for j in range(width)])[:rng.integers(1, width + 1)]
        claim = claimed(names.tolist(), l_diversity=int(rng.integers(1, 3)),
                        sensitive=["s"] if rng.random() < 0.3 else [])
        claim["roles"]["sensitive"] = ["s"]
        claim |= {"counted": "sources"} if rng.random() < 0.2 else {}
        turned = {**claim, "columns": claim["columns"][::-1]}
        same = seen(table, claim) == seen(other, claim)
        alike += same

        assert same == (fingerprint(table, claim, SEAL) == fingerprint(other, turned, SEAL))
    assert 25 <= alike <= 275


def test_a_fingerprint_names_what_it_is_of():
    """Other columns, texts, people, snapshots and keys have other fingerprints; key digits stay."""
    table = table_of([[1, 1], [0, 0], [1, 1]], [0, 1, 1])
    base = claimed(["c0"])
    fingerprints = [fingerprint(table, claim, seal) for claim, seal in (
        (base, SEAL), (claimed(["c1"]), SEAL), (claimed(["c0", "c1"]), SEAL),
        (claimed(["c0"], l_diversity=2), SEAL), (base, Seal(b"K" * 32, "clinic", "2026")),
        (base, Seal(SEAL.key, "other", "2026")), (base, Seal(SEAL.key, "clinic", "2027")))]
    fingerprints.append(fingerprint(replace(table, classes=("n", "y")),
                                    claimed(["c0"], l_diversity=2), SEAL))

    assert len(fingerprints) == len(set(fingerprints))
    assert {64} == set(map(len, fingerprints))
    assert [key_digits(SEAL.key)] * 4 == [text[:16] for text in fingerprints[:4]]
    assert key_digits(b"K" * 32) == fingerprints[4][:16] != fingerprints[0][:16]


def test_a_fingerprint_is_kept_for_years():
    """A fingerprint of this version is made again by every later one, on every machine."""
    hidden = Sensitive("s", np.array([1, 0, 1, 1], np.int32), ("u", "v"))
    table = table_of(np.eye(4, 10, dtype=int), [0, 1, 1, 0], sensitive=(hidden,),
                     sources=np.array([0, 1, 0, 2], np.int32))
    claim = claimed([f"c{j}" for j in range(9)], l_diversity=2)
    claim["roles"]["sensitive"] = ["s"]

    assert "cfdf5bf5e26e2dcf6b2552cbbf28f666b169981f0256f2742bad8afbfa2be05b" == fingerprint(
        table, claim, SEAL)
    assert "cfdf5bf5e26e2dcfb594dcccf8c7dc4d7060d59f8b28154f79cdf9de6c1d6b91" == fingerprint(
        table, {**claim, "counted": "sources"}, SEAL)


# --- the key --------------------------------------------------------------------------------------

@pytest.fixture
def ledger(tmp_path):
    """A ledger with one publication that has a fingerprint, and its seal."""
    new_ledger = Ledger(str(tmp_path / "notes.db"), population="clinic")
    new_ledger.introduce()
    seal = seal_of(new_ledger, "2026")
    claim = sealed(table_of([[1], [1]]), claimed(["c0"]))
    claim["fingerprint"] = fingerprint(table_of([[1], [1]]), claim, seal)
    new_ledger.publish("2026", ["c0"], 2, "containment", claim=claim)
    return new_ledger


def test_the_key_is_private(ledger):
    """A key is 32 bytes for its owner alone, made once, and in no other file."""
    place = Path(ledger.path + ".key")
    key = place.read_bytes()

    assert (32, 0o600) == (len(key), place.stat().st_mode & 0o777)
    assert key == seal_of(ledger, "2027").key
    assert key not in Path(ledger.path).read_bytes()
    assert key.hex() not in Path(ledger.path).read_bytes().decode("latin-1")
    assert {"notes.db", "notes.db.key"} == {path.name for path in place.parent.iterdir()}
    assert key.hex() not in repr(seal_of(ledger, "2026"))


def spoilt(place, how):
    """Do something to a key."""
    if how == "gone":
        place.unlink()
    elif how == "of another ledger":
        place.write_bytes(b"x" * 32)
    elif how == "short":
        place.write_bytes(b"x" * 31)
    elif how == "long":
        place.write_bytes(place.read_bytes() + b"x")
    elif how == "a link":
        place.rename(place.with_name("real"))
        place.symlink_to("real")
    elif how == "a folder":
        place.unlink()
        place.mkdir()
    elif how == "a pipe":
        place.unlink()
        os.mkfifo(place)


@pytest.mark.parametrize(("how", "message"), [
    ("gone", "restore the key from its backup"), ("of another ledger", "the key of another ledger"),
    ("short", "not the key of a ledger"), ("long", "not the key of a ledger"),
    ("a link", "not a link"), ("a folder", "not a link"), ("a pipe", "not a link"),
])
def test_a_spoilt_key(ledger, how, message):
    """Without its key a ledger that noted fingerprints says what to put back, and notes nothing."""
    place = Path(ledger.path + ".key")
    spoilt(place, how)
    before = {path.name for path in place.parent.iterdir()}
    with pytest.raises(LedgerError, match=message):
        seal_of(ledger, "2026")

    assert before == {path.name for path in place.parent.iterdir()}


def test_a_key_that_others_can_read(ledger):
    """A key that came back from a copy with wider permissions is closed again."""
    place = Path(ledger.path + ".key")
    place.chmod(0o644)
    seal_of(ledger, "2026")

    assert 0o600 == place.stat().st_mode & 0o777


def test_the_key_lies_beside_the_file(ledger, tmp_path):
    """Through a link the ledger has the same key: it lies beside the file itself."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "link.db").symlink_to("../notes.db")
    seal = seal_of(Ledger(str(tmp_path / "far" / "link.db"), population="clinic"), "2026")

    assert seal.key == seal_of(ledger, "2026").key
    assert ["link.db"] == [path.name for path in (tmp_path / "far").iterdir()]
