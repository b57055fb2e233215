"""Law: verify is a closed world: it refuses what it does not know, recounts what follows."""

from __future__ import annotations

import json
import os
import random
import re
import warnings
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from every_method import CHARGING
from forged import golden, spots
from privsieve.check import schema
from privsieve.check.certificate import NOW, certificate_form, of_first
from privsieve.check.containment import _crowd
from privsieve.check.recount import OF_METHOD
from privsieve.check.verify import verify
from privsieve.containment.measures import crowd
from privsieve.containment.publish import _said
from privsieve.methods import METHODS, options_of
from privsieve.public.canonical import canonical, digest, parsed
from privsieve.public.option import abouts
from privsieve.public.plan import THEOREMS
from refitted import Forger, add, at, drop, edits, others, put, swap

GOLDEN = Path(__file__).parent / "golden" / "0.1.0"
SCHEMAS = Path(schema.__file__).parent / "schemas"
#: Random edits; more in `make soak`.
EDITS = int(os.environ.get("PRIVSIEVE_EDITS", "2000"))
#: Of the folders that are not edited everywhere, each so-and-so-many-th edit.
EVERY = 1 if EDITS > 2000 else 97

#: Edits after which the files say something else that may as well be true: a pattern of
#: "kind place", and why nobody can tell without the ledger.
OTHER_STATEMENTS = {
    r"\w+ software\.privsieve": "who wrote it is not seen in what is written",
    r"\w+ (population|ledger\.(snapshot|request|reserved_at|(reserve|commit|publish)\.(seq|prev)))":
        "whose account it was, and where in its chain: only the ledger knows",
    r"(weights|regression) values\.q(\.\[\])?|histogram cells\.(q|place)(\.\[\])?":
        "numbers with noise: any others might have been drawn",
    r"selection (described\..*|sure|candidate|branch|selected(\.\[\])?)":
        "what was drawn: another name, branch, count or figure might have been",
    r"(selection|weights|histogram) selected(\.\[\])?": "names in an order, or other numbers",
    r"regression (queries.*|answers.*)": "of 0.1.0: answers of a batch, whose points it lacks",
    r"\w+ domain\.(columns\.\[\]|target)(\..*)?": "what was declared of a column's values",
    r"\w+ ledger\.charged\.rows_per_person":
        "what the account knows of people, where the change that is paid for needs no factor",
    r"\w+ claim\.unit": "a line of a file, or a row of a frame: the table is not there",
    r"\w+ domain\.(rows|persons)": "a number that was declared, and that the units do not need",
    r"\w+ plan\.units": "how many units there were, where the domain does not say it",
    r"selection (plan|claim)\.(epsilon|delta)":
        "nothing of a name shows the noise: a forecast may be the same for another epsilon",
    r"\w+ plan\.settings\.(choice\.settings\.)?"
    r"(order|ordered|grid|branches(\.\[\])?|slopes|joint|class_prior.*|class_share.*|mechanism|"
    r"score|votes|tau|block|repeats|screened|always.*|never.*|sure|describe|"
    r"groups.*|at_most|k|clip|numeric|reference|beta|resamples|sampling|"
    r"seed|lam)": "another way to choose, whose outcome might have been the same",
    r"\w+ (plan\.settings\.bins.*)": "bins of a column that was not chosen",
    r"\w+ warning": "the figures inside of a warning",
    r"\w+ domain\.(rows_per_person|person)": "whose rows they are, where no noise shows it",
    r"selection forecast\.(found_percent|by_cost)(\..*)?":
        "what a race finds is held in bounds only",
    r"weights values\.exponent": "objective-fwell: a grid may be told twice as fine",
    r"containment (claim\.roles\..*|plan\.suppress|claim\.suppressed|complete)":
        "what was declared before, and what happened to rows that are not there",
    r"containment measured\.(known|all)\.average":
        "of 0.1.0: a sum of doubles, rounded up; where it is exact its last digit may be one more",
    r"containment (selected|partial)(\..*)?": "of 0.1.0: it does not say where columns come from",
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
    return all(another(kind, (*path, key)) for key in old
               if old[key] != new[key] and key != "hash")


def read(folder):
    """The two files of a folder, and its table."""
    release, certificate = (json.loads((folder / f"{name}.json").read_bytes())
                            for name in ("release", "certificate"))
    return release, certificate, next(iter(sorted(folder.glob("table.*"))), None)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of every kind, of every method, and of version 0.1.0."""
    made = tmp_path_factory.mktemp("closed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [made / name for name in golden(made)]
        for place_of, method in enumerate(CHARGING):
            table = method.table()
            estimator = method.made()
            estimator.fit(table, table.pop(method.domain.target.name))
            estimator.release_.save(made / f"method-{place_of}")
            found.append(made / f"method-{place_of}")
    return {**{path.name: path for path in found},
            **{f"0.1.0/{path.parent.relative_to(GOLDEN)}": path.parent
               for path in sorted(GOLDEN.glob("*/*/release.json"))}}


def test_true_folders_are_valid(folders):
    """Every folder, old or new, has no reason against it."""
    for name, folder in folders.items():
        release, certificate, table = read(folder)

        assert () == verify(certificate, release, table=table).reasons, name
    assert len(folders) > 100


# --- each edit that was valid before -------------------------------------------------------------


FOUND = {
    "a small epsilon over the noise of a large one":
        ("histogram", ("plan", "epsilon"), "0.001", "amount of noise"),
    "one person over a domain of rows":
        ("weights", ("claim", "unit"), "one person with all their rows", "claimed unit"),
    "a theorem of another name": ("selection", ("claim", "theorem"), "anything", "claim.theorem"),
    "a theorem of another method": ("selection", ("claim", "theorem"), "ridge", "the theorem"),
    "no assumption": ("regression", ("claim", "assumes"), [], "claim.assumes"),
    "fewer assumptions": ("regression", ("claim", "assumes"), ["ideal-bits"], "the assumptions"),
    "a mechanism that is not the release's":
        ("histogram", ("claim", "mechanism"), "output-fwell/1", "plan.method"),
    "epsilon 5000": ("weights", ("plan", "epsilon"), "5000", "beyond what may be asked"),
    "epsilon 100": ("weights", ("plan", "epsilon"), "100", "amount of noise"),
    "no law": ("histogram", ("noise", "law"), "none at all", "noise.law"),
    "another law": ("regression", ("noise", "law"), "gaussian", "law of the noise"),
    "another shape": ("histogram", ("cells", "shape"), [12, 1, 2], "shape of the table"),
    "other edges": ("histogram", ("cells", "bins", "age", 1), "0.3", "edges of the bins"),
    "a threshold without delta": ("histogram", ("plan", "settings", "threshold"), "3",
                                  "threshold"),
    "a smaller threshold": ("sparse", ("plan", "settings", "threshold"), "3", "threshold"),
    "raw rows": ("selection", ("rows",), [["Ann", 44]], "not declared"),
    "raw rows in settings": ("selection", ("plan", "settings", "rows"), ["Ann"], "not declared"),
    "raw rows in the domain": ("selection", ("domain", "note"), "Ann is ill", "not declared"),
    "raw rows in a warning": ("selection", ("warning",), "Ann is ill", "warning"),
    "raw rows in a forecast": ("weights", ("forecast", "Ann"), "44", "not declared"),
    "an answer": ("answers", ("answers", 0), "0.5", "an answer"),
    "answers of other queries": ("answers", ("queries", 0, 0), 3, "an answer"),
    "released numbers": ("answers", ("values", "q", 0), 3, "an answer"),
    "an answer of a function": ("function", ("answers", 1), "0.5", "an answer"),
    "another question to a function": ("function", ("queries", 1, 0), 3, "an answer"),
    "a number of a function": ("function", ("values", "q", 1), 3, "an answer"),
    "a place below 0": ("selection", ("ledger", "reserve", "seq"), -5, "ledger"),
    "another sensitivity": ("regression", ("plan", "settings", "lam"), "0.4", "amount of noise"),
    "another grid": ("regression", ("values", "exponent"), -3, "the grid"),
    "other vectors": ("weights", ("plan", "settings", "vectors"), 30, "number of vectors"),
    "columns of another domain": ("histogram", ("columns",), ["age"], "those of its domain"),
    "rho": ("selection", ("ledger", "rho"), "0.25", "the rho of the charge"),
    "another number of persons": ("0.1.0/noisy-top-k/person", ("domain", "persons"), 7,
                                  "number of units"),
    "a share that no group has": ("containment", ("claim", "limits", "share"), "0", "limit"),
    "a share above 1": ("containment", ("claim", "limits", "share"), "1.5", "limit"),
    "an entropy that each group has": ("containment", ("claim", "limits", "entropy"), "0",
                                       "limit"),
    "a level": ("containment", ("measured", "strangers", "known", "level"), 99, "crowds"),
    "an average of 0.1.0": ("0.1.0/publication/strict", ("measured", "all", "average"),
                            "0.200000002", "crowds"),
    "a count": ("containment", ("measured", "items", 0, 1), 9, "counts"),
}


@pytest.mark.parametrize("edit", FOUND)
def test_an_edit_that_was_valid_before_is_found(folders, edit):
    """Each forgery of which all copies, digests and hashes fit has its reason."""
    folder, path, value, why = FOUND[edit]
    release, certificate, table = read(folders[folder])
    which = "certificate" if path[0] in ("claim", "ledger") else "release"
    made = Forger(release, certificate).edited(put, which, path, value)
    found = verify(made["certificate"], made["release"], table=table).reasons

    assert any(why in reason for reason in found), found


def test_an_average_is_exact():
    """Where it ends before its last digit, one more there is another figure."""
    said = _said(crowd(np.full(10, 5), 5), 5)

    assert "0.200000000" == said["average"]
    assert _crowd(said, {5: 10}, 5)
    assert not _crowd(said | {"average": "0.200000001"}, {5: 10}, 5)


# --- every edit -----------------------------------------------------------------------------------

KINDS = ("selection", "weights", "regression", "fourier", "histogram", "sparse", "answers",
         "function", "containment")


@pytest.mark.parametrize("name", KINDS)
def test_every_single_edit_is_found(folders, name):
    """Change, drop, add or swap anything of a release of each kind: it has a reason."""
    _edited(*read(folders[name]), every=1 if EVERY == 1 else 5)


def test_single_edits_of_every_method_are_found(folders):
    """The same of each method, and of each folder of version 0.1.0; some of the edits."""
    for name, folder in folders.items():
        if name not in KINDS:
            _edited(*read(folder), every=EVERY)


def _edited(release, certificate, table, *, every):
    forger, missed, tried = Forger(release, certificate), [], 0
    for act, which, path, value in list(edits(release, certificate, spots))[::every]:
        made = forger.edited(act, which, path, value)
        if made is None:
            continue
        tried += 1
        if verify(made["certificate"], made["release"], table=table).valid and not another(
                release["kind"], path):
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
        path = rng.choice([one for one in spots(body) if one])
        donor = files[rng.choice(names)][which == "certificate"]
        value = rng.choice([at(donor, rng.choice(list(spots(donor)))), *others(at(body, path))])
        made = forger.edited(rng.choice((put, put, put, drop, add)), which, path, value)
        if made is None:
            continue
        checked = verify(made["certificate"], made["release"], table=table)
        if checked.valid and not elsewhere(release["kind"], path, at(body, path), value):
            missed.append((name, which, place(path), str(value)[:60]))

    assert [] == missed


@pytest.mark.parametrize("name", ["selection", "histogram", "answers", "function", "containment"])
def test_another_statement_is_found_by_the_ledger(folders, name):
    """What files alone cannot tell, the ledger that was charged does."""
    release, certificate, table = read(folders[name])
    base = folders[name].parent
    ledger = str(base / ("published.db" if name == "containment" else "budget.db"))
    forger, told = Forger(release, certificate), 0
    assert verify(certificate, release, table=table, ledger=ledger).valid
    for act, which, path, value in list(edits(release, certificate, spots))[::3]:
        made = forger.edited(act, which, path, value)
        if path == ("software", "privsieve") and name == "containment":
            continue  # the ledger's note of a publication does not say who wrote it
        if made and another(release["kind"], path) and verify(
                made["certificate"], made["release"], table=table).valid:
            told += 1
            assert not verify(made["certificate"], made["release"], table=table,
                              ledger=ledger).valid, place(path)

    assert told > 3


def test_a_forgery_leaves_the_folder_that_it_borrows_from(folders):
    """What is taken from another folder is a copy: refitting it does not change that folder."""
    release, certificate, _ = read(folders["selection"])
    _, donor, _ = read(folders["histogram"])
    before = canonical(donor)

    Forger(release, certificate).edited(put, "certificate", ("ledger",), donor["ledger"])

    assert before == canonical(donor)


# --- the published schemas -----------------------------------------------------------------------

def test_the_published_schemas_are_the_declaration():
    """Each file is what the forms say; `json_schemas` gives what to write."""
    made = schema.json_schemas()

    assert set(made) == {path.name for path in SCHEMAS.glob("*.json")}
    for name, said in made.items():
        jsonschema.Draft202012Validator.check_schema(said)
        assert said == json.loads((SCHEMAS / name).read_text(encoding="utf-8")), name


def test_a_schema_and_the_checker_agree(folders):
    """Another reader of JSON Schema accepts what the forms accept, and nothing else."""
    rng, differ, refused = random.Random(3), [], 0
    for name in [*KINDS, *rng.sample(sorted(folders), 20)]:
        release, certificate, _ = read(folders[name])
        old = of_first(certificate)
        suffix = "-0.1.0.json" if old else ".json"
        for which, body, form, file in (
                ("release", release, schema.release_form, release["kind"]),
                ("certificate", certificate, certificate_form, "certificate")):
            validator = jsonschema.Draft202012Validator(schema.json_schemas()[file + suffix])
            assert validator.is_valid(body), (name, which)
            forger = Forger(release, certificate)
            each = [one for one in edits(release, certificate, spots) if one[1] == which]
            for act, _, path, value in rng.sample(each, 12):
                made = forger.edited(act, which, path, value)
                if made is None or (which == "certificate" and path[:2] == ("claim", "kind")):
                    continue
                try:
                    made = parsed(canonical(made[which]))
                except (TypeError, ValueError):
                    continue  # no JSON of ours, whatever reads it
                ours = form(release["kind"], before=old).fault(made, "") is None
                refused += not ours
                if ours != validator.is_valid(made):
                    differ.append((name, which, act.__name__, place(path), str(value)[:40]))

    assert [] == differ
    assert refused > 100


# --- what the checker declares of the makers -----------------------------------------------------

def test_every_method_has_its_theorem_and_settings():
    """The checker knows each method by name, with a theorem that has assumptions."""
    written = {name.partition("/")[0] for kind in NOW.values() for name in kind}

    assert written == set(OF_METHOD)
    assert set(METHODS) - {"kernel-session"} <= written
    assert set(OF_METHOD.values()) <= set(THEOREMS)


@pytest.mark.parametrize("method", sorted(set(METHODS)))
def test_settings_are_the_declared_options(method):
    """What an option declares that a release says of it, the forms have a field for."""
    forms = [form for kind in NOW.values() for name, form in kind.items()
             if name.startswith(method)]
    known = set(_fields(forms))
    declared = {about.setting or name for name, about in abouts(options_of(method)).items()
                if about.setting is not None}
    own = {"feature_seed": "seed", "n_features_to_select": "k"}
    unsaid = {"delta", "share"}  # in the plan, and in the epsilon of the choice

    assert set() == {own.get(name, name) for name in declared} - known - unsaid


def _fields(forms):
    for form in forms:
        if isinstance(form, schema.Fields):
            yield from (*form.needed, *form.optional)
        else:
            yield from _fields(getattr(form, "forms", {}).values())


def test_an_unknown_version_of_a_method_is_refused(folders):
    """A method that this version does not know is not guessed at."""
    release, certificate, _ = read(folders["selection"])
    made = Forger(release, certificate).edited(put, "release", ("plan", "method"), "rule-sieve/9")

    assert verify(made["certificate"], made["release"]).reasons == (
        "the certificate does not have the fields of privsieve-certificate/1, at plan.method",)


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
