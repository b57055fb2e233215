"""Laws of signatures: what was signed is what is there, by whom it was wanted; all else is found.

`securesystemslib` is the other opinion on envelopes, and a few lines with `cryptography` a third.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

import privsieve as ps
from privsieve.cli import key as key_verb
from privsieve.cli.sign import sign_folder
from privsieve.errors import CheckFailed, ParameterError
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import canonical, parsed
from privsieve.trust import envelope as envelopes
from privsieve.trust.envelope import Envelope, of_release, pae
from privsieve.trust.keys import PrivateKey, fingerprint_of
from privsieve.trust.signers import Signers
from test_cli import BUDGET, place, privsieve, select, spent  # noqa: F401  # fixtures

MAKER, ANNA, EVE = PrivateKey.make(), PrivateKey.make(), PrivateKey.make()
DOMAIN = ps.Domain([ps.Number("age", 0, 110), ps.Flag("smoker"), ps.Number("dose", 0, 10)],
                   target=ps.Label("ill", [0, 1]))
ROWS = [[20, 0, 3], [70, 1, 4]] * 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A release folder with a ledger, which nobody has signed."""
    at = tmp_path_factory.mktemp("signed")
    ledger = ps.Ledger(str(at / "budget.db"), population="clinic")
    ledger.grant(9)
    for name, k in (("out", 1), ("other", 2)):
        ps.RuleSieve(k, epsilon=1, domain=DOMAIN, ledger=ledger).fit(
            ROWS, [0, 1] * 30).release_.save(at / name)
    return at


@pytest.fixture
def plain(whole, tmp_path):
    """A copy of it."""
    shutil.copytree(whole / "out", tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def folder(plain):
    """A folder that its maker and Anna have signed."""
    sign_folder(plain, MAKER, "maker")
    sign_folder(plain, ANNA, "approver")
    return plain


def fingerprint(key):
    """How people name a key."""
    return key.public.fingerprint


def wanted(*keys, **options):
    """Signers that are wanted."""
    return Signers.of(*(key if isinstance(key, str) else fingerprint(key) for key in keys),
                      **options)


BOTH = wanted(f"maker={fingerprint(MAKER)}", f"approver={fingerprint(ANNA)}")


def opened(folder):
    """The envelope of a folder as JSON, and its payload."""
    body = json.loads((folder / "signatures.json").read_bytes())
    return body, json.loads(base64.b64decode(body["payload"]))


def put(folder, body, payload=None, keys=()):
    """Write an envelope; with keys, sign its payload anew."""
    if payload is not None:
        body["payload"] = base64.b64encode(
            payload if isinstance(payload, bytes) else canonical(payload)).decode()
    if keys:
        message = pae(base64.b64decode(body["payload"]))
        body["signatures"] = [{"keyid": key.public.keyid,
                               "sig": base64.b64encode(key.sign(message)).decode()}
                              for key in keys]
    (folder / "signatures.json").write_bytes(canonical(body))


def only(verdict, message):
    """The one reason of a check."""
    assert 1 == len(verdict.reasons), verdict.reasons
    assert message in verdict.reasons[0], verdict.reasons


# --- what holds ----------------------------------------------------------------------------------

def test_a_signed_folder_holds(folder, whole):
    """Two signatures of all files: verdict, sentence and parts; nothing says unsigned."""
    verdict = ps.verify(folder, signers=BOTH, ledger=whole / "budget.db")

    assert ((), ()) == (verdict.reasons, verdict.notes)
    assert {fingerprint(MAKER): "maker", fingerprint(ANNA): "approver"} == dict(verdict.signed)
    anna = fingerprint(ANNA)[:23]
    assert f"{anna}… as approver, this holds: Replacing one row" in verdict.says
    assert "nsigned" not in f"{verdict.says} {verdict.notes}"
    assert any("you named no required signers" in note for note in ps.verify(folder).notes)


def test_what_is_signed(folder):
    """An in-toto statement in canonical JSON: each file's digest, and what the certificate says."""
    body, opened_text = opened(folder)
    signed = json.loads((folder / "certificate.json").read_bytes())

    assert ("application/vnd.in-toto+json", "https://in-toto.io/Statement/v1") == (
        body["payloadType"], opened_text["_type"])
    assert canonical(opened_text) == base64.b64decode(body["payload"])
    assert {item["name"]: item["digest"] for item in opened_text["subject"]} == {
        path.name: {"sha256": sha256(path.read_bytes()).hexdigest()}
        for path in folder.iterdir() if path.name != "signatures.json"}
    assert "urn:privsieve:dp-release/v1" == opened_text["predicateType"]
    names = {"claim", "plan", "domain_sha256", "release_sha256", "population", "ledger", "software"}
    assert {**{name: signed[name] for name in names},
            "maker": MAKER.public.keyid} == opened_text["predicate"]


def test_signing_later_changes_nothing(plain):
    """A second signature leaves payload and first signature as they were."""
    sign_folder(plain, MAKER, "maker")
    before, _ = opened(plain)
    sign_folder(plain, ANNA, "approver")
    after, _ = opened(plain)

    assert before["payload"] == after["payload"]
    assert before["signatures"] == after["signatures"][:1]
    assert {"certificate.json", "release.json", "report.html", "signatures.json"} == {
        path.name for path in plain.iterdir()}
    assert 0o600 == stat.S_IMODE((plain / "signatures.json").stat().st_mode)


def others_keys(*keys):
    """The keys as another library knows them."""
    return [SSlibKey(key.public.keyid, "ed25519", "ed25519", {"public": key.public.raw.hex()})
            for key in keys]


def test_another_library_agrees(folder):
    """Another implementation verifies with threshold 2, and refuses a changed epsilon."""
    body, opened_text = opened(folder)
    keys = others_keys(MAKER, ANNA)

    assert 2 == len(OtherEnvelope.from_dict(json.loads(json.dumps(body))).verify(keys, 2))
    opened_text["predicate"]["claim"]["epsilon"] = "0.1"
    body["payload"] = base64.b64encode(canonical(opened_text)).decode()
    with pytest.raises(VerificationError):
        OtherEnvelope.from_dict(json.loads(json.dumps(body))).verify(keys, 1)
    put(folder, body)
    only(ps.verify(folder, signers=BOTH), "a signature does not belong to its key")


def test_a_publication_is_signed_and_no_page_denies_it(folder, tmp_path):
    """A page is written before anybody signs: it says where signatures lie, and how to see them."""
    from forged import _published, table

    _published(tmp_path, table()[0])
    sign_folder(tmp_path / "containment", MAKER, "maker")
    statement = opened(tmp_path / "containment")[1]
    assert "urn:privsieve:containment/v1" == statement["predicateType"]
    assert "table.csv" in {item["name"] for item in statement["subject"]}
    for at in (folder, tmp_path / "containment"):
        text = (at / "report.html").read_text()
        row, = re.findall('<tr><th scope="row">(?:<[^>]*>)?Signatures?<.*?</tr>', text)

        assert ("none" in row.lower(), "signatures.json" in row, "privsieve verify" in row) == (
            False, True, True)
        assert ps.verify(at, signers=wanted(MAKER)).valid


def test_an_approver_may_be_alone(plain):
    """Where no maker signed the statement names none, and none can be added."""
    sign_folder(plain, ANNA, "approver")

    assert {fingerprint(ANNA): "approver"} == dict(ps.verify(plain).signed)
    with pytest.raises(ParameterError, match="the maker must sign first"):
        sign_folder(plain, MAKER, "maker")


# --- what is found -------------------------------------------------------------------------------

FILES = ("release.json", "certificate.json", "report.html")


def envelope(change):
    """Another envelope, by a change of the one that is there."""
    return lambda at, _whole: put(at, change(opened(at)[0]))


def signature(**options):
    """The first signature alone, with these fields."""
    return envelope(lambda body: {**body, "signatures": [{**body["signatures"][0], **options}]})


def text(write):
    """Another text of the envelope."""
    return lambda at, _whole: (at / "signatures.json").write_bytes(write(opened(at)[0]))


def statement(change):
    """Another statement, signed anew by both keys."""
    def act(at, _whole):
        body, opened_text = opened(at)
        put(at, body, change(opened_text) or opened_text, (MAKER, ANNA))
    return act


def another(*names):
    """Files of another release in the place of its own."""
    return lambda at, whole: [shutil.copy(whole / "other" / name, at / name) for name in names]


NOT_SIGNED, NOT_A_STATEMENT = "was changed after it was signed", "not an in-toto statement"
NOT_SAID, ODD_NAME = "not match the certificate", "names files that a release"
NOT_DSSE, OTHERS = "not DSSE in canonical form", "signed files are not the files"
#: What may become of a signed folder, and the reason that is said; "" where there are several.
SPOILT = [
    *((another(name), "") for name in FILES), (another(*FILES), NOT_SIGNED),
    (lambda at, _: (at / "report.html").write_bytes((at / "report.html").read_bytes().replace(
        b'content="privsieve ', b'content="other ')), NOT_SIGNED),  # a page of another version
    (lambda at, _: (at / "more.html").write_text("x"), OTHERS),
    (lambda at, _: (at / "report.html").unlink(), OTHERS),
    (lambda at, _: (at / "more.html").symlink_to("report.html"), "links or folders, which cannot"),
    (lambda at, _: (at / "more").mkdir(), "links or folders, which cannot be signed"),
    (envelope(lambda b: {**b, "payloadType": "application/json"}), "another type of payload"),
    *((envelope(lambda b, odd=odd: {**b, "payload": odd(b["payload"])}), "") for odd in (
        lambda p: p + "=", lambda p: "\n" + p, lambda p: p[:-5] + "\u00e9" + p[-4:],
        lambda _: None)),
    *((envelope(lambda b, odd=odd: {**b, "signatures": odd}), "") for odd in ({}, None)),
    (envelope(lambda b: {**b, "signatures": []}), "the envelope holds no signature"),
    (envelope(lambda b: {**b, "signatures": b["signatures"] * 2}), "two signatures by one key"),
    (envelope(lambda b: {**b, "signatures": b["signatures"][1:]}), "has not signed"),
    (envelope(lambda b: {**b, "signatures": [{"sig": b["signatures"][0]["sig"]}]}), ""),
    (envelope(lambda b: {**b, "more": None}), ""), (envelope(lambda b: [b]), ""),
    (signature(options=1), ""), (signature(sig="AAAA"), ""), (signature(sig="A" * 88), ""),
    *((signature(keyid=odd), "") for odd in ("", None, "ed25519:" + "0" * 64)),
    (envelope(lambda b: {**b, "signatures": [
        {**signature, "keyid": other["keyid"]} for signature, other in zip(
            b["signatures"], b["signatures"][::-1], strict=True)]}), "not belong to its key"),
    *((text(write), NOT_DSSE) for write in (
        lambda b: json.dumps(b).encode(), lambda b: canonical(b) + b"\n", lambda _: b"",
        lambda _: b"\xff", lambda _: b"[" * 100_000,
        lambda b: canonical(b).replace(b'"payload":', b'"payload":"","payload":'))),
    *((statement(write), NOT_A_STATEMENT + " in canonical form") for write in (
        lambda s: json.dumps(s).encode(), lambda s: canonical(s) + b" ", lambda _: b"{}",
        lambda _: b"\xff", lambda _: b"1",
        lambda s: canonical(s).replace(b'"subject":', b'"subject":[],"subject":'))),
    (statement(lambda s: s["subject"].pop() and None), OTHERS),
    (statement(lambda s: s["subject"].append({"name": "z.txt", "digest": {"sha256": "0" * 64}})),
     OTHERS),
    (statement(lambda s: s["subject"][0]["digest"].update(sha256="0" * 64)), NOT_SIGNED),
    *((statement(lambda s, name=name: s["subject"][0].update(name=name)), ODD_NAME)
      for name in ("../certificate.json", "/etc/passwd", "..")),
    (statement(lambda s: s["subject"][0]["digest"].update(sha256="x" * 64)), ODD_NAME),
    (statement(lambda s: s["subject"].append(s["subject"][-1])), NOT_A_STATEMENT),
    (statement(lambda s: s["subject"].reverse()), NOT_A_STATEMENT),
    (statement(lambda s: s["subject"][0]["digest"].update(sha512="0")), NOT_A_STATEMENT),
    (statement(lambda s: s.update(_type="https://in-toto.io/Statement/v0.1")), NOT_A_STATEMENT),
    (statement(lambda s: s.update(more=1)), NOT_A_STATEMENT),
    (statement(lambda s: s.pop("predicate") and None), NOT_A_STATEMENT),
    (statement(lambda s: s.update(predicateType="urn:privsieve:containment/v1")), NOT_SAID),
    (statement(lambda s: s["predicate"]["claim"].update(epsilon="0.001")), NOT_SAID),
    (statement(lambda s: s["predicate"].update(more="x")), NOT_SAID),
    (statement(lambda s: s["predicate"].update(population="town")), NOT_SAID),
    (statement(lambda s: s["predicate"].pop("ledger") and None), NOT_SAID),
    *((statement(lambda s, odd=odd: s["predicate"].update(maker=odd)), "is not a key")
      for odd in ("anna", [])),
]


@pytest.mark.parametrize(("spoil", "message"), SPOILT)
def test_what_was_changed_is_found(folder, whole, spoil, message):
    """Files, envelope, signatures or statement: even who holds both keys cannot sign another."""
    spoil(folder, whole)
    verdict = ps.verify(folder)

    assert not ps.verify(folder, signers=BOTH).valid
    assert not verdict.valid
    if message:
        only(verdict, message)


def test_a_hidden_file_is_named(folder):
    """It was not signed, and the folder holds."""
    (folder / ".DS_Store").write_text("x")
    verdict = ps.verify(folder, signers=BOTH)

    assert (True, [".DS_Store"]) == (verdict.valid, [file.strip("'") for file in verdict.unchecked])


@pytest.mark.parametrize("signers", [wanted(MAKER), BOTH, wanted(MAKER, EVE, threshold=1)])
def test_no_signature_is_a_reason_where_one_is_wanted(folder, signers):
    """Signatures that were taken away are missed by a verifier that wants them."""
    (folder / "signatures.json").unlink()

    only(ps.verify(folder, signers=signers), "the folder holds no signatures, but you require some")
    assert ps.verify(folder).valid
    assert ps.verify(folder).says.startswith("Unsigned: nothing shows who made this release")


def test_one_signature_less_is_a_reason(folder):
    """Each of the two that are wanted is missed; of a threshold of one either will do."""
    body, _ = opened(folder)
    signatures = body["signatures"]
    put(folder, {**body, "signatures": signatures[:1]})
    only(ps.verify(folder, signers=BOTH), "have signed, but 2 must sign")
    assert ps.verify(folder, signers=wanted(MAKER, ANNA, threshold=1)).valid

    # The statement names its maker, who has to have signed.
    put(folder, {**body, "signatures": signatures[1:]})
    only(ps.verify(folder, signers=wanted(ANNA)),
         "the maker in the signed statement has not signed")


def test_parts_are_what_the_statement_says(folder, whole):
    """The order of signatures says nothing; who is named as another maker, or as none, is found."""
    body, _ = opened(folder)
    put(folder, {**body, "signatures": body["signatures"][::-1]})
    assert ps.verify(folder, signers=BOTH).valid

    for maker, signed in ((ANNA.public.keyid, 0), (None, 1)):
        statement(lambda s, maker=maker: s["predicate"].update(maker=maker))(folder, whole)
        only(ps.verify(folder, signers=BOTH), f"{signed} of the 2 required keys have signed")


def test_so_many_keys_may_sign(folder):
    """64, and no more."""
    body, _ = opened(folder)
    put(folder, body, keys=[PrivateKey.make() for _ in range(64)] + [MAKER])
    only(ps.verify(folder), "two signatures by one key, or more than 64")
    put(folder, body, keys=[PrivateKey.make() for _ in range(63)] + [MAKER])
    assert 64 == len(ps.verify(folder, signers=wanted(MAKER)).signed)
    with pytest.raises(ParameterError, match="64 keys have already signed"):
        sign_folder(folder, EVE, "approver")


def test_a_huge_envelope_is_found(folder, monkeypatch):
    """An envelope is not read beyond its limit."""
    monkeypatch.setattr(envelopes, "LARGEST_ENVELOPE", 1000)
    only(ps.verify(folder), "signatures.json is larger than")
    monkeypatch.undo()
    with pytest.raises(CheckFailed, match="larger than 32 MB"):
        Envelope.read(b" " * (envelopes.LARGEST_ENVELOPE + 1))


def test_every_byte_counts(folder):
    """One other letter anywhere in the envelope is found."""
    data = (folder / "signatures.json").read_bytes()
    for at in range(0, len(data), 53):
        other = b"B" if data[at:at + 1] != b"B" else b"C"
        (folder / "signatures.json").write_bytes(data[:at] + other + data[at + 1:])
        assert not ps.verify(folder).valid, at


def test_signatures_of_a_release_that_does_not_hold_are_not_called_true(plain):
    """Where certificate and release contradict each other no signature helps."""
    sign_folder(plain, MAKER, "maker")
    data = (plain / "release.json").read_bytes()
    (plain / "release.json").write_bytes(data.replace(b'"smoker"', b'"smokes"'))
    verdict = ps.verify(plain, signers=wanted(MAKER))

    assert not verdict.valid
    assert {} == dict(verdict.signed)
    assert "signatures.json" in verdict.unchecked


# --- who is wanted -------------------------------------------------------------------------------

def test_thresholds(folder):
    """The number of the keys that are wanted, each counted once."""
    assert ps.verify(folder, signers=wanted(MAKER, ANNA, EVE, threshold=2)).valid
    only(ps.verify(folder, signers=wanted(MAKER, ANNA, EVE, threshold=3)), "2 of the 3 required")
    only(ps.verify(folder, signers=wanted(EVE)), "have signed, but 1 must sign")
    for bad in (0, 3, -1, True, 1.0, "1"):
        with pytest.raises(ParameterError, match="threshold"):
            wanted(MAKER, ANNA, threshold=bad)
    with pytest.raises(ParameterError, match="threshold"):
        Signers.of(threshold=1)


def test_a_key_counts_once(folder, tmp_path):
    """One key by fingerprint and by file, is not two."""
    pub = tmp_path / "maker.pub"
    pub.write_bytes(MAKER.public.pem)
    for same in (fingerprint(MAKER), str(pub), f"maker={pub}", fingerprint(MAKER).upper()):
        with pytest.raises(ParameterError, match="named twice"):
            wanted(MAKER, same)
    assert ps.verify(folder, signers=wanted(str(pub))).valid


def test_a_revoked_key_is_a_reason(folder, tmp_path):
    """Its signature speaks against a folder, even if others have signed."""
    gone = tmp_path / "revoked.txt"
    gone.write_text(f"# keys\n\n{fingerprint(ANNA).upper()}  2026-11-01 laptop stolen # c\n")

    for signers in (wanted(MAKER, revoked=gone), Signers.of(revoked=gone)):
        only(ps.verify(folder, signers=signers),
             f"{fingerprint(ANNA)}, which signed, is revoked (2026-11-01 laptop stolen)")
    gone.write_text(f"{fingerprint(EVE)}\n")
    assert ps.verify(folder, signers=wanted(MAKER, revoked=gone)).valid
    for text in ("anna\n", "sha256:00\n", f"{fingerprint(EVE)}x\n", "", "x" * 2**21):
        gone.write_text(text)
        with pytest.raises(ParameterError, match="list of revoked keys"):
            Signers.of(revoked=gone)


# --- signing -------------------------------------------------------------------------------------

def test_what_does_not_hold_is_not_signed(plain, whole):
    """A forged page, another certificate, a folder in it: nothing is signed."""
    (plain / "inner").mkdir()
    with pytest.raises(CheckFailed, match="cannot be signed"):
        sign_folder(plain, MAKER, "maker")
    (plain / "inner").rmdir()
    page = (plain / "report.html").read_bytes()
    (plain / "report.html").write_bytes(page + b" ")
    with pytest.raises(CheckFailed, match=r"report\.html does not follow"):
        sign_folder(plain, MAKER, "maker")
    shutil.copy(whole / "other" / "certificate.json", plain / "certificate.json")
    with pytest.raises(CheckFailed, match="only a valid folder can be signed"):
        sign_folder(plain, MAKER, "maker")
    (plain / "certificate.json").unlink()
    with pytest.raises(CheckFailed, match="nothing was signed"):
        sign_folder(plain, MAKER, "maker")
    assert not (plain / "signatures.json").exists()


def test_what_changed_since_is_not_signed(folder):
    """A second signature is of what the first is of, or it is none."""
    (folder / "more.txt").write_text("x")
    with pytest.raises(CheckFailed, match="signed files are not the files"):
        sign_folder(folder, EVE, "approver")
    (folder / "more.txt").unlink()
    with pytest.raises(ParameterError, match="has already signed this"):
        sign_folder(folder, ANNA, "approver")
    body, _ = opened(folder)
    put(folder, {**body, "signatures": [{**body["signatures"][0], "sig": "A" * 86 + "=="}]})
    with pytest.raises(CheckFailed, match="a signature does not belong"):
        sign_folder(folder, EVE, "approver")


def test_signers_at_the_same_time_wait_for_each_other(plain):
    """Four approvers sign at once, and each signature is there."""
    code = ("import sys; from pathlib import Path; from privsieve.cli.sign import sign_folder; "
            "from privsieve.trust.keys import PrivateKey; "
            "sign_folder(Path(sys.argv[1]), PrivateKey.make(), 'approver')")
    environment = {**os.environ, "PYTHONPATH": str(Path(ps.__file__).parents[1])}
    done = [subprocess.Popen([sys.executable, "-c", code, str(plain)], env=environment)
            for _ in range(4)]

    assert [0] * 4 == [signer.wait() for signer in done]
    assert 4 == len(ps.verify(plain).signed)


@pytest.mark.parametrize("name", ["my notes.txt", "\xe4.txt", "n" * 101])
def test_a_name_that_no_statement_takes_is_not_signed(plain, name):
    """What nobody could verify afterwards is refused before it is written, and says the way out."""
    (plain / name).write_text("x")
    with pytest.raises(CheckFailed, match=r"cannot be signed: remove it; nothing was"):
        sign_folder(plain, MAKER, "maker")
    assert not (plain / "signatures.json").exists()
    (plain / name).unlink()
    sign_folder(plain, MAKER, "maker")
    (plain / name).write_text("x")

    assert any("remove it" in reason for reason in ps.verify(plain).reasons)


def test_a_folder_that_is_not_there_is_no_plan(privsieve):  # noqa: F811  # the fixture
    """Who misspells a folder is told what can be signed, and not that a plan has no maker."""
    privsieve("key", "make", "maker.pem")
    code, _, err = privsieve("sign", "frist", "--key", "maker.pem", "--as", "maker")

    assert 2 == code
    assert "neither a release folder nor" in err


def test_signatures_stay_if_they_cannot_be_written(folder, monkeypatch):
    """A full disk leaves the old envelope, and nothing beside it."""
    before = (folder / "signatures.json").read_bytes()

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match="cannot be written"):
        sign_folder(folder, EVE, "approver")
    assert before == (folder / "signatures.json").read_bytes()
    assert 4 == len(list(folder.iterdir()))


# --- the command line ----------------------------------------------------------------------------

def test_the_verbs(privsieve):  # noqa: F811  # the fixture
    """Keys are made, a release is signed twice and verified, and every refusal has its code."""
    code, out, _ = privsieve("key", "make", "maker.pem")
    maker = out.strip()
    assert (0, 0o600) == (code, stat.S_IMODE(Path("maker.pem").stat().st_mode))
    assert 2 == privsieve("key", "make", "maker.pem")[0]
    code, pem, err = privsieve("key", "show", "maker.pem")
    Path("maker.pub").write_text(pem)
    assert (0, maker) == (code, err.strip())
    assert (0, pem) == privsieve("key", "show", "maker.pub")[:2]
    assert (0, "") == privsieve("key", "show", "maker.pem", "--out", "same.pub")[:2]
    assert pem == Path("same.pub").read_text()
    assert maker == fingerprint_of("maker.pub")
    anna = privsieve("key", "make", "anna.pem")[1].strip()

    assert 0 == privsieve(*select())[0]
    assert 2 == privsieve("sign", "first", "--key", "maker.pem")[0]
    assert 2 == privsieve("sign", "first", "--key", "maker.pub", "--as", "maker")[0]
    assert 0 == privsieve("sign", "first", "--key", "maker.pem", "--as", "maker")[0]
    code, _, err = privsieve("sign", "first", "--key", "anna.pem", "--as", "approver")
    assert (0, True) == (code, "selected: " in " ".join(err.split()))
    arguments = ("--signed-by", f"maker={maker}", "--signed-by", f"approver={anna}")
    code, out, _ = privsieve("verify", "first", *arguments, "--ledger", "budget.db", "--json")
    document = json.loads(out)
    assert (0, {maker: "maker", anna: "approver"}) == (code, document["signed"])
    code, out, _ = privsieve("verify", "first", *arguments)
    assert (0, True) == (code, f"signed     {maker} as maker" in out)
    assert 7 == privsieve("verify", "first", "--signed-by", f"approver={maker}")[0]
    assert 0 == privsieve("verify", "first", *arguments, "--threshold", "1")[0]
    assert 2 == privsieve("verify", "first", *arguments, "--threshold", "3")[0]
    Path("revoked.txt").write_text(f"{anna} left\n")
    assert 7 == privsieve("verify", "first", "--revoked", "revoked.txt")[0]
    assert 2 == privsieve("verify", "first", "--revoked", "missing.txt")[0]
    assert 2 == privsieve("verify", "first", "--signed-by", "nobody")[0]


def test_a_passphrase(privsieve, monkeypatch):  # noqa: F811  # the fixture
    """It comes from the environment, or from a person; else the key is refused."""
    monkeypatch.delenv(key_verb.VARIABLE, raising=False)
    assert 2 == privsieve("key", "make", "k.pem", "--passphrase")[0]
    assert not Path("k.pem").exists()
    monkeypatch.setenv(key_verb.VARIABLE, "correct horse")
    assert 0 == privsieve("key", "make", "k.pem", "--passphrase")[0]
    assert b"ENCRYPTED" in Path("k.pem").read_bytes()
    assert 0 == privsieve("key", "show", "k.pem")[0]
    monkeypatch.setenv(key_verb.VARIABLE, "wrong")
    code, _, err = privsieve("key", "show", "k.pem")
    assert (2, True) == (code, "passphrase is wrong" in err)


@pytest.mark.parametrize("word", ["x" * 1024, "\udcff"])
def test_a_passphrase_that_no_key_takes_is_refused(privsieve, monkeypatch, word):  # noqa: F811
    """What is too long, or no text, gets a sentence where a key is made and where it is read."""
    monkeypatch.setenv(key_verb.VARIABLE, "x" * 1023)
    assert 0 == privsieve("key", "make", "kept.pem", "--passphrase")[0]
    assert 0 == privsieve("key", "show", "kept.pem")[0]
    monkeypatch.setenv(key_verb.VARIABLE, word)
    for verb in (("make", "new.pem", "--passphrase"), ("show", "kept.pem")):
        code, _, err = privsieve("key", *verb)
        assert 2 == code
        assert "more than 1,023 bytes, or is not UTF-8 text" in err
    assert not Path("new.pem").exists()


def test_a_policy_names_who_signs_a_plan(privsieve):  # noqa: F811  # the fixture
    """Without the signatures that it wants, under this very plan, nothing is charged or read."""
    keys = [privsieve("key", "make", f"{name}.pem")[1].strip() for name in ("anna", "ben", "eve")]
    for name, epsilon in (("plan", "1"), ("dear", "0.5")):
        arguments = ("--domain", "domain.toml", "--epsilon", epsilon, "--top", "2", "--json")
        Path(f"{name}.json").write_text(privsieve("plan", "table.csv", *arguments)[1])
        assert 0 == privsieve("sign", f"{name}.json", "--key", "anna.pem")[0]
        assert 0 == privsieve("sign", f"{name}.signed.json", "--key", "eve.pem")[0]
    wanted = "signed_by = " + json.dumps(keys[:2])
    Path("p.toml").write_text(wanted)
    Path("one.toml").write_text(f"{wanted}\nthreshold = 1\n")

    for policy, plan, message in (
            ("p.toml", None, "only plans signed by 2 of 2 keys"),
            ("one.toml", None, "only plans signed by 1 of 2 keys"),
            ("p.toml", "plan.signed.json", "have signed, but 2 must sign"),
            ("one.toml", "dear.signed.json", "does not match the signed plan"),
            (None, "dear.signed.json", "does not match the signed plan"),
            ("one.toml", "plan.json", "not a signed plan")):
        options = {"--policy": policy, "--signed-plan": plan}
        words = [word for name, file in options.items() if file for word in (name, file)]
        code, _out, err = privsieve(*select(*words))
        assert (2, 0, True) == (code, spent(), message in " ".join(err.split()))
        assert "nothing was charged" in " ".join(err.split())
    assert not Path("first").exists()
    assert 0 == privsieve(*select("--policy", "one.toml", "--signed-plan", "plan.signed.json"))[0]
    assert 0 == privsieve("sign", "plan.signed.json", "--key", "ben.pem")[0]
    words = ("--policy", "p.toml", "--signed-plan", "plan.signed.json")
    assert 0 == privsieve(*select(*words, out="second"))[0]


def test_a_plan_that_was_signed_first(privsieve):  # noqa: F811  # the fixture
    """What was promised before anybody looked is what was done; another plan is found."""
    privsieve("key", "make", "maker.pem")
    maker = privsieve("key", "make", "anna.pem")[1].strip()
    for name, epsilon in (("plan", "1"), ("dear", "0.5")):
        arguments = ("--domain", "domain.toml", "--epsilon", epsilon, "--top", "2", "--json")
        Path(f"{name}.json").write_text(privsieve("plan", "table.csv", *arguments)[1])
        assert 0 == privsieve("sign", f"{name}.json", "--key", "maker.pem")[0]
    assert 0 == privsieve("sign", "plan.signed.json", "--key", "anna.pem")[0]
    assert 0 == privsieve(*select())[0]
    assert 0 == privsieve("verify", "first", "--plan", "plan.signed.json")[0]
    text = " ".join(privsieve("verify", "first", "--plan", "plan.signed.json")[1].split())
    assert "you named no required signers of the plan; sha256:" in text
    assert maker[:20] in text
    code, out, _ = privsieve("verify", "first", "--plan", "dear.signed.json")
    assert (7, True) == (code, "the release does not match the signed plan" in out)
    assert 7 == privsieve("verify", "first", "--plan", "plan.json")[0]
    assert 2 == privsieve("verify", "first", "--plan", "missing.json")[0]
    privsieve("sign", "first", "--key", "anna.pem", "--as", "approver")
    by = ("verify", "first", "--signed-by", maker)
    code, out, _ = privsieve(*by, "--plan", "plan.signed.json")
    assert (0, False) == (code, "you named no required signers" in out)
    code, out, _ = privsieve(*by, "--plan", "dear.signed.json")
    assert (7, True) == (code, "not signed by a required key" in " ".join(out.split()))
    Path("revoked.txt").write_text(f"{maker}\n")
    code, out, _ = privsieve("verify", "first", "--plan", "plan.signed.json", "--revoked",
                             "revoked.txt")
    assert 7 == code
    for words in (("plan.json",), ("plan.signed.json",), ("plan.json", "--as", "maker"),
                  ("domain.toml",), ("first/certificate.json",), ("first/signatures.json",)):
        assert 2 == privsieve("sign", words[0], "--key", "maker.pem", *words[1:])[0]


def test_without_cryptography(folder, cli, monkeypatch):
    """Without it signatures are named as not checked; a user that wants or makes some is told."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    verdict = ps.verify(folder)

    assert verdict.valid
    assert "not installed" in verdict.unchecked["signatures.json"]
    only(ps.verify(folder, signers=BOTH), "cannot be checked")
    only(ps.verify(folder, plan=folder / "signatures.json"), "cannot be checked")
    code, _, err = cli("key", "make", str(folder.parent / "k.pem"))
    assert (2, True) == (code, 'pip install "privsieve[sign]"' in " ".join(err.split()))


def test_old_folders_are_not_asked_for_signatures(whole):
    """A folder without signatures holds as before, and its two null fields stay null."""
    signed = parsed((whole / "out" / "certificate.json").read_bytes())

    assert ps.verify(whole / "out").valid
    assert (None, None) == (signed["key"], signed["signature"])
    assert of_release(signed, {}, None).says["maker"] is None
    assert Ledger(str(whole / "budget.db"), population="clinic").verify_chain().valid
