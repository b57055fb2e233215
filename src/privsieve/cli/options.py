"""The options that verbs ask for, those of the methods among them, and the plan they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from privsieve.cli.verb import Verb
from privsieve.errors import DomainError, ParameterError
from privsieve.methods import METHODS, options_of, plan
from privsieve.public.canonical import read_flag
from privsieve.public.domain import Domain
from privsieve.public.dropped import explain
from privsieve.public.option import About, abouts, read_several, whole
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.rows import Source

Command = Callable[..., Any]

#: Options that all verbs share, or that have a way of their own on the command line.
SHARED = ("epsilon", "allow_weak", "n_features_to_select", "fewer", "max_ops", "choice")
#: The ways to say how many columns.
COUNTS = ("top", "at_most")
#: Where the word of the command line is not the option's name.
_FLAGS = {"target": "--no-target", "groups": "--group"}
#: What releases something else than columns, and how.
VERBS = {"kernel-ridge": "it fits a model: privsieve regress",
         "noisy-histogram": "it counts rows: privsieve synthesize"}
CHOOSING = tuple(method for method in METHODS if method not in VERBS)
TWO_UNITS = "--unit row and --person name two units; give one of them"
_HELP = {"-h", "--help", "--help-all"}
#: Where a call of a command keeps the method that its words name.
_NAMED = "privsieve.method"


def asking(*options: Command) -> Callable[[Command], Command]:
    """Give a command these options, in this order."""
    def given(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return given


def refuse(wrong: object, said: str) -> None:
    """Refuse options with a sentence, where something is wrong with them."""
    if wrong:
        raise ParameterError(said)


#: What a place allows.
POLICY = click.option("--policy", metavar="FILE",
                      help="The policy of your place: what it does not allow is refused before "
                           "the charge.")
_COUNT = (
    click.option("--top", metavar="N",
                 help='How many columns to choose, or which fraction of them, such as 0.1; '
                      '"positive" where weights are released.'),
    click.option("--at-most", metavar="N", type=int,
                 help="Or: at most so many, and fewer where so many cannot be found."),
)
#: What is public about persons.
PERSONS = (
    click.option("--rows-per-person", metavar="G", type=int,
                 help="Rows of a person that are used at most."),
    click.option("--persons", metavar="N", type=int,
                 help="Persons in the table: a public round figure."),
)
_UNIT = (
    click.option("--unit", type=click.Choice(["row"]),
                 help="Protect a row, where the domain file does not name the unit."),
    click.option("--person", metavar="COLUMN",
                 help="Or: protect a person; this column says whose row it is."),
    *PERSONS,
)
_ROWS = click.option("--rows", metavar="N", type=int,
                     help="Rows in the table: a public figure, where it cannot be counted.")
#: The newest entry of the ledger, kept outside of it.
HEAD = click.option(
    "--head", metavar="FILE",
    help="A small file that keeps the ledger's newest entry: an older copy of the ledger is "
         "refused.  It is made if it does not exist.")
#: How much memory a release may take.
MEMORY = click.option(
    "--max-memory", metavar="SIZE",
    help="Memory that a release may take beside Python, such as 2GB; rows that do not fit lie "
         "in a private file that has no name. Half of what is free where left out.")


def methods_beginning(_ctx: Any, _option: Any, incomplete: str) -> list[str]:
    """What a shell offers where a method is to be named.

    >>> methods_beginning(None, None, "rule")
    ['rule-sieve']
    """
    return [method for method in METHODS if method.startswith(incomplete)]


def _method(more: str = "") -> Command:
    return click.option(
        "--method", metavar="NAME", default="rule-sieve", show_default=True,
        shell_complete=methods_beginning,
        help="How to choose: rule-sieve, block-fwell or noisy-top-k; or with released "
             f"weights: output-fwell, objective-fwell or felp{more}.")


class OfMethod(Verb):
    """A command whose options are also those of the method that is named: no other is imported.

    Help shows those of all, and so does a refusal of what is no option of this one.
    """

    def __init__(self, name: str | None, *, methods: tuple[str, ...] = CHOOSING,
                 **more: Any) -> None:
        super().__init__(name, **more)
        self.methods = methods

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words with the options of one method; what is another's is refused as such."""
        ctx.meta[_NAMED] = named = () if _HELP & set(args) else _named(args)
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            ctx.meta[_NAMED] = ()
            super().parse_args(ctx, args)  # what no method knows is refused by click
            raise ParameterError(f"{error.option_name} is no option of {named[0]}; leave it away, "
                                 "or choose another --method") from None

    def missing(self, ctx: click.Context, given: Mapping[str, Any]) -> list[str]:
        """All that is not given and has to be: how many columns, too."""
        said, names = super().missing(ctx, given), {one.name for one in self.get_params(ctx)}
        wants = {*COUNTS} <= names and all(
            "n_features_to_select" in abouts(options_of(method)) for method in ctx.meta[_NAMED])
        if wants and not any(name in given for name in COUNTS):
            said.append("--top N (or --at-most N)")
        return said

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of the command, with those of methods before the last."""
        own, said = super().get_params(ctx), ctx.meta.get(_NAMED, ())
        more = of_methods(*([one for one in said if one in self.methods] or self.methods))
        last = next((at for at, one in enumerate(own) if one.name == "allow_weak"), len(own))
        return [*own[:last], *more, *own[last:]]


def _named(args: Sequence[str]) -> tuple[str, ...]:
    """The method that the words name, or the one that is taken where none is.

    >>> _named(["t.csv", "--method", "felp"]), _named(["--method=felp"]), _named(["t.csv"])
    (('felp',), ('felp',), ('rule-sieve',))
    """
    said = [after for word, after in pairwise([*args, ""]) if word == "--method"]
    said += [word.partition("=")[2] for word in args if word.startswith("--method=")]
    return tuple(said) or ("rule-sieve",)


def costing(*own: Command, required: bool = True, epsilon: bool = True, rows: bool = True,
            ) -> Callable[[Command], Command]:
    """Give a command its own options, and those of what costs: domain, epsilon, unit.

    required : whether it does nothing without a table; epsilon : and nothing without a cost.
    rows : whether --rows are those of the table.
    """
    said = "" if epsilon else "; without it, what each would buy"
    return asking(
        click.option("--domain", "domain_file", metavar="FILE", required=required,
                     help="The domain file: columns, bounds, label, unit."),
        click.option("--connect", metavar="FILE",
                     help='Where DATA is "sql:SELECT ...": a database of DuckDB (.duckdb, .db), '
                          "or statements that attach some (.sql)."),
        click.option("--epsilon", metavar="E", required=required and epsilon,
                     help=f"What this release may cost, for example 0.5{said}."),
        POLICY, *own, *_UNIT, *([_ROWS] if rows else []),
        click.option("--allow-weak", is_flag=True, help="Accept an epsilon above 10."))


#: Gives a command the options of a selection; its class has those of methods.
choosing = costing(*_COUNT, _method())
#: Gives a command the options of whatever can be planned; its class has those of methods.
planning = costing(
    *_COUNT, _method("; or what `regress` (kernel-ridge) or `synthesize` (noisy-histogram) would "
                     "release"), epsilon=False)


def releasing(*, required: bool = True) -> Callable[[Command], Command]:
    """Give a command the options of a release: a ledger that is charged, and a folder."""
    return asking(
        click.option("--ledger", metavar="FILE", required=required,
                     help="The budget, made by `ledger grant`."),
        click.option("--population", metavar="NAME", required=required,
                     help="The people whom the budget protects."),
        HEAD,
        click.option("--out", metavar="DIR", required=required,
                     help="The release folder; it must not exist."),
        click.option("--request", metavar="ID",
                     help="A name for this charge, which is made once: the same words again give "
                          "the same release; one is drawn where left out."),
        click.option("--signed-plan", metavar="FILE",
                     help="The plan as it was signed (privsieve sign): another one is refused "
                          "before the charge."),
        click.option("--anyway", is_flag=True,
                     help="Go on although the forecast warns."),
        MEMORY,
        click.option("--jobs", metavar="N", type=int,
                     help="Threads that work on the rows; as many as cores where left out."),
    )


class Word(click.Choice[str]):
    """One of a few words; of one that was dropped it says what to do."""

    def convert(self, value: Any, param: click.Parameter | None,
                ctx: click.Context | None) -> str:
        """Read the word."""
        if value not in self.choices and (said := explain(value, "")):
            self.fail(said, param, ctx)
        return super().convert(value, param, ctx)


def of_methods(*methods: str) -> list[click.Parameter]:
    """The options of some methods: one for each name, with the methods that know it."""
    known: dict[str, dict[str, About]] = {}
    for method in methods:
        for name, about in abouts(options_of(method)).items():
            if name not in SHARED:
                known.setdefault(name, {})[method] = about
    return [_option(name, by, methods) for name, by in known.items()]


def _option(name: str, by: Mapping[str, About], methods: Sequence[str]) -> click.Option:
    """The click option of a name."""
    about = next(iter(by.values()))
    choices = dict.fromkeys(word for one in by.values() for word in one.choices)
    several = name == "bins" or about.several is not None
    more: dict[str, Any] = {"metavar": about.metavar, "multiple": several}
    if about.read is read_flag:
        more = {"is_flag": True}
    elif about.read is whole:
        limits = sorted(map(int, choices))
        more["type"] = click.IntRange(limits[0], limits[-1]) if limits else int
    elif choices:
        more["type"] = Word(list(choices))
    return click.Option([flag(name), name], help=_help(by, methods), **more)


def _help(by: Mapping[str, About], methods: Sequence[str]) -> str:
    """What an option is for, with the methods that know it where not all do."""
    said = dict.fromkeys(about.says for about in by.values())
    if len(by) == len(methods) and len(said) == 1:
        [text] = said
        return f"{text[0].upper()}{text[1:]}."
    return "; ".join(f"{', '.join(one for one in by if by[one].says == says)}: {says}"
                     for says in said) + "."


def flag(name: str) -> str:
    """The word of the command line for an option.

    >>> flag("class_prior"), flag("groups")
    ('--class-prior', '--group')
    """
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def given(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the method as far as they were given."""
    known, values = abouts(options_of(method)), {}
    for name, value in options.items():
        # 0 was said by somebody, and is refused by the method; a flag that is not given is False
        if name in SHARED or value is None or value is False or value == ():
            continue
        if name in known:
            values[name] = _read(name, known[name], value)
    counted = any(options.get(name) is not None for name in COUNTS)
    refuse(counted and "n_features_to_select" not in known,
           f"--top and --at-most are no options of {method}, which chooses no columns; leave them "
           "away")
    refuse(options.get("at_most") is not None and "fewer" not in known,
           f"--at-most is no option of {method}, which names columns by no race; say --top N")
    refuse(not counted and "share" in values,
           "--share is for a choice: say --top K, or leave it away")
    kernel = values.get("kernel", "rbf")
    for name in ("features", "feature_seed"):
        refuse(name in values and kernel != "rbf",
               f"{flag(name)} is for --kernel rbf, and the kernel is {kernel}; leave it away")
    return values


def _read(name: str, about: About, value: Any) -> object:
    if flag(name).startswith("--no-"):
        return not value
    if name == "bins":
        return _bins(value)
    if about.several:
        return read_several(about, flag(name), value)
    return value  # it is read where the plan is made, as in Python


def demand_choosing(method: str) -> None:
    """Refuse a method that releases something else than columns.

    >>> demand_choosing("rule-sieve")
    """
    if method in VERBS:
        raise ParameterError(f"{method} chooses no columns; {VERBS[method]}")


def _bins(texts: Sequence[str]) -> str | dict[str, str]:
    """A number for every column, or the columns that have one of their own.

    >>> _bins(["4"]), _bins(["age=5", "dose=3"])
    ('4', {'age': '5', 'dose': '3'})
    """
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.rpartition("=") for text in texts]
    refuse(not all(name for name, _, _ in pairs),
           "--bins is a number for every column, or COLUMN=N once for each; write one of them")
    return {name: many for name, _, many in pairs}


def public(options: Mapping[str, Any]) -> Domain:
    """Read the domain file and add what the options say of the unit."""
    return declared(Domain.from_toml(options["domain_file"]), options)


def declared(domain: Domain, options: Mapping[str, Any]) -> Domain:
    """The domain with the unit that somebody named; there is no silent one."""
    person = options["person"]
    refuse(options["unit"] and person, TWO_UNITS)
    asked = "row" if options["unit"] else "person" if person else None
    if asked is None and not domain.unit_declared:
        raise DomainError("nobody has said what one protected unit is: give --unit row, or "
                          "--person COLUMN where a person may have several rows, or write "
                          "unit = in [table] of the domain file")
    named = {"person": person} if person else {}
    if domain.unit_declared and asked and (asked, person) != (domain.unit, domain.person):
        raise DomainError(f"the domain file protects a {domain.unit} and the options another "
                          "unit; leave the option away, or change [table]")
    counts = {name: options[name] for name in ("rows_per_person", "persons", "rows")
              if options[name] is not None}
    return replace(domain, unit_declared=True, **named, **counts)


def opened(domain: Domain, path: str, connect: str | None = None,
           ) -> tuple[Domain, Source, int | None]:
    """Open a table's structure: the domain that fits it, the source, its public number of rows."""
    from privsieve.rows import open_source, resolve

    source = open_source(path, csv=domain.csv, connect=connect)
    shape = source.shape(count_rows=domain.rows_are_public)
    return resolve(domain, shape, strict=False), source, shape.rows


def of_table(data: str, options: Mapping[str, Any]) -> tuple[Plan, Source]:
    """The plan of a release from a table, and the table, of which no row is read yet."""
    domain, source, rows = opened(public(options), data, options["connect"])
    return planned(domain, rows, options), source


def planned(domain: Domain, rows: int | None, options: Mapping[str, Any], *,
            epsilon: str | None = None) -> Plan:
    """The plan that the options ask for, at their epsilon or at another."""
    made = plan(options["method"], domain, rows=rows,
                **{**asked_for(options), "epsilon": epsilon or options["epsilon"]})
    if epsilon is None and options["policy"] is not None:  # a forecast at another epsilon is free
        from privsieve.public.policy import Policy

        kept = {"head": options["head"]} if "out" in options else {}
        Policy.load(options["policy"]).demand_plan(made, method=options["method"], **kept)
    return made


def asked_for(options: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of the method, by the names of its options."""
    about = abouts(options_of(options["method"])).get("n_features_to_select")
    wanted = about is not None and (
        about.needed or any(options.get(name) is not None for name in COUNTS))
    count = {"k": _count(options)} if wanted else {}
    if options.get("at_most") is not None:
        count["fewer"] = "auto"
    return {"epsilon": options["epsilon"], "allow_weak": options["allow_weak"], **count,
            **given(options["method"], options)}


def _count(options: Mapping[str, Any]) -> object:
    top, most = (options.get(name) for name in COUNTS)
    refuse((top is None) == (most is None),
           "say how many columns to choose: --top N or --at-most N, one of them alone")
    return most if top is None else top
