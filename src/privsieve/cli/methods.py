"""The options of single methods: a method that does not know one refuses it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import click

from privsieve.errors import ParameterError

OPTIONS = (
    click.option("--delta", metavar="D",
                 help="Allow this much beyond epsilon, for example 1e-9: less noise where many "
                      "columns are chosen."),
    click.option("--ordered", is_flag=True, help="Release the order of the columns, too."),
    click.option("--class-prior", metavar="P",
                 help="rule-sieve: auto (a tenth of epsilon), centred, unbalanced, average, none, "
                      "or public class shares such as 0.2 or 0.5,0.3,0.2."),
    click.option("--order", metavar="1|2|3", type=click.IntRange(1, 3),
                 help="rule-sieve: columns that a rule may join; the size decides where this is "
                      "left out."),
    click.option("--joint", type=click.Choice(["pair", "triple", "quad"]),
                 help="rule-sieve: begin with the best set of two, three or four columns."),
    click.option("--numeric", type=click.Choice(["ranks", "all-cuts", "kendall", "median-cut"]),
                 help="rule-sieve: how a target that is a number is compared."),
    click.option("--block", metavar="M", type=int,
                 help="block-fwell, output-fwell, objective-fwell, felp: rows of a block."),
    click.option("--repeats", metavar="T", type=int,
                 help="block-fwell, output-fwell, objective-fwell: how often the table is cut into "
                      "blocks."),
    click.option("--votes", type=click.Choice(["sign", "clip"]),
                 help="block-fwell: what a block's vote is."),
    click.option("--tau", metavar="S", help="block-fwell: the largest vote with --votes clip."),
    click.option("--reference", metavar="FILE",
                 help="block-fwell, output-fwell, objective-fwell, felp: public rows in which "
                      "neighbours are looked for."),
    click.option("--lam", metavar="L",
                 help="output-fwell, objective-fwell, felp, kernel-ridge: how strongly weights are "
                      "held small."),
    click.option("--clip", metavar="S",
                 help="output-fwell, objective-fwell, felp: the length of a block's vector that "
                      "counts as 1."),
    click.option("--resamples", metavar="T", type=int, help="felp: members of the ensemble."),
    click.option("--beta", metavar="B", help="felp: the share of rows that a member takes."),
    click.option("--sampling", type=click.Choice(["balanced", "bootstrap"]),
                 help="felp: whether members take windows of rows, or draw rows."),
    click.option("--score", metavar="NAME",
                 help="noisy-top-k: mean-difference, class-counts, disagreement, "
                      "mutual-information or correlation."),
    click.option("--mechanism", type=click.Choice(["exponential", "laplace"]),
                 help="noisy-top-k: how the race is run."),
    click.option("--class-share", metavar="P",
                 help="noisy-top-k: noisy, none, or public class shares."),
    click.option("--candidate", metavar='"METHOD K NAME=VALUE …"', multiple=True,
                 help='private-tuning: one of the methods to try, such as "rule-sieve 5" or '
                      '"block-fwell 3 block=4"; give several.'),
)


def _of(method: str | None, *names: str, **more: Any) -> Callable[..., Any]:
    """An option of one method; beside those of others its help begins with the method's name."""
    said = more.pop("help")
    said = said if method is None else f"{method}: {said[0].lower()}{said[1:]}"
    return click.option(*names, help=said, **more)


def model(method: str | None = None) -> tuple[Callable[..., Any], ...]:
    """The options of a least-squares model; `method` where others stand beside them."""
    return (
        _of(method, "--kernel", type=click.Choice(["rbf", "linear", "cosine", "polynomial"]),
            help="What a prediction may look like (rbf)."),
        _of(method, "--gamma", metavar="G",
            help="Of rbf: how fast near rows become far; one over the number of columns where "
                 "left out."),
        _of(method, "--features", metavar="N", type=int,
            help="Of rbf: how many cosines and sines (200)."),
        _of(method, "--feature-seed", metavar="N", type=int,
            help="Of rbf: the public seed of their frequencies (0)."),
        _of(method, "--degree", metavar="N", type=int,
            help="Of polynomial: the largest power (2); of cosine: the number of waves (3)."),
    )


def counts(method: str | None = None) -> tuple[Callable[..., Any], ...]:
    """The options of a table of counts; `method` where others stand beside them."""
    return (
        _of(method, "--columns", metavar="A,B,…",
            help="Tabulate these columns; all where left out."),
        _of(method, "--share", metavar="S",
            help="With --top: the part of epsilon for the choice (0.5)."),
        _of(method, "--no-target", is_flag=True, help="Leave the target out of the table."),
        _of(method, "--bins", metavar="N", type=int,
            help="Bins of equal width of a number or date (8)."),
        _of(method, "--bin", "some_bins", metavar="COLUMN=N", multiple=True,
            help="Bins of one column; once for each."),
    )


#: Those of methods that choose no columns: `plan` knows them beside their own verbs.
OTHERS = (*model("kernel-ridge"), *counts("noisy-histogram"))
#: What releases something else than columns, and how.
VERBS = {"kernel-ridge": "it fits a model: privsieve regress",
         "noisy-histogram": "it counts rows: privsieve synthesize"}


def shares(text: str) -> object:
    """Read class shares, or a word.

    >>> shares("none"), shares("0.2"), shares("0.5,0.3,0.2")
    (None, '0.2', ['0.5', '0.3', '0.2'])
    """
    if text == "none":
        return None
    return text.split(",") if "," in text else text


def yes(value: object) -> bool:
    """Read a flag, or its text.

    >>> yes(True), yes("yes"), yes("no")
    (True, True, False)
    """
    said = {"True": True, "yes": True, "False": False, "no": False}
    if str(value) not in said:
        raise ValueError
    return said[str(value)]


#: The name of each in a plan, and how its text is read.
READ: Mapping[str, Callable[[Any], object]] = {
    "delta": str, "ordered": yes, "class_prior": shares, "order": int, "joint": str,
    "numeric": str, "block": int, "repeats": int, "votes": str, "tau": str, "reference": str,
    "score": str, "mechanism": str, "class_share": shares, "lam": str, "clip": str,
    "resamples": int, "beta": str, "sampling": str, "kernel": str, "gamma": str,
    "features": int, "feature_seed": int, "degree": int,
    "columns": lambda text: text.split(","), "bins": int, "share": str,
}
#: Options whose names differ from what they are in a plan.
_FLAGS = {"candidates": "--candidate", "target": "--no-target", "bins": "--bins (or --bin)"}


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the method as far as they were given; refuses those of others."""
    # 0 was said by somebody, and is refused by the method; a flag that is not given is False
    found = {name: read(options[name]) for name, read in READ.items()
             if options.get(name) is not None and options[name] is not False}
    if options.get("candidate"):
        found["candidates"] = [candidate(text) for text in options["candidate"]]
    if options.get("some_bins"):
        found["bins"] = _bins(options["some_bins"], options["bins"])
    if options.get("no_target"):
        found["target"] = False
    _check(options["method"], found)
    if "k" not in known(options["method"]) and any(
            options.get(name) is not None for name in ("top", "fraction")):
        why = (": each candidate says how many columns" if "candidates" in found
               else ", which chooses no columns")
        raise ParameterError(f"--top and --fraction are no options of {options['method']}{why}; "
                             "leave them away")
    _check_pairs(options, found)
    return found


def _check_pairs(options: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Refuse what is said of something that was not asked for."""
    if "share" in found and options.get("top") is None and options.get("fraction") is None:
        raise ParameterError("--share is for a choice: say --top K, or leave it away")
    kernel = found.get("kernel", "rbf")
    for name in ("features", "feature_seed"):
        if name in found and kernel != "rbf":
            raise ParameterError(f"--{name.replace('_', '-')} is for --kernel rbf, and the kernel "
                                 f"is {kernel}; leave it away")


def known(method: str) -> Mapping[str, Parameter]:
    """What a method's plan takes.

    >>> "k" in known("rule-sieve"), "k" in known("private-tuning")
    (True, False)
    """
    from inspect import signature

    from privsieve.methods import _older, options_of
    from privsieve.methods.option import current_abouts

    kind = options_of(method)
    if kind is None:
        return signature(_older(method)).parameters
    takes: dict[str, Any] = dict(signature(kind).parameters)
    takes |= {name: takes.get(name) for name in current_abouts(kind)}
    if "n_features_to_select" in takes:
        takes["k"] = signature(lambda *, k: k).parameters["k"]
    return takes


def choosing(method: str) -> None:
    """Refuse a method that releases something else than columns.

    >>> choosing("rule-sieve")
    """
    if method in VERBS:
        raise ParameterError(f"{method} chooses no columns; {VERBS[method]}")


def _check(method: str, found: Mapping[str, Any]) -> None:
    takes = known(method)
    for name in found:
        if name not in takes:
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            raise ParameterError(f"{flag} is no option of {method}; leave it away, or choose "
                                 "another --method")
    if "candidates" in takes and "candidates" not in found:
        raise ParameterError("--method private-tuning needs candidates: give --candidate "
                             '"METHOD K" once for each')


def _bins(each: Sequence[str], every: int | None) -> dict[str, int]:
    """The columns that have a number of bins of their own."""
    own: dict[str, int] = {}
    for text in each:
        name, _, many = text.rpartition("=")
        if not name or not _is_whole(many):
            raise ParameterError(f"--bin is {text!r}; write a column, = and a number of bins")
        own[name] = int(many)
    if every is not None:
        raise ParameterError("--bins and --bin are both given; columns without a --bin have 8: "
                             "name each that shall have another number")
    return own


def _is_whole(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= 18


def candidate(text: str) -> dict[str, Any]:
    """Read a method, how many columns, and its options.

    >>> candidate("block-fwell 3 block=4")
    {'method': 'block-fwell', 'k': 3, 'block': 4}
    """
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation without an end
        words = []
    if len(words) < 2 or not _is_whole(words[1]):  # a method and a number
        raise ParameterError(f"--candidate {text!r} is not read; write a method and a number of "
                             'columns, such as "rule-sieve 5"')
    found: dict[str, Any] = {"method": words[0], "k": int(words[1])}
    own = {}
    for word in words[2:]:
        name, _, value = word.partition("=")
        key = name.replace("-", "_")
        if key not in READ or key == "delta" or not value:
            raise ParameterError(f"--candidate {text!r} has {word!r}; write NAME=VALUE with an "
                                 "option of the method")
        try:
            own[key] = READ[key](value)
        except ValueError:
            raise ParameterError(f"--candidate {text!r} has {word!r}; its value is not "
                                 "read") from None
    choosing(words[0])
    _check(words[0], own)
    return {**found, **own}
