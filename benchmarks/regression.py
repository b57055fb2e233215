"""Kernel ridge regression against scikit-learn's, and private regressions against diffprivlib's.

The time is that of rows until a function, without noise.  The error is no speed: a private linear
model, ours and diffprivlib's, at the same epsilon on the same rows; diffprivlib needs an older
scikit-learn, so it runs in an environment of its own, made here where pip can.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge

import privsieve as ps
from measure import Goal, call
from privsieve.methods.ridge.answers import Memory, Task, solved
from privsieve.methods.ridge.dual import Basis, Kernel, coordinates
from privsieve.public.plan import Cost
from privsieve.rows import open_source
from privsieve.rows.batch import batches

ROWS, COLUMNS, LIMIT = 5000, 20, 1.2
#: The last one of diffprivlib that has LinearRegression, and what it was made for.
PEER = ("diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy<2.3")
RECORDS, EPSILONS, DRAWS = 20_000, (0.1, 1.0, 10.0), 15


def table(n, d, seed=0):
    """Columns in [0, 1] and a target of about [-1, 1] that two of them decide, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.clip(X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=n), -1.5, 1.5)


def goals(*, short):
    """Rows to function at 5,000 rows takes at most a fifth longer than scikit-learn's fit."""
    n = 2000 if short else ROWS
    X, y = table(n, COLUMNS)
    domain = ps.Domain.box(0, 1, columns=COLUMNS, target=(-1.5, 1.5))
    source, kernel = open_source(X, y), Kernel.of(domain, "rbf", 0.5)
    points = np.zeros((1, COLUMNS), np.uint16)
    task = Task("one", kernel, Cost.of("0.01").epsilon, n, Cost.of(1),
                *Basis.of(coordinates(points, domain), kernel), points)
    peer = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.01 * n)

    def ours():
        return solved(batches(source, domain, rows=n, entropy=bytes), 0, task=task, memory=Memory())

    coefficients = peer.fit(X, y).dual_coef_ / 1.5
    assert np.abs(ours().c - coefficients).max() < 1e-3 * np.abs(coefficients).max()
    runs = 3 if short else 7
    spent, theirs = call(ours, runs), call(lambda: peer.fit(X, y), runs)
    yield Goal(f"kernel ridge / scikit-learn's KernelRidge, {n} rows", spent / theirs, LIMIT,
               f"ours {spent:.2f} s, with reading; theirs {theirs:.2f} s")


def our_errors(epsilon):
    """Mean squared errors of PrivateKernelRidge, linear, on fresh rows."""
    X, y = table(RECORDS, COLUMNS)
    Z, truth = table(5000, COLUMNS, 1)
    domain = ps.Domain.box(0, 1, columns=COLUMNS, target=(-1.5, 1.5))
    errors_found = []
    for _ in range(DRAWS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ps.PrivateKernelRidge("linear", epsilon=epsilon, lam="auto",
                                          domain=domain).fit(X, y)
        errors_found.append(float(np.mean((model.predict(Z) - truth) ** 2)))
    return errors_found


PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from diffprivlib.models import LinearRegression
X, y, Z, truth = (np.load(sys.argv[1])[name] for name in ("X", "y", "Z", "truth"))
d = X.shape[1]
found = {}
for epsilon in json.loads(sys.argv[2]):
    errors = []
    for seed in range(int(sys.argv[3])):
        model = LinearRegression(epsilon=epsilon, bounds_X=(np.zeros(d), np.ones(d)),
                                 bounds_y=(-1.5, 1.5), random_state=seed)
        said = np.clip(model.fit(X, y).predict(Z), -1.5, 1.5)
        errors.append(float(np.mean((said - truth) ** 2)))
    found[str(epsilon)] = errors
print(json.dumps(found))
"""


def their_errors(place):
    """The same of diffprivlib's LinearRegression, or why there are none."""
    python = Path(place) / "peer" / "bin" / "python"
    X, y = table(RECORDS, COLUMNS)
    Z, truth = table(5000, COLUMNS, 1)
    np.savez(Path(place) / "table.npz", X=X, y=y, Z=Z, truth=truth)
    steps = ([sys.executable, "-m", "venv", str(python.parents[1])],
             [str(python), "-m", "pip", "install", "--quiet", *PEER],
             [str(python), "-c", PROGRAM, str(Path(place) / "table.npz"), json.dumps(EPSILONS),
              str(DRAWS)])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            message = (done.stderr.strip() or "no word").splitlines()[-1]
            return f"skipped: {' '.join(step[1:4])[:40]} failed ({message[:120]})"
    return json.loads(done.stdout)


def errors():
    """Lines of a table: error by epsilon, median of the draws with the quartiles."""
    with tempfile.TemporaryDirectory() as place:
        theirs = their_errors(place)
    X, y = table(RECORDS, COLUMNS)
    Z, truth = table(5000, COLUMNS, 1)
    ones = np.ones((len(X), 1))
    by = np.linalg.lstsq(np.hstack([X, ones]), y, rcond=None)[0]
    plain = np.mean((np.hstack([Z, np.ones((len(Z), 1))]) @ by - truth) ** 2)
    yield (f"mean squared error, {RECORDS} rows, {COLUMNS} columns, {DRAWS} draws; least squares "
           f"without noise {plain:.3f}, the mean {np.mean((truth - y.mean()) ** 2):.3f}")
    for epsilon in EPSILONS:
        errors_by_method = {"PrivateKernelRidge": our_errors(epsilon)}
        if isinstance(theirs, dict):
            errors_by_method["diffprivlib"] = theirs[str(epsilon)]
        yield f"epsilon {epsilon}: " + ", ".join(
            "{} {:.3f} [{:.3f}, {:.3f}]".format(name, *np.quantile(each, [0.5, 0.25, 0.75]))
            for name, each in errors_by_method.items())
    if not isinstance(theirs, dict):
        yield f"diffprivlib {theirs}"


if __name__ == "__main__":
    for goal in goals(short="--short" in sys.argv):
        print(f"{goal.ratio:.3f} of {goal.limit}  {goal.name}  [{goal.detail}]", flush=True)
    if "--errors" in sys.argv:
        text = "\n".join(errors())
        print(text)
        today = dt.datetime.now(dt.UTC).date()
        (Path(__file__).parent / "results" / f"regression_errors_{today}.md").write_text(
            f"# {today}\n\n`python benchmarks/regression.py --errors`; {', '.join(PEER)}\n\n"
            f"```\n{text}\n```\n", encoding="utf-8")
