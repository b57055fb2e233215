"""`privsieve demo`: the whole path on a made-up table, by the commands that anybody would type.

The table has 20,000 patients, 40 columns, and a label that six of them explain.  Nobody in it
exists.  The patients come from a fixed seed; the noise of a selection from them is as real as any.
Four of the planted columns matter alone, each less than the one before; two matter only together:
low potassium is a danger with a diuretic, high potassium without one.
"""

from __future__ import annotations

import datetime as dt
import json
import shlex
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from privsieve.cli import verbs, words
from privsieve.cli.verb import Verb
from privsieve.errors import ParameterError
from privsieve.public.columns import Category, Column, Date, Flag, Label, Number
from privsieve.public.domain import Domain

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


@click.command("demo", cls=Verb, epilog="Example: privsieve demo --out try-it")
@click.option("--out", metavar="DIR", default="privsieve-demo", show_default=True,
              help="Where to put it all; it must not exist.")
def command(out: str, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """Watch it work: a made-up hospital table, a plan, one selection, one publication.

    Makes DIR with patients.csv, domain.toml, a ledger and the two release folders.
    """
    place = out.rstrip("/") or out
    steps = [(why, [word.replace("DIR", place) for word in line.split()]) for why, line in _STEPS]
    with redirect_stdout(StringIO()) if as_json else nullcontext():
        folder = _folder(out)
        click.echo(_INTRO)
        write(folder)
        for why, arguments in steps:
            _step(why)
            click.secho(_line(arguments), fg="cyan")
            verbs.main(arguments, "privsieve", standalone_mode=False,
                       color=click.get_current_context().color)
        chosen = _compare(folder)
        for why, each in (("Each release says all of this on one page that any browser shows:",
                           _PAGES), ("With a table of your own:", _NEXT)):
            _step(why)
            for what, said in each.items():
                click.echo(f"  {what.replace('DIR', place)}\n      {said}")
    if as_json:
        words.json({"folder": out, "steps": [["privsieve", *arguments] for _, arguments in steps],
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


class Measure(NamedTuple):
    """A number: its public bounds, and how the made-up patients spread."""

    low: float
    high: float
    middle: float
    spread: float  # of the logarithm where the scale is log
    decimals: int = 0
    missing: float = 0.0
    log: bool = False


MEASURES = {
    "age": Measure(18, 105, 64, 16),
    "bmi": Measure(12, 60, 27, 5, 1, 0.04),
    "distance_km": Measure(0.1, 500, 12, 1.0, 1, log=True),
    "length_of_stay": Measure(0.5, 120, 5, 0.7, 1, log=True),
    "prior_admissions": Measure(0, 20, 2.2, 2),
    "pulse": Measure(30, 200, 82, 15),
    "systolic": Measure(60, 240, 131, 20),
    "diastolic": Measure(30, 140, 76, 12),
    "temperature": Measure(33, 42, 36.9, 0.6, 1),
    "respiratory_rate": Measure(6, 50, 17, 3.5),
    "oxygen_saturation": Measure(60, 100, 95.5, 2.6),
    "creatinine": Measure(20, 2000, 88, 0.4, 0, 0.02, log=True),
    "egfr": Measure(2, 140, 72, 22, 0, 0.02),
    "potassium": Measure(2, 8, 4.2, 0.5, 1, 0.02),
    "sodium": Measure(110, 170, 138.5, 3.8, 0, 0.02),
    "hemoglobin": Measure(3, 22, 12.6, 2, 1, 0.02),
    "leukocytes": Measure(0.2, 200, 8.6, 0.4, 1, 0.02, log=True),
    "crp": Measure(0.3, 600, 14, 1.3, 1, 0.06, log=True),
    "glucose": Measure(1.5, 60, 6.6, 0.3, 1, 0.05, log=True),
    "albumin": Measure(10, 60, 36, 6, 0, 0.05),
    "nt_probnp": Measure(5, 70000, 420, 1.4, 0, 0.08, log=True),
    "troponin": Measure(1, 20000, 9, 1.1, 0, 0.35, log=True),
    "medications": Measure(0, 40, 7, 3.5),
    "frailty": Measure(1, 9, 3.8, 1.6),
    "pain": Measure(0, 10, 3.4, 2.3),
    "early_warning": Measure(0, 20, 2.6, 2.2),
}

#: The share of patients with it.
FLAGS = {
    "smoker": 0.22, "lives_alone": 0.31, "emergency": 0.62, "weekend": 0.27, "diabetes": 0.24,
    "copd": 0.13, "heart_failure": 0.19, "diuretic": 0.5, "anticoagulant": 0.28, "insulin": 0.11,
}

CATEGORIES = {
    "sex": ("F", "M"),
    "ward": ("cardiology", "geriatrics", "internal", "pulmonology", "surgery"),
    "mobility": ("walks alone", "with aid", "in bed"),
}

#: Decoys: they follow another column, and the label only through it.
FOLLOWS = {
    "frailty": ("age", 0.35), "egfr": ("age", -0.3), "creatinine": ("egfr", -0.8),
    "medications": ("prior_admissions", 0.3), "heart_failure": ("nt_probnp", 0.3),
    "hemoglobin": ("albumin", 0.3), "crp": ("albumin", -0.3), "diastolic": ("systolic", 0.6),
    "respiratory_rate": ("oxygen_saturation", -0.4), "insulin": ("diabetes", 0.6),
    "early_warning": ("pulse", 0.4), "glucose": ("diabetes", 0.5),
}

#: What each planted column adds to the log odds, per standard deviation.
EFFECTS = {"prior_admissions": 0.85, "age": 0.7, "nt_probnp": 0.6, "albumin": -0.5}
TOGETHER = 1.0
#: Sets the share of readmitted patients near 18 in a hundred.
BASE = -2.22

FIRST, LAST = dt.date(2023, 1, 1), dt.date(2025, 12, 31)


def domain() -> Domain:
    """What is public about the table: bounds and values that a code book would give.

    >>> len(domain().columns), domain().target.name
    (40, 'readmitted')
    """
    columns: list[Column] = [
        Number(name, m.low, m.high, scale="log" if m.log else "linear",
               missing="level" if m.missing > 0.1 else "middle")
        for name, m in MEASURES.items()]
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
    latent = _latent(rng, rows)
    table = {name: _numbers(latent[name], m, rng) for name, m in MEASURES.items()}
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


def _latent(rng: np.random.Generator, rows: int) -> Mapping[str, npt.NDArray[np.float64]]:
    """A standard normal figure for every measure and flag, decoys after what they follow."""
    made = {name: rng.standard_normal(rows) for name in (*MEASURES, *FLAGS)}
    for name, (leader, share) in FOLLOWS.items():
        made[name] = share * made[leader] + (1 - share * share) ** 0.5 * made[name]
    return made


def _numbers(latent: npt.NDArray[np.float64], m: Measure, rng: np.random.Generator) -> list[str]:
    value = m.middle * np.exp(m.spread * latent) if m.log else m.middle + m.spread * latent
    cells: npt.NDArray[Any] = np.char.mod(f"%.{m.decimals}f", np.clip(value, m.low, m.high))
    if m.missing:
        cells[rng.random(len(cells)) < m.missing] = ""
    listed: list[str] = cells.tolist()
    return listed


def _has(latent: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.bool_]:
    has: npt.NDArray[np.bool_] = latent > NormalDist().inv_cdf(1 - share)
    return has
