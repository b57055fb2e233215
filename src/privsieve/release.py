"""Release: what leaves: public facts and a mechanism's output, and no row.

A class for each kind says its fields once: a maker writes it, a page and a user read it.  Numbers
leave as texts, or as integers on a public grid, so that reading gives exactly what was written.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from privsieve.errors import SchemaError
from privsieve.frozen import dataclass
from privsieve.public.canonical import Json, canonical, digest, exact, parsed, quoted, text_of
from privsieve.public.plan import Plan, sought
from privsieve.public.printed import Printed

if TYPE_CHECKING:
    from pathlib import Path

    from privsieve.displays import ReleaseDisplay
    from privsieve.public.description import Described
    from privsieve.public.shown import Shown

FORMAT = "privsieve-release/1"
#: The file of a release is far below; more is an attack on memory.
LARGEST_FILE = 64 * 2**20
#: So many classes are named in a sentence.
SHOWN = 8
#: What a file that privsieve did not write can raise.
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
#: Of the map of which only answers leave.
ANSWERS = "answers"
#: What a release of columns may say beside their names, and its type in JSON.
BESIDE_NAMES = {"branch": str, "sure": int, "described": dict, "class_counts": dict}
#: A class is not told from none up to so many scales of the noise on its count (an empty class has
#: more with a chance of e^-7 / 2), and up to this part of the units by the number of classes.
NEAR, LEAST = 7, Fraction(1, 5)

#: What a release can hold; more would be an attack on the time that a reader takes.
_NUMBER = r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?"
_SCALE = r"[0-9]{1,40}([./][0-9]{1,40})?"
#: A double has no other exponent.
_EXPONENTS = range(-1074, 971)
#: Smaller figures have an exponent, not a long row of zeros.
_LEAST = Decimal("1e-9")
_EXACT = Context(prec=28)


@dataclass(frozen=True, repr=False)
class Release(Printed):
    """A release and its certificate, each as JSON.

    `selected` are names; `certificate` is None where the noise was replayed, which protects nobody.
    """

    body: Mapping[str, Json]
    certificate: Mapping[str, Json] | None

    @classmethod
    def of(cls, plan: Plan, output: Any, *, replayed: bool) -> Self:
        """What leaves of a plan and its mechanism's output; its certificate is still to be made."""
        drawn: dict[str, Json] = {"replayed": True} if replayed else {}
        return cls({**public(plan), **drawn, **said(plan, output)}, None)

    def _shown(self) -> Shown:
        from privsieve.brief import of_release

        return of_release(self)

    @property
    def selected(self) -> tuple[str, ...]:
        """The names that were chosen."""
        return tuple(self.body["selected"])  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        """All names that could have been chosen."""
        return tuple(self.body["columns"])  # type: ignore[arg-type]

    @property
    def missing(self) -> str:
        """That the target was not found, and what to do, by the noisy counts; else empty."""
        counts = Selection.counts_of(self.body) if "class_counts" in self.body else None
        domain: Any = self.body.get("domain")
        gone = "" if counts is None else counts.missing(domain["unit"])
        return gone and f"{gone}: check the domain file"

    @property
    def right(self) -> int | None:
        """How many names would be right on a usual table: a forecast from public numbers.

        None where nothing is forecast, and where a class was not found.
        """
        made: Any = self.body.get("forecast") or {}
        if self.missing:
            return None
        usual = (made.get("found_percent") or {}).get(str(made.get("usual_gap")))
        plan: Any = self.body["plan"]
        if usual is None or exact(plan["epsilon"], "epsilon") == 0:
            return None
        return int(usual) * sought(plan["settings"]) // 100

    @property
    def expected(self) -> str:
        """The same in a sentence; empty where nothing is forecast."""
        if self.right is None:
            return ""
        plan: Any = self.body["plan"]
        named, of = len(self.selected), sought(plan["settings"])
        those = f"these {named}" if of == named else f"the {of} of these {named} that were sought"
        right = f"of {those} about {self.right} would be" if self.right else (
            f"of {those} hardly one would be")
        if named == 1:
            right = f"this name would {'' if self.right else 'hardly '}be"
        return f"{right} right on a usual table (a forecast from public numbers: nobody looked)"

    @property
    def bytes(self) -> bytes:
        """`release.json`, byte for byte."""
        return canonical(self.body)

    @property
    def sha256(self) -> str:
        """The digest that the certificate binds."""
        return digest(self.bytes)

    def plot(self, ax: Any = None) -> ReleaseDisplay:
        """Draw what was released, with Matplotlib (the extra `plot`)."""
        from privsieve.displays import ReleaseDisplay

        return ReleaseDisplay.from_release(self).plot(ax)

    def save(self, folder: str | Path) -> None:
        """Write the release folder, with its report; it must not exist."""
        from privsieve.ledger.folder import Folder
        from privsieve.report import write_report

        with Folder.create(folder) as opened:
            opened.stage("release.json", self.bytes)
            if self.certificate is not None:
                opened.stage("certificate.json", canonical(self.certificate))
            opened.link()
            opened.sync()
            if self.certificate is not None and not write_report(opened, self.body,
                                                                 self.certificate):
                warnings.warn("the report could not be written; `privsieve report DIR` writes it "
                              "later", stacklevel=2)


def load(folder: str | Path) -> Release:
    """Read a release folder; `verify` says whether it is what its certificate claims.

    >>> import tempfile, numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> sieve = ps.RuleSieve(k=1, epsilon=2, domain=ps.Domain.box(0, 1)).fit(X, X[:, 2] > 0.5)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     sieve.release_.save(f"{place}/first")
    ...     ps.load(f"{place}/first").selected == sieve.release_.selected
    True
    """
    from pathlib import Path

    body = _read(Path(folder) / "release.json")
    if body.get("format") != FORMAT:
        raise SchemaError(f"release.json says format {quoted(body.get('format'))}; this version "
                          f"reads {FORMAT!r}")
    if not all(_is_names(body.get(name)) for name in ("columns", "selected")):
        raise SchemaError("release.json does not say its columns and those that were selected; "
                          "take the file as privsieve wrote it")
    certificate = Path(folder) / "certificate.json"
    there = certificate.exists() or certificate.is_symlink()
    return Release(body, _read(certificate) if there else None)


def public(plan: Plan) -> dict[str, Json]:
    """What a release says that is known before rows are read."""
    return {
        "format": FORMAT,
        "kind": plan.kind,
        "columns": list(plan.domain.names),
        "domain": plan.domain.json(),
        "forecast": plan.forecast,
        "plan": plan.json(),
        "warning": plan.warning,
    }


def said(plan: Plan, output: Any) -> Mapping[str, Json]:
    """What a release says of a mechanism's output; positions are those of selected columns."""
    if plan.says is not None:
        return plan.says(output)
    return Selection(tuple(plan.domain.names[j] for j in output),
                     **getattr(output, "said", {})).write()


@dataclass(frozen=True)
class Selection:
    """Names of columns, and what else was released of the choice.

    branch : which of the ways that the plan lists was taken.
    sure : at least so many of them are related to the target, if rows were drawn independently.
    described : figures of the chosen columns with noise, by their names.
    class_counts : noisy counts of the classes, which weighed them; see `NoisyCounts`.

    >>> Selection(("age",)).write(), Selection.read({"selected": ["age"], "sure": 1}).sure
    ({'selected': ['age']}, 1)
    """

    kind: ClassVar = "selection"
    selected: tuple[str, ...]
    branch: str | None = None
    sure: int | None = None
    described: Mapping[str, Json] | None = None
    class_counts: Mapping[str, Json] | None = None

    def write(self) -> dict[str, Json]:
        """The fields of release.json."""
        more = {name: getattr(self, name) for name in BESIDE_NAMES}
        return {"selected": list(self.selected),
                **{name: value for name, value in more.items() if value is not None}}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """What a release says."""
        with _refused("release.json lacks the names that were selected; take the file as privsieve "
                      "wrote it"):
            more = {name: body[name] for name in BESIDE_NAMES if name in body}
            if any(type(value) is not BESIDE_NAMES[name] for name, value in more.items()):
                raise ValueError("a figure beside the names is of another type")
            found = cls(_names(body["selected"]), **more)
            if found.sure is not None and not 0 <= found.sure <= len(found.selected):
                raise ValueError("more columns are said to be sure than were chosen")
            if found.described is not None and not found.descriptions:
                raise ValueError("no column is described")
            return found

    @classmethod
    def counts_of(cls, body: Mapping[str, Any]) -> NoisyCounts | None:
        """The noisy counts of the classes, where some were drawn."""
        with _refused("release.json has no noisy count for each class; take the file as privsieve "
                      "wrote it"):
            counts = cls.read(body).class_counts
            return None if counts is None else NoisyCounts.read(counts, body)

    @property
    def descriptions(self) -> dict[str, Described]:
        """What is said of each chosen column, by its name; none where nothing was asked."""
        if not self.described:
            return {}
        from privsieve.public.description import descriptions

        return descriptions(self.described, self.selected)

    def counted(self, target: str, unit: str) -> str:
        """The count of sure columns, in a sentence; empty where none was asked for.

        >>> Selection(("age", "stay"), sure=1).counted("back", "row")[:41]
        'at least 1 of these 2 is related to back,'
        """
        if self.sure is None:
            return ""
        verb = "is" if self.sure == 1 else "are"
        return (f"at least {self.sure} of these {len(self.selected)} {verb} related to {target}, "
                f"with 95 % confidence, if {unit}s were drawn independently")


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts of the classes: q / per units each, with discrete Laplace noise.

    scale : the mean of each geometric half of the noise on q.

    >>> counts = NoisyCounts((2990, 10), 1, Fraction(10), ("nein", "ja"), 3000)
    >>> counts.text, counts.missing("row")
    ('nein about 2,990, ja about 10 of 3,000 (± 30)', 'class ja: about 10 of 3,000 rows')
    >>> counts.write()
    {'q': ['2990', '10'], 'per': 1, 'law': 'discrete-laplace', 'scale': '10'}
    """

    q: tuple[int, ...]
    per: int
    scale: Fraction
    names: tuple[str, ...] = ()
    units: int = 0

    def write(self) -> dict[str, Json]:
        """The field "class_counts" of release.json."""
        return {"q": [str(count) for count in self.q], "per": self.per, "law": "discrete-laplace",
                "scale": exactly(self.scale)}

    @classmethod
    def read(cls, said: Mapping[str, Any], body: Mapping[str, Any]) -> Self:
        """What a release says."""
        names = tuple(map(text_of, body["domain"]["target"]["values"]))
        if len(names) != len(said["q"]) or _integers([said["per"]])[0] < 1 or not (
                re.fullmatch(_SCALE, said["scale"])):
            raise ValueError("there is not one count for each class, or their noise has no scale")
        return cls(tuple(int(number(count)) for count in said["q"]), said["per"],
                   Fraction(said["scale"]), names, int(body["plan"]["units"]))

    @property
    def about(self) -> list[int]:
        """The count of each class in units, within what is possible."""
        return [min(max(0, round(Fraction(count, self.per))), self.units) for count in self.q]

    @property
    def reach(self) -> int:
        """Within so many units of the true count each lies with 95 % confidence."""
        return ceil(3 * self.scale / self.per)

    @property
    def text(self) -> str:
        """All counts, in a few words."""
        counts = [f"{name} about {count:,}" for name, count in zip(
            self.names, self.about, strict=True)]
        more = [f"{len(counts) - SHOWN} more"] * (len(counts) > SHOWN)
        return f"{', '.join([*counts[:SHOWN], *more])} of {self.units:,} (± {self.reach:,})"

    def missing(self, unit: str) -> str:
        """The classes that are not told from none, in words; empty where all are there.

        A function of what was released and of public numbers alone.
        """
        limit = min(NEAR * self.scale, LEAST * self.units * self.per / len(self.q))
        gone = [f"class {name}: about {count:,} of {self.units:,} {unit}s"
                for name, count, q in zip(self.names, self.about, self.q, strict=True)
                if q <= limit]
        more = [f"and {len(gone) - SHOWN} more"] * (len(gone) > SHOWN)
        return "; ".join([*gone[:SHOWN], *more])


@dataclass(frozen=True)
class GridNumbers:
    """Numbers on a public grid: q times a power of two, each.

    >>> GridNumbers(-1, (3, -2)).exact, GridNumbers.read({"exponent": -1, "q": [3, -2]}).doubles
    ((Fraction(3, 2), Fraction(-1, 1)), [1.5, -1.0])
    """

    exponent: int
    q: tuple[int, ...]

    def write(self) -> dict[str, Json]:
        """The field "values" of release.json."""
        return {"exponent": self.exponent, "q": list(self.q)}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """What a release says."""
        if _integers([values["exponent"]])[0] not in _EXPONENTS:
            raise ValueError("the numbers of the release lie on no grid of doubles")
        return cls(values["exponent"], _integers(values["q"]))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.q)

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The numbers, exactly."""
        step = Fraction(2) ** self.exponent
        return tuple(q * step for q in self.q)

    @property
    def doubles(self) -> list[float]:
        """The numbers as doubles: each is one."""
        return [float(number) for number in self.exact]


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise, and the standard deviation of that of one number, as a text."""

    law: str
    each: str

    def write(self) -> dict[str, Json]:
        """The field "noise" of release.json."""
        return {"law": self.law, "each": self.each}

    @classmethod
    def read(cls, noise: Mapping[str, Any]) -> Self:
        """What a release says."""
        number(noise["each"])
        return cls(str(noise["law"]), noise["each"])


@dataclass(frozen=True)
class ColumnWeights:
    """A weight with noise for each column, and the names of the largest."""

    kind: ClassVar = "weights"
    selected: tuple[str, ...]
    values: GridNumbers
    noise: NoiseLaw

    def write(self) -> dict[str, Json]:
        """The fields of release.json."""
        return {"selected": list(self.selected), "values": self.values.write(),
                "noise": self.noise.write()}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """What a release says."""
        with _refused("release.json lacks the weight of each column; take the file as privsieve "
                      "wrote it"):
            return cls(_names(body["selected"]), GridNumbers.read(body["values"]),
                       NoiseLaw.read(body["noise"]))


@dataclass(frozen=True)
class Regression:
    """A formula that predicts the target, or answers of one that stays behind.

    features : the map, by its name and public parameters
    queries, answers : where only answers leave, and None else; an answer is the text of a double
    """

    kind: ClassVar = "regression"
    selected: tuple[str, ...]
    features: Mapping[str, Json]
    values: GridNumbers
    noise: NoiseLaw
    queries: tuple[tuple[int, ...], ...] | None = None
    answers: tuple[str, ...] | None = None

    @property
    def map(self) -> str:
        """The name of the map."""
        return str(self.features["map"])

    def write(self) -> dict[str, Json]:
        """The fields of release.json."""
        model: dict[str, Json] = {
            "selected": list(self.selected), "features": dict(self.features),
            "values": self.values.write(), "noise": self.noise.write()}
        if self.queries is None or self.answers is None:
            return model
        return {**model, "queries": [list(query) for query in self.queries],
                "answers": list(self.answers)}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """What a release says."""
        if body.get("kind") != cls.kind:
            raise SchemaError(f"the release is of the kind {body.get('kind')!r}; predictions need "
                              "one that `privsieve regress` or PrivateKernelRidge made")
        with _refused("release.json lacks what a prediction needs; take the file as privsieve "
                      "wrote it"):
            model = cls(_names(body["selected"]), dict(body["features"]),
                        GridNumbers.read(body["values"]), NoiseLaw.read(body["noise"]))
            if model.map != ANSWERS:
                return model
            answers = tuple(map(number, body["answers"]))
            queries = tuple(_integers(query) for query in body["queries"])
            if len(answers) != len(queries):
                raise ValueError("there is not one answer to each query")
            return replace(model, queries=queries, answers=tuple(body["answers"]))


@dataclass(frozen=True)
class Histogram:
    """A table of counts with noise; of its axes the last changes fastest.

    shape : the number of cells of each axis
    bins : of an axis of numbers or dates the ends of its bins, as texts
    place : which cells have a count; None where all do
    """

    kind: ClassVar = "histogram"
    selected: tuple[str, ...]
    names: tuple[str, ...]
    shape: tuple[int, ...]
    bins: Mapping[str, tuple[str, ...]]
    place: tuple[int, ...] | None
    q: tuple[int, ...]
    noise: NoiseLaw

    @property
    def cells(self) -> int:
        """How many cells there are, with a count or without."""
        return prod(self.shape)

    def write(self) -> dict[str, Json]:
        """The fields of release.json."""
        return {
            "selected": list(self.selected),
            "cells": {
                "names": list(self.names),
                "shape": list(self.shape),
                "bins": {name: list(ends) for name, ends in self.bins.items()},
                "place": "all" if self.place is None else list(self.place),
                "q": list(self.q),
            },
            "noise": self.noise.write(),
        }

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """What a release says."""
        with _refused("the release holds no table of counts; name one that NoisyHistogram or "
                      "privsieve synthesize made"):
            cells = body["cells"]
            return cls(
                _names(body["selected"]), _names(cells["names"]), _integers(cells["shape"]),
                {str(name): _names(ends) for name, ends in cells["bins"].items()},
                None if cells["place"] == "all" else _integers(cells["place"]),
                _integers(cells["q"]), NoiseLaw.read(body["noise"]))


def number(text: object) -> Fraction:
    """A decimal text of a release, exactly; a longer one than privsieve writes raises.

    >>> number("-1.5e-3"), number(figure(0.5))
    (Fraction(-3, 2000), Fraction(1, 2))
    """
    if not isinstance(text, str) or not re.fullmatch(_NUMBER, text):
        raise ValueError("a number of the release is not one that privsieve writes")
    return Fraction(text)


def figure(value: float | Fraction, digits: int = 4, form: Literal["f", "g", "e"] = "f") -> str:
    """A number in a few digits: in plain decimals where it is not tiny, or in Python's other forms.

    >>> figure(0.000123456), figure(1234.5678, 2), figure(Fraction(1, 2)), figure(1e-30)
    ('0.0001235', '1200', '0.5', '1e-30')
    >>> figure(0.0000312345, 4, "e"), figure(0.0312345, 3, "g")
    ('3.123e-05', '0.0312')
    """
    power = f"{float(value):.{digits - 1}e}"
    if form == "e":
        return power
    if form == "g" or 0 < abs(Decimal(power)) < _LEAST:
        return f"{float(value):.{digits}g}"
    text = f"{Decimal(power):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exactly(value: Fraction, form: Literal["f", "g"] = "f") -> str:
    """A fraction as decimals where it has them, and as a quotient else; `Fraction` reads it.

    >>> exactly(Fraction(9, 10)), exactly(Fraction(1, 3)), exactly(Fraction(1, 10**6), "g")
    ('0.9', '1/3', '1e-06')
    """
    text = f"{float(value):.12g}" if form == "g" else format(
        _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    return text if Fraction(text) == value else str(value)


def _integers(values: Sequence[Any]) -> tuple[int, ...]:
    if not isinstance(values, list | tuple) or any(type(value) is not int for value in values):
        raise ValueError("what should be integers is not")
    return tuple(values)


def _names(values: Sequence[Any]) -> tuple[str, ...]:
    if not _is_names(values):
        raise ValueError("what should be texts is not")
    return tuple(values)


@contextmanager
def _refused(words: str) -> Iterator[None]:
    """What privsieve did not write is refused in the words of its kind."""
    try:
        yield
    except WRONG:
        raise SchemaError(words) from None


def _read(path: Path) -> dict[str, Json]:
    from privsieve.public.plain import opened

    try:
        with opened(path) as file:
            data = file.read(LARGEST_FILE + 1)
        value = parsed(data) if len(data) <= LARGEST_FILE else None
    except (OSError, ValueError):
        raise SchemaError(f"{path.name} is missing, is a link or is not JSON; name a release "
                          "folder that privsieve wrote") from None
    if not isinstance(value, dict):
        raise SchemaError(f"{path.name} is not a release, or larger than 64 MB; name a release "
                          "folder that privsieve wrote")
    return value


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
