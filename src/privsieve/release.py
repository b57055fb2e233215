"""Release: the published result: public facts and the output of a mechanism, without rows.

A class for each kind declares its fields: makers write it, pages and users read it.  Numbers are
written as texts, or as integers on a public grid, so that reading them is exact.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, prod
from operator import lt
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec import Meta, Struct

from privsieve.entries import load as load_entry
from privsieve.errors import SchemaError
from privsieve.public.canonical import (
    LARGEST,
    Json,
    canonical,
    digest,
    exact,
    parsed,
    quoted,
    text_of,
)
from privsieve.public.canonical import exactly as exactly  # noqa: PLC0414
from privsieve.public.dropped import OF_FIRST, is_of_first
from privsieve.public.plain import read
from privsieve.public.plan import Plan, sought
from privsieve.public.printed import Printed

if TYPE_CHECKING:
    from pathlib import Path


FORMAT = "privsieve-release/1"
#: The most classes that a sentence names.
SHOWN = 8
#: The exceptions that a file with a wrong form can raise.
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
#: The map of a regression that releases answers only.
ANSWERS = "answers"
#: A class may be empty if its count is at most this many scales of the noise, and this fraction of
#: the average class.  The count of an empty class is larger with probability e^-7 / 2.
NEAR, LEAST = 7, Fraction(1, 5)

#: The forms of numbers; longer ones would be an attack on the time of a reader.
_NUMBER = r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?"
_SCALE = r"[0-9]{1,40}([./][0-9]{1,40})?"
#: Smaller figures are written with an exponent.
_LEAST = Decimal("1e-9")


@dataclass(frozen=True, repr=False)
class Release(Printed):
    """A release and its certificate, each as JSON.

    `certificate` is None if the noise was replayed, which protects nobody.
    """

    body: Mapping[str, Json]
    certificate: Mapping[str, Json] | None

    @classmethod
    def of(cls, plan: Plan, output: Any, *, replayed: bool) -> Self:
        """Make a release, without a certificate, from a plan and the mechanism's output."""
        drawn: dict[str, Json] = {"replayed": True} if replayed else {}
        return cls({**public(plan), **drawn, **write_output(plan, output)}, None)

    @property
    def selected(self) -> tuple[str, ...]:
        """Return the selected names."""
        return tuple(self.body["selected"])  # type: ignore[arg-type]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return all names that could have been selected."""
        return tuple(self.body["columns"])  # type: ignore[arg-type]

    @property
    def missing(self) -> str:
        """Return a warning if the noisy counts show that a class is missing; else empty."""
        counts = Selection.counts_of(self.body) if "class_counts" in self.body else None
        domain: Any = self.body.get("domain")
        gone = "" if counts is None else counts.missing(domain["unit"])
        return gone and f"{gone}: check the domain file"

    @property
    def right(self) -> int | None:
        """Return how many names would be right on a usual table, from public numbers.

        Return None without a forecast, and if a class is missing.
        """
        forecast: Any = self.body.get("forecast") or {}
        if self.missing:
            return None
        usual = (forecast.get("found_percent") or {}).get(str(forecast.get("usual_gap")))
        plan: Any = self.body["plan"]
        if usual is None or exact(plan["epsilon"], "epsilon") == 0:
            return None
        return int(usual) * sought(plan["settings"]) // 100

    @property
    def expected(self) -> str:
        """Return `right` in a sentence; empty without a forecast."""
        if self.right is None:
            return ""
        plan: Any = self.body["plan"]
        named, wanted = len(self.selected), sought(plan["settings"])
        names = f"these {named}" if wanted == named else f"the {wanted} wanted columns"
        right = (f"about {self.right} of {names} would be right" if self.right else
                 f"hardly any of {names} would be right")
        if named == 1:
            right = f"this name would {'probably' if self.right else 'hardly'} be right"
        return (f"{right} on a usual table (estimated from the table's size, not from its " "rows)")

    @property
    def bytes(self) -> bytes:
        """Return the bytes of `release.json`."""
        return canonical(self.body)

    @property
    def sha256(self) -> str:
        """Return the digest in the certificate."""
        return digest(self.bytes)

    def plot(self, ax: Any = None) -> Any:
        """Draw the release, with Matplotlib (the extra `plot`)."""
        return load_entry("export", "release").from_release(self).plot(ax)

    def save(self, folder: str | Path) -> None:
        """Write the release and its report into a new folder."""
        from privsieve.folder import Folder

        with Folder.create(folder) as opened:
            opened.stage("release.json", self.bytes)
            if self.certificate is not None:
                opened.stage("certificate.json", canonical(self.certificate))
            opened.link()
            opened.sync()
            if self.certificate is not None and not load_entry("core", "report")(
                    opened, self.body, self.certificate):
                warnings.warn("the report could not be written; `privsieve report DIR` writes it "
                              "later", stacklevel=2)


def load(folder: str | Path) -> Release:
    """Read a release folder without checking it; see `verify`.

    >>> import tempfile, numpy as np, privsieve as ps
    >>> X = np.arange(4000.0).reshape(1000, 4) % 97 / 97
    >>> sieve = ps.RuleSieve(k=1, epsilon=2, domain=ps.Domain.box(0, 1)).fit(X, X[:, 2] > 0.5)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     sieve.release_.save(f"{place}/first")
    ...     ps.load(f"{place}/first").selected == sieve.release_.selected
    True
    """
    from pathlib import Path

    body, place = _read(Path(folder) / "release.json"), Path(folder) / "certificate.json"
    certificate = _read(place) if place.exists() or place.is_symlink() else None
    if certificate is not None and is_of_first(certificate):
        raise SchemaError(OF_FIRST)
    if body.get("format") != FORMAT:
        raise SchemaError(f"release.json has format {quoted(body.get('format'))}; this version "
                          f"reads {FORMAT!r}")
    if not all(_is_names(body.get(name)) for name in ("columns", "selected")):
        raise SchemaError("release.json lacks its columns or its selected names; use the file "
                          "that privsieve wrote")
    return Release(body, certificate)


def public(plan: Plan) -> dict[str, Json]:
    """Return the fields of a release that are known before rows are read."""
    return {
        "format": FORMAT,
        "kind": plan.kind,
        "columns": list(plan.domain.names),
        "domain": plan.domain.json(),
        "forecast": plan.forecast,
        "plan": plan.json(),
        "warning": plan.warning,
    }


def write_output(plan: Plan, output: Any) -> Mapping[str, Json]:
    """Return the fields of release.json that hold a mechanism's output.

    Where the plan has no `says`, the output is the positions of the selected columns.
    """
    if plan.says is not None:
        return plan.says(output)
    return Selection(tuple(plan.domain.names[j] for j in output),
                     **getattr(output, "fields", {})).write()


#: The numbers of a release; its fields refuse others.
Whole = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Decimals = Annotated[str, Meta(pattern=f"^(?:{_NUMBER})$", max_length=90)]
Scale = Annotated[str, Meta(pattern=f"^(?:{_SCALE})$", max_length=90)]


class Kind(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The output of a mechanism, of one kind: fields with their types; others are refused."""

    kind: ClassVar[str] = ""
    #: The error about a missing field.
    lacks: ClassVar[str] = ""

    def write(self) -> dict[str, Json]:
        """Return the fields of release.json."""
        fields: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(self))
        return fields

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """Read the fields of a release; refuse a file in another form."""
        with _refused(f"{cls.lacks}; use the file that privsieve wrote"):
            return msgspec.convert({name: body[name] for name in cls.__struct_fields__
                                    if name in body}, cls)


class Selection(Kind, frozen=True):
    """The selected names of columns, and further released facts about the selection.

    branch : the branch of the plan.
    class_counts : noisy counts of the classes, for their weights; see `NoisyCounts`.

    >>> Selection(("age",)).write(), Selection.read({"selected": [], "branch": "pairs"}).branch
    ({'selected': ['age']}, 'pairs')
    """

    kind = "selection"
    lacks = "release.json lacks the selected names, or a figure beside them is invalid"
    selected: tuple[str, ...]
    branch: str | None = None
    class_counts: CountFields | None = None

    @classmethod
    def counts_of(cls, body: Mapping[str, Any]) -> NoisyCounts | None:
        """Return the noisy counts of the classes, or None."""
        with _refused("release.json lacks the noisy count of a class; use the file that privsieve "
                      "wrote"):
            counts = cls.read(body).class_counts
            return None if counts is None else NoisyCounts.read(counts, body)


class CountFields(Struct, frozen=True, forbid_unknown_fields=True):
    """Noisy counts of the classes as a release holds them."""

    q: Annotated[tuple[Annotated[str, Meta(pattern="^(0|-?[1-9][0-9]{0,39})$")], ...],
                 Meta(min_length=2)]
    per: Annotated[int, Meta(ge=1, le=LARGEST)]
    law: Literal["discrete-laplace"]
    scale: Scale


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts of the classes: q / per units each, with discrete Laplace noise.

    scale : the mean of each geometric half of the noise on q.

    >>> counts = NoisyCounts((2990, 10), 1, Fraction(10), ("nein", "ja"), 3000)
    >>> counts.text, counts.missing("row")
    ('nein about 2,990, ja about 10 of 3,000 (± 30)', 'class ja: about 10 of 3,000 rows')
    >>> counts.write()
    CountFields(q=('2990', '10'), per=1, law='discrete-laplace', scale='10')
    """

    q: tuple[int, ...]
    per: int
    scale: Fraction
    names: tuple[str, ...] = ()
    units: int = 0

    def write(self) -> CountFields:
        """Return the field "class_counts" of release.json."""
        return CountFields(tuple(map(str, self.q)), self.per, "discrete-laplace",
                           exactly(self.scale))

    @classmethod
    def read(cls, fields: CountFields, body: Mapping[str, Any]) -> Self:
        """Read the noisy counts of a release."""
        names = tuple(map(text_of, body["domain"]["target"]["values"]))
        if len(names) != len(fields.q):
            raise ValueError("the number of counts differs from the number of classes")
        return cls(tuple(map(int, fields.q)), fields.per, Fraction(fields.scale), names,
                   int(body["plan"]["units"]))

    @property
    def about(self) -> list[int]:
        """Return the count of each class in units, between 0 and all units."""
        return [min(max(0, round(Fraction(count, self.per))), self.units) for count in self.q]

    @property
    def reach(self) -> int:
        """Return the 95 % margin of error of each count, in units."""
        return ceil(3 * self.scale / self.per)

    @property
    def text(self) -> str:
        """Return all counts, in a few words."""
        counts = [f"{name} about {count:,}" for name, count in zip(
            self.names, self.about, strict=True)]
        rest = [f"{len(counts) - SHOWN} more"] * (len(counts) > SHOWN)
        return f"{', '.join([*counts[:SHOWN], *rest])} of {self.units:,} (± {self.reach:,})"

    def missing(self, unit: str) -> str:
        """Return the classes that may be empty, in words.

        It is a function of the release and of public numbers alone.
        """
        limit = min(NEAR * self.scale, LEAST * self.units * self.per / len(self.q))
        gone = [f"class {name}: about {count:,} of {self.units:,} {unit}s"
                for name, count, q in zip(self.names, self.about, self.q, strict=True)
                if q <= limit]
        rest = [f"and {len(gone) - SHOWN} more"] * (len(gone) > SHOWN)
        return "; ".join([*gone[:SHOWN], *rest])


class GridNumbers(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers on a public grid: each is q times a power of two.

    >>> GridNumbers(-1, (3, -2)).exact, GridNumbers(-1, (3, -2)).doubles
    ((Fraction(3, 2), Fraction(-1, 1)), [1.5, -1.0])
    """

    exponent: Annotated[int, Meta(ge=-1074, le=970)]
    q: tuple[Whole, ...]

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return len(self.q)

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """Return the numbers, exactly."""
        step = Fraction(2) ** self.exponent
        return tuple(q * step for q in self.q)

    @property
    def doubles(self) -> list[float]:
        """Return the numbers as doubles, exactly."""
        return [float(number) for number in self.exact]


#: Laws of noise on numbers.
Law = Literal["gamma-norm", "gaussian", "laplace", "discrete-laplace"]


class NoiseLaw(Struct, frozen=True, forbid_unknown_fields=True):
    """The law of the noise, and the standard deviation of the noise on a number, as a text."""

    law: Law
    each: Decimals


class ColumnWeights(Kind, frozen=True):
    """A noisy weight of each column, and the names of the largest ones."""

    kind = "weights"
    lacks = "release.json lacks the weight of each column"
    selected: tuple[str, ...]
    values: GridNumbers
    noise: NoiseLaw


class Regression(Kind, frozen=True):
    """A formula that predicts the target, or answers of a formula that is not released.

    features : the name and public parameters of the map
    queries, answers : if only answers are released, else None; an answer is the text of a double
    """

    kind = "regression"
    lacks = "release.json lacks fields that a prediction needs"
    selected: tuple[str, ...]
    features: dict[str, Any]
    values: GridNumbers
    noise: NoiseLaw
    queries: tuple[tuple[Annotated[int, Meta(ge=0, le=65535)], ...], ...] | None = None
    answers: tuple[Decimals, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse answers without a map, or for other queries."""
        if "map" not in self.features or (
                self.map == ANSWERS) != (self.queries is not None) or (
                len(self.queries or ()) != len(self.answers or ())):
            raise ValueError("the number of answers differs from the number of queries")

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """Read the fields of a release."""
        if body.get("kind") != cls.kind:
            raise SchemaError(f"the release has kind {body.get('kind')!r}; predictions need a "
                              "release of `privsieve regress` or PrivateKernelRidge")
        return super().read(body)

    @property
    def map(self) -> str:
        """Return the name of the map."""
        return str(self.features["map"])


class TableCells(Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of a table; its last axis changes fastest.

    shape : the number of cells of each axis
    bins : for an axis of numbers or dates, the ends of its bins, as texts
    place : the cells that have a count, in order, or "all"
    """

    names: Annotated[tuple[str, ...], Meta(min_length=1)]
    shape: tuple[Annotated[int, Meta(ge=1, le=65536)], ...]
    bins: dict[str, tuple[str, ...]]
    place: Literal["all"] | tuple[Annotated[int, Meta(ge=0, le=LARGEST)], ...]
    q: tuple[Whole, ...]

    @property
    def many(self) -> int:
        """Return the number of cells, with and without a count."""
        return prod(self.shape)

    @property
    def places(self) -> Sequence[int]:
        """Return the cells that have a count."""
        return range(self.many) if isinstance(self.place, str) else self.place

    def __post_init__(self) -> None:
        """Refuse counts of cells outside of the table."""
        cells = 1
        for size in self.shape:  # stops early: a file may have very many sizes
            cells *= size
            if cells > LARGEST:
                raise ValueError("there are more cells than a double can count")
        if len(self.q) != (cells if self.place == "all" else len(self.place)) or (
                self.place and self.place != "all" and not (
                    self.place[-1] < cells and all(map(lt, self.place, self.place[1:])))):
            raise ValueError("the number of counts differs from the number of cells")


class Histogram(Kind, frozen=True):
    """A table of noisy counts."""

    kind = "histogram"
    lacks = "the release contains no table of counts"
    selected: tuple[str, ...]
    cells: TableCells
    noise: NoiseLaw


#: The kinds of releases that cost epsilon.
KINDS = {kind.kind: kind for kind in (Selection, ColumnWeights, Regression, Histogram)}


def number(text: object) -> Fraction:
    """Read a decimal text of a release exactly; raise if it is longer than privsieve writes.

    >>> number("-1.5e-3"), number(figure(0.5))
    (Fraction(-3, 2000), Fraction(1, 2))
    """
    if not isinstance(text, str) or not re.fullmatch(_NUMBER, text):
        raise ValueError("a number of the release is not in the form that privsieve writes")
    return Fraction(text)


def figure(value: float | Fraction, digits: int = 4, form: Literal["f", "g", "e"] = "f") -> str:
    """Write a number in a few digits: as plain decimals unless it is tiny, or in another form.

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


def what(release: Mapping[str, Any], certificate: Mapping[str, Any] | None = None) -> str:
    """Describe a release in a few words; a publication needs its certificate."""
    chosen, kind = release["selected"], release["kind"]
    if kind == "containment" and certificate is not None:
        claim = certificate["claim"]
        rows = "" if claim.get("rows") is None else f" of {claim['rows']:,} rows"
        return (f"a table{rows} with {_several(len(claim['columns']))} of zeros and ones, without "
                "noise")
    columns = _several(len(release["columns"]))
    if kind == "regression":
        return ("answers with noise to some questions" if release["features"]["map"] == ANSWERS
                else "a formula with noise, from which predictions follow")
    counts = ", noisy counts of the classes" * (release.get("class_counts") is not None)
    return {"weights": f"a weight with noise for each of {columns}",
            "histogram": f"a table of counts with noise over {_several(len(chosen))}",
            }.get(kind, f"the names of {len(chosen):,} of {columns}{counts}")


def _several(columns: int) -> str:
    return f"{columns:,} column{'s' * (columns != 1)}"


@contextmanager
def _refused(words: str) -> Iterator[None]:
    """Refuse a file in a wrong form with these words."""
    try:
        yield
    except WRONG:
        raise SchemaError(words) from None


def _read(path: Path) -> dict[str, Json]:
    way = "; name a release folder that privsieve wrote"
    try:
        value = parsed(read(path, path.name, ValueError, named=False))
    except ValueError:
        raise SchemaError(f"{path.name} is missing, is a link or is not JSON of at most 64 MB{way}"
                          ) from None
    if not isinstance(value, dict):
        raise SchemaError(f"{path.name} is not a release{way}")
    return value


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
