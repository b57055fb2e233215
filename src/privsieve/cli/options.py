"""What a release costs and what its method is asked for: the options of verbs that plan.

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
from privsieve.methods import METHODS, options_of, plan
from privsieve.methods.choosing import Choosing
from privsieve.public.canonical import read_flag
from privsieve.public.domain import Domain
from privsieve.public.option import RARE, About, Column, File, abouts, read_several
from privsieve.public.plan import Plan

if TYPE_CHECKING:
    from privsieve.rows import Source

#: The method that is taken where none is named.
_USUAL = "rule-sieve"
#: What releases something else than columns, and how.
OTHERS = {"kernel-ridge": "it fits a model: privsieve regress",
          "noisy-histogram": "it counts rows: privsieve synthesize"}
CHOOSING = tuple(method for method in METHODS if method not in OTHERS)
TWO_UNITS = "--unit row and --person name two units; give one of them"
_HELP = {"-h", "--help", "--help-all"}
#: Where a call of a command keeps the method that its words name.
_NAMED = "privsieve.method"
#: Where help lists the options of methods.
_OF_CHOICES, _OF_METHODS = "Columns to choose", "Method"
Method = Annotated[str, "NAME", Completed(METHODS.keys)]


def refuse(wrong: object, sentence: str) -> None:
    """Refuse options with a sentence, where something is wrong with them."""
    if wrong:
        raise ParameterError(sentence)


class MethodVerb(Verb):
    """A command whose options are also those of the method that is named: no other is imported.

    Help shows those of all, and so does a refusal of what is no option of this one.
    """

    def __init__(self, name: str | None, *, methods: Collection[str], **more: Any) -> None:
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

    def missing(self, ctx: click.Context, values: Mapping[str, Any]) -> list[str]:
        """All that has to be there and is not: how many columns, too."""
        lacks = super().missing(ctx, values)
        names = {param.name for param in self.get_params(ctx)}
        if "at_most" in names and not {"n_features_to_select", "at_most"} & set(values):
            lacks += ["--top N (or --at-most N)"] * ("n_features_to_select" in names)
        return lacks

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options of the command, with those of methods before the last."""
        own, named = super().get_params(ctx), ctx.meta.get(_NAMED, ())
        words = {word for param in own for word in param.opts}
        more = [param for param in of_methods(*(
            [name for name in named if name in self.methods] or self.methods))
            if not words & set(param.opts)]
        first = next((at for at, param in enumerate(own) if param.name == "at_most"), len(own) - 3)
        chosen = [param for param in more if param.group == _OF_CHOICES]
        rest = [param for param in more if param.group != _OF_CHOICES]
        return [*own[:first], *chosen, *own[first:-3], *rest, *own[-3:]]


def _named(args: Sequence[str]) -> tuple[str, ...]:
    """The method that the words name, or the one that is taken where none is.

    >>> _named(["t.csv", "--method", "felp"]), _named(["--method=felp"]), _named(["t.csv"])
    (('felp',), ('felp',), ('rule-sieve',))
    """
    named = [after for word, after in pairwise([*args, ""]) if word == "--method"]
    named += [word.partition("=")[2] for word in args if word.startswith("--method=")]
    return tuple(named) or (_USUAL,)


class Word(click.Choice[str]):
    """One of a few words, which the option's own field reads."""

    def convert(self, value: Any, _param: Any, _ctx: Any) -> str:
        """Return the word as it is."""
        return str(value)


def of_methods(*methods: str) -> list[VerbOption]:
    """The options of some methods: one for each name, with the methods that know it."""
    known: dict[str, dict[str, Field[Any]]] = {}
    for method in methods:
        for each in fields(options_of(method)):
            if flag(each) is not None:
                known.setdefault(each.name, {})[method] = each
    return [_option(name, by, methods) for name, by in known.items()]


def _option(name: str, by: Mapping[str, Field[Any]], methods: Sequence[str]) -> VerbOption:
    """The click option of a name."""
    first = next(iter(by.values()))
    about: About = first.metadata["about"]
    choices = dict.fromkeys(word for each in by.values() for word in each.metadata["about"].choices)
    more: dict[str, Any] = {"metavar": about.metavar, "multiple": _repeated(about)}
    if about.read is read_flag:
        more = {"is_flag": True}
    elif choices:
        more["type"] = Word(list(choices))
    option = VerbOption([str(flag(first)), name], help=_help(by, methods), **more)
    option.rare = about.rare
    option.brief = sentence(first.metadata["about"].says) if _USUAL in by else ""
    option.group = _OF_CHOICES if name in abouts(Choosing) else _OF_METHODS
    return option


def _help(by: Mapping[str, Field[Any]], methods: Sequence[str]) -> str:
    """What an option is for, with the methods that know it where not all do."""
    no = "do not " if str(flag(next(iter(by.values())))).startswith("--no-") else ""
    words = {method: f"{no}{each.metadata['about'].says}" for method, each in by.items()}
    texts = dict.fromkeys(words.values())
    if len(by) == len(methods) and len(texts) == 1:
        return sentence(next(iter(texts)))
    return "; ".join(f"{', '.join(name for name in words if words[name] == text)}: {text}"
                     for text in texts) + "."


def _repeated(about: About) -> bool:
    """Whether a command line says it several times."""
    return about.several is not None or "=" in (about.metavar or "")


def flag(known: Field[Any]) -> str | None:
    """The word of the command line for an option; None where it has none.

    >>> [flag(each) for each in fields(Choosing)][-3:]
    ['--never', '--group', '--at-most']
    """
    about: About = known.metadata["about"]
    no = "no-" if about.read is read_flag and known.default is True else ""
    return about.flag and (about.flag if about.flag != "-" else
                           f"--{no}{known.name.replace('_', '-')}")


def _value(known: Field[Any], value: Any) -> object:
    """What the words say of an option, for its field to read."""
    about: About = known.metadata["about"]
    if str(flag(known)).startswith("--no-"):
        return not value
    if about.several is not None:
        return read_several(about, str(flag(known)), value)
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


@dataclass(frozen=True, kw_only=True)
class FactOptions:
    """Table and release.

    domain : the domain file: columns, bounds, label, unit
    connect : where DATA is "sql:SELECT ...": a database of DuckDB (.duckdb, .db), or statements
        that attach some (.sql)
    """

    domain: File
    connect: Annotated[File | None, RARE] = None


@dataclass(frozen=True, kw_only=True)
class UnitOptions:
    """Privacy.

    epsilon : what this release may cost, for example 0.5
    unit : protect a row, where the domain file does not name the unit
    person : instead: protect a person; this column says whose row it is
    rows_per_person : rows of a person that are used at most
    persons : persons in the table: a public round figure
    rows : rows in the table: a public figure, where it cannot be counted
    policy : the policy of your place: what it does not allow is refused before the charge
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
        """Return the domain with the unit that is named here; there is no silent one."""
        refuse(self.unit and self.person, TWO_UNITS)
        unit = self.unit or ("person" if self.person else None)
        if unit is None and not domain.unit_declared:
            raise DomainError("nobody has said what one protected unit is: give --unit row, or "
                              "--person COLUMN where a person may have several rows, or write "
                              "unit = in [table] of the domain file")
        if domain.unit_declared and unit and (unit, self.person) != (domain.unit, domain.person):
            raise DomainError(f"the domain file protects a {domain.unit} and the options another "
                              "unit; leave the option away, or change [table]")
        facts: dict[str, Any] = {"person": self.person or None, "persons": self.persons,
                                 "rows_per_person": self.rows_per_person, "rows": rows}
        return replace(domain, unit_declared=True, **{
            name: value for name, value in facts.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class PlanOptions(UnitOptions, FactOptions):
    """What a release is planned from: all options of its verb, and those of its method."""

    COMMAND: ClassVar[Any] = MethodVerb

    method: Any = None
    at_most: Any = None
    of_method: Mapping[str, Any] = field(default_factory=dict)

    def declared(self) -> Domain:
        """Read the domain file and add what is said here of the unit."""
        return self.protecting(Domain.from_toml(self.domain), self.rows)

    def opened(self, data: str) -> tuple[Domain, Source, int | None]:
        """Open a table's structure: the domain that fits, the source, its public number of rows."""
        from privsieve.rows import open_source, resolve

        domain = self.declared()
        source = open_source(data, csv=domain.csv, connect=self.connect)
        shape = source.shape(count_rows=domain.rows_are_public)
        return resolve(domain, shape, strict=False), source, shape.rows

    def of_table(self, data: str, *, head: str | None) -> tuple[Plan, Source]:
        """Plan a release from a table, of which no row is read yet."""
        domain, source, rows = self.opened(data)
        planned = self.planned(domain, rows)
        self.demand_allowed(planned, head=head)
        return planned, source

    def planned(self, domain: Domain, rows: int | None, epsilon: str | None = None) -> Plan:
        """Plan what is asked for here, at its epsilon or at another."""
        known = {each.name: each for each in fields(options_of(self.method))}
        # 0 was said by somebody, and is refused by the method; a flag that is not there is False
        values = {name: _value(known[name], value) for name, value in self.of_method.items()
                  if value not in (None, False, ())}
        top = known.get("n_features_to_select")
        refuse(top and top.metadata["about"].needed
               and (top.name in values) == (self.at_most is not None),
               "say how many columns to choose: --top N or --at-most N, one of them alone")
        if self.at_most is not None:
            values |= {"fewer": "auto", "k": self.at_most}
        return plan(self.method, domain, rows=rows, allow_weak=self.allow_weak,
                    epsilon=epsilon or self.epsilon, **values)

    def demand_allowed(self, planned: Plan, **kept: Any) -> None:
        """Refuse a plan that the policy does not allow."""
        if self.policy is not None:
            from privsieve.public.policy import Policy

            Policy.load(self.policy).demand_plan(planned, method=self.method, **kept)


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions(PlanOptions):
    """Columns to choose.

    at_most : instead of --top: at most so many, and fewer where so many cannot be found
    """

    COMMAND: ClassVar[Any] = partial(MethodVerb, methods=CHOOSING)

    at_most: Annotated[Any, int, "N"] = None


@dataclass(frozen=True, kw_only=True)
class MethodOptions(ChoiceOptions):
    """Method.

    method : how to choose: rule-sieve, block-fwell or noisy-top-k; or with released weights:
        output-fwell, objective-fwell or felp
    """

    method: Method = _USUAL
