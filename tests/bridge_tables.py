"""Tables for the bridges, and counts of k that share nothing with ours."""

from __future__ import annotations

import csv
import os
import random
import re
import shutil
import subprocess
from collections import Counter

import pytest

from privsieve.containment.labelled import Labelled, Roles
from privsieve.rows.items import items_of

#: Points at which the numbers of a random table are cut.
CUTS = {"age": [30, 50, 70], "dose": [1.5]}
#: Names and levels that would end a string, a line, a comment or a name in R, Java, CSV or TOML.
HOSTILE = ['a"); quit("no', "b\\", "c'`d", "# e", "f;g,h", "\\u0022); int x = 1; //", "é€😀",
           "}; */ /*", "@K@", "if", "weight", "%s${x}"]
SHOWN = [*HOSTILE, "-", "=1+2", "a,b;c", '"', "\\", "tab\\t"]


def rows_of(seed, rows=400):
    """Rows with numbers, flags, categories, rare levels and missing cells; a class each."""
    rng = random.Random(seed)
    wards = ["A", "B", "C", "rare"][:rng.randint(2, 4)]
    head = ["age", "dose", "ward", "smoker", "income", "ill"]

    def row():
        return [str(rng.randint(18, 90)) if rng.random() > 0.05 else "",
                rng.choice(["0.5", "1", "1.0", "1.5", "2.25", ""]),
                rng.choices(wards, [9, 6, 4, 1][:len(wards)])[0] if rng.random() > 0.03 else "",
                rng.choice(["yes", "no", "Yes", "0", ""]), str(1000 * rng.randint(1, 4)),
                rng.choice(["n", "y"])]

    return [head, *(row() for _ in range(rows))]


def write_csv(path, rows, delimiter=","):
    """Rows into a file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return path


def labelled(path, known, *, target="ill", domain=None, columns=None):
    """The table of a file, as `publish` would read it."""
    how = {name: CUTS.get(name) for name in known} if columns is None else columns
    items, y, classes = items_of(str(path), target, domain=domain, columns=how)
    return Labelled(items, y, classes, target)


def random_table(tmp_path, seed, *, target_known):
    """A random table with its roles."""
    path = write_csv(tmp_path / "t.csv", rows_of(seed))
    known = [("ward", "smoker"), ("age", "ward"), ("age", "smoker", "dose"),
             ("age", "dose", "ward", "smoker")][seed % 4]
    roles = Roles(presences=known[:1], both=known[1:], sensitive=("income",), target="ill",
                  target_known=target_known)
    return path, labelled(path, known), roles


def pandas_k(path, known, k, cuts):
    """The smallest group of a raw table and rows below k, by pandas: missing is a value, too."""
    import pandas as pd

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)[list(known)]
    for name in known:
        if name in cuts:
            ends = [-float("inf"), *cuts[name], float("inf")]
            frame[name] = pd.cut(pd.to_numeric(frame[name]), ends, right=False).astype(str)
        elif name == "smoker":
            frame[name] = frame[name].str.lower() == "yes"
    sizes = frame.groupby(list(known), dropna=False, observed=True).size()
    return int(sizes.min()), int(sizes[sizes < k].sum())


def loops_k(folder, lowest, k):
    """The same of an export for ARX, by dictionaries: each cell on its lowest level."""
    with (folder / "data.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, delimiter=";")
    groups = [()] * len(rows)
    for name, (path, level) in lowest.items():
        with (folder / path).open(encoding="utf-8", newline="") as file:
            levels = {line[0]: line[level] for line in csv.reader(file, delimiter=";")}
        at = head.index(name)
        groups = [(*group, levels[row[at]]) for group, row in zip(groups, rows, strict=True)]
    sizes = Counter(groups).values()
    return min(sizes), sum(size for size in sizes if size < k)


def rscript(*args, cwd=None, env=None):
    """Run R: its exit code, and all that it said."""
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("Rscript is not here (Debian's r-base-core)")
    done = subprocess.run([program, "--vanilla", *map(str, args)], cwd=cwd, env=env, check=False,
                          capture_output=True, text=True, encoding="utf-8", timeout=300)
    return done.returncode, done.stdout, done.stderr


def java(program, *args, cwd=None):
    """Run one file of Java with the compiler's own library: what it printed."""
    if shutil.which("javac") is None or shutil.which("java") is None:
        pytest.skip("javac is not here (Debian's default-jdk-headless)")
    done = subprocess.run(["java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", str(program),
                           *map(str, args)], cwd=cwd, check=False, capture_output=True, text=True,
                          encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


#: A package with the names and arguments of sdcMicro 5.8.1, and little else: it counts groups as
#: base R does, and `localSuppression` takes out the first key variable of small ones.
STAND_IN = r"""
createSdcObj <- function(dat, keyVars, numVars = NULL, pramVars = NULL, ghostVars = NULL,
                         weightVar = NULL, hhId = NULL, strataVar = NULL, sensibleVar = NULL,
                         excludeVars = NULL, options = NULL, seed = NULL,
                         randomizeRecords = FALSE, alpha = 1) {
  stopifnot(all(c(keyVars, numVars, sensibleVar) %in% names(dat)))
  stopifnot(all(vapply(dat[keyVars], is.factor, NA)), all(vapply(dat[numVars], is.numeric, NA)))
  structure(list(dat = dat, keys = keyVars), class = "standIn")
}
print.standIn <- function(x, type = "kAnon", docat = TRUE, ...) cat("print", type, "\n")
get.sdcMicroObj <- function(object, type) {
  key <- do.call(paste, c(unname(lapply(object$dat[object$keys], as.integer)), sep = ":"))
  list(individual = cbind(risk = 1, fk = as.vector(table(key)[key])), ldiversity = "l")
}
ldiversity <- function(obj, ldiv_index = NULL, l_recurs_c = 2, missing = -999, ...) obj
localSuppression <- function(obj, k = 2, importance = NULL, combs = NULL, ...) {
  small <- get.sdcMicroObj(obj, "risk")$individual[, "fk"] < k
  for (one in obj$keys) obj$dat[[one]][small] <- NA
  obj
}
extractManipData <- function(obj, ignoreKeyVars = FALSE, ignorePramVars = FALSE,
                             ignoreNumVars = FALSE, ignoreGhostVars = FALSE,
                             ignoreStrataVar = FALSE, randomizeRecords = "no") {
  stopifnot(randomizeRecords %in% c("no", "simple", "byHH", "withinHH"))
  obj$dat[sample(nrow(obj$dat)), ]
}
"""


def sdcmicro_library(place):
    """The environment of an R that has the stand-in, in a library that is made in this folder."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not here (Debian's r-base-core)")
    package = place / "sdcMicro"
    (package / "R").mkdir(parents=True)
    (package / "R" / "all.R").write_text(STAND_IN)
    (package / "DESCRIPTION").write_text("Package: sdcMicro\nVersion: 0.0.1\nTitle: Stand-in\n"
                                         "Description: For a test.\nLicense: none\n")
    names = re.findall(r"^(\w[\w.]*) <- function", STAND_IN, re.MULTILINE)
    (package / "NAMESPACE").write_text("S3method(print, standIn)\n" + "".join(
        f"export({name})\n" for name in names if name != "print.standIn"))
    (place / "lib").mkdir()
    subprocess.run(["R", "CMD", "INSTALL", "--no-docs", "-l", str(place / "lib"), str(package)],
                   check=True, capture_output=True, timeout=300)
    return {**os.environ, "R_LIBS": str(place / "lib")}
