"""Release folders of every kind, and what an attacker may have made of them."""

from __future__ import annotations

import copy
import json
import random
import shutil
from pathlib import Path

import numpy as np

import privsieve as ps
from privsieve.public.canonical import canonical, digest

ROWS = 240


def nested(depth):
    """A list in a list in a list."""
    rows = []
    for _ in range(depth):
        rows = [rows]
    return rows


#: What no field should be; each is JSON, but for the last two a text of a file could not hold.
POISON = (
    None, True, False, 0, -1, 1, 3, 2**40, 2**53 - 1, 2**70, 10**400, 0.5, float("nan"), "", "x",
    "0", "-1", "1e999999999", "1/0", "9" * 5000, "0.1", "a\x1b[31mb\x07", "a\u2028b", "a\u202eb",
    "\x9b31m", "<script>", "=1+1", "\ud800", [], {}, [[]], [{}], [None], ["x"], [1, 1], {"x": 1},
    {"x": {"x": []}}, [2**53] * 3, ["a"] * 3, [True] * 4, nested(300), nested(3000), "selection",
    "histogram", "regression", "containment", "answers", "fourier", "all",
)


def claim_of(columns, *, target=None, known=False, **options):
    """What is claimed of a published table with these columns, as far as a recount needs it."""
    return {"columns": list(columns), "target": target, "sensitive": [], "absent": [],
            "model": "containment", "l_diversity": 1, "roles": {"target_known": known},
            "limits": {"share": None, "entropy": None, "closeness": None, "ordered": []}, **options}


def table(columns=3):
    """Made-up rows with a class and a number that follow from the first column."""
    rng = np.random.default_rng(3)
    X = rng.random((ROWS, columns))
    return X, (X[:, 0] > 0.5).astype(int)


def golden(folder):
    """One release folder of each kind, by name, and some rows that a model may predict."""
    X, y = table()
    names = ["age", "dose", "sex"]
    domain = ps.Domain([ps.Number("age", 0, 1), ps.Number("dose", 0, 1, missing="level"),
                        ps.Category("sex", ["F", "M"])], target=ps.Label("ill", ["no", "yes"]))
    number = ps.Domain(domain.columns, target=ps.Number("days", 0, 1))
    frame = frame_of(X, names)
    frame.iloc[:5].to_csv(folder / "new.csv", index=False)
    label = ["yes" if label else "no" for label in y]
    ledger = ps.Ledger(str(folder / "budget.db"), population="clinic")
    ledger.grant(epsilon=9, delta="1e-5")
    estimators = {
        "selection": ps.RuleSieve(2, epsilon=1, domain=domain, ledger=ledger).fit(frame, label),
        "weights": ps.OutputFWELL(1, epsilon=1, domain=domain).fit(frame, label),
        "regression": ps.PrivateKernelRidge("linear", epsilon=1, domain=number,
                                            ledger=ledger).fit(frame, X[:, 0]),
        "fourier": ps.PrivateKernelRidge("rbf", features=6, epsilon=1,
                                         domain=number).fit(frame, X[:, 0]),
        "histogram": ps.NoisyHistogram(["age", "sex"], bins=3, epsilon=1, domain=domain,
                                       ledger=ledger).fit(frame, label),
        "sparse": ps.NoisyHistogram(["age", "sex"], bins=3, epsilon=1, delta="1e-6",
                                    domain=domain, ledger=ledger).fit(frame, label),
    }
    releases = {name: estimator.release_ for name, estimator in estimators.items()}
    with ps.KernelRidgeSession(frame, X[:, 0], kernel="linear", lam="0.1", domain=number,
                               ledger=ledger) as session:
        session.predict_batch(frame.iloc[:2], epsilon=1)
        releases["answers"] = session.release_
    for name, release in releases.items():
        release.save(folder / name)
    return sorted([*releases, _published(folder, X)])


def _published(folder, X):
    """A table of yes and no that was published, by the command line."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from privsieve.cli import run

    lines = [",".join(str(int(cell < 0.4)) for cell in row) for row in X]
    (folder / "t.csv").write_text("\n".join(["a,b,ill", *lines, ""]))
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = run(["publish", str(folder / "t.csv"), "--target", "ill", "-k", "3", "--first",
                    "--ledger", str(folder / "published.db"), "--population", "clinic",
                    "--snapshot", "spring", "--out", str(folder / "containment")])
    assert code == 0
    return "containment"


def frame_of(X, names=("age", "dose", "sex")):
    """Rows as a frame, the last column of which is a category."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=list(names))
    frame["sex"] = np.where(X[:, 2] > 0.5, "F", "M")
    return frame


def spots(value, path=()):
    """Each place of a JSON value."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from spots(value[key], (*path, key))
    elif isinstance(value, list):
        for at in range(min(len(value), 4)):
            yield from spots(value[at], (*path, at))


def changed(value, path, poison):
    """A copy with something else in one place; a poison of `...` takes the place away."""
    if not path:
        return poison
    changed_value = copy.deepcopy(value)
    where = changed_value
    for step in path[:-1]:
        where = where[step]
    if poison is ...:
        del where[path[-1]]
    else:
        where[path[-1]] = poison
    return changed_value


def forge(source, target, random_state):
    """One edit of a folder's JSON, after which its digests are made to fit, where they can."""
    release, signed = (json.loads((source / name).read_bytes())
                       for name in ("release.json", "certificate.json"))
    both = {"release": release, "certificate": signed}
    which = random_state.choice(["release", "release", "certificate"])
    path = random_state.choice(list(spots(both[which])))
    poison = random_state.choice([..., *POISON] if path else POISON)
    both[which] = changed(both[which], path, poison)
    if random_state.random() < 0.9:
        _refit(both)
    if target.exists():
        shutil.rmtree(target)
    target.mkdir()
    for table in source.glob("table.*"):
        shutil.copy(table, target)
    for name, value in both.items():
        (target / f"{name}.json").write_text(_text(value), encoding="utf-8", errors="surrogatepass")
    return which, path, poison


def _refit(both):
    release, signed = both["release"], both["certificate"]
    try:
        signed["plan"] = release["plan"]
        if "domain" in release:
            signed["claim"]["mechanism"] = release["plan"]["method"]
            signed["domain_sha256"] = digest(canonical(release["domain"]))
        signed["ledger"] = signed["population"] = None
        signed["release_sha256"] = digest(canonical(release))
    except Exception:  # noqa: BLE001  # what cannot be made to fit stays as it is
        return


def _text(value):
    """Canonical where there is such a form, else as Python writes it."""
    try:
        return canonical(value).decode()
    except Exception:  # noqa: BLE001  # a float, a large integer, half a character
        pass
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "[" * 100_000


def seeded(seed):
    """The same forgeries each time."""
    return random.Random(seed)  # no key is made of it


__all__ = ["Path", "changed", "forge", "frame_of", "golden", "nested", "seeded", "spots", "table"]
