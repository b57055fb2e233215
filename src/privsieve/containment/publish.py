"""Publish: what is written of a choice, and what anybody could work out from it.

Rows leave in an order that the system's entropy drew, in a fresh table of zeros and ones, without
an index, metadata or statistics.  The level that is claimed is counted from the written file, by
a checker that shares nothing with this module (`check.table`).  The facts of a release are of the
written file alone: neither it nor its report gives away more than the table does.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privsieve.containment.breaking import MOST_COLUMNS, gains
from privsieve.containment.choice import Choice, kept_rows
from privsieve.containment.labelled import Labelled, Roles, as_known
from privsieve.containment.limits import NONE, Limits
from privsieve.containment.measures import Crowd, cells, crowd
from privsieve.containment.publishable import largest_k
from privsieve.errors import CheckFailed, DomainError, NothingFits, SchemaError
from privsieve.kernels.patterns import Rule, levels, pattern_table, superset_counts
from privsieve.public.canonical import Json
from privsieve.public.columns import check_name, text_of
from privsieve.release import FORMAT
from privsieve.rows.matrix import Items

#: A text that begins so is run by a spreadsheet that opens it.
FORMULA = ("=", "+", "-", "@")
Label = tuple[str, npt.NDArray[np.int32], Sequence[str]]
#: Pairs of patterns, and cells, that may be compared to learn what each column costs.
MOST_PAIRS, MOST_CELLS = 5 * 10**10, 2 * 10**9
#: Shares are kept as decimals, rounded up: a risk is never told too small.
_PARTS = 10**9


@dataclass(frozen=True, eq=False, repr=False)
class Projection:
    """The rows and columns that leave, in the order in which they leave.

    cells : uint8, rows x columns.
    labels : a text for each row; None where the target does not leave.
    sensitive : sensitive columns that leave, by name, with a text for each row.
    """

    names: tuple[str, ...]
    cells: npt.NDArray[np.uint8]
    target: str | None = None
    labels: tuple[str, ...] | None = None
    sensitive: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def beside(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The columns of texts: what is sensitive, then the target."""
        if self.target is None or self.labels is None:
            return self.sensitive
        return (*self.sensitive, (self.target, self.labels))


@dataclass(frozen=True, eq=False, repr=False)
class Promise:
    """What is promised of a publication: what each column is, and what the choice keeps."""

    rule: Rule
    roles: Roles
    limits: Limits = NONE


def project(table: Labelled, choice: Choice, rule: Rule, *, with_target: bool,
            with_sensitive: bool = False) -> Projection:
    """The chosen columns of the rows that stay, shuffled by the system's entropy."""
    if not choice.selected and not choice.complete:
        raise NothingFits(f"the search ended before it found a column that keeps k = {rule.k}; "
                          "give it more time (--time-limit SECONDS)")
    if not choice.selected:
        raise NothingFits(f"no column keeps k = {rule.k} in all rows and says something about the "
                          f"classes; one alone keeps at most k = {_largest(table, rule)}: "
                          "ask for less, or let some rows be left out (--suppress N)")
    part = table.items.take(choice.selected)
    target = table.target if with_target else None
    beside = table.sensitive if with_sensitive else ()
    _check_names([*part.names, *(one.name for one in beside), *([target] if target else [])])
    order = np.flatnonzero(kept_rows(table.items, table.y, rule, choice.selected)).tolist()
    if part.rows - len(order) > rule.suppress:
        raise CheckFailed("the chosen columns do not keep what was asked: this is a mistake of "
                          "privsieve; report it")
    random.SystemRandom().shuffle(order)
    cells = np.zeros((part.rows, len(part)), np.uint8)
    for j in range(len(part)):
        cells[part.indices[part.indptr[j]:part.indptr[j + 1]], j] = 1
    texts = [text_of(one) for one in table.classes]
    _check_cells(texts if target else [])
    labels = tuple(texts[table.y[row]] for row in order) if target else None
    sensitive = []
    for one in beside:
        _check_cells(one.values)
        sensitive.append((one.name, tuple(one.values[one.codes[row]] for row in order)))
    return Projection(part.names, cells[order], target, labels, tuple(sensitive))


def written(table: Projection, form: str) -> bytes:
    r"""The file of a projection, "csv" or "parquet".

    >>> written(Projection(("a", "b"), np.array([[1, 0]], np.uint8), "ill", ("no",)), "csv")
    b'a,b,ill\n1,0,no\n'
    """
    return _parquet(table) if form == "parquet" else _csv(table)


def claim_of(table: Labelled, projected: Projection, choice: Choice, promise: Promise,
             ) -> dict[str, Json]:
    """What is claimed of the table, but for its level and digest: these come from the file.

    Where k counts sources and not rows, `counted` says it; the level of the file is one of rows.
    """
    rule, items = promise.rule, table.items
    counted: dict[str, Json] = {"counted": "sources"} if table.sources is not None else {}
    beside = [name for name, _ in projected.sensitive]
    return {
        **counted,
        "kind": "containment", "k": rule.k, "model": rule.model,
        "absent": list(known_absences(table, choice, rule)),
        "l_diversity": rule.l_diversity, "suppressed": choice.suppressed,
        "columns": list(projected.names), "target": projected.target,
        "rows": len(projected.cells), "origins": [items.origin[j] for j in choice.selected],
        "roles": promise.roles.json(), "sensitive": list(beside),
        "limits": {**promise.limits.json(), "ordered": [
            one.name for one in table.sensitive if one.ordered and one.name in beside]},
        "fingerprint": None,
    }


def known_absences(table: Labelled, choice: Choice, rule: Rule) -> list[str]:
    """The published items of which it may be known that somebody lacks them, one by one."""
    if rule.absent is None or rule.model == "k-anonymity":
        return []
    return [table.items.names[j] for j in choice.selected if rule.absent[j]]


def body_of(items: Items, choice: Choice, plan: Mapping[str, Json]) -> dict[str, Json]:
    """The release: names, and how they were chosen.  `selected` are columns of the table.

    A column of which only some items leave stands in `partial` with these.  `complete` is false
    where time or Ctrl-C ended the search.
    """
    chosen: dict[str, list[str]] = {}
    for j in choice.selected:
        chosen.setdefault(items.origin[j], []).append(items.names[j])
    partial = {name: names for name, names in chosen.items()
               if len(names) < items.origin.count(name)}
    return {
        "format": FORMAT,
        "kind": "containment",
        "columns": [items.names[j] for j in choice.selected],
        "selected": list(chosen),
        "partial": partial,
        "complete": choice.complete,
        "plan": dict(plan),
    }


def _largest(table: Labelled, rule: Rule) -> int:
    """The largest k that a column which somebody has keeps by itself, however few its classes."""
    some = np.flatnonzero(np.diff(table.items.indptr))
    absent = None if rule.absent is None else rule.absent[some]
    return largest_k(table.items.take(some.tolist()), table.y,
                     replace(rule, l_diversity=1, absent=absent))


def _check_names(names: Sequence[str]) -> None:
    """Refuse names that a reader of the file could not tell apart, see, or open safely."""
    for name in names:
        try:
            check_name(name)
        except DomainError as error:
            raise SchemaError(str(error)) from None
        if name.startswith(FORMULA):
            raise SchemaError(f"column {name!r} begins with {name[0]!r}, and a spreadsheet would "
                              "run it as a formula; rename it")
    if len(set(names)) < len(names):
        raise SchemaError("the target has the name of a column; rename one")


def _check_cells(texts: Sequence[str]) -> None:
    """The same for the labels, of which the text is not said."""
    for text in texts:
        number = text[1:].replace(".", "", 1).isdecimal()
        unsafe = text.startswith(FORMULA) and not (number and text[0] in "+-")
        if unsafe or not text.isprintable():
            raise SchemaError("a label of the target or a sensitive value begins like a formula, "
                              "or is not printable; rename it")


def _csv(table: Projection) -> bytes:
    head = _line([*table.names, *(name for name, _ in table.beside)])
    rows, width = table.cells.shape
    body = np.full((rows, 2 * width), ord(","), np.uint8)
    body[:, ::2] = table.cells + ord("0")
    if not table.beside:
        body[:, -1] = ord("\n")
        return head + body.tobytes()
    texts = list(zip(*(texts for _, texts in table.beside), strict=True))
    ends = {text: _line(text) for text in set(texts)}
    return head + b"".join(piece for row, text in zip(body, texts, strict=True)
                           for piece in (row.tobytes(), ends[text]))


def _line(fields: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue().encode()


def _parquet(table: Projection) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(column.astype(np.int8)) for column in table.cells.T]
    fields = [pa.field(name, pa.int8(), nullable=False) for name in table.names]
    for name, texts in table.beside:
        arrays.append(pa.array(texts, pa.string()))
        fields.append(pa.field(name, pa.string(), nullable=False))
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays, schema=pa.schema(fields)), sink, write_statistics=False,
                   store_schema=False, compression="zstd")
    return sink.getvalue()


def facts(table: Projection, claim: Mapping[str, Any]) -> dict[str, Json]:
    """Crowds for each stranger, what each column costs, and how often a crowd has one class.

    Strangers: `known` knows what the roles say of the columns; `known_class` the class, too;
    `all` every cell; `all_class` and the class; `everything` also what is sensitive.

    >>> from privsieve.containment.publish import Projection
    >>> table = Projection(("x0", "x1"), np.array([[1, 1], [1, 0], [1, 0]], np.uint8))
    >>> claim = {"k": 2, "absent": [], "model": "containment", "roles": {"target_known": False}}
    >>> found = facts(table, claim)
    >>> found["items"], found["strangers"]["known"]["bins"]
    ([['x0', 3, 1], ['x1', 1, 3]], [[1, 1, 1], [2, None, 2]])
    """
    items, k = Items.dense(table.cells, table.names), claim["k"]
    hidden = set(items.names if claim["model"] == "k-anonymity" else claim["absent"])
    absent = np.array([name in hidden for name in items.names], np.bool_)
    label = None if table.target is None else _label(table.target, table.labels or ())
    strangers = _strangers(table, items, absent, label)
    with_class = claim["roles"]["target_known"]
    promised = "known_class" if with_class else "known"
    crowds = {who: crowd(sizes, k) for who, sizes in strangers.items()}
    patterns = len(np.unique(table.cells, axis=0))
    without = _without(as_known(items, absent, label if with_class else None), items, patterns)
    return {
        "rows": items.rows, "patterns": patterns, "promised": promised,
        "strangers": {who: _said(found, k) for who, found in crowds.items()},
        **_one_class(items, absent, label),
        "items": [[name, rows, None if without is None else
                   without.get(name, crowds[promised].level)]
                  for name, rows in zip(items.names, np.diff(items.indptr).tolist(), strict=True)],
    }


def _strangers(table: Projection, items: Items, absent: npt.NDArray[np.bool_],
               label: Label | None) -> dict[str, npt.NDArray[np.int64]]:
    """The crowd of each row, for each stranger."""
    def sizes(known: Items) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        found = levels(cells(known), np.zeros(items.rows, np.int32), 1)
        return found.group, found.equal

    found = {}
    found["known"], found["all"] = sizes(as_known(items, absent, None))
    whole = items
    if label is not None:
        whole = as_known(items, None, label)
        found["known_class"], found["all_class"] = sizes(as_known(items, absent, label))
    for name, texts in table.sensitive:
        whole = as_known(whole, None, _label(name, texts))
    if table.sensitive:
        found["everything"] = sizes(whole)[1]
    return found


def _label(name: str, texts: Sequence[str]) -> Label:
    values, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return name, codes.astype(np.int32), values.tolist()


def _without(known: Items, items: Items, patterns: int) -> dict[str, int] | None:
    """The promised level without each column; None where that would take too long.

    What it takes depends on the published table alone, which everybody has.
    """
    told = (len(items) <= MOST_COLUMNS and len(items) * patterns**2 <= MOST_PAIRS
            and items.rows * len(items)**2 <= MOST_CELLS)
    return gains(known) if told else None


def _one_class(items: Items, absent: npt.NDArray[np.bool_], label: Label | None,
               ) -> dict[str, Json]:
    """Rows whose whole crowd has one class, for who knows the columns alone; None of no class."""
    if label is None:
        return {"one_class": None}
    _, codes, values = label
    table = pattern_table(cells(items), codes, len(values), absent)
    classes = (superset_counts(table.masks, table.counts) > 0).sum(axis=1)
    return {"one_class": int(table.counts.sum(axis=1)[classes == 1].sum())}


def _said(found: Crowd, k: int) -> dict[str, Json]:
    average = -int(-found.average * _PARTS // 1)
    return {"level": found.level, "below": found.below, "alone": dict(found.sizes).get(1, 0),
            "average": f"{average // _PARTS}.{average % _PARTS:09d}", "bins": _bins(found, k)}


def _bins(found: Crowd, k: int) -> list[list[int | None]]:
    """How many rows have a crowd from this size to that; the first bin is what k forbids."""
    starts = [1, *_starts(k, found.sizes[-1][0])]
    sizes = np.array([size for size, _ in found.sizes])
    rows = np.array([rows for _, rows in found.sizes])
    counts = np.bincount(np.searchsorted(starts, sizes, side="right") - 1, rows, len(starts))
    ends = [*(start - 1 for start in starts[1:]), None]
    return [[low, high, int(count)] for low, high, count in zip(starts, ends, counts, strict=True)]


def _starts(k: int, largest: int) -> Iterator[int]:
    """The first size of each bin from k on: k, then 1, 2 or 5 times a power of ten."""
    yield k
    unit = 1
    while True:
        for start in (unit, 2 * unit, 5 * unit):
            if start > largest:
                return
            if start > k:
                yield start
        unit *= 10
