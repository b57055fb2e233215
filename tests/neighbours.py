"""Pairs of neighbouring tables through the public path: how far they move what meets noise.

A plan is drawn at random with a table for it, and one unit of the table is changed.  Both tables
are read, summarised and chosen from with the same key and tags; the answers of races are forced,
and the counts that are released are held equal.  What is left to compare is what a race is handed:
its scores may move by its sensitivity, which is the same for both, and the counts behind a
released one by what its noise was made for.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from privsieve import fit as fitting
from privsieve.errors import PrivsieveError
from privsieve.methods import plan as make_plan
from privsieve.methods.labels import AUTO_SHARE
from privsieve.methods.noisy_top_k import COUNT_SHARE
from privsieve.noise import discrete, race
from privsieve.noise import streams as noise
from privsieve.public.columns import Category, Flag, Label, Number
from privsieve.public.domain import Domain
from privsieve.rows import open_source, resolve
from privsieve.rows.batch import batches
from privsieve.rows.room import Room

NUMBERS = (0.0, 0.0, 1.0, 1.0, 0.5, 0.49, 0.26, 0.74, 0.1, 0.9, None, float("nan"), -3.0, 1e300,
           float("inf"))
LEVELS = ("A", "B", "C", "D", "zz", None)
FLAGS = ("1", "0", "yes", "maybe", None)
COLUMNS = {
    "n": lambda name: Number(name, 0, 1),
    "m": lambda name: Number(name, 0, 1, missing="level"),
    "l": lambda name: Number(name, 0.01, 1, scale="log"),
    "u": Number,
    "v": lambda name: Number(name, near=0.5, missing="level"),
    "f": Flag,
    "c": lambda name: Category(name, ["A", "B"]),
    "w": lambda name: Category(name, ["A", "B", "C", "D", *(f"q{i}" for i in range(12))]),
}
#: What a table is made of; broken lines are those of files.
CONTAINERS = ("arrow", "lists", "csv")
NOBODY = 10**6
#: What a choice may be among.
WISHES = ("always", "never", "groups")


class Row(NamedTuple):
    """One row: cells of the columns, the target, and whose it is."""

    cells: tuple
    target: object
    whose: str = "own"  # "own", "blank" (no id), or "broken" (a line that cannot be read)


class State(NamedTuple):
    """A table of units, the one that changes, and what both tables share."""

    units: tuple[tuple[Row, ...], ...]
    changing: int
    new: tuple[Row, ...]
    key: int
    order: int
    released: tuple[int, ...]
    answers: int


class Found(NamedTuple):
    """The worst score over its sensitivity, and the released counts over what they cost."""

    ratio: float
    loss: float


@dataclass(frozen=True)
class Setting:
    """A plan, and what is needed to draw tables for it."""

    plan: object
    kinds: str
    classes: int  # 0: the target is a number
    person: bool
    most: int
    container: str
    family: tuple
    counted: Fraction  # of epsilon, that released counts cost
    #: A planted fault: rows without an id are one person.
    shared: bool = False

    @property
    def removes(self):
        """Whether neighbours leave a unit out."""
        return self.plan.domain.neighbours == "add-remove"


# what is forced


class Fixed(noise.Noise):
    """A key and tags that are given."""

    def __init__(self, key, tags):
        self._key, self._tags = key, iter(tags)

    def key(self):
        return self._key

    def bytes(self, count):
        return b"".join(next(self._tags).to_bytes(8, "little") for _ in range(count // 8))


class Held:
    """Noise that makes of any count the number that was to be released."""

    def __init__(self, mean, released, counts):
        self._mean, self._released, self._counts = mean, released, counts

    def __radd__(self, count):
        self._counts.append((count, self._mean))
        return self._released


class Together(NamedTuple):
    """Numbers that leave with noise made for how far they move together."""

    sensitivity: int


def additive(event):
    """How far numbers move that leave with noise, by the scale of the noise."""
    if isinstance(event, dict):
        if event.get("event") == "additive":
            return {Fraction(event["scale"]): int(event["moves"])}
        event = list(event.values())
    parts = event if isinstance(event, list) else []
    return {scale: moves for value in parts for scale, moves in additive(value).items()}


@contextmanager
def forced(released, answers, moves=None):
    """Races answer by a seed, counts come out as given; what they were handed is noted.

    moves : of numbers that leave with noise, by the scale of the noise
    """
    races, counts, left = [], [], cycle(released)
    names = race.top_k, noise.discrete_laplace, discrete.noisy

    def top_k(scores, wanted_race, _noise):
        races.append((tuple(scores), wanted_race))
        drawn = random.Random(f"{answers} {len(races)} {wanted_race.d} {wanted_race.k}")
        return tuple(sorted(drawn.sample(range(wanted_race.d), wanted_race.k)))

    def noisy(sums, mean, _noise):
        races.append((tuple(map(int, sums)), Together((moves or {})[mean])))
        drawn = np.random.default_rng([answers, len(races)])
        return drawn.integers(-2**14, 2**18, len(sums))

    race.top_k, discrete.noisy = top_k, noisy
    noise.discrete_laplace = lambda mean, _noise: Held(mean, next(left), counts)
    try:
        yield races, counts
    finally:
        race.top_k, noise.discrete_laplace, discrete.noisy = names


# tables


def cell(rng, kind):
    """A cell of a column, plain or odd."""
    if kind in "nmluv":
        return rng.choice(NUMBERS) if rng.random() < 0.85 else round(rng.random(), 3)
    return rng.choice(FLAGS if kind == "f" else LEVELS)


def target(rng, setting):
    """A class, a number, or nothing that can be read."""
    if rng.random() < 0.07:
        return None
    if setting.classes:
        return rng.randrange(setting.classes)
    return rng.choice((0, 0, 1, 2, 3, 9, 9, 4.5, 5)) if rng.random() < 0.8 else rng.random() * 9


def row(rng, setting):
    """A row, mostly its unit's own."""
    odd = ["own"] * 6 + ["blank"] * setting.person + ["broken"] * (setting.container == "csv")
    return Row(tuple(cell(rng, kind) for kind in setting.kinds), target(rng, setting),
               rng.choice(odd))


def unit(rng, setting):
    """A row, or a person: named, half named, or not at all."""
    if not setting.person:
        return (row(rng, setting),)
    many = min(rng.choice((1, 1, 2, 3, setting.most, setting.most + 2)), 9)
    rows = [row(rng, setting) for _ in range(many)]
    if rng.random() < 0.4:
        rows = [rows[0]] * many
    if rng.random() < 0.15:
        rows = [row._replace(whose="blank") for row in rows]
    return tuple(rows)


def state(rng, setting, n):
    """A table of n units, many of them equal, and a change."""
    few = [unit(rng, setting) for _ in range(rng.choice((2, n)))]
    units = [rng.choice(few) if rng.random() < 0.5 else unit(rng, setting) for _ in range(n)]
    if rng.random() < 0.3:
        same = target(rng, setting)
        units = [tuple(row._replace(target=same) for row in rows) for rows in units]
    return State(tuple(units), rng.randrange(n), unit(rng, setting), rng.getrandbits(64),
                 rng.getrandbits(32), tuple(rng.choice((0, 1, 3, 20, 100, 400, -5))
                                            for _ in range(8)), rng.getrandbits(32))


def changed(rng, setting, old):
    """A state that differs in a little: the climber's step."""
    units, new = [list(rows) for rows in old.units], list(old.new)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rows = rng.choice((new, units[old.changing], rng.choice(units)))
        at, what = rng.randrange(len(rows)), rng.randrange(len(setting.kinds) + 1)
        if rng.random() < 0.15:
            rows[at] = rows[at]._replace(whose=row(rng, setting).whose)
        elif what == len(setting.kinds):
            rows[at] = rows[at]._replace(target=target(rng, setting))
        else:
            cells = list(rows[at].cells)
            cells[what] = cell(rng, setting.kinds[what])
            rows[at] = rows[at]._replace(cells=tuple(cells))
    changed_state = old._replace(units=tuple(map(tuple, units)), new=tuple(new))
    luck = rng.random()
    if luck < 0.05:
        changed_state = changed_state._replace(key=rng.getrandbits(64))
    elif luck < 0.1:
        changed_state = changed_state._replace(new=unit(rng, setting))
    elif luck < 0.15:
        changed_state = changed_state._replace(released=tuple(rng.choice((0, 1, 5, 50, 300, -20))
                                                              for _ in range(8)))
    return changed_state


# reading


def handed(setting, units, at, shared, folder):
    """What races and counts are handed for the units that stand `at` some places."""
    source, tags = table(setting, units, at, shared, folder)
    moves = additive(setting.plan.event.json())
    with forced(shared.released, shared.answers, moves) as (races, counts):
        fitting._choose(setting.plan, source, Fixed(shared.key, tags), Room())
    return races, counts


def summary(setting, units, at, shared, folder):
    """What the plan's mechanism would get."""
    source, tags = table(setting, units, at, shared, folder)
    domain, fixed = setting.plan.domain, Fixed(shared.key, tags)
    rows = setting.plan.units if domain.rows_are_public else None
    read = list(batches(source, setting.plan.coding, rows=rows, entropy=fixed.bytes))
    return setting.plan.summarise(read, shared.key)


def table(setting, units, at, shared, folder):
    """A source of these units, and the tags that its reader will draw."""
    places = random.Random(shared.order)
    # Rows of a unit keep their places among others, whatever becomes of the unit.
    place = [[places.random() for _ in range(12)] for _ in range(len(shared.units))]
    rows = sorted(((place[i][t], i, row) for i, unit in zip(at, units, strict=True)
                   for t, row in enumerate(unit)), key=lambda rows: rows[0])
    if not setting.person:
        tags = [_tag(i) for _, i, _ in rows] if setting.removes else []
    else:
        seen = dict.fromkeys(i if whose(row, i) else NOBODY for _, i, row in rows)
        tags = [_tag(i) for i in seen if i != NOBODY or setting.shared]
    source = _source(setting, [(row, whose(row, i)) for _, i, row in rows], folder)
    domain = setting.plan.domain
    resolve(domain, source.shape(count_rows=domain.rows_are_public))
    return source, tags


def whose(row, i):
    """The id in a row."""
    return f"p{i}" if row.whose == "own" else ""


def _tag(i):
    return random.Random(i).getrandbits(64)


def _source(setting, rows, folder):
    if setting.container == "csv":
        path = folder / "t.csv"
        path.write_text("\n".join(map(",".join, _lines(setting, rows))) + "\n", encoding="utf-8")
        return open_source(path, csv=setting.plan.domain.csv)
    if setting.container == "lists" and not setting.person:
        return open_source([list(row.cells) for row, _ in rows], [row.target for row, _ in rows])
    data = {f"x{j}": _column([row.cells[j] for row, _ in rows], number=kind in "nmluv")
            for j, kind in enumerate(setting.kinds)}
    data["y"] = _column([row.target for row, _ in rows], number=not setting.classes)
    if setting.person:
        data["id"] = pa.array([name or None for _, name in rows], pa.string())
    return open_source(pa.table(data))


def _column(cells, *, number):
    if number:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _lines(setting, rows):
    yield [*(f"x{j}" for j in range(len(setting.kinds))), "y", *["id"] * setting.person]
    for row, name in rows:
        line = ["" if value is None else str(value) for value in (*row.cells, row.target)]
        if row.whose == "broken":
            yield [*line, f"p{name}", '"open']
        else:
            yield [*line, *[name] * setting.person]


def pair(setting, shared, of, folder):
    """`of` both neighbours that a state describes."""
    whole, units = tuple(range(len(shared.units))), [*shared.units]
    before = of(setting, units, whole, shared, folder)
    if setting.removes:
        at = (*whole[:shared.changing], *whole[shared.changing + 1:])
        del units[shared.changing]
        return before, of(setting, units, at, shared, folder)
    units[shared.changing] = shared.new
    return before, of(setting, units, whole, shared, folder)


def compared(setting, shared, folder):
    """The distance of the neighbours that a state describes."""
    return apart(*pair(setting, shared, handed, folder), setting.counted)


def apart(first, second, counted):
    """The worst score over its sensitivity; released counts over the epsilon for them."""
    (races, counts), (other, others) = first, second
    if [terms for _, terms in races] != [terms for _, terms in other]:
        return Found(float("inf"), 0.0)  # what is public between them is not the same
    ratio = max((float(Fraction(moved, terms.sensitivity)) for (mine, terms), (yours, _)
                 in zip(races, other, strict=True) for moved in far(mine, yours, terms)),
                default=0.0)
    assert [mean for _, mean in counts] == [mean for _, mean in others]
    spent = sum((abs(a - b) / mean for (a, mean), (b, _) in zip(counts, others, strict=True)),
                Fraction(0))
    return Found(ratio, float(spent / counted) if counted else float(spent))


def far(mine, yours, terms):
    """How far each number moves, or all together."""
    each = [int(abs(a - b)) for a, b in zip(mine, yours, strict=True)]
    return [sum(each)] if isinstance(terms, Together) else each


# settings


def setting(rng, method=None):
    """A random plan that is not refused, and costs something."""
    while True:
        try:
            chosen = _setting(rng, method or rng.choice(METHODS))
        except PrivsieveError:
            continue
        if chosen.plan.cost.epsilon:
            return chosen


def _setting(rng, method):
    classes = 0 if method == "numeric" else rng.choice((2, 2, 2, 3, 4, 7))
    name, options = OPTIONS[method](rng, classes)
    if options.get("score") == "correlation":
        classes = 0
    # Who computes with codes takes no number without bounds.
    letters = rng.choice(("nnnnmlfcw", "nuuvfcw")) if name == "rule-sieve" else "nnnnmlfcw"
    kinds = "".join(rng.choice(letters) for _ in range(rng.choice((2, 3, 3, 4, 5))))
    person, n = rng.random() < 0.55, rng.choice((2, 3, 4, 5, 6, 7, 8, 9, 12, 16))
    if options.pop("against", False):
        public = [[cell(rng, kind) for kind in kinds] for _ in range(6)]
        options |= {"reference": (public, [i % classes for i in range(6)]), "repeats": None}
    most = rng.choice((1, 2, 3, 4, 7, 12)) if person else 0
    declared = n if rng.random() < 0.5 else rng.choice((n + 3, max(2, n - 2), 300))
    options |= {"k": rng.randint(1, len(kinds)), "epsilon": rng.choice((1, "0.5", 10, 100, 1000)),
                "delta": rng.choice((0, 0, "1e-6"))}
    if rng.random() < 0.3:
        _wish(rng, kinds, options)
    if rng.random() < 0.2:
        options["fewer"] = "auto"
    public = {"most": most, "units": declared, "container": rng.choice(CONTAINERS),
              "neighbours": rng.choice(("replace-one", "replace-one", "add-remove")),
              "missing": rng.choice(("middle", "level"))}
    return planned(name, kinds, classes, options, **public)


def planned(method, kinds, classes, options, *, units, most=0, neighbours="replace-one",
            container="arrow", missing="middle"):
    """A setting for a plan of these options; `most` rows of a person, or 0 for rows."""
    public = {"persons": units, "person": "id", "rows_per_person": most} if most else (
        {"rows": units} if neighbours == "add-remove" else {})
    target = Label("y", list(range(classes))) if classes else Number("y", 0, 9, missing=missing)
    domain = Domain([COLUMNS[kind](f"x{j}") for j, kind in enumerate(kinds)], target=target,
                    neighbours=neighbours, **public)
    rows = {} if "candidates" in options else {"allow_weak": True}
    plan = make_plan(method, domain, rows=None if public else units, **rows, **options)
    share = {"rule-sieve": AUTO_SHARE, "noisy-top-k": COUNT_SHARE}.get(method, Fraction(0))
    family = (method, str(plan.settings.get("class_prior", options.get("score"))),
              str(options.get("numeric") or options.get("joint") or options.get("votes"))
              + " against" * ("reference" in options)
              + "".join(f" {wish}" for wish in WISHES if wish in options),
              "person" if most else "row", neighbours)
    return Setting(plan, kinds, classes, bool(most), max(most, 1), container, family,
                   share * plan.cost.epsilon)


def _wish(rng, kinds, options):
    """What a choice is among: an option or two, of which some make no sense and are refused."""
    names = [f"x{j}" for j in range(len(kinds))]
    rng.shuffle(names)
    for wish in rng.sample(WISHES, rng.choice((1, 1, 2))):
        if wish == "groups":
            options["groups"] = {"g": names[:rng.choice((2, 2, 3))]}
        else:
            options[wish] = [names.pop()]


def _rule_sieve(rng, classes):
    prior = rng.choice((None, "auto", "auto", "auto", "centred", "centred", "unbalanced",
                        "share", "tiny"))
    if prior in ("share", "tiny"):
        share = Fraction(1, 10 if prior == "share" else 1000)
        prior = share if classes == 2 else [Fraction(1, classes)] * classes
    joint = rng.choice(("auto", "auto", "none", "pair", "rounds"))
    return "rule-sieve", {"class_prior": prior, "joint": joint,
                          "ordered": joint in ("auto", "none") and rng.random() < 0.2,
                          "depth": rng.choice((None, None, 1, 2, 3)), "max_ops": _ops(rng)}


def _numeric(rng, _classes):
    way = rng.choice(("auto", "ranks", "ranks", "median-cut"))
    joint = None if way == "ranks" else rng.choice((None, "none", "pair", "rounds"))
    return "rule-sieve", {"numeric": way, "joint": joint, "depth": rng.choice((None, 1, 2, 3)),
                          "max_ops": _ops(rng)}


def _noisy_top_k(rng, classes):
    share = rng.choice(("noisy", "noisy", None, *(["0.1"] if classes == 2 else [])))
    score = rng.choice(("mean-difference", "class-counts", "correlation"))
    weighed = score in ("mean-difference", "class-counts")
    return "noisy-top-k", {"score": score, "class_prior": share if weighed else None,
                           "ordered": rng.random() < 0.2}


def _block_fwell(rng, _classes):
    return "block-fwell", {"block": rng.choice((3, 3, 4, 6)), "votes": rng.choice(("sign", "clip")),
                           "repeats": rng.choice((None, 1, 2, 5)),
                           "tau": rng.choice(("0.06", "0.5", "1")),
                           "ordered": rng.random() < 0.2, "against": rng.random() < 0.3}


def _ops(rng):
    return rng.choice((10**7, 10**7, 200_000, 50_000, 10_000, 2000, 500))


OPTIONS = {"rule-sieve": _rule_sieve, "numeric": _numeric, "noisy-top-k": _noisy_top_k,
           "block-fwell": _block_fwell}
METHODS = ("rule-sieve", "rule-sieve", "rule-sieve", "numeric", "numeric", "noisy-top-k",
           "noisy-top-k", "block-fwell")


def climbed(rng, where, folder, *, starts, steps, enough=float("inf")):
    """The worst pair that some starts and then some steps find, and how many were looked at."""
    best, high, worst, looked = None, -1.0, Found(0.0, 0.0), 0
    for step in range(starts + steps):
        shared = (state(rng, where, _size(rng, where)) if step < starts
                  else changed(rng, where, best))
        actual_best = compared(where, shared, folder)
        looked += 1
        if actual_best.ratio >= high:
            best, high = shared, actual_best.ratio
        worst = Found(max(worst.ratio, actual_best.ratio), max(worst.loss, actual_best.loss))
        if max(worst) > 1 or worst.ratio >= enough:
            break
    return worst, looked


def _size(rng, where):
    """How many units a table has: of rows that are replaced, as many as were planned for."""
    units = min(where.plan.units, 16)
    if where.plan.domain.rows_are_public:
        return where.plan.units if where.container != "csv" else rng.choice((units, units + 1))
    return rng.choice((units, units, max(2, units - 1), units + 1, 2, 3, 4, 5, 8))
