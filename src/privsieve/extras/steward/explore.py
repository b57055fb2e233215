"""`privsieve explore`: the private page of what each k costs, for whoever has to choose it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from privsieve.cli import tables, words
from privsieve.cli.check import USUAL_K
from privsieve.cli.options import refuse
from privsieve.cli.private import new_file
from privsieve.cli.progress import staged
from privsieve.cli.publish import LIMITS, check_choice, choosing, promise_of
from privsieve.cli.verb import Verb
from privsieve.containment.choose import listening, tell
from privsieve.containment.labelled import Labelled, as_known
from privsieve.errors import ParameterError
from privsieve.extras.steward.curves import Alone, Asked, Explored, Population, explored_page
from privsieve.extras.steward.exploring import (
    Uniques,
    Way,
    costs,
    counted,
    curve,
    estimated,
    ks_of,
    method_way,
    profile_ways,
    shut,
)
from privsieve.kernels.patterns import Rule
from privsieve.public.strangers import COUNTED
from privsieve.rows.matrix import Items

#: Seconds of the search, where nobody says more.
SECONDS = 300


@click.command("explore", cls=Verb, epilog=(
    "Example: privsieve explore patients.csv --target ill --out each-k.html"))
@click.argument("data")
@click.option("-k", "k", metavar="K", type=int,
              help=f"The k of the tables on costs ({USUAL_K}, where nobody says).")
@tables.table
@choosing
@click.option("--population-size", metavar="N", type=int,
              help="Of so many people the rows are a random sample.")
@click.option("--seconds", metavar="S", type=int,
              help=f"How long to search ({SECONDS}, where nobody says).")
@click.option("--out", metavar="FILE", required=True, help="The page; it must not exist.")
def command(data: str, **options: Any) -> None:
    """PRIVATE: write a page of what each k costs on DATA, to choose it; publish nothing.

    The profiles are compared, whichever is named; or one method.
    """
    check_choice(options)
    asked = {**options, "k": USUAL_K if options["k"] is None else options["k"], "profile": None,
             "suppress": 0, "publish_sensitive": False}
    with staged() as progress, listening(progress.known):
        progress.stage("reading the table")
        table = tables.opened(data, asked)
        progress.stage("trying each k (Ctrl-C ends it)")
        explore(table, promise_of(table, asked).rule, options)


def explore(table: Labelled, rule: Rule, options: Mapping[str, Any], *,
            population: Items | None = None) -> None:
    """Write the page to a new file that only its owner may read; it is taken away if that fails.

    `rule` says which absences and whether the class count as known; its k is that of the tables on
    costs.  `population` is a table of all people, of which the rows are a part.
    """
    path = options["out"]
    _check_explored(table, options)
    with new_file(path, "of --out") as write:
        told = _explored(table, rule, options, population)
        write(explored_page(told))
    for text in told.unreached:
        words.say("left out", text, fg="yellow")
    words.say("explored", f"{path} (PRIVATE: not to be released); nothing was published")
    if options.get("as_json"):
        words.json({"explored": path, "left_out": list(told.unreached)})


def _check_explored(table: Labelled, options: Mapping[str, Any]) -> None:
    seconds, size, rows = options.get("seconds"), options.get("population_size"), table.items.rows
    refuse(len(table.classes) < 2,
           "columns are compared by what they say about classes: give --target COLUMN of at least "
           "two classes")
    refuse(seconds is not None and seconds < 1, f"--seconds is {seconds}; give 1 or more")
    refuse(size is not None and table.sources is not None,
           "--population-size is for tables with one row of each person; leave it, or --source and "
           "the person of the domain file, away")
    refuse(size is not None and size < rows,
           f"--population-size is {size} and the table has {rows} rows, which are a part of it; "
           f"give at least {rows}")


def _explored(table: Labelled, rule: Rule, options: Mapping[str, Any],
              population: Items | None) -> Explored:
    ways, asked = _ways(rule, options), _asked(table, rule, options)
    people = options.get("population_size") if population is None else population
    ks = ks_of(table, rule, asked.k)
    seconds = int(options.get("seconds") or SECONDS)
    found = curve(table, ways, ks, asked.k, seconds)
    choice = found.choices.get((asked.way, asked.k))
    if choice is None:
        raise ParameterError(next(
            (text for text in found.unreached if text.startswith(f"{asked.way}, k = {asked.k}:")),
            f"{seconds} seconds were too few for the first choice; give more with --seconds"))
    way = next(way for way in ways if way.name == asked.way)
    kept = replace(way.rule, k=asked.k)
    tell("counting what each column costs")
    closed, passed = shut(table, kept, choice.selected)
    selected = {name: one.selected for (name, k), one in found.choices.items() if k == asked.k}
    return Explored(
        asked, ks, tuple(way.name for way in ways), found.points,
        tuple(table.items.names[j] for j in choice.selected),
        tuple(costs(table, kept, choice.selected)), tuple(closed), passed,
        _population(table, rule, selected, people) if people is not None else None,
        found.unreached, seconds)


def _asked(table: Labelled, rule: Rule, options: Mapping[str, Any]) -> Any:
    origin = dict.fromkeys(table.items.origin)
    known = set() if rule.absent is None else {
        name for name, told in zip(table.items.origin, rule.absent, strict=True) if told}
    return Asked(
        k=rule.k, named=options["k"] is not None,
        way=options["method"] or options["profile"] or "few", rows=table.items.rows,
        items=len(table.items), columns=len(origin), classes=len(table.classes),
        both=tuple(name for name in origin if name in known),
        presences=tuple(name for name in origin if name not in known),
        sensitive=tuple(one.name for one in table.sensitive), target=table.target,
        known=rule.labelled, published=bool(options["publish_target"]),
        diversity=_diversity(options),
        sources=COUNTED[table.counts][1] if table.counts else None,
        limits=tuple(f"--{name.replace('_', '-')}" for name in LIMITS
                     if options.get(name) is not None))


def _diversity(options: Mapping[str, Any]) -> int:
    return int(options["l_diversity"] or (2 if options["publish_target"] else 1))


def _ways(rule: Rule, options: Mapping[str, Any]) -> Sequence[Way]:
    """The profiles, or the method that was named."""
    if not options["method"]:
        return profile_ways(replace(rule, l_diversity=_diversity(options), suppress=0))
    return [method_way(rule, options["method"], options["weights"] or "mutual-information",
                       options["time_limit"])]


def _population(table: Labelled, rule: Rule, selected: Mapping[str, Sequence[int]],
                people: Any) -> Population:
    """Rows that are alone on the columns of each way, and on all columns."""
    def uniques(positions: Sequence[int]) -> Uniques:
        part = table.items.take(positions)
        if isinstance(people, int):
            classes = "class", table.y, [str(one) for one in table.classes]
            return estimated(as_known(part, None, classes) if rule.labelled else part, people)
        return counted(part, people.take(positions))

    found = [(name, uniques(chosen)) for name, chosen in selected.items()]
    found.append(("all columns", uniques(range(len(table.items)))))
    return Population(found[0][1].people, not isinstance(people, int), tuple(
        Alone(name, one.alone, one.pairs, one.unique, one.share, one.right)
        for name, one in found))
