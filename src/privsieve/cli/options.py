"""The options of verbs that plan a release: its cost, its table and its method.

Options of methods are not listed here: they are the fields of the methods' own classes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import click

from privsieve.cli.verb import Completed, Verb, VerbOption, sentence
from privsieve.errors import DomainError, ParameterError
from privsieve.ledger.ledger import Ledger
from privsieve.methods import METHODS, options_of, plan
from privsieve.methods.choosing import Choosing
from privsieve.public.canonical import read_flag
from privsieve.public.domain import Domain
from privsieve.public.option import RARE, About, Column, File, Name, abouts, read_several
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.rows import Source

#: The default method.
_USUAL = "rule-sieve"
#: Methods that do not choose columns, and what to use.
OTHERS = {"kernel-ridge": "use privsieve regress to fit a model",
          "noisy-histogram": "use privsieve synthesize to count rows"}
CHOOSING = tuple(method for method in METHODS if method not in OTHERS)
TWO_UNITS = "--unit row and --person name two units; give one of them"
_HELP = {"-h", "--help", "--help-all"}
#: The key of a click context for the method that the arguments name.
_NAMED = "privsieve.method"
#: The headings of the options of methods in the help.
_OF_CHOICES, _OF_METHODS = "Columns to choose", "Method"
Method = Annotated[str, "NAME", Completed(METHODS.keys)]


def refuse(wrong: object, sentence: str) -> None:
    """Refuse options with a sentence if something is wrong."""
    if wrong:
        raise ParameterError(sentence)


class MethodVerb(Verb):
    """A command with the options of the named method; other methods are not imported.

    The help shows the options of all methods.
    """

    def __init__(self, name: str | None, *, methods: Collection[str], **options: Any) -> None:
        super().__init__(name, **options)
        self.methods = methods

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with the options of one method; refuse those of other methods."""
        ctx.meta[_NAMED] = named = () if _HELP & set(args) else _named(args)
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            ctx.meta[_NAMED] = ()
            super().parse_args(ctx, args)  # click refuses an option that no method has
            raise ParameterError(f"{error.option_name} is not an option of {named[0]}; leave it "
                                 "out, or choose another --method") from None

    def missing(self, ctx: click.Context, values: Mapping[str, Any]) -> list[str]:
        """Return the required parameters without a value, also the number of columns."""
        lacks = super().missing(ctx, values)
        names = {param.name for param in self.get_params(ctx)}
        if "at_most" in names and not {"n_features_to_select", "at_most"} & set(values):
            lacks += ["--top N (or --at-most N)"] * ("n_features_to_select" in names)
        return lacks

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the command, with those of methods before the last ones."""
        own, named = super().get_params(ctx), ctx.meta.get(_NAMED, ())
        words = {word for param in own for word in param.opts}
        extra = [param for param in method_options(*(
            [name for name in named if name in self.methods] or self.methods))
            if not words & set(param.opts)]
        first = next((at for at, param in enumerate(own) if param.name == "at_most"), len(own) - 3)
        choices = [param for param in extra if param.group == _OF_CHOICES]
        rest = [param for param in extra if param.group != _OF_CHOICES]
        return [*own[:first], *choices, *own[first:-3], *rest, *own[-3:]]


def _named(args: Sequence[str]) -> tuple[str, ...]:
    """Return the method that the arguments name, or the default method.

    >>> _named(["t.csv", "--method", "felp"]), _named(["--method=felp"]), _named(["t.csv"])
    (('felp',), ('felp',), ('rule-sieve',))
    """
    named = [after for word, after in pairwise([*args, ""]) if word == "--method"]
    named += [word.partition("=")[2] for word in args if word.startswith("--method=")]
    return tuple(named) or (_USUAL,)


class Word(click.Choice[str]):
    """A choice of words; the field of the option checks it."""

    def convert(self, value: Any, _param: Any, _ctx: Any) -> str:
        """Return the word unchanged."""
        return str(value)


def method_options(*methods: str) -> list[VerbOption]:
    """Return the options of some methods: one for each name, with the methods that have it."""
    by_name: dict[str, dict[str, Field[Any]]] = {}
    for method in methods:
        for each in fields(options_of(method)):
            if flag(each) is not None:
                by_name.setdefault(each.name, {})[method] = each
    return [_option(name, by_method, methods) for name, by_method in by_name.items()]


def _option(name: str, by_method: Mapping[str, Field[Any]], methods: Sequence[str]) -> VerbOption:
    """Return the click option of a name."""
    first = next(iter(by_method.values()))
    about: About = first.metadata["about"]
    choices = dict.fromkeys(word for each in by_method.values()
                            for word in each.metadata["about"].choices)
    attributes: dict[str, Any] = {
        "metavar": about.metavar,
        "multiple": about.several is not None or "=" in (about.metavar or "")}
    if about.read is read_flag:
        attributes = {"is_flag": True}
    elif choices:
        attributes["type"] = Word(list(choices))
    option = VerbOption([str(flag(first)), name], help=_help(by_method, methods), **attributes)
    option.rare = about.rare
    option.brief = sentence(about.says) if _USUAL in by_method else ""
    option.group = _OF_CHOICES if name in abouts(Choosing) else _OF_METHODS
    return option


def _help(by_method: Mapping[str, Field[Any]], methods: Sequence[str]) -> str:
    """Return the description of an option, with the methods that have it unless all do."""
    no = "do not " if str(flag(next(iter(by_method.values())))).startswith("--no-") else ""
    words = {method: f"{no}{each.metadata['about'].says}" for method, each in by_method.items()}
    texts = dict.fromkeys(words.values())
    if len(by_method) == len(methods) and len(texts) == 1:
        return sentence(next(iter(texts)))
    return "; ".join(f"{', '.join(name for name in words if words[name] == text)}: {text}"
                     for text in texts) + "."


def flag(option: Field[Any]) -> str | None:
    """Return the flag of an option on the command line; None if it has none.

    >>> [flag(each) for each in fields(Choosing)][-3:]
    ['--never', '--group', '--at-most']
    """
    about: About = option.metadata["about"]
    no = "no-" if about.read is read_flag and option.default is True else ""
    return about.flag and (about.flag if about.flag != "-" else
                           f"--{no}{option.name.replace('_', '-')}")


def _value(option: Field[Any], value: Any) -> object:
    """Return the value of an option, for its field to read."""
    about: About = option.metadata["about"]
    if str(flag(option)).startswith("--no-"):
        return not value
    if about.several is not None:
        return read_several(about, str(flag(option)), value)
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


@dataclass(frozen=True, kw_only=True)
class FactOptions:
    """Table and release.

    domain : the domain file: columns, bounds, label, unit
    connect : for DATA of the form "sql:SELECT ...": a DuckDB database (.duckdb, .db), or SQL
        statements that attach databases (.sql)
    """

    domain: File
    connect: Annotated[File | None, RARE] = None


@dataclass(frozen=True, kw_only=True)
class UnitOptions:
    """Privacy.

    epsilon : the privacy cost of this release, for example 0.5
    unit : protect a row; needed if the domain file does not name the privacy unit
    person : protect a person instead; the column that identifies the person
    rows_per_person : the most rows of one person that are used
    persons : the approximate number of people in the table, a public figure
    rows : the number of rows in the table, a public figure; needed if it cannot be counted
    policy : the policy file of your organisation; a release that it forbids is refused before the
        charge
    allow_weak : accept an epsilon above 10
    """

    epsilon: Annotated[Any, "E"]
    unit: Literal["row"] | None = None
    person: Column | None = None
    rows_per_person: Annotated[int | None, "G"] = None
    persons: Annotated[int | None, RARE] = None
    rows: Annotated[Any, int, RARE] = None
    policy: File | None = None
    allow_weak: Annotated[bool, RARE] = False

    def protecting(self, domain: Domain, rows: int | None) -> Domain:
        """Return the domain with the privacy unit of the options; there is no default unit."""
        refuse(self.unit and self.person, TWO_UNITS)
        unit = self.unit or ("person" if self.person else None)
        if unit is None and not domain.unit_declared:
            raise DomainError("the privacy unit is not set; give --unit row, or --person COLUMN if "
                              "a person may have several rows, or write unit = in [table] of the "
                              "domain file")
        if domain.unit_declared and unit and (unit, self.person) != (domain.unit, domain.person):
            raise DomainError(f"the domain file protects a {domain.unit}, but the options protect "
                              "another unit; leave the option out, or change [table]")
        facts: dict[str, Any] = {"person": self.person or None, "persons": self.persons,
                                 "rows_per_person": self.rows_per_person, "rows": rows}
        return replace(domain, unit_declared=True, **{
            name: value for name, value in facts.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Privacy.

    ledger : the ledger with the budget; `ledger grant` makes it
    population : the name of the people whom the budget protects; use it for all their tables
    head : a small file with the ledger's newest entry, so that an older copy of the ledger is
        refused.  It is made if it does not exist
    """

    ledger: File
    population: Name
    head: Annotated[File | None, RARE] = None

    def opened(self) -> Ledger:
        """Open the account of these people."""
        return Ledger(self.ledger, population=self.population, head=self.head)


@dataclass(frozen=True, kw_only=True)
class PlanOptions(UnitOptions, FactOptions):
    """All options that plan a release: those of the verb, and those of the method."""

    COMMAND: ClassVar[Any] = MethodVerb

    method: Any = None
    at_most: Any = None
    of_method: Mapping[str, Any] = field(default_factory=dict)

    def declared(self) -> Domain:
        """Read the domain file and add the privacy unit of the options."""
        return self.protecting(Domain.from_toml(self.domain), self.rows)

    def opened(self, data: str) -> tuple[Domain, Source, int | None]:
        """Open a table without its rows; return the matching domain, the source, public rows."""
        from privsieve.rows import open_source, resolve

        domain = self.declared()
        source = open_source(data, csv=domain.csv, connect=self.connect)
        shape = source.shape(count_rows=domain.rows_are_public)
        return resolve(domain, shape, strict=False), source, shape.rows

    def of_table(self, data: str, *, head: str | None) -> tuple[Plan, Source]:
        """Plan a release from a table without reading a row."""
        domain, source, rows = self.opened(data)
        planned = self.planned(domain, rows)
        self.demand_allowed(planned, head=head)
        return planned, source

    def planned(self, domain: Domain, rows: int | None, epsilon: str | None = None) -> Plan:
        """Plan the requested release, at its epsilon or at another."""
        options = {each.name: each for each in fields(options_of(self.method))}
        # the method refuses a 0; a flag that is not set is False
        values = {name: _value(options[name], value) for name, value in self.of_method.items()
                  if value not in (None, False, ())}
        top = options.get("n_features_to_select")
        refuse(top and top.metadata["about"].needed
               and (top.name in values) == (self.at_most is not None),
               "the number of columns is missing or given twice; give either --top N or "
               "--at-most N")
        if self.at_most is not None:
            values |= {"fewer": "auto", "k": self.at_most}
        return plan(self.method, domain, rows=rows, allow_weak=self.allow_weak,
                    epsilon=epsilon or self.epsilon, **values)

    def demand_allowed(self, planned: Plan, **options: Any) -> None:
        """Refuse a plan that the policy does not allow."""
        if self.policy is not None:
            from privsieve.public.policy import Policy

            Policy.load(self.policy).demand_plan(planned, method=self.method, **options)


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions(PlanOptions):
    """Columns to choose.

    at_most : instead of --top: choose up to this number of columns, and fewer if the forecast is
        better
    """

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=CHOOSING)

    at_most: Annotated[Any, int, "N"] = None


@dataclass(frozen=True, kw_only=True)
class MethodOptions(ChoiceOptions):
    """Method.

    method : how to choose: rule-sieve, block-fwell or noisy-top-k; to release weights, too:
        output-fwell, objective-fwell or felp
    """

    method: Method = _USUAL
