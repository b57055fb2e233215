"""Law: verify is a closed world: it refuses what it does not know, recounts what follows."""

from __future__ import annotations

import json
import os
import random
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

from every_method import CHARGING
from forged import spots
from privsieve.check.verify import verify
from privsieve.containment.measures import crowd
from privsieve.public.attackers import describe_sizes
from privsieve.public.canonical import canonical, digest
from refitted import Forger, add, at, drop, edits, others, put, swap

#: Random edits; more in `make soak`.
EDITS = int(os.environ.get("PRIVSIEVE_EDITS", "2000"))
#: Of the folders that are not edited everywhere, each so-and-so-many-th edit.
EVERY = 1 if EDITS > 2000 else 97

#: Edits after which the files say something else that may as well be true: a pattern of
#: "kind place", and why nobody can tell without the ledger.
OTHER_STATEMENTS = {
    r"\w+ software\.privsieve":
        "who wrote it is not seen in what is written",
    r"\w+ (population|ledger\.(snapshot|request|reserved_at|(reserve|commit|publish)\.(seq|prev)))":
        "whose account it was, and where in its chain: only the ledger knows",
    r"(weights|regression) values\.q(\.\[\])?|histogram cells\.(q|place)(\.\[\])?":
        "numbers with noise: any others might have been drawn",
    r"selection (branch|selected(\.\[\])?)":
        "what was drawn: another name or branch might have been",
    r"weights selected(\.\[\])?":
        "names in another order, of numbers that are equal",
    r"regression (queries.*|answers.*|forecast\..*|noise\.each)":
        "answers, and figures of them, in their last digits, which machines round otherwise",
    r"\w+ domain\.(columns\.\[\]|target)(\..*)?":
        "what was declared of a column's values",
    r"\w+ domain\.(rows|persons|rows_per_person|person)":
        "what was declared of rows and people, where nothing follows from it",
    r"\w+ ledger\.charged\.rows_per_person":
        "what the account knows of people, where the change that is paid for needs no factor",
    r"\w+ claim\.unit":
        "a line of a file, or a row of a frame: the table is not there",
    r"\w+ plan\.units":
        "how many units there were, where the domain does not say it",
    r"\w+ plan\.asked\..*":
        "what was asked for, where it gives the same plan",
    r"containment (claim\.roles\..*|plan\.suppress|claim\.suppressed|complete)":
        "what was declared before, and what happened to rows that are not there",
}


def place(path):
    """A path without positions."""
    return ".".join("[]" if isinstance(step, int) else step for step in path)


def another(kind, path):
    """Whether an edit there makes another statement that may as well be true."""
    where = f"{kind} {place(path)}"
    return any(re.fullmatch(pattern, where) for pattern in OTHER_STATEMENTS)


def elsewhere(kind, path, old, new):
    """The same, of an entry as a whole, part by part; hashes are the forger's to make."""
    if not (isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys()):
        return another(kind, path)
    return all(another(kind, (*path, key)) for key in old if old[key] != new[key] and key != "hash")


def read(folder):
    """The two files of a folder, and its table."""
    release, certificate = (
        json.loads((folder / f"{name}.json").read_bytes()) for name in ("release", "certificate")
    )
    return release, certificate, next(iter(sorted(folder.glob("table.*"))), None)


@pytest.fixture(scope="module")
def folders(golden, tmp_path_factory):
    """Folders of every kind, and of every method."""
    place, names = golden
    folder, places = tmp_path_factory.mktemp("closed"), [place / name for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place_of, method in enumerate(CHARGING):
            table = method.table()
            estimator = method.estimator()
            estimator.fit(table, table.pop(method.domain.target.name))
            estimator.release_.save(folder / f"method-{place_of}")
            places.append(folder / f"method-{place_of}")
    return {path.name: path for path in places}


def test_true_folders_are_valid(folders):
    """Every folder has no reason against it."""
    for name, folder in folders.items():
        release, certificate, table = read(folder)

        assert () == verify(certificate, release, table=table).reasons, name
    assert len(folders) > 20


#: Values of another kind of release, or of nothing: the edits below do not think of them.
FORGED = [
    ("weights", ("claim", "unit"), "one person with all their rows", "claim.unit"),
    ("selection", ("claim", "theorem"), "ridge", "claim.theorem"),
    ("regression", ("claim", "assumes"), ["ideal-bits"], "claim.assumes"),
    ("histogram", ("claim", "mechanism"), "output-fwell/1", "claim.mechanism|refuses to plan it"),
    ("regression", ("noise", "law"), "gaussian", "noise.law"),
    ("histogram", ("cells", "shape"), [12, 1, 2], "cells"),
    ("selection", ("domain", "note"), "Ann is ill", "domain of the release is not a valid domain"),
    ("containment", ("claim", "limits", "share"), "0", "limit"),
    ("containment", ("claim", "limits", "entropy"), "0", "limit"),
    ("containment", ("claim", "limits", "share"), "1.5", "limit"),
]


@pytest.mark.parametrize(("folder", "path", "value", "why"), FORGED)
def test_a_forgery_has_its_reason(folders, folder, path, value, why):
    """Where all copies, digests and hashes fit, what it says has to fit, too."""
    release, certificate, table = read(folders[folder])
    which = "certificate" if path[0] == "claim" else "release"
    files = Forger(release, certificate).edited(put, which, path, value)
    reasons = verify(files["certificate"], files["release"], table=table).reasons

    assert any(re.search(why, reason) for reason in reasons), reasons


def test_an_average_is_exact():
    """Where it ends before its last digit, one more there is another figure."""
    assert "0.200000000" == describe_sizes(dict(crowd(np.full(10, 5), 5).sizes), 5)["average"]


# --- every edit -----------------------------------------------------------------------------------

KINDS = ("selection", "weights", "regression", "fourier", "histogram", "sparse", "answers",
         "containment")


@pytest.mark.parametrize("name", KINDS)
def test_every_single_edit_is_found(folders, name):
    """Change, drop, add or swap anything of a release of each kind: it has a reason."""
    _edited(*read(folders[name]), every=1 if EVERY == 1 else 5)


def test_single_edits_of_every_method_are_found(folders):
    """The same of each method; some of the edits."""
    for name, folder in folders.items():
        if name not in KINDS:
            _edited(*read(folder), every=EVERY)


def _edited(release, certificate, table, *, every):
    forger, missed, tried = Forger(release, certificate), [], 0
    for act, which, path, value in list(edits(release, certificate, spots))[::every]:
        files = forger.edited(act, which, path, value)
        if files is None:
            continue
        tried += 1
        if verify(files["certificate"], files["release"], table=table).valid and not another(
            release["kind"], path
        ):
            missed.append((act.__name__, which, place(path), str(value)[:40]))

    assert [] == missed
    assert tried > 5


def test_random_edits_are_found(folders):
    """Several edits at random places, of values from other places and folders: a reason each."""
    rng, names, missed = random.Random(20), sorted(folders), []
    files = {name: read(folders[name]) for name in names}
    for _ in range(EDITS):
        name = rng.choice(names)
        release, certificate, table = files[name]
        forger, which = Forger(release, certificate), rng.choice(("release", "certificate"))
        body = forger.true[which]
        path = rng.choice([spot for spot in spots(body) if spot])
        donor = files[rng.choice(names)][which == "certificate"]
        value = rng.choice([at(donor, rng.choice(list(spots(donor)))), *others(at(body, path))])
        new_files = forger.edited(rng.choice((put, put, put, drop, add)), which, path, value)
        if new_files is None:
            continue
        checked = verify(new_files["certificate"], new_files["release"], table=table)
        if checked.valid and not elsewhere(release["kind"], path, at(body, path), value):
            missed.append((name, which, place(path), str(value)[:60]))

    assert [] == missed


@pytest.mark.parametrize("name", ["selection", "histogram", "answers", "containment"])
def test_another_statement_is_found_by_the_ledger(folders, name):
    """What files alone cannot tell, the ledger that was charged does."""
    release, certificate, table = read(folders[name])
    base = folders[name].parent
    ledger = str(base / ("published.db" if name == "containment" else "budget.db"))
    forger, count = Forger(release, certificate), 0
    assert verify(certificate, release, table=table, ledger=ledger).valid
    for act, which, path, value in list(edits(release, certificate, spots))[::3]:
        files = forger.edited(act, which, path, value)
        if path == ("software", "privsieve") and name == "containment":
            continue  # the ledger's note of a publication does not say who wrote it
        if (
            files
            and another(release["kind"], path)
            and verify(files["certificate"], files["release"], table=table).valid
        ):
            count += 1
            assert not verify(
                files["certificate"], files["release"], table=table, ledger=ledger
            ).valid, place(path)

    assert count > 3


def test_an_edit_that_changes_nothing_is_none(folders):
    """The forger is no straw man: an edit back to the truth is valid."""
    release, certificate, _ = read(folders["histogram"])
    forger = Forger(release, certificate)

    assert forger.edited(put, "release", ("plan", "epsilon"), "1") is None
    changed = forger.edited(put, "release", ("cells", "q", 0), 5)
    assert verify(changed["certificate"], changed["release"]).valid
    assert digest(canonical(changed["release"])) == changed["certificate"]["release_sha256"]
    assert forger.edited(swap, "release", ("cells", "q"), 0) != changed
    assert Fraction(changed["certificate"]["claim"]["epsilon"]) == 1
