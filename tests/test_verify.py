"""Laws of verification: what holds is confirmed, and any change of it is found."""

import copy
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import privsieve as ps
from privsieve.check.verify import verify
from privsieve.errors import LedgerError, SchemaError
from privsieve.ledger.chain import certificate
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import canonical, digest, link
from privsieve.public.columns import Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.plan import FORMAT, conversion, sentence, terms
from privsieve.release import Release

SOFTWARE = {"privsieve": "0.0.1"}
DOMAIN = Domain((Number("age", 0, 110), Flag("smoker"), Flag("übel")), target=Label("ill", [0, 1]))


def _plan(domain=DOMAIN, epsilon="0.5", delta=0):
    return ps.plan("noisy-top-k", domain, k=2, epsilon=epsilon, rows=100, ordered=True,
                   score="class-counts", class_prior=["0.5", "0.5"], delta=delta)


#: Numbers of columns with which a delta buys less noise.
WIDE = Domain(tuple(Flag(f"x{j}") for j in range(60)), target=Label("ill", [0, 1]))


def _approximate(ledger):
    """A release that spends a delta."""
    plan = ps.plan("noisy-top-k", WIDE, k=20, epsilon="0.5", rows=100, delta="4e-7",
                   score="class-counts", class_prior=["0.5", "0.5"])
    return _issue(ledger, plan, _body(plan, WIDE.names[:20]))


def _body(plan, selected=("age", "übel")):
    return {"format": "privsieve-release/1", "kind": "selection",
            "columns": list(plan.domain.names), "domain": plan.domain.json(),
            "selected": list(selected), "forecast": plan.forecast,
            "plan": plan.json(), "warning": plan.warning}


def _issue(ledger, plan, body=None):
    """A release with its certificate, charged or not."""
    sha = digest(canonical(body or _body(plan)))
    reserve = ledger.reserve(plan.cost, terms(plan, SOFTWARE)) if ledger else None
    commit = ledger.commit(reserve, sha) if ledger else None
    return Release(body or _body(plan), certificate(terms(plan, SOFTWARE), sha, reserve, commit))


@pytest.fixture
def ledger(tmp_path):
    """A ledger with 3 granted."""
    new_ledger = Ledger(str(tmp_path / "budget.db"), population="clinic-2026")
    new_ledger.grant(3)
    return new_ledger


@pytest.fixture
def folder(ledger, tmp_path):
    """A release folder whose charge is in the ledger."""
    _issue(ledger, _plan()).save(tmp_path / "out")
    return tmp_path / "out"


def test_a_true_certificate_is_confirmed(folder, ledger):
    """Certificate, release and ledger of one fit agree; what was not given is said."""
    full = verify(folder / "certificate.json", folder / "release.json", ledger=ledger)
    alone = verify(str(folder / "certificate.json"))
    parsed = verify(json.loads((folder / "certificate.json").read_bytes()),
                    json.loads((folder / "release.json").read_bytes()), ledger=ledger.path)

    assert () == full.reasons == alone.reasons == parsed.reasons
    assert ["Unsigned"] == [note.split(":")[0] for note in full.notes]
    assert ["Unsigned", "no ledger was given", "no release was given"] == [
        note.split(":")[0] for note in alone.notes]


def test_two_releases_of_one_ledger_are_confirmed(ledger):
    """Each certificate stays true while the ledger grows, and belongs to one release."""
    first = _issue(ledger, _plan())
    second = _issue(ledger, _plan(), _body(_plan(), ("smoker", "age")))

    assert verify(first.certificate, first.body, ledger=ledger).valid
    assert verify(second.certificate, second.body, ledger=ledger).valid
    assert not verify(first.certificate, second.body, ledger=ledger).valid


def test_a_certificate_without_a_ledger_says_so():
    """Without a ledger a certificate is confirmed with a note that nothing else was seen."""
    release = _issue(None, _plan())
    verdict = verify(release.certificate, release.body)

    assert verdict.valid
    assert any("made without a ledger" in note for note in verdict.notes)
    assert (None, None) == (release.certificate["ledger"], release.certificate["population"])
    assert not verify(release.certificate, release.body, ledger="budget.db").valid


def _leaves(value, path=()):
    """Each path to a string, integer, boolean or null."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in _leaves(value[key], (*path, key))]
    if isinstance(value, list):
        return [leaf for i, item in enumerate(value) for leaf in _leaves(item, (*path, i))]
    return [path]


def _changed(value):
    """Another value, of the same type where there is one."""
    if value is None or isinstance(value, bool):
        return "x" if value is None else not value
    if isinstance(value, int):
        return value + 1
    return {"0.5": "0.1", "clinic-2026": "town", "replace-one": "add-remove",
            "one row of the table": "one person with all their rows"}.get(
                value, value[:-1] + ("0" if value[-1:] != "0" else "1"))


def _at(body, path):
    for step in path:
        body = body[step]
    return body


def test_each_field_is_bound(folder):
    """Changing, adding or removing any one field is found without ledger or release."""
    true = json.loads((folder / "certificate.json").read_bytes())
    leaves = _leaves(true)
    missed = []
    for path in leaves:
        for act in ("change", "remove", "add"):
            body = copy.deepcopy(true)
            inside = _at(body, path[:-1])
            if act == "change":
                inside[path[-1]] = _changed(inside[path[-1]])
            elif act == "remove":
                del inside[path[-1]]
            elif isinstance(inside, dict):
                inside["more"] = "x"
            else:
                inside.append("x")
            if verify(body).valid:
                missed.append((act, path))

    assert [] == missed
    assert len(leaves) > 30


def _rehash(body, units):
    """Make the hashes of a certificate fit again, as a forger would."""
    common = {"population": "clinic-2026", "request": body["ledger"]["request"]}
    known = body["ledger"]
    kept = {name: body[name] for name in ("claim", "plan", "domain_sha256", "software")}
    for kind, content in (
        ("reserve", {"units": units, "delta": body["claim"]["delta"], "claim": kept,
                     "rho": known["rho"], "charged": known["charged"],
                     "reserved_at": known["reserved_at"]}),
        ("commit", {"release_sha256": body["release_sha256"]}),
    ):
        payload = canonical({**common, **content, "kind": kind, "seq": known[kind]["seq"]})
        known[kind]["hash"] = link(known[kind]["prev"], payload)
        if kind == "reserve" and known["commit"]["seq"] == known["reserve"]["seq"] + 1:
            known["commit"]["prev"] = known["reserve"]["hash"]
    known["head"] = known["commit"]["hash"]


def test_a_release_before_its_charge_is_found(folder):
    """A commit that stands before its reservation is no proof of a charge."""
    body = json.loads((folder / "certificate.json").read_bytes())
    body["ledger"]["reserve"]["seq"] = 9
    _rehash(body, 5 * 10**8)

    assert ("the release was committed before it was charged",) == verify(body).reasons


def test_a_smaller_claim_needs_a_new_charge(folder, ledger):
    """A forger who also rewrites the hashes is stopped by the ledger."""
    body = json.loads((folder / "certificate.json").read_bytes())
    body["claim"]["epsilon"] = body["plan"]["epsilon"] = "0.1"
    _rehash(body, 10**8)
    assert any("the planned noise does not have" in reason for reason in verify(body).reasons)
    body["plan"]["event"]["scale"] = str(5 * Fraction(body["plan"]["event"]["scale"]))
    _rehash(body, 10**8)

    assert any("the charge does not follow from the release" in reason
               for reason in verify(body).reasons)
    body["ledger"]["rho"] = "0.005"
    body["ledger"]["charged"].update({"epsilon": "0.1", "rho": "0.005"})
    _rehash(body, 10**8)

    assert verify(body).valid  # unsigned: its own hashes are all that it has
    assert any("ledger lacks the charge" in reason
               for reason in verify(body, ledger=ledger).reasons)


CHARGED = "the charge does not follow from the release and the change that the account protects"


@pytest.mark.parametrize(("name", "value"), [
    ("factor", "1"), ("factor", "3"), ("factor", "2.0"), ("epsilon", "0.5"), ("delta", "0.1"),
    ("rho", "0.1"), ("rho", None), ("unit", "one row of the table"), ("unit", "one household"),
    ("neighbours", "replace-one"), ("neighbours", "both"), ("rows_per_person", 3),
    ("rows_per_person", None), ("rows_per_person", 0),
])
def test_an_edited_conversion_is_found(tmp_path, name, value):
    """Factor and amounts of a converted charge follow from the claim and what is protected."""
    ledger = Ledger(str(tmp_path / "people.db"), population="clinic-2026")
    ledger.grant(3, unit="person", rows_per_person=2, neighbours="add-remove")
    plan = _plan(Domain(DOMAIN.columns, target=DOMAIN.target, neighbours="add-remove", rows=100))
    body = json.loads(canonical(_issue(ledger, plan).certificate))
    assert ("2", "1", "0.5") == tuple(
        body["ledger"]["charged"][key] for key in ("factor", "epsilon", "rho"))
    assert conversion(body["ledger"]["charged"], body) == (
        "charged 2 times: the release protects one row of the table (add-remove), but the budget "
        "protects one person with all their rows with up to 2 rows (add-remove)")
    assert verify(body, ledger=ledger).valid
    body["ledger"]["charged"][name] = value

    assert not verify(body).valid
    _rehash(body, 5 * 10**8)
    formless = f"the certificate does not have the fields of {FORMAT}, at ledger"
    assert CHARGED in verify(body).reasons or (
        f"{formless}.charged.{name}",) == verify(body).reasons
    body["ledger"].pop("charged")
    assert (formless,) == verify(body).reasons


def test_a_release_of_version_0_1_0_is_refused(ledger, tmp_path, cli):
    """Verify, load, report and predict say that the release is to be made again."""
    issued, place = _issue(ledger, _plan()), tmp_path / "old"
    Release(issued.body, {**issued.certificate, "software": {"privsieve": "0.1.0"}}).save(place)
    message = ("this release was made by version 0.1.0, which was never released; make the release "
               "again, with a new ledger")

    assert (message,) == verify(place / "certificate.json", place / "release.json").reasons
    assert (message,) == ps.verify(place).reasons
    with pytest.raises(SchemaError, match=r"made by version 0\.1\.0"):
        ps.load(place)
    for verb in ("verify", "report", "predict", "synthesize --rows 9 --from"):
        code, out, err = cli(*verb.split(), place, *["u.csv"] * (verb == "predict"),
                             *["--out", tmp_path / "x"] * (verb == "report"))
        assert 0 != code
        assert message in " ".join(f"{out} {err}".split()), verb


@pytest.mark.parametrize(("change", "reason"), [
    ({"selected": ["age"]}, "settings of the plan"),
    ({"selected": ["age", "age"]}, "that is not among its columns"),
    ({"selected": ["age", "hiv"]}, "that is not among its columns"),
    ({"selected": ["age", 7]}, "privsieve-release/1, at selected"),
    ({"selected": "ag"}, "privsieve-release/1, at selected"),
    ({"columns": None}, "columns does not follow from the plan of this release"),
    ({"kind": "weights"}, "kind of the release"),
    ({"format": "privsieve-release/2"}, "not a privsieve-release/1"),
    ({"replayed": True}, "was replayed"),
    ({"private": True}, "not declared"),
    ({"plan": {"epsilon": "0.1"}}, "plan of the release"),
    ({"domain": {"neighbours": "add-remove"}}, "domain of the release"),
])
def test_a_release_agrees_with_its_certificate(ledger, change, reason):
    """A release that contradicts its plan is found, though its digest is the certified one."""
    release = _issue(ledger, _plan(), {**_body(_plan()), **change})

    assert any(reason in actual_reason for actual_reason in verify(release.certificate,
                                                                   release.body).reasons)


def test_a_changed_release_is_found(folder):
    """One other byte in the release is found, whether it still is canonical or not."""
    data = (folder / "release.json").read_bytes()
    (folder / "spaced.json").write_bytes(data + b"\n")
    (folder / "other.json").write_bytes(data.replace("übel".encode(), b"smoker"))

    assert ("the release is not a JSON object in canonical form",) == verify(
        folder / "certificate.json", folder / "spaced.json").reasons
    assert not verify(folder / "certificate.json", folder / "other.json").valid


def test_a_ledger_that_was_set_back_is_found(folder, ledger, tmp_path):
    """A consistent older copy passes the recount; a certificate issued after it tells."""
    old = tmp_path / "old.db"
    shutil.copy(ledger.path, old)
    later = _issue(ledger, _plan())
    shutil.copy(old, ledger.path)

    assert ledger.verify_chain().valid
    assert Fraction(5, 2) == ledger.left()
    assert verify(folder / "certificate.json", ledger=ledger).valid
    assert 3 == sum("an older copy" in reason
                    for reason in verify(later.certificate, ledger=ledger).reasons)


def test_a_foreign_or_broken_ledger_is_a_reason(folder, ledger, tmp_path):
    """Another ledger, a missing one and a damaged one are reasons, not errors."""
    other = Ledger(str(tmp_path / "other.db"), population="clinic-2026")
    other.grant(3)
    (tmp_path / "text.db").write_bytes(b"text" * 999)
    for place in (other, tmp_path / "missing.db", tmp_path / "text.db", tmp_path):
        assert not verify(folder / "certificate.json", ledger=place).valid
    with pytest.raises(LedgerError, match="nothing was checked") as caught:
        verify(folder / "certificate.json", ledger="postgresql://u:word@host/db")
    assert "word@" not in str(caught.value)


@pytest.mark.parametrize("data", [
    b"", b"{", b"null", b"[]", b"{}", b"\xff\xfe", b'{"a":1.5}', b'{"a":NaN}', b'{"a":1,"a":1}',
    b'{"a":' + b"9" * 5000 + b"}", b"[" * 100_000, b'{"a":' * 100_000, b'{"a":"\\ud800"}',
    b"PK\3\4",
])
def test_garbage_is_a_reason(tmp_path, data):
    """For any content of the file, the answer is a reason in words that quote nothing of it."""
    (tmp_path / "c.json").write_bytes(data)
    verdict = verify(tmp_path / "c.json", tmp_path / "c.json", ledger=tmp_path / "c.json")

    assert 1 == len(verdict.reasons)
    assert verdict.reasons[0].startswith("the certificate ")


def test_every_truncation_is_a_reason(folder, tmp_path):
    """A certificate cut anywhere is refused without an error."""
    data = (folder / "certificate.json").read_bytes()
    for length in (*range(0, len(data), 4), len(data) - 1):
        (tmp_path / "cut.json").write_bytes(data[:length])
        assert not verify(tmp_path / "cut.json").valid


def test_wrong_types_are_a_reason(folder):
    """A value of any other type in any place is refused without an error."""
    true = json.loads((folder / "certificate.json").read_bytes())
    wrong = [None, True, -1, 2**60, 0.5, "", [], {}, [[]], {"a": None}, b"x", "\ud800"]
    for path in [(key,) for key in true] + _leaves(true):
        for value in wrong:
            body = copy.deepcopy(true)
            if _at(body, path) == value and type(_at(body, path)) is type(value):
                continue
            _at(body, path[:-1])[path[-1]] = value
            assert not verify(body, body).valid, (path, value)


def test_a_huge_or_missing_file_is_a_reason(tmp_path):
    """A file above the limit is not read whole, and a missing one is said."""
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(64 * 2**20 + 1)

    assert ("the certificate is larger than 64 MB",) == verify(tmp_path / "large.json").reasons
    assert ("the certificate cannot be read",) == verify(tmp_path / "missing.json").reasons
    assert ("the certificate cannot be read",) == verify(tmp_path).reasons


def test_a_table_is_not_read_for_noise(folder):
    """Fresh noise cannot be counted again, whatever table is given."""
    assert any("table was not read" in note
               for note in verify(folder / "certificate.json", table=[[1]]).notes)


def test_a_certificate_holds_no_secret(folder, ledger):
    """Neither path nor file name leaves, and the reservation has the one time."""
    text = (folder / "certificate.json").read_text()

    assert not any(word in text for word in (str(folder.parent), "budget.db", "release.json"))
    assert 1 == text.count(ledger.entries()[1].body["reserved_at"])


def test_the_claim_is_one_sentence():
    """The claim reads as a sentence for each unit and neighbour relation."""
    person = Domain(DOMAIN.columns, DOMAIN.target, person="id", neighbours="add-remove",
                    persons=50, rows=100)

    assert ("Replacing one row of the table changes the probability of any released set by a "
            "factor of at most 2.72.") == sentence(_issue(None, _plan(epsilon=1)).certificate)
    assert sentence(_issue(None, _plan(person)).certificate).startswith(
        "Adding or removing one person with all their rows changes ")


def test_a_delta_is_part_of_the_claim(tmp_path):
    """An approximate release says its delta as exact text; it is charged and bound."""
    ledger = Ledger(str(tmp_path / "d.db"), population="clinic-2026")
    ledger.grant(3, delta="1e-6")
    release = _approximate(ledger)
    claim = release.certificate["claim"]

    assert ("approximate", "0.5", "0.0000004") == (claim["account"], claim["epsilon"],
                                                   claim["delta"])
    assert ledger.delta_left() < Fraction(1, 10**6)
    assert verify(release.certificate, release.body, ledger=ledger).valid
    assert ("Replacing one row of the table changes the probability of any collection of released "
            "sets by a factor of at most 1.65, and by at most 0.0000004 beyond that."
            ) == sentence(release.certificate)
    for name, value in (("delta", "0.0000003"), ("delta", "0"), ("delta", "0.00000040"),
                        ("delta", "4e-7"), ("account", "pure")):
        body = copy.deepcopy(release.certificate)
        body["claim"][name] = value
        if name == "delta":
            body["plan"]["delta"] = value
        assert not verify(body).valid, (name, value)


def test_a_forged_delta_is_found_in_the_ledger(tmp_path):
    """A forger who rewrites the hashes for a smaller delta is stopped by the ledger."""
    ledger = Ledger(str(tmp_path / "d.db"), population="clinic-2026")
    ledger.grant(3, delta="1e-6")
    body = json.loads(canonical(_approximate(ledger).certificate))
    body["claim"].update(delta="0", account="pure")
    body["plan"]["delta"] = "0"
    body["ledger"]["rho"] = "0.125"
    body["ledger"]["charged"].update({"delta": "0", "rho": "0.125"})
    body["plan"]["event"].update({"noise": "exponential", "scale": "80"})
    _rehash(body, 5 * 10**8)

    assert verify(body).valid
    assert not verify(body, ledger=ledger).valid


def test_the_checker_needs_no_numpy():
    """Ledger, certificate, folder and verify import neither NumPy nor a product."""
    code = ("import sys; import privsieve.check.verify, privsieve.folder; "
            "found = [m for m in sys.modules if m.split('.')[0] in "
            "('numpy', 'pyarrow', 'sklearn', 'flint', 'click') or "
            "m.startswith(('privsieve.methods', 'privsieve.rows', 'privsieve.summaries', "
            "'privsieve.kernels', 'privsieve.fit'))]; sys.exit(repr(found) if found else 0)")

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False,
                               cwd=Path(__file__).parent.parent / "src").returncode
