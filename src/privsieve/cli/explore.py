"""`privsieve publish --explore FILE`: a private page for whom has to choose k; nothing leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import words
from privsieve.cli.options import asking, refuse
from privsieve.cli.private import new_file
from privsieve.errors import ParameterError

if TYPE_CHECKING:
    from privsieve.containment.exploring import Uniques, Way
    from privsieve.containment.labelled import Labelled
    from privsieve.kernels.patterns import Rule
    from privsieve.report.looks import Explored, Population
    from privsieve.rows.matrix import Items

#: Seconds of the search, where nobody says more.
SECONDS = 300
#: Limits that `publish` checks after a choice, by the names of their options.
_LIMITS = ("max_share", "entropy_l", "closeness")


#: Options that speak of a release, and have no meaning where nothing is published.
_RELEASE = ("out", "ledger", "other_people", "first", "internal_report", "suppress",
            "publish_sensitive")
#: Gives a command the options of exploring.
options = asking(
    click.option("--explore", metavar="FILE",
                 help="PRIVATE: publish nothing; write a page of what each k costs, to choose it."),
    click.option("--population-size", metavar="N", type=int,
                 help="With --explore: of so many people the rows are a random sample."),
    click.option("--seconds", metavar="S", type=int,
                 help=f"With --explore: how long to search ({SECONDS}, where nobody says)."),
)


def check(options: Mapping[str, Any]) -> None:
    """Refuse what does not go together: a page of each k, or a release at one."""
    if not options["explore"]:
        for name in ("population_size", "seconds"):
            refuse(options[name] is not None, f"{_option(name)} is for --explore; say --explore "
                                              "FILE, or leave it away")
        lacks = [said for name, said in (("k", "-k K"), ("out", "--out DIR"))
                 if options[name] is None]
        refuse(lacks, f"to publish, say {' and '.join(lacks)}; to see what each k costs, and "
                      "publish nothing, --explore FILE")
        return
    for name in _RELEASE:
        refuse(options[name], f"{_option(name)} is for a release, and --explore publishes nothing; "
                              "leave one of them away")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def explore(table: Labelled, rule: Rule, options: Mapping[str, Any], *,
            population: Items | None = None) -> None:
    """Write the page to a new file that only its owner may read; it is taken away if that fails.

    `rule` says which absences and whether the class count as known; its k is that of the tables on
    costs.  `population` is a table of all people, of which the rows are a part.
    """
    path = options["explore"]
    _check(table, options)
    with new_file(path, "of --explore") as write:
        from privsieve.report import explored_html

        told = _explored(table, rule, options, population)
        write(explored_html(told))
    for text in told.unreached:
        words.say("left out", text, fg="yellow")
    words.say("explored", f"{path} (PRIVATE: not to be released); nothing was published")
    if options.get("as_json"):
        words.json({"explored": path, "left_out": list(told.unreached)})


def _check(table: Labelled, options: Mapping[str, Any]) -> None:
    seconds, size, rows = options.get("seconds"), options.get("population_size"), table.items.rows
    refuse(len(table.classes) < 2,
           "--explore compares columns by what they say about classes: give --target COLUMN of at "
           "least two classes")
    refuse(table.counted,
           "--explore looks at one table alone, and not at what was published of it before; leave "
           "--ledger away")
    refuse(seconds is not None and seconds < 1, f"--seconds is {seconds}; give 1 or more")
    refuse(size is not None and table.sources is not None,
           "--population-size is for tables with one row of each person; leave it, or --source, "
           "away")
    refuse(size is not None and size < rows,
           f"--population-size is {size} and the table has {rows} rows, which are a part of it; "
           f"give at least {rows}")


def _explored(table: Labelled, rule: Rule, options: Mapping[str, Any],
              population: Items | None) -> Explored:
    from privsieve.containment.choice import tell
    from privsieve.containment.exploring import costs, curve, ks_of, shut
    from privsieve.report import looks as page

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
    return page.Explored(
        asked, ks, tuple(way.name for way in ways), found.points,
        tuple(table.items.names[j] for j in choice.selected),
        tuple(costs(table, kept, choice.selected)), tuple(closed), passed,
        _population(table, rule, selected, people) if people is not None else None,
        found.unreached, seconds)


def _asked(table: Labelled, rule: Rule, options: Mapping[str, Any]) -> Any:
    from privsieve.report.looks import Asked

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
        diversity=_diversity(options), sources=table.sources is not None,
        limits=tuple(_option(name) for name in _LIMITS
                     if options.get(name) is not None))


def _diversity(options: Mapping[str, Any]) -> int:
    return int(options["l_diversity"] or (2 if options["publish_target"] else 1))


def _ways(rule: Rule, options: Mapping[str, Any]) -> Sequence[Way]:
    """The profiles, or the method that was named."""
    from privsieve.containment.exploring import method_way, profile_ways

    if not options["method"]:
        return profile_ways(replace(rule, l_diversity=_diversity(options), suppress=0))
    return [method_way(rule, options["method"], options["weights"] or "mutual-information",
                       options["time_limit"])]


def _population(table: Labelled, rule: Rule, selected: Mapping[str, Sequence[int]],
                people: Any) -> Population:
    """Rows that are alone on the columns of each way, and on all columns."""
    from privsieve.containment.exploring import counted, estimated
    from privsieve.containment.labelled import with_classes
    from privsieve.report.looks import Alone, Population

    def uniques(positions: Sequence[int]) -> Uniques:
        part = table.items.take(positions)
        if isinstance(people, int):
            return estimated(with_classes(part, table.y)[0] if rule.labelled else part, people)
        return counted(part, people.take(positions))

    found = [(name, uniques(chosen)) for name, chosen in selected.items()]
    found.append(("all columns", uniques(range(len(table.items)))))
    return Population(found[0][1].people, not isinstance(people, int), tuple(
        Alone(name, one.alone, one.pairs, one.unique, one.share, one.right)
        for name, one in found))
