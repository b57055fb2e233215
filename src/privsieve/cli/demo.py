"""`privsieve demo`: a complete example with a made-up table, by the commands that a user types.

The table has 20,000 patients, 40 columns, and a label that six of them explain.  The patients come
from a fixed seed; the noise of the selection is real.  Four of the planted columns matter alone.
Two matter only together: low potassium is a danger with a diuretic, high potassium without one.
"""

from __future__ import annotations

import datetime as dt
import json
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
This demo makes a hospital table with 20,000 invented patients and 40 columns.
The question: which columns predict that a patient comes back within a month?
Six columns have an effect: four alone, and two only together.  The noise is
real, so another run may choose other columns."""

_ASKED = "DIR/patients.csv --domain DIR/domain.toml --unit row --epsilon 0.5 --top 6"
_CHARGED = "--ledger DIR/budget.db --population demo-clinic"
#: The steps with their explanations; DIR is the folder of the demo.
_STEPS = (
    ("1. You compare the table with its domain file.  This is private, and costs nothing.",
     "inspect DIR/patients.csv --domain DIR/domain.toml --private-output DIR/look.html"),
    ("2. You grant the patients a privacy budget.", f"ledger grant {_CHARGED} --epsilon 2"),
    ("3. What would a choice of six columns cost, and how good would it be?  No row is read.",
     f"plan {_ASKED}"),
    ("4. You choose six columns.  privsieve charges the budget first, then reads the rows.",
     f"select {_ASKED} {_CHARGED} --out DIR/first"),
    ("5. Anybody can check the release, without the table.",
     "verify DIR/first --ledger DIR/budget.db"),
    (("6. Another question: which columns may be published row by row, so that every row looks "
      "like at least four others?  This needs no noise, and guarantees less."),
     ("publish DIR/patients.csv --domain DIR/domain.toml --profile strict -k 5 --publish-target "
      "--out DIR/columns --internal-report DIR/internal.html")),
    ("7. Anybody can check this release, too.", "verify DIR/columns"),
)
_PAGES = {
    "DIR/first/report.html": "the selection: for everybody",
    "DIR/columns/report.html": "the publication: for everybody who gets the table",
    "DIR/internal.html": "the publication with the unpublished columns: PRIVATE, for the holder",
    "DIR/look.html": "the inspection of the table: PRIVATE, for the holder",
}
_NEXT = {"privsieve start your.csv": "answer at most ten questions, and see a plan"}


@verb("--out try-it")
def command(*, out: Dir = "privsieve-demo") -> Outcome:
    """Show a complete example with a made-up hospital table: a selection and a publication.

    Makes DIR with patients.csv, domain.toml, a ledger and two release folders.

    out : the folder of the demo; it must not exist
    """
    path, ctx = out.rstrip("/") or out, click.get_current_context()
    steps = [(why, [word.replace("DIR", path) for word in line.split()]) for why, line in _STEPS]
    with redirect_stdout(StringIO()) if ctx.params["as_json"] else nullcontext():
        folder = _folder(out)
        click.echo(_INTRO)
        write(folder)
        for why, arguments in steps:
            _step(why)
            words.command(arguments)
            verbs.main(arguments, "privsieve", standalone_mode=False, color=ctx.color)
        chosen = _compare(folder)
        for title, entries in (("Open these pages in a browser:", _PAGES),
                               ("Next, with your own table:", _NEXT)):
            _step(title)
            for entry, text in entries.items():
                click.echo(f"  {entry.replace('DIR', path)}\n      {text}")
    return Outcome({"folder": out, "steps": [["privsieve", *line] for _, line in steps],
                    "planted": {name: name in chosen for name in PLANTED},
                    "pages": [page.removeprefix("DIR/") for page in _PAGES]})


def _folder(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise ParameterError("the folder of the demo exists and is not overwritten; name another "
                             "with --out") from None
    except (OSError, ValueError):
        raise ParameterError("the folder of the demo cannot be made; its parent folder must exist "
                             "and be writable") from None
    return folder


def _step(text: str) -> None:
    click.echo()
    words.show(text, bold=True)


def _compare(folder: Path) -> list[str]:
    """Show which planted columns were chosen, and return the chosen ones."""
    chosen: list[str] = json.loads((folder / "first" / "release.json").read_bytes())["selected"]
    _step("The table is made up, so we know the right answer:")
    for name, effect in PLANTED.items():
        hit = name in chosen
        mark = click.style("found " if hit else "missed", fg="green" if hit else "yellow")
        click.echo(f"  {mark}  {name:<18}{effect}")
    for name in chosen:
        if name not in PLANTED:
            click.echo(f"  {click.style('chance', fg='yellow')}  {name:<18}has no effect")
    return chosen


# --- the table ----------------------------------------------------------------------------------

ROWS = 20_000
SEED = 20260101

#: The columns with an effect, from strong to weak.
PLANTED = {
    "prior_admissions": "has an effect alone, the strongest",
    "age": "has an effect alone",
    "nt_probnp": "has an effect alone",
    "albumin": "has an effect alone, the weakest",
    "diuretic": "has an effect only with potassium",
    "potassium": "has an effect only with diuretic",
}


#: The public bounds of each number, its mean, and its standard deviation.
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
#: Measures that are missing for four patients in a hundred.
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
    """Return the public facts about the table: the bounds and values of a code book.

    >>> len(domain().columns), domain().target.name
    (40, 'readmitted')
    """
    columns: list[Column] = [Number(name, low, high) for name, (low, high, *_) in MEASURES.items()]
    columns += [Flag(name) for name in FLAGS]
    columns += [Category(name, values) for name, values in CATEGORIES.items()]
    columns.append(Date("admitted", FIRST, LAST))
    return Domain(tuple(columns), target=Label("readmitted", ("no", "yes")))


def patients(rows: int = ROWS) -> dict[str, list[str]]:
    """Return the made-up table as text, by column; it is always the same.

    >>> table = patients(3)
    >>> len(table), len(table["age"])
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
