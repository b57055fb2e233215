"""`privsieve demo`: the whole path on a made-up table, by the commands that anybody would type.

The table has 20,000 patients, 40 columns, and a label that six of them explain.  Nobody in it
exists.  The patients come from a fixed seed; the noise of a selection from them is as real as any.
Four of the planted columns matter alone; two matter only together: low potassium is a danger with
a diuretic, high potassium without one.
"""

from __future__ import annotations

import datetime as dt
import json
import shlex
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import NormalDist

import click
import numpy as np
import numpy.typing as npt

from privsieve.cli import verbs, words
from privsieve.cli.verb import Outcome, verb
from privsieve.errors import ParameterError
from privsieve.public.columns import Category, Column, Date, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.public.option import Dir

_INTRO = """\
A made-up hospital table: 20,000 patients, 40 columns, and the question which of
them say that a patient comes back within a month.  Nobody in it exists.  Six
columns were planted: four that matter alone, and two that matter only together.
The noise is real, so another run may choose differently."""

_ASKED = "DIR/patients.csv --domain DIR/domain.toml --unit row --epsilon 0.5 --top 6"
_CHARGED = "--ledger DIR/budget.db --population demo-clinic"
#: What is done and why; DIR is the folder of the demo.
_STEPS = (
    ("Its holder looks at the table with what is public about it: private, and free.",
     "inspect DIR/patients.csv --domain DIR/domain.toml --private-output DIR/look.html"),
    ("And grants the patients a budget.", f"ledger grant {_CHARGED} --epsilon 2"),
    ("What would a choice of six columns cost, and what is it worth?  No row is read.",
     f"plan {_ASKED}"),
    ("One choice.  The budget is charged first; then the rows are read.",
     f"select {_ASKED} {_CHARGED} --out DIR/first"),
    ("Anybody can check the release, without the table.",
     "verify DIR/first --ledger DIR/budget.db"),
    (("Another question: which columns may be published row by row?  Everybody is to have five "
      "equals.  This needs no noise, and promises less."),
     ("publish DIR/patients.csv --domain DIR/domain.toml --profile strict -k 5 --publish-target "
      "--out DIR/columns --internal-report DIR/internal.html")),
    ("That can be checked, too.", "verify DIR/columns"),
)
_PAGES = {
    "DIR/first/report.html": "the selection: for everybody",
    "DIR/columns/report.html": "the publication: for everybody who gets the table",
    "DIR/internal.html": "the publication, with its closed columns: PRIVATE, for the holder",
    "DIR/look.html": "the look at the table: PRIVATE, for the holder",
}
_NEXT = {
    "privsieve domain your.csv --out domain.toml": "a draft; correct it by a code book",
    "privsieve inspect your.csv --domain domain.toml": "for your eyes: does the domain fit?",
    "privsieve plan your.csv --domain domain.toml --unit row --epsilon 0.5 --top 6":
        "what it would cost",
}


@verb("--out try-it")
def command(*, out: Dir = "privsieve-demo") -> Outcome:
    """Watch it work on a made-up hospital table: a plan, one selection, one publication.

    Makes DIR with patients.csv, domain.toml, a ledger and the two release folders.

    out : where to put it all; it must not exist
    """
    place, ctx = out.rstrip("/") or out, click.get_current_context()
    steps = [(why, [word.replace("DIR", place) for word in line.split()]) for why, line in _STEPS]
    with redirect_stdout(StringIO()) if ctx.params["as_json"] else nullcontext():
        folder = _folder(out)
        click.echo(_INTRO)
        write(folder)
        for why, arguments in steps:
            _step(why)
            click.secho(_line(arguments), fg="cyan")
            verbs.main(arguments, "privsieve", standalone_mode=False, color=ctx.color)
        chosen = _compare(folder)
        for why, each in (("Each release says all of this on one page that any browser shows:",
                           _PAGES), ("With a table of your own:", _NEXT)):
            _step(why)
            for what, about in each.items():
                click.echo(f"  {what.replace('DIR', place)}\n      {about}")
    return Outcome({"folder": out, "steps": [["privsieve", *line] for _, line in steps],
                    "planted": {name: name in chosen for name in PLANTED},
                    "pages": [page.removeprefix("DIR/") for page in _PAGES]})


def _folder(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise ParameterError("the folder of the demo exists; nothing is overwritten: name "
                             "another with --out") from None
    except (OSError, ValueError):
        raise ParameterError("the folder of the demo cannot be made; the folder around it must "
                             "exist and be writable") from None
    return folder


def _step(text: str) -> None:
    click.echo()
    words.show(text, bold=True)


def _line(arguments: list[str]) -> str:
    """A command as it would be typed, in lines of at most 80 characters where that can be."""
    words_of = " ".join(map(shlex.quote, arguments)).split(" --")
    line = f"$ privsieve {words_of[0]}"
    for option in words_of[1:]:
        long = len(line.rpartition("\n")[2]) + len(option) > 74
        line += f" \\\n    --{option}" if long else f" --{option}"
    return line


def _compare(folder: Path) -> list[str]:
    """Show what was planted; what was chosen."""
    chosen: list[str] = json.loads((folder / "first" / "release.json").read_bytes())["selected"]
    _step("We know the truth here, because the table is made up:")
    for name, effect in PLANTED.items():
        found = name in chosen
        mark = click.style("found " if found else "missed", fg="green" if found else "yellow")
        click.echo(f"  {mark}  {name:<18}{effect}")
    for name in chosen:
        if name not in PLANTED:
            click.echo(f"  {click.style('chance', fg='yellow')}  {name:<18}was not planted")
    return chosen


# --- the table ----------------------------------------------------------------------------------

ROWS = 20_000
SEED = 20260101

#: What was planted, from strong to weak.
PLANTED = {
    "prior_admissions": "matters alone, most",
    "age": "matters alone",
    "nt_probnp": "matters alone",
    "albumin": "matters alone, least",
    "diuretic": "matters only with potassium",
    "potassium": "matters only with diuretic",
}


#: Of each number its public bounds, its middle, and how far the made-up patients spread.
MEASURES = {
    "age": (18, 105, 64, 16), "bmi": (12, 60, 27, 5), "distance_km": (0, 500, 40, 25),
    "length_of_stay": (0, 120, 8, 5), "prior_admissions": (0, 20, 5, 3), "pain": (0, 10, 4, 2),
    "pulse": (30, 200, 82, 15), "systolic": (60, 240, 131, 20), "diastolic": (30, 140, 76, 12),
    "temperature": (330, 420, 369, 6), "respiratory_rate": (6, 50, 17, 3), "frailty": (1, 9, 4, 2),
    "oxygen_saturation": (60, 100, 95, 2), "creatinine": (20, 2000, 100, 30),
    "egfr": (2, 140, 72, 22), "potassium": (20, 80, 42, 5), "sodium": (110, 170, 138, 4),
    "hemoglobin": (30, 220, 126, 20), "leukocytes": (1, 200, 9, 3), "crp": (0, 600, 40, 20),
    "glucose": (15, 600, 66, 20), "albumin": (10, 60, 36, 6), "nt_probnp": (0, 4000, 1900, 600),
    "troponin": (0, 900, 90, 30), "medications": (0, 40, 9, 4), "early_warning": (0, 20, 6, 3),
}
#: Measures that four patients in a hundred lack.
LACKING = ("bmi", "potassium", "albumin", "nt_probnp", "crp", "glucose", "troponin")
#: The share of patients with it.
FLAGS = {
    "smoker": 0.22, "lives_alone": 0.31, "emergency": 0.62, "weekend": 0.27, "diabetes": 0.24,
    "copd": 0.13, "heart_failure": 0.19, "diuretic": 0.5, "anticoagulant": 0.28, "insulin": 0.11,
}
CATEGORIES = {
    "sex": ("F", "M"), "referral": ("ambulance", "doctor", "none"),
    "ward": ("cardiology", "geriatrics", "internal", "pulmonology", "surgery"),
}
#: Decoys: they follow another column, and the label only through it.
FOLLOWS = {
    "egfr": ("age", -0.3), "medications": ("prior_admissions", 0.3), "crp": ("albumin", -0.3),
    "heart_failure": ("nt_probnp", 0.3), "hemoglobin": ("albumin", 0.3),
    "diastolic": ("systolic", 0.6), "insulin": ("diabetes", 0.6), "glucose": ("diabetes", 0.5),
}
#: What each planted column adds to the log odds, per standard deviation, and the two together.
EFFECTS = {"prior_admissions": 0.85, "age": 0.7, "nt_probnp": 0.7, "albumin": -0.6}
TOGETHER = 1.2
#: Sets the share of readmitted patients near 18 in a hundred.
BASE = -2.35
FIRST, LAST = dt.date(2023, 1, 1), dt.date(2025, 12, 31)


def domain() -> Domain:
    """What is public about the table: bounds and values that a code book would give.

    >>> len(domain().columns), domain().target.name
    (40, 'readmitted')
    """
    columns: list[Column] = [Number(name, low, high) for name, (low, high, *_) in MEASURES.items()]
    columns += [Flag(name) for name in FLAGS]
    columns += [Category(name, values) for name, values in CATEGORIES.items()]
    columns.append(Date("admitted", FIRST, LAST))
    return Domain(tuple(columns), target=Label("readmitted", ("no", "yes")))


def patients(rows: int = ROWS) -> dict[str, list[str]]:
    """The made-up table as text, column by column; always the same.

    >>> made = patients(3)
    >>> len(made), len(made["age"])
    (41, 3)
    """
    rng = np.random.default_rng(SEED)
    latent = {name: rng.standard_normal(rows) for name in (*MEASURES, *FLAGS)}
    for name, (leader, share) in FOLLOWS.items():
        latent[name] = share * latent[leader] + (1 - share * share) ** 0.5 * latent[name]
    table: dict[str, list[str]] = {}
    for name, (low, high, middle, spread) in MEASURES.items():
        cells = np.clip(middle + spread * latent[name], low, high).round().astype(int).astype(str)
        cells[rng.random(rows) < 0.04 * (name in LACKING)] = ""
        table[name] = cells.tolist()
    for name, share in FLAGS.items():
        table[name] = np.where(_has(latent[name], share), "1", "0").tolist()
    for name, values in CATEGORIES.items():
        table[name] = rng.choice(values, rows).tolist()
    days = rng.integers(0, (LAST - FIRST).days + 1, rows)
    table["admitted"] = (np.datetime64(FIRST) + days).astype(str).tolist()
    odds = BASE + sum(effect * latent[name] for name, effect in EFFECTS.items())
    odds += TOGETHER * latent["potassium"] * np.where(_has(latent["diuretic"], 0.5), -1, 1)
    ill = rng.random(rows) < 1 / (1 + np.exp(-odds))
    return {**table, "readmitted": np.where(ill, "yes", "no").tolist()}


def write(folder: Path, rows: int = ROWS) -> None:
    """Write patients.csv and domain.toml into a folder."""
    table = patients(rows)
    lines = [",".join(table), *map(",".join, zip(*table.values(), strict=True))]
    (folder / "patients.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    domain().to_toml(folder / "domain.toml")


def _has(latent: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.bool_]:
    has: npt.NDArray[np.bool_] = latent > NormalDist().inv_cdf(1 - share)
    return has
