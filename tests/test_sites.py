"""Law: several sites.  Their sums are those of one table, and nobody sees the part of a site."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import privsieve as ps
from every_method import COSTS, WARD, table
from privsieve import fit as fitting
from privsieve import methods
from privsieve.check.verify import verify
from privsieve.cli import run, waiting
from privsieve.errors import ParameterError, PrivsieveError, SchemaError
from privsieve.noise.streams import replay
from privsieve.public.canonical import canonical, parsed
from privsieve.rows import open_source
from privsieve.rows.batch import batches
from privsieve.rows.room import Room
from privsieve.sites import masks, parts
from privsieve.sites.masks import SiteKey, Use, masked
from privsieve.sites.parts import Combined, marker, send
from privsieve.sites.study import COMBINER, Study, put
from privsieve.summaries import placed
from privsieve.summaries.flat import flat, lengths, made_up, shaped
from privsieve.summaries.stages import AtOnce, Stages

ROWS = {"north": 130, "south": 20, "west": 250}
#: What sites can be asked together, in one round each.
ASKED = [
    ("noisy-top-k", WARD, {"k": 2}),
    ("noisy-top-k", WARD, {"k": 2, "score": "class-counts"}),
    ("noisy-top-k", WARD, {"k": 2, "score": "disagreement"}),
    ("noisy-top-k", WARD, {"k": 2, "score": "mutual-information"}),
    ("noisy-top-k", COSTS, {"k": 2, "score": "correlation"}),
    ("noisy-histogram", WARD, {"columns": ["age", "ward"]}),
    ("rule-sieve", WARD, {"k": 2, "depth": 1, "joint": "none"}),
    ("rule-sieve", WARD, {"k": 2, "depth": 1}),
    ("kernel-ridge", COSTS, {"kernel": "linear"}),
    ("kernel-ridge", COSTS, {"kernel": "rbf", "features": 12}),
]

ONE = ASKED[1]
#: Units that sites do not have together, and rows of which nobody says how many a site has.
PERSONS = replace(WARD, columns=WARD.columns[1:], person="age", persons=50)
ADDED = replace(WARD, neighbours="add-remove", rows=400)


def joined(place, asked, rows=ROWS, **more):
    """A study that all have joined, its keys' files by name, and the combiner's."""
    method, domain, options = asked
    study = Study.begin(place / "study", (method, domain, {"epsilon": 1, **options}), rows, **more)
    files = {name: place / f"{name}.pem" for name in (*rows, COMBINER)}
    for name, file in files.items():
        key = SiteKey.make()
        put(file, key.pem, 0o600)
        if name == COMBINER:
            put(study.pub(COMBINER), key.public.pem)
        else:
            study.join(name, key.public)
    return Study.read(place / "study"), files


def cut(whole, rows=ROWS):
    """One table as those of the sites."""
    ends = list(itertools.accumulate(rows.values()))
    return {name: whole.iloc[end - many:end].reset_index(drop=True)
            for (name, many), end in zip(rows.items(), ends, strict=True)}


def tabled(domain):
    """The ward with the columns of a domain."""
    return table(sum(ROWS.values()))[[*domain.names, domain.target.name]]


def sent(study, files, whole, rows=ROWS):
    """All sites send the sum of the present round."""
    for name, part in cut(whole, rows).items():
        send(study, files[name], open_source(part), agreed=study.agreed)


@pytest.mark.parametrize("asked", ASKED, ids=lambda one: f"{one[0]} {list(one[2].values())[-1]}")
def test_three_sites_give_the_release_of_one_table(tmp_path, asked):
    """Under one noise the release of three sites is that of all rows in one table, bit by bit."""
    study, files = joined(tmp_path, asked)
    whole = tabled(asked[1])
    sent(study, files, whole)
    engine = Combined.of(study, files[COMBINER], agreed=study.agreed)
    made = fitting.fit(study.keyed(), engine.source(), noise=replay(7))
    alone = fitting.fit(study.plan, open_source(whole), noise=replay(7))

    assert list(study.keyed().sites) == made.body["plan"]["sites"]
    told = {**made.body, "plan": {name: said for name, said in made.body["plan"].items()
                                  if name != "sites"}}
    assert canonical(alone.body) == canonical(told)


def test_rows_stand_where_one_table_has_them(tmp_path):
    """The positions and units of all sites' rows are those of their tables, one after another."""
    study, _files = joined(tmp_path, ONE)
    found = []
    for name, many in ROWS.items():
        rows = batches(open_source(cut(tabled(WARD))[name]), WARD, rows=many, entropy=bytes)
        for batch in parts._placed(rows, study.first(name)):
            assert batch.unit is batch.row
            found += batch.row.tolist()

    assert list(range(sum(ROWS.values()))) == found


# --- masks ---------------------------------------------------------------------------------------

#: Words and masks in steps of 2^61: eight of them, which are as much of a group as all are.
STEP = 2**61
SMALL = range(8)


@pytest.fixture
def three():
    """Three keys."""
    return [SiteKey.make() for _ in range(3)]


def views(three, words, monkeypatch):
    """How often each triple of messages comes, over all ideal masks of the three pairs."""
    public, use = [key.public for key in three], Use("mask", "00" * 32, 1)
    pairs = {three[i].secret(public[j], use): at for at, (i, j) in enumerate([(0, 1), (0, 2),
                                                                             (1, 2)])}
    found = Counter()
    for ideal in itertools.product(SMALL, repeat=3):
        monkeypatch.setattr(masks, "stream", lambda secret, _size, ideal=ideal: np.array(
            [ideal[pairs[secret]] * STEP], np.uint64))
        found[tuple(int(masked(np.array([word * STEP], np.uint64), key, public, use)[0]) // STEP
                    for key, word in zip(three, words, strict=True))] += 1
    return found


def test_what_the_combiner_sees_follows_from_the_sum(three, monkeypatch):
    """All messages of two studies of one sum have the same law; of another sum they never meet."""
    one, same, other = (views(three, words, monkeypatch)
                        for words in ((1, 2, 3), (6, 0, 0), (1, 2, 4)))

    assert one == same
    assert set() == set(one) & set(other)
    assert {6} == {sum(seen) % 8 for seen in one}


def test_without_one_site_nothing_is_seen(three, monkeypatch):
    """Whatever two of three sites sent, both messages together are uniform."""
    for words in ((1, 2, 3), (0, 0, 5)):
        for left_out in range(3):
            seen = Counter()
            for view, often in views(three, words, monkeypatch).items():
                seen[view[:left_out] + view[left_out + 1:]] += often

            assert len(SMALL)**2 == len(seen)
            assert 1 == len(set(seen.values()))


def test_all_others_together_see_a_site(three):
    """Who has the keys of all other sites takes the masks off: what the page does not promise."""
    public, use = [key.public for key in three], Use("mask", "00" * 32, 1)
    word = np.array([77], np.uint64)
    told = masked(word, three[0], public, use)
    for other in three[1:]:
        told -= masks.stream(other.secret(public[0], use), 1)

    assert word == told


def test_two_who_share_a_secret_share_it_for_one_use(three):
    """Both ends have the same secret, and it is another for each use and each pair."""
    one, other, third = three
    uses = [Use("mask", "00" * 32, 1), Use("sum", "00" * 32, 1), Use("mask", "11" * 32, 1),
            Use("mask", "00" * 32, 2), Use("mask", "00" * 32, 1, "22" * 32)]

    assert all(one.secret(other.public, use) == other.secret(one.public, use) for use in uses)
    found = [one.secret(key.public, use) for key in (other, third) for use in uses]
    assert len(set(found)) == len(found)
    assert other.secret(third.public, uses[0]) not in found


def test_a_mask_is_the_stream_of_chacha20():
    """The stream is that of RFC 8439, appendix A.1, test vector 1, eight bytes a word."""
    first = bytes.fromhex("76b8e0ada0f13d90405d6ae55386bd28")

    assert first == masks.stream(bytes(32), 2).astype("<u8").tobytes()


def test_a_point_of_small_order_is_no_key(three):
    """With such a key everybody would share the same."""
    with pytest.raises(ParameterError, match="no key that two can share"):
        three[0].secret(masks.SitePublic(bytes(32)), Use("mask", "00" * 32, 1))


# --- a summary as words --------------------------------------------------------------------------

@pytest.mark.parametrize("asked", ASKED, ids=lambda one: f"{one[0]} {list(one[2].values())[-1]}")
def test_words_add_up_as_summaries_do(asked):
    """The words of two parts make the words of both, and they are as many as rows never change."""
    method, domain, options = asked
    plan = methods.plan(method, domain, rows=90, epsilon=1, **options)
    [stage] = plan.summarise.each
    one, other = (made_up(domain, start, 45) for start in (3, 48))
    zero, parts_of = stage([], 0, ()), [stage([part], 0, ()) for part in (one, other)]
    both = shaped(zero, flat(parts_of[0]) + flat(parts_of[1]))

    assert lengths(plan.summarise, domain, method) == [len(flat(zero))]
    assert flat(stage([one, other], 0, ())).tolist() == flat(both).tolist()


def test_integers_of_any_size_come_back():
    """Signs and carries survive, also of integers that no word holds."""
    numbers = [0, 1, -1, 2**63, -2**63, 2**100 + 7, -2**100 - 7, 2**32 - 1, -2**32]
    for a, b in itertools.product(numbers, repeat=2):
        like = (0, np.array([0], object), np.zeros(1, np.int64))
        small = [int(np.uint64(one % 2**64).astype(np.int64)) for one in (a, b)]
        words = [flat((one, np.array([one], object), np.array([part])))
                 for one, part in zip((a, b), small, strict=True)]
        whole, array, wrapped = shaped(like, words[0] + words[1])

        assert (a + b, [a + b]) == (whole, array.tolist())
        assert (a + b - int(wrapped[0])) % 2**64 == 0


@pytest.mark.parametrize("stage", [
    lambda rows, _key, _found: rows.label,
    lambda rows, _key, _found: np.array([len(rows) > 0]),
    lambda rows, _key, _found: np.array([0.5 * len(rows)]),
    lambda rows, _key, _found: 5,
    lambda rows, _key, _found: (len(rows),),
], ids=["grows", "flags", "floats", "constant", "tuple"])
def test_what_is_no_sum_is_refused_by_made_up_rows(stage):
    """A stage whose layout rows change, or whose parts do not add up, is refused before rows."""
    with pytest.raises(ParameterError, match="no sum of a fixed number of integers"):
        lengths(Stages((stage,), len(WARD.columns)), WARD, "toy/1")


# --- what is refused before the charge -----------------------------------------------------------

@pytest.fixture
def budget(tmp_path):
    """A ledger with epsilon 3."""
    ledger = ps.Ledger(str(tmp_path / "budget.db"), population="clinics")
    ledger.grant(3)
    return ledger


def refused(study, files, budget, match, **more):
    """Combining is refused in a sentence, and nothing was charged."""
    with pytest.raises(PrivsieveError, match=match):
        Combined.of(Study.read(study.place), files[COMBINER],
                    **{"agreed": study.agreed, **more})
    assert 3 == budget.left()


def test_a_missing_site_is_refused(tmp_path, budget):
    """Where a site has not sent its sum nothing is charged."""
    study, files = joined(tmp_path, ONE)
    sent(study, files, tabled(WARD))
    study.sent("south", 1).unlink()

    refused(study, files, budget, "site south has not sent its sum of round 1")


@pytest.mark.parametrize(("field", "value", "said"), [
    ("domain_sha256", "00" * 32, "made for another domain"),
    ("plan_sha256", "00" * 32, "made for another plan"),
    ("study", "00" * 32, "of another study"),
    ("round", 2, "of another round"),
    ("words", 3, "of another length"),
    ("site", "north", "another site's"),
    ("software", "0.0.1", "another version"),
    ("record", "both", "no message of a site"),
])
def test_a_message_that_says_something_else_is_refused(tmp_path, budget, monkeypatch, field,
                                                       value, said):
    """A site that means another domain, plan, study, round or length is refused in a sentence."""
    study, files = joined(tmp_path, ONE)
    right = parts._head
    monkeypatch.setattr(parts, "_head", lambda study, name, at, record: {
        **right(study, name, at, record), **({field: value} if name == "south" else {})})
    sent(study, files, tabled(WARD))
    monkeypatch.setattr(parts, "_head", right)

    refused(study, files, budget, said)


def edited(path, edit):
    """A message with something changed that its site did not write."""
    head, _, data = path.read_bytes().partition(b"\n")
    path.write_bytes(b"\n".join(edit(head, data)))


@pytest.mark.parametrize("edit", [
    lambda head, data: (head.replace(b'"row"', b'"line"'), data),
    lambda head, data: (head, data[:-1] + bytes([data[-1] ^ 1])),
    lambda head, data: (head, data[:-8]),
    lambda head, data: (b"[]", data),
    lambda head, data: (head, b""),
], ids=["head", "byte", "short", "no head", "empty"])
def test_a_message_that_was_changed_is_refused(tmp_path, budget, edit):
    """Neither what all can read nor what is sealed can be changed on the way."""
    study, files = joined(tmp_path, ONE)
    sent(study, files, tabled(WARD))
    edited(study.sent("south", 1), edit)

    refused(study, files, budget, "south.1.sum")


def test_a_message_of_fewer_words_than_it_says_is_refused(tmp_path, budget, monkeypatch):
    """A site that seals another number of words than its line says is refused before the charge."""
    study, files = joined(tmp_path, ONE)
    monkeypatch.setattr(parts, "masked", lambda words, *_: words[:-1])
    sent(study, files, tabled(WARD))

    refused(study, files, budget, "was not sealed by its site")


def test_a_message_of_another_site_or_round_is_refused(tmp_path, budget):
    """A message that is put in the place of another, with a head to fit, does not open."""
    study, files = joined(tmp_path, ONE)
    sent(study, files, tabled(WARD))
    north = study.sent("north", 1).read_bytes().partition(b"\n")[2]
    edited(study.sent("south", 1), lambda head, _data: (head, north))

    refused(study, files, budget, "was not sealed by its site")


def test_two_sites_with_one_key_are_refused(tmp_path):
    """A site that joins with a key of the study is refused, and so is a folder with such keys."""
    study, files = joined(tmp_path, ONE)
    study.pub("south").unlink()
    with pytest.raises(ParameterError, match="each makes its own"):
        study.join("south", SiteKey.read(files["north"]).public)
    study.pub("south").write_bytes(study.pub("north").read_bytes())
    with pytest.raises(ParameterError, match="two of the study have one key"):
        _ = Study.read(study.place).agreed


def test_other_keys_than_those_agreed_on_are_refused(tmp_path, budget):
    """Somebody who puts a key of theirs into the folder changes what was agreed on."""
    study, files = joined(tmp_path, ONE)
    assert 64 == len(study.agreed)
    study.pub("south").write_bytes(SiteKey.make().public.pem)
    with pytest.raises(ParameterError, match="somebody may sit between"):
        send(Study.read(study.place), files["north"], open_source(cut(tabled(WARD))["north"]),
             agreed=study.agreed)

    refused(study, files, budget, "somebody may sit between")


def test_a_site_sends_once_a_round(tmp_path):
    """Masks serve one sum: a second is refused, also where the first was taken away."""
    study, files = joined(tmp_path, ONE)
    north = open_source(cut(tabled(WARD))["north"])
    send(study, files["north"], north, agreed=study.agreed)
    for _ in range(2):
        with pytest.raises(ParameterError, match="has sent its sum of round 1"):
            send(study, files["north"], north, agreed=study.agreed)
        study.sent("north", 1).unlink(missing_ok=True)


def test_wrong_keys_are_refused(tmp_path, budget):
    """A site's key combines nothing, the combiner's sums nothing, a stranger's does neither."""
    study, files = joined(tmp_path, ONE)
    put(tmp_path / "else.pem", SiteKey.make().pem, 0o600)
    north = open_source(cut(tabled(WARD))["north"])
    with pytest.raises(ParameterError, match="combiner has no rows"):
        send(study, files[COMBINER], north, agreed=study.agreed)
    with pytest.raises(ParameterError, match="none of the study's"):
        send(study, tmp_path / "else.pem", north, agreed=study.agreed)
    refused(study, {COMBINER: files["north"]}, budget, "is the key of a site")
    files["north"].chmod(0o644)
    refused(study, {COMBINER: files["north"]}, budget, "can be read by others")


def test_another_number_of_rows_is_refused(tmp_path):
    """Under replace-one the rows of a site are public, and have to be as many as was said."""
    study, files = joined(tmp_path, ONE)
    with pytest.raises(SchemaError, match="the table has 20 rows, and the study says 130"):
        send(study, files["north"], open_source(cut(tabled(WARD))["south"]), agreed=study.agreed)
    assert not study.sent("north", 1).exists()


def test_a_table_that_fails_sends_nothing(tmp_path, monkeypatch):
    """What fails while rows are there has one text; nothing was sent, and the site tries again."""
    study, files = joined(tmp_path, ONE)
    north = open_source(cut(tabled(WARD))["north"])

    def broken(*_args):
        raise ValueError("Ann is 44")

    with monkeypatch.context() as patch:
        patch.setattr(parts, "flat", broken)
        with pytest.raises(SchemaError, match="nothing was sent") as caught:
            send(study, files["north"], north, agreed=study.agreed)
    assert caught.value.__context__ is None
    assert 1 == send(study, files["north"], north, agreed=study.agreed)


@pytest.mark.parametrize(("method", "domain", "options", "sites", "said"), [
    ("block-fwell", WARD, {"k": 2}, ROWS, "needs all rows in one place"),
    ("noisy-histogram", WARD, {"k": 2}, ROWS, "needs all rows in one place"),
    ("noisy-histogram", WARD, {"columns": ["age", "ward"], "delta": "1e-9"}, ROWS, "no sum of"),
    ("noisy-top-k", PERSONS, {"k": 2}, dict.fromkeys(ROWS), "a person may have rows at two sites"),
    ("noisy-top-k", WARD, {"k": 2}, {"north": 400}, "1 sites"),
    ("noisy-top-k", WARD, {"k": 2}, {"north": 4, "../x": 4}, "small letters"),
    ("noisy-top-k", WARD, {"k": 2}, {"north": 4, "combiner": 4}, "not combiner"),
    ("noisy-top-k", WARD, {"k": 2}, {"north": 4, "south": None}, "write south=ROWS"),
    ("noisy-top-k", WARD, {"k": 2}, {"north": 4, "south": 0}, "write south=ROWS"),
    ("noisy-top-k", ADDED, {"k": 2}, {"north": 4, "south": None}, "it is private"),
])
def test_what_cannot_be_asked_of_sites_is_refused(tmp_path, method, domain, options, sites, said):
    """Methods that need all rows, persons, and sites that are none: before there is a study."""
    with pytest.raises(ParameterError, match=said):
        Study.begin(tmp_path / "study", (method, domain, {"epsilon": 1, **options}), sites)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("edit", [
    lambda said: {**said, "tie_key": "many"},
    lambda said: {**said, "software": "0.0.1"},
    lambda said: {**said, "domain_sha256": "00" * 32},
    lambda said: {**said, "plan": {**said["plan"], "epsilon": "5"}},
    lambda said: {**said, "sites": said["sites"] + said["sites"][:1]},
    lambda said: {**said, "more": 1},
    lambda said: [said],
])
def test_a_study_that_was_changed_is_refused(tmp_path, edit):
    """A study that this version would not write so is refused."""
    study, _files = joined(tmp_path, ONE)
    place = study.place / "study.json"
    place.write_bytes(canonical(edit(parsed(place.read_bytes()))))
    with pytest.raises(ParameterError):
        Study.read(study.place)


# --- the charge ----------------------------------------------------------------------------------

def test_sums_are_added_after_the_charge(tmp_path, budget, monkeypatch):
    """No sum is added before the charge is durable, and none where the budget refuses it."""
    study, files = joined(tmp_path, ONE)
    sent(study, files, tabled(WARD))
    engine, added = Combined.of(study, files[COMBINER], agreed=study.agreed), Combined._added
    ledger, seen = ps.Ledger(budget.path, population="clinics", request=study.agreed), []
    monkeypatch.setattr(Combined, "_added", lambda self: (
        seen.append(ledger.charge() is not None), added(self))[1])
    made = fitting.fit(study.keyed(), engine.source(), ledger=ledger)

    assert [True] == seen
    assert 2 == budget.left()
    assert () == verify(made.certificate, made.body, ledger=budget.path).reasons
    with pytest.raises(PrivsieveError, match="request"):
        fitting.fit(study.keyed(), engine.source(), ledger=ledger)
    poor = ps.Ledger(str(tmp_path / "poor.db"), population="clinics")
    poor.grant("0.5")
    with pytest.raises(ps.errors.BudgetExceeded):
        fitting.fit(study.keyed(), engine.source(), ledger=poor)
    assert [True] == seen


def test_a_certificate_says_whose_sums_were_added(tmp_path, budget):
    """Count and keys of the sites are certified, and a certificate that cannot be so is refused."""
    study, files = joined(tmp_path, ONE)
    sent(study, files, tabled(WARD))
    engine = Combined.of(study, files[COMBINER], agreed=study.agreed)
    made = fitting.fit(study.keyed(), engine.source(), ledger=budget)
    keys = [key.fingerprint for key in study.keys.values()]

    assert keys == made.certificate["plan"]["sites"]
    for wrong, said in ((keys[:1], "plan.sites"), ([keys[0], keys[0]], "named twice"),
                        ([*keys, "north"], "plan.sites"), ("three", "plan.sites"),
                        (keys[::-1], "not the one that was charged")):
        assert said in " ".join(retold(made, wrong))


def retold(made, sites):
    """What speaks against a release whose plan says other sites."""
    plan = {**made.body["plan"], "sites": sites}
    return verify({**made.certificate, "plan": plan}, {**made.body, "plan": plan}).reasons


@pytest.mark.parametrize(("method", "said"), [
    (ps.BlockFWELL(2, epsilon=1, domain=WARD), "a field that is not declared"),
    (ps.NoisyHistogram(n_features_to_select=2, epsilon=1, domain=WARD), "of several sites"),
    (ps.NoisyTopK(2, epsilon=1, domain=PERSONS), "a person may have rows at two sites"),
])
def test_what_sites_cannot_be_asked_they_did_not_release(method, said):
    """A certificate that says sites of a method, or of persons, that have no sums is refused."""
    made = method.fit(tabled(WARD)).release_

    assert said in " ".join(retold(made, [f"sha256:{digit * 64}" for digit in "ab"]))


def test_under_add_remove_sites_say_no_number(tmp_path):
    """Where a row comes or goes the rows of a site stay private, and positions stay apart."""
    study, files = joined(tmp_path, ("noisy-top-k", ADDED, {"k": 2}), dict.fromkeys(ROWS))
    sent(study, files, tabled(WARD))
    engine = Combined.of(study, files[COMBINER], agreed=study.agreed)
    made = fitting.fit(study.keyed(), engine.source(), noise=replay(7))
    alone = fitting.fit(study.plan, open_source(tabled(WARD)), noise=replay(7))

    assert "null" in (study.place / "study.json").read_text()
    assert 3 == len({study.first(name) for name in ROWS})
    assert 2 == len(made.selected) == len(alone.selected)


# --- several rounds ------------------------------------------------------------------------------

def above(rows, _key, found, *, of):
    """How many rows lie above the mean of a column, which the first round told."""
    counts, total = found[0].parts
    mean = int(total[0]) // max(1, int(counts[0]))
    return np.array([int((rows.codes[:, of] > mean).sum())])


def totals(rows, _key, _found, *, of):
    """Rows, and the sum of a column's codes."""
    return np.array([len(rows)]), np.array([int(rows.codes[:, of].astype(int).sum())])


def in_two_rounds(seen):
    """Plans of noisy-top-k that also count rows above a mean, in a second pass."""
    def planned(method, domain, **options):
        plan = methods.plan(method, domain, **options)
        [own] = plan.summarise.each

        def first(rows, key, found):
            return AtOnce((*totals(rows, key, found, of=0), own([rows], key, ())))

        def second(rows, key, found):
            return above(rows, key, [AtOnce(found[0].parts[:2])], of=0)

        def ended(found):
            seen.append(int(found[1][0]))
            return plan.summarise.ended((found[0].parts[2],))

        return replace(plan, summarise=Stages((first, second), len(domain.columns), ended))
    return planned


@pytest.fixture
def two_rounds(tmp_path, monkeypatch):
    """A study of two rounds, and what its second one came to."""
    seen = []
    monkeypatch.setattr("privsieve.sites.study.planned", in_two_rounds(seen))
    with pytest.raises(ParameterError, match="--sites-see-sums"):
        joined(tmp_path, ONE)
    return (*joined(tmp_path, ONE, see=True), seen)


def commanded(*args):
    """Run a command line, which has to end well."""
    assert 0 == run([*map(str, args)]), args


def combined(study, files, tmp_path, *more):
    """The words that combine a study."""
    return ("combine", "add", study.place, "--key", files[COMBINER], "--agreed", study.agreed,
            "--ledger", tmp_path / "budget.db", "--population", "clinics",
            "--out", tmp_path / "out", *more)


def test_a_policy_that_wants_a_signed_plan_refuses_a_study_before_its_first_round(
        two_rounds, tmp_path, budget, capsys):
    """No round is charged of which the last one would be refused."""
    study, files, _ = two_rounds
    (tmp_path / "policy.toml").write_text(f'signed_by = ["sha256:{"0a" * 32}"]\n')
    sent(study, files, tabled(WARD))
    capsys.readouterr()

    assert 2 == run([*map(str, combined(study, files, tmp_path, "--policy",
                                        tmp_path / "policy.toml"))])
    assert "the policy allows no release of several sites" in capsys.readouterr().err
    assert 3 == budget.left()


def test_a_policy_of_a_later_round_says_that_the_charge_stands(
        two_rounds, tmp_path, budget, capsys):
    """Of the first round nothing was charged, of a later one that is not so."""
    study, files, _ = two_rounds
    (tmp_path / "policy.toml").write_text('epsilon = "0.5"\n')
    strict = [*map(str, combined(study, files, tmp_path, "--policy", tmp_path / "policy.toml"))]
    sent(study, files, tabled(WARD))
    assert 2 == run(strict)
    assert "nothing was charged" in " ".join(capsys.readouterr().err.split())

    commanded(*combined(study, files, tmp_path))
    assert 2 == run(strict)
    said = " ".join(capsys.readouterr().err.split())
    assert "the study's charge stands, and nothing was added" in said
    assert "nothing was charged" not in said
    assert 2 == budget.left()


def test_two_rounds_are_one_charge(two_rounds, tmp_path, budget):
    """The first round charges and tells the sites; the second releases, of the same request."""
    study, files, seen = two_rounds
    whole = tabled(WARD)
    sent(study, files, whole)
    commanded(*combined(study, files, tmp_path))
    assert 2 == budget.left()
    assert not (tmp_path / "out").exists()
    assert {2} == {study.round(name) for name in ROWS}

    assert 2 == run([*map(str, combined(study, files, tmp_path))])  # no site has sent round 2
    sent(study, files, whole)
    commanded(*combined(study, files, tmp_path))
    alone = []
    plan = in_two_rounds(alone)("noisy-top-k", WARD, rows=400, epsilon=1, k=2,
                                score="class-counts")
    fitting.fit(plan, open_source(whole), noise=replay(7))
    assert alone == seen
    assert 2 == budget.left()
    made = ps.load(tmp_path / "out")
    assert () == verify(made.certificate, made.body, ledger=budget.path).reasons
    # The same words again give the same release, and no sum is added.
    commanded(*combined(study, files, tmp_path))
    assert alone == seen
    assert 2 == budget.left()


def test_a_second_round_rests_on_one_first(two_rounds, tmp_path, budget):
    """Sites that were told different sums of the first round make masks that do not cancel."""
    study, files, _seen = two_rounds
    whole = tabled(WARD)
    sent(study, files, whole)
    commanded(*combined(study, files, tmp_path))
    key = SiteKey.read(files[COMBINER])
    other = np.zeros(study.words[0], np.uint64)
    study.told("north", 2).unlink()
    put(study.told("north", 2), masks.sealed(
        other.tobytes(), b"", key, study.keys["north"], study.use("found", 2)))
    sent(study, files, whole)
    words = [parts._received(study, name, key, 2, []) for name in ROWS]

    assert not 0 <= int(np.sum(words, axis=0, dtype=np.uint64)[0]) <= 400


def test_what_a_round_came_to_is_for_its_site_alone(two_rounds, tmp_path, budget):
    """What sites are told is sealed: no byte of it stands in the folder, and others cannot open."""
    study, files, _seen = two_rounds
    sent(study, files, tabled(WARD))
    commanded(*combined(study, files, tmp_path))
    north, south = (study.told(name, 2).read_bytes() for name in ("north", "south"))
    rows = np.array([400], "<u8").tobytes()

    assert rows not in north + south
    study.told("north", 2).write_bytes(south)
    with pytest.raises(ParameterError, match="was not sealed by the combiner"):
        send(study, files["north"], open_source(cut(tabled(WARD))["north"]), agreed=study.agreed)


# --- RuleSieve's rounds --------------------------------------------------------------------------

#: Flags, categories, numbers with and without a missing level; ties nearly everywhere.
TIED = ps.Domain(
    (ps.Number("one", 0, 9, missing="level"), ps.Number("two", 0, 9), ps.Number("many", 0, 1),
     ps.Number("none", 0, 9, missing="level"), ps.Flag("flag"), ps.Category("ward", ["A", "B"]),
     ps.Number("some", 0, 1, missing="level")),
    target=ps.Label("ill", [0, 1]))
THREE = replace(TIED, target=ps.Label("ill", [0, 1, 2]))
#: Of a number 65,536 counts a place leave in each round, so it has four of the columns.
NUMBER = replace(TIED, columns=[TIED.columns[at] for at in (0, 1, 3, 5)],
                 target=ps.Number("cost", 0, 3))


def tied(rows, domain):
    """Rows of which each code has many; a column without a number."""
    rng = np.random.default_rng(rows)
    ward = pd.DataFrame({
        "one": 5.0, "two": rng.choice([2, 7], rows), "many": rng.random(rows),
        "none": np.full(rows, np.nan), "flag": rng.integers(0, 2, rows),
        "ward": rng.choice(["A", "B"], rows), "some": rng.choice([0.1, 0.9, np.nan], rows)})
    ward[domain.target.name] = rng.integers(0, 2 if domain is TIED else 3, rows)
    return ward


def all_rounds(study, files, whole, rows):
    """The combiner before the last round is added."""
    for at in range(1, len(study.words) + 1):
        sent(study, files, whole, rows)
        engine = Combined.of(study, files[COMBINER], agreed=study.agreed)
        assert at == engine.present
        if not engine.last:
            engine.tell()
    return engine


#: Sites of which one has a single row, with an odd number of rows in all, and with an even one.
ODD, EVEN = {"north": 60, "south": 1, "west": 40}, {"north": 33, "south": 1, "west": 28}
#: What is asked of a label, and of a number by its ranks.
SIEVED = [(TIED, {}, ODD), (TIED, {"depth": 3}, EVEN), (TIED, {"joint": "pair"}, ODD),
          (TIED, {"joint": "triple", "depth": 2}, EVEN),
          (THREE, {"class_prior": "centred", "ordered": True}, ODD),
          (NUMBER, {"numeric": "ranks", "depth": 3}, EVEN)]


@pytest.mark.parametrize(("domain", "options", "rows"), SIEVED,
                         ids=[f"{one.target.name} {more} {sum(rows.values())}"
                              for one, more, rows in SIEVED])
def test_rounds_of_sites_give_the_release_of_one_table(tmp_path, domain, options, rows,
                                                       monkeypatch):
    """In one order of ties RuleSieve's cuts are those of one table, and its release, bit by bit."""
    monkeypatch.setattr(placed, "FEW", 0)
    monkeypatch.setattr(parts, "_ties", lambda study, _name, _key: study.tie_key)
    study, files = joined(tmp_path, ("rule-sieve", domain, {"k": 3, "epsilon": 9, **options}),
                          rows, see=True, tie_key=replay(7).key())
    whole = tied(sum(rows.values()), domain)
    engine = all_rounds(study, files, whole, rows)
    made = fitting.fit(study.keyed(), engine.source(), noise=replay(7))
    alone = fitting.fit(study.plan, open_source(whole), noise=replay(7))

    assert 6 == len(study.words)
    told = {**made.body, "plan": {name: said for name, said in made.body["plan"].items()
                                  if name != "sites"}}
    assert canonical(alone.body) == canonical(told)


class All:
    """The keys of all sites, as those of one table."""

    def __init__(self, study, files):
        self._each = [parts._ties(study, name, SiteKey.read(files[name])) for name in study.sites]
        self._ends = [study.first(name) for name in study.sites]

    def keys(self, rows, column):
        at = np.searchsorted(self._ends, rows, side="right") - 1
        found = np.zeros_like(rows)
        for place, one in enumerate(self._each):
            found[at == place] = one.keys(rows[at == place], column)
        return found


@pytest.mark.parametrize(("domain", "options"), [(TIED, {}), (NUMBER, {"numeric": "ranks"})],
                         ids=["label", "number"])
def test_sites_with_orders_of_their_own_give_one_summary(tmp_path, domain, options):
    """All integers are those of one table whose ties stand in the orders of the sites."""
    study, files = joined(tmp_path, ("rule-sieve", domain, {"k": 3, "epsilon": 9, **options}),
                          ODD, see=True)
    whole, found = tied(sum(ODD.values()), domain), ()
    made = all_rounds(study, files, whole, ODD).stages(study.plan, 0)
    own = All(study, files)
    read = list(batches(open_source(whole), domain, rows=101, entropy=bytes))
    for at in range(len(study.words)):
        found = (*found, study.stages.once(at, read, own, found))

    assert 5 == len(study.words)
    assert flat(study.stages.ended(found)).tolist() == flat(made).tolist()


def test_an_order_of_ties_is_the_sites_own(tmp_path):
    """Keys are the same in each round, distinct over all sites, others for each column and key."""
    study, files = joined(tmp_path, ("rule-sieve", TIED, {"k": 3}), ODD, see=True)
    rows, every = np.arange(101, dtype=np.uint64), All(study, files)
    one, other = (every.keys(rows, column) for column in (0, 1))

    assert one.tolist() == All(study, files).keys(rows, 0).tolist()
    assert 202 == len({*one.tolist(), *other.tolist()})
    assert [60, 1, 40] == np.bincount((one % 64).astype(int)).tolist()
    assert int(one.max()) < 2**48
    assert study.tie_key not in {*one.tolist()}
    files["north"].unlink()
    put(files["north"], SiteKey.make().pem, 0o600)
    assert not set(All(study, files).keys(rows, 0)[:60].tolist()) & set(one.tolist())


def test_keys_that_are_the_same_are_drawn_anew(tmp_path, monkeypatch):
    """A draw in which two rows of a site have one key is not used, for none of them."""
    study, files = joined(tmp_path, ("rule-sieve", TIED, {"k": 3}), ODD, see=True)
    right, tried = parts.stream, []

    def twice(secret, size):
        tried.append(secret)
        return right(secret, size) if len(tried) > 2 else np.full(size, 77, np.uint64)

    monkeypatch.setattr(parts, "stream", twice)
    own = parts._ties(study, "north", SiteKey.read(files["north"]))
    assert 60 == len(set(own.keys(np.arange(60, dtype=np.uint64), 0).tolist()))
    assert 3 == len(set(tried))


def test_what_a_round_counts_is_no_public_place(tmp_path):
    """With keys that all know, the counts would tell which rows have a median's code."""
    study, files = joined(tmp_path, ("rule-sieve", TIED, {"k": 3}), ODD, see=True)
    whole = tied(101, TIED)
    for at in (1, 2):
        sent(study, files, whole, ODD)
        Combined.of(study, files[COMBINER], agreed=study.agreed).tell()
        assert {at + 1} == {study.round(name) for name in ODD}
    told = parts._told(study, "north", SiteKey.read(files["north"]), 3)
    read = list(batches(open_source(whole), TIED, rows=101, entropy=bytes))
    public = study.stages.once(1, read, study.tie_key, parts._founds(study, told[:1]))

    assert told[1].sum() == public.sum()
    assert (told[1].reshape(public.shape) * public).sum() < public.sum() / 10


def test_several_rounds_need_rows_at_public_places(tmp_path):
    """Where rows come and go their number is private; of too many the keys take too much room."""
    for domain, sites in ((ADDED, dict.fromkeys(ROWS)), (WARD, {"north": 2**25, "south": 1})):
        with pytest.raises(ParameterError, match="at any depth where rows are replaced"):
            Study.begin(tmp_path / "study", ("rule-sieve", domain, {"k": 2, "epsilon": 1,
                                                                    "depth": 2}), sites, see=True)
        assert [] == list(tmp_path.iterdir())


# --- the command line ----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["nowhere", "empty", "a file"])
def test_what_is_no_study_is_called_none(tmp_path, name):
    """Who names something else is told of a study, and not of a domain file."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "a file").write_text("x")
    with pytest.raises(ParameterError, match="name the folder that privsieve combine study made"):
        Study.read(tmp_path / name)


def test_a_study_by_commands(tmp_path, capsys, monkeypatch):
    """Three folders, three keys, one release: every command of a study."""
    monkeypatch.chdir(tmp_path)
    WARD.to_toml("domain.toml")
    for name, rows in cut(tabled(WARD)).items():
        Path(name).mkdir()
        rows.to_csv(f"{name}/rows.csv", index=False)
    commanded("ledger", "grant", "--ledger", "budget.db", "--population", "clinics",
              "--epsilon", "1")
    commanded("combine", "study", "shared", "--domain", "domain.toml", "--epsilon", "0.5",
              "--top", "2", "--method", "noisy-top-k", "--score", "class-counts", "--anyway",
              "--key", "combiner.pem",
              *(f"--site={name}={rows}" for name, rows in ROWS.items()))
    assert 2 == run(["combine", "show", "shared"])
    for name in ROWS:
        commanded("sum", "join", "shared", "--site", name, "--key", f"{name}/site.pem")
    capsys.readouterr()
    commanded("combine", "show", "shared", "--json")
    agreed = json.loads(capsys.readouterr().out)["agreed"]
    commanded("combine", "show", "shared")
    assert agreed in capsys.readouterr().out
    for name in ROWS:
        commanded("sum", "add", "shared", f"{name}/rows.csv", "--key", f"{name}/site.pem",
                  "--agreed", agreed)
    adding = ("combine", "add", "shared", "--key", "combiner.pem", "--agreed", agreed,
              "--ledger", "budget.db", "--population", "clinics", "--out", "first")
    commanded(*adding)
    commanded("verify", "first", "--ledger", "budget.db")
    commanded(*adding)
    capsys.readouterr()
    commanded("ledger", "show", "--ledger", "budget.db", "--population", "clinics", "--json")

    assert '"left":"0.5"' in capsys.readouterr().out
    body = json.loads(Path("first/release.json").read_text())
    assert 3 == len(body["plan"]["sites"])
    assert "one line of the file" in Path("first/certificate.json").read_text()
    assert body["plan"]["sites"][0] in Path("first/report.html").read_text()
    names = {path.name for path in Path("shared").iterdir()}
    assert names == {"study.json", "domain.toml", "combiner.pub",
                     *(f"{name}.{end}" for name in ROWS for end in ("pub", "1.sum"))}


@pytest.fixture
def sieved(tmp_path, monkeypatch, budget):
    """A study of RuleSieve at its defaults, its tables as files, and what a site says."""
    monkeypatch.setattr(waiting, "PAUSE", 0.05)
    study, files = joined(tmp_path, ("rule-sieve", WARD, {"k": 2, "epsilon": "1"}), ROWS, see=True)
    for name, rows in cut(tabled(WARD)).items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)

    def adding(name):
        return [str(one) for one in (
            "sum", "add", study.place, tmp_path / f"{name}.csv", "--key", files[name], "--agreed",
            study.agreed, "--all-rounds")]
    return study, files, adding


def test_all_rounds_by_one_command_each(sieved, tmp_path, budget):
    """Sites and combiner wait for each other: one command each makes all rounds and a release."""
    study, files, adding = sieved
    with ThreadPoolExecutor(3) as sites:
        ended = [sites.submit(run, adding(name)) for name in ROWS]
        commanded(*combined(study, files, tmp_path, "--all-rounds"))
        assert [0, 0, 0] == [one.result() for one in ended]

    assert 2 == budget.left()
    assert 5 == len(study.words)
    made = ps.load(tmp_path / "out")
    assert () == verify(made.certificate, made.body, ledger=budget.path).reasons
    assert 2 == len(made.selected)


def test_waiting_is_ended_by_hand_and_goes_on(sieved, tmp_path, budget, monkeypatch, capsys):
    """Ctrl-C ends it with a sentence, a day without news does; the same command goes on."""
    study, files, adding = sieved

    def interrupted(_seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(waiting, "sleep", interrupted)
        for words in (adding("north"), adding("north"),
                      [str(one) for one in combined(study, files, tmp_path, "--all-rounds")]):
            assert 130 == run(words)
            said = capsys.readouterr().err
            assert "the same command goes on" in said
            assert "nothing was charged" not in said
    monkeypatch.setattr(waiting, "LONGEST", -1)
    assert 2 == run(adding("north"))
    assert "did not come within a day" in capsys.readouterr().err
    for name in ("south", "west"):
        assert 2 == run(adding(name))
    assert 2 == run([str(one) for one in combined(study, files, tmp_path, "--all-rounds")])
    assert "did not come within a day" in capsys.readouterr().err
    assert {2} == {study.round(name) for name in ROWS}
    assert 2 == budget.left()
    assert 2 == run([*adding("north")[:5], str(files[COMBINER]), *adding("north")[6:]])
    assert "combiner has no rows" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [
    (("sum", "join", "shared", "--site", "east", "--key", "east.pem"), "no site 'east'"),
    (("sum", "join", "nowhere", "--site", "east", "--key", "east.pem"),
     "is not in the folder of the study"),
    (("combine", "study", "shared", "--domain", "domain.toml", "--epsilon", "1", "--top", "2",
      "--method", "noisy-top-k", "--site", "a=3", "--site", "b=4", "--key", "other.pem",
      "--anyway"), "cannot be made, or exists"),
    (("combine", "study", "more", "--domain", "domain.toml", "--epsilon", "1", "--top", "2",
      "--method", "noisy-top-k", "--site", "a=x", "--site", "b=4", "--key", "other.pem"),
     "write a name, = and a number"),
    (("combine", "study", "more", "--domain", "domain.toml", "--epsilon", "1", "--top", "2",
      "--method", "noisy-top-k", "--site", "a=3", "--site", "a=4", "--key", "other.pem"),
     "named twice"),
])
def test_a_command_that_is_refused_leaves_no_key(tmp_path, capsys, monkeypatch, words, said):
    """A refusal is a sentence, and neither a key nor a folder is left of it."""
    monkeypatch.chdir(tmp_path)
    WARD.to_toml("domain.toml")
    Study.begin("shared", ("noisy-top-k", WARD, {"k": 2, "epsilon": "1"}), ROWS)
    before = {path.name for path in tmp_path.iterdir()}

    assert 2 == run([*words])
    assert said in capsys.readouterr().err
    assert before == {path.name for path in tmp_path.iterdir()}


def test_a_table_that_changed_between_rounds_is_refused(tmp_path):
    """Its own site notices: nothing is sent, and the table as it was still is taken."""
    asked = ("rule-sieve", WARD, {"k": 2, "depth": 2})
    study, files = joined(tmp_path, asked, see=True)
    whole = tabled(WARD)
    sent(study, files, whole)
    Combined.of(study, files[COMBINER], agreed=study.agreed).tell()
    rows = cut(whole)["south"]
    for other in (rows.iloc[::-1].reset_index(drop=True), rows.assign(age=rows["age"] + 1)):
        with pytest.raises(SchemaError, match="not the one that was summed in round 1") as found:
            send(study, files["south"], open_source(other), agreed=study.agreed)
        assert "nothing was sent" in str(found.value)
    assert not study.sent("south", 2).exists()
    noted = marker(files["south"], study, 1)
    away = noted.rename(tmp_path / "elsewhere")
    with pytest.raises(ParameterError, match="which round 1 left beside the site's key"):
        send(study, files["south"], open_source(rows), agreed=study.agreed)
    away.rename(noted)
    same = pa.Table.from_pandas(rows, preserve_index=False)  # in another container
    assert 2 == send(study, files["south"], open_source(same), agreed=study.agreed,
                     room=Room(jobs=2))
