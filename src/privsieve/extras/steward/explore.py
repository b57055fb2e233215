"""`privsieve explore`: write the private page of what each k costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from privsieve.cli import words
from privsieve.cli.check import USUAL_K
from privsieve.cli.options import refuse
from privsieve.cli.private import new_file
from privsieve.cli.progress import staged
from privsieve.cli.verb import Outcome, verb
from privsieve.containment.choose import MUTUAL, listening, tell
from privsieve.containment.labelled import Labelled, as_known
from privsieve.containment.options import SetOptions, TableOptions
from privsieve.errors import ParameterError
from privsieve.extras.steward.curves import Explored, ExploreSettings, Population, explored_page
from privsieve.extras.steward.exploring import (
    Way,
    costs,
    curve,
    estimate_uniques,
    ks_of,
    method_way,
    profile_ways,
    shut,
)
from privsieve.kernels.patterns import Rule
from privsieve.public.attackers import COUNTED
from privsieve.public.option import File

#: Seconds of the search by default.
SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class EachOptions:
    """The page.

    k : the k for which the page shows the cost of each column (default 5)
    population_size : the number of people of whom the rows are a random sample
    seconds : how long to search (default 300)
    out : the page; it must not exist
    """

    k: int | None = None
    population_size: int | None = None
    seconds: Annotated[int | None, "S"] = None
    out: File


@verb("patients.csv --target ill --out each-k.html")
def command(data: str, options: TableOptions, wanted: SetOptions, page: EachOptions) -> Outcome:
    """PRIVATE: write a page of what each k costs on DATA, to help you choose k.

    Compares the three profiles or, with --method, one method.  Publishes nothing.
    """
    wanted.demand(options)
    k = USUAL_K if page.k is None else page.k
    with staged() as progress, listening(progress.known):
        progress.stage("reading the table")
        table = options.opened(data, k)
        progress.stage("trying each k (Ctrl-C ends it)")
        rule = replace(wanted, profile=None).promise(options, table, k).rule
        return explore(table, rule, wanted, page)


def explore(table: Labelled, rule: Rule, wanted: SetOptions, page: EachOptions) -> Outcome:
    """Write the page to a new file that only its owner may read; if that fails, remove the file.

    `rule` is the absences that an attacker knows, whether the class is known, and the k of the
    tables on costs.
    """
    _check_explored(table, page)
    with new_file(page.out, "of --out") as write:
        explored = _explored(table, rule, wanted, page)
        write(explored_page(explored))
    for text in explored.unreached:
        words.say("left out", text, fg="yellow")
    words.say("explored", f"{page.out} (PRIVATE: do not release); nothing was published")
    return Outcome({"explored": page.out, "left_out": list(explored.unreached)})


def _check_explored(table: Labelled, page: EachOptions) -> None:
    seconds, size, rows = page.seconds, page.population_size, table.items.rows
    refuse(len(table.classes) < 2,
           "the page compares columns by how well they predict classes: give --target COLUMN with "
           "at least two classes")
    refuse(seconds is not None and seconds < 1, f"--seconds is {seconds}; give 1 or more")
    refuse(size is not None and table.sources is not None,
           "--population-size is for tables with one row for each person; leave it out, or leave "
           "out --source and the person of the domain file")
    refuse(size is not None and size < rows,
           f"--population-size is {size}, but the table has {rows} rows, which are a part of the "
           f"population; give at least {rows}")


def _explored(table: Labelled, rule: Rule, wanted: SetOptions, page: EachOptions) -> Explored:
    ways = _ways(rule, wanted)
    settings = _settings_of(table, rule, wanted, named=page.k is not None)
    ks = ks_of(table, rule, settings.k)
    seconds = page.seconds or SECONDS
    points = curve(table, ways, ks, settings.k, seconds)
    choice = points.choices.get((settings.way, settings.k))
    if choice is None:
        first = f"{settings.way}, k = {settings.k}:"
        raise ParameterError(next(
            (text for text in points.unreached if text.startswith(first)),
            f"{seconds} seconds were too few for the first choice; give more with --seconds"))
    way = next(way for way in ways if way.name == settings.way)
    kept = replace(way.rule, k=settings.k)
    tell("counting what each column costs")
    closed, passed = shut(table, kept, choice.selected)
    selected = {name: tried.selected for (name, k), tried in points.choices.items()
                if k == settings.k}
    return Explored(
        settings, ks, tuple(way.name for way in ways), points.points,
        tuple(table.items.names[j] for j in choice.selected),
        tuple(costs(table, kept, choice.selected)), tuple(closed), passed,
        _population(table, rule, selected, page.population_size) if page.population_size else None,
        points.unreached, seconds)


def _settings_of(table: Labelled, rule: Rule, wanted: SetOptions, *, named: bool,
                 ) -> ExploreSettings:
    origin = dict.fromkeys(table.items.origin)
    known = set() if rule.absent is None else {
        name for name, absent in zip(table.items.origin, rule.absent, strict=True) if absent}
    return ExploreSettings(
        k=rule.k, named=named, way=wanted.method or wanted.profile or "few", rows=table.items.rows,
        items=len(table.items), columns=len(origin), classes=len(table.classes),
        both=tuple(name for name in origin if name in known),
        presences=tuple(name for name in origin if name not in known),
        sensitive=tuple(column.name for column in table.sensitive), target=table.target,
        known=rule.labelled, published=wanted.publish_target, diversity=_diversity(wanted),
        sources=COUNTED[table.counts][1] if table.counts else None,
        limits=tuple(wanted.of_rows))


def _diversity(wanted: SetOptions) -> int:
    return wanted.l_diversity or (2 if wanted.publish_target else 1)


def _ways(rule: Rule, wanted: SetOptions) -> Sequence[Way]:
    """Return the profiles, or the method that the user named."""
    if not wanted.method:
        return profile_ways(replace(rule, l_diversity=_diversity(wanted), suppress=0))
    return [method_way(rule, wanted.method, wanted.weights or MUTUAL, wanted.time_limit)]


def _population(table: Labelled, rule: Rule, selected: Mapping[str, Sequence[int]],
                people: int) -> Population:
    """Estimate the rows that are alone on the columns of each way, and on all columns."""
    classes = ("class", table.y, [str(label) for label in table.classes]) if rule.labelled else None
    sets = [*selected.items(), ("all columns", range(len(table.items)))]
    return Population(people, tuple(
        estimate_uniques(as_known(table.items.take(columns), None, classes), people, name)
        for name, columns in sets))
