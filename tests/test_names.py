"""Laws of names: what people would take for one name is one, and an odd one is none."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from privsieve.errors import LedgerError, ParameterError
from privsieve.ledger.account import alike
from privsieve.ledger.ledger import Ledger


@pytest.mark.parametrize(("name", "known"), [
    ("cl\u0456nic", "clinic"), ("CLINIC", "clinic"), ("cl\u0131n\u0131c", "clinic"),
    ("K\u00f6ln", "Koln"), ("\u0422\u041e\u041c", "TOM"), ("\u03a4\u039f\u039c", "TOM"),
    ("a\u2013b", "a-b"), ("stra\u00dfe", "STRASSE"),
    *((name, "clinic-2026") for name in (
        "clinic 2026", "clinic_2026", "clinic.2026", "clinic2026", "clinic--2026", "clinic/2026",
        "cIinic-2026", "c1inic-2026", "CLINIC 2O26", "c|inic-2026", "Clinic-(2026)")),
    ("study I", "study-1"), ("Ward O", "ward 0"), ("O`Brien", "O'Brien"), ("bum", "burn"),
])
def test_names_that_look_alike_are_one(tmp_path, name, known):
    """A new name that looks like a known one is refused, and the known one is named."""
    first = Ledger(str(tmp_path / "b.db"), population=known)
    first.introduce()
    second = Ledger(first.path, population=name)
    for act in (lambda: second.grant(1), second.introduce, second.left):
        with pytest.raises(LedgerError, match=f"^{re.escape(known)}: the ledger has this"):
            act()

    first.grant(1)
    with pytest.raises(LedgerError, match=f"{re.escape(known)}: this population already has"):
        second.grant(1)


@pytest.mark.parametrize(("name", "other"), [
    ("clinic-2025", "clinic-2026"), ("ward-1", "ward-2"), ("bill", "biil"), ("site a", "site b"),
    ("study 2", "study Z"), ("\u6771\u4eac", "\u4eac\u6771"), ("clinic", "clinics"),
])
def test_names_that_differ_are_two(name, other):
    """What people can tell apart stays apart."""
    assert not alike(name, other)


@pytest.mark.parametrize(("name", "message"), [
    ("\uff43linic", "write 'clinic'"), ("\u0441linic", "several scripts"),
    ("clinic \u03b1", "several scripts"), ("a\u2800b", "write letters"),
    ("clinic\u3164", "special form"),
])
def test_odd_names_are_refused(tmp_path, name, message):
    """A name of several scripts, or with characters that are not what they seem, is refused."""
    for act in (Ledger.introduce, lambda odd: odd.grant(1)):
        with pytest.raises(ParameterError, match=message):
            act(Ledger(str(tmp_path / "b.db"), population=name))


@pytest.mark.parametrize("name", ["Клиника 2026", "東京テスト病院", "서울 2026", "clinic-2026 (a)",
                                  "Ωλφα", "café", "مستشفى"])
def test_names_of_one_script_are_names(tmp_path, name):
    """Any one script will do, with digits, punctuation and spaces."""
    ledger = Ledger(str(tmp_path / "b.db"), population=name)
    ledger.grant(1)

    assert Fraction(1) == ledger.left()
