"""Replan: make the plan again from the request, and compare everything that follows from it.

The certificate contains the request, and the release the domain.  Cost, noise, settings, forecast,
warning and theorem follow from both.  The law of the noise, the grid of the numbers and the axes of
a table follow from the plan and the released numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from privsieve.check.certificate import RELEASE_FORMAT, demand_fields
from privsieve.check.reasons import Unreadable, failed
from privsieve.errors import PrivsieveError
from privsieve.public.canonical import RHO_UNITS, canonical, digest, parsed
from privsieve.public.columns import Label
from privsieve.public.domain import Domain, read_column
from privsieve.public.plan import UNIT, Plan, terms
from privsieve.release import (
    KINDS,
    WRONG,
    ColumnWeights,
    Histogram,
    Regression,
    Selection,
    figure,
    public,
    write_output,
)

#: The allowed relative error of figures of a session: sums in doubles differ among machines.
NEAR = 1e-5
SESSION = "kernel-ridge-session"


def plan_again(body: Mapping[str, Any], release: Mapping[str, Any]) -> Plan:
    """Make the plan of a request again; refuse an impossible request."""
    plan, domain = release["plan"], domain_of(release["domain"])
    method = str(plan["method"]).partition("/")[0]
    units = int(plan["units"]) if domain.person is None and domain.replaces else None
    try:
        if method == SESSION:
            from privsieve.methods.ridge.answers import plan_session

            planned = plan_session(domain, int(plan["units"]), plan, release.get("queries", ()))
        else:
            from privsieve.methods import plan as plan_method

            planned = plan_method(_maker(method), domain, rows=units, **_options_of(plan["asked"]))
    except (PrivsieveError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        raise Unreadable("the request of this release is impossible: privsieve refuses to plan "
                         "it") from None
    line = body["claim"]["unit"] == UNIT["line"]
    return replace(planned, record="line" if line else "row", query=plan.get("query"))


def _maker(method: str) -> str:
    """Return the method that plans a release: rule-sieve plans rule-sieve-numeric, too."""
    from privsieve.methods import METHODS

    name = next((name for name in METHODS if f"{method}-".startswith(f"{name}-")), "")
    if not name:
        raise Unreadable("plan.method is not a method of this version of privsieve")
    return name


def is_proved(claim: Mapping[str, Any]) -> bool:
    """Return whether a claim names a theorem of its method, and all of its assumptions."""
    method = str(claim["mechanism"]).partition("/")[0]
    if method == SESSION:
        from privsieve.methods.ridge.answers import ASSUMES, THEOREM

        theorems, assumes = (THEOREM,), ASSUMES
    else:
        from privsieve.methods import options_of

        kind = options_of(_maker(method))
        theorems, assumes = kind.theorems, kind.assumes
    return claim["theorem"] in theorems and tuple(claim["assumes"]) == assumes


def _options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method; of public rows only the digest is known."""
    from privsieve.methods.blocks import KnownRows

    known = options.get("reference")
    return {**options, **({} if known is None else {"reference": KnownRows(known)})}


def domain_of(fields: Mapping[str, Any]) -> Domain:
    """Read the domain of a release; refuse an impossible one."""
    try:
        columns: Any = [read_column(column) for column in fields["columns"]]
        target: Any = None if fields["target"] is None else read_column(fields["target"])
        rows: Any = fields["rows_per_person"]
        domain = Domain(columns, target, person=fields["person"], neighbours=fields["neighbours"],
                      rows_per_person=1 if rows is None else rows, rows=fields["rows"],
                      persons=fields["persons"], weight=fields.get("weight"),
                      weight_max=fields.get("weight_max"))
        written = canonical(fields)
        same = canonical(domain.json()) == written
        vars(domain)["_digest"] = digest(written)  # saves a second for many columns
    except (PrivsieveError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        same = False
    if not same:
        raise Unreadable("the domain of the release is not a valid domain")
    return domain


def plan_reasons(body: Mapping[str, Any], release: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Yield the differences of certificate and release from the plan."""
    agree = _agree_nearly if plan.method.startswith(SESSION) else _agree
    promised, before = (parsed(canonical(due)) for due in (terms(plan, {}), public(plan)))
    for name in ("claim", "domain_sha256"):
        yield from _differing(promised[name], body[name], name, agree)
    for name, due in before.items():
        yield from _differing(due, release[name], name, agree)
    known = body["ledger"] and body["ledger"]["rho"]
    if body["ledger"] is not None:
        units = plan.cost.rho_units
        yield from failed({"the rho of the charge does not follow from the plan":
                           units is None if known is None
                           else units is not None and Fraction(known) * RHO_UNITS == units})


def _differing(due: Any, value: Any, name: str, agree: Callable[[Any, Any], bool]) -> Iterator[str]:
    if isinstance(due, dict) and isinstance(value, Mapping) and due.keys() == value.keys():
        for field in due:
            if not agree(due[field], value[field]):
                yield f"{name}.{field} does not follow from the plan of this release"
    elif not agree(due, value):
        yield f"{name} does not follow from the plan of this release"


def _agree(due: Any, value: Any) -> bool:
    return bool(canonical(due) == canonical(value))


def _agree_nearly(due: Any, value: Any) -> bool:
    """Return whether values are equal up to the last digits of figures."""
    if isinstance(due, dict) and isinstance(value, Mapping):
        return due.keys() == value.keys() and all(
            _agree_nearly(due[name], value[name]) for name in due)
    if isinstance(due, list | tuple) and isinstance(value, list | tuple):
        return len(due) == len(value) and all(map(_agree_nearly, due, value))
    if due == value or not (isinstance(due, str) and isinstance(value, str)):
        return type(due) is type(value) and due == value
    try:
        a, b = float(due), float(value)
    except ValueError:
        return False
    return abs(a - b) <= NEAR * max(abs(a), abs(b)) and value in (repr(b), figure(b, 6, "g"))


def drawn_reasons(release: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Yield the contradictions between released numbers and names and the plan."""
    own: Any = KINDS[plan.kind]
    drawn = demand_fields({name: release[name] for name in own.__struct_fields__
                          if name in release}, own, "the release", RELEASE_FORMAT)
    fields = {*public(plan), *own.__struct_fields__}
    if not release.keys() <= fields:
        yield "the release has a field that is not declared"
        return
    if isinstance(drawn, Selection | Histogram):
        wrong = list(name_reasons(plan, plan.domain.names, drawn.selected))
        yield from wrong
        if wrong:
            return
    if isinstance(drawn, Selection):
        yield from selection_reasons(plan, drawn)
        return
    due = parsed(canonical(write_output(plan, _output(drawn, plan))))
    agree = _agree_nearly if plan.method.startswith(SESSION) else _agree
    for name in own.__struct_fields__:
        yield from _differing(due.get(name), release.get(name), name, agree)
    if isinstance(drawn, Histogram):
        least: Any = plan.settings["threshold"]
        yield from failed({
            "only one of release and plan has all cells":
                (drawn.cells.place == "all") == (least is None),
            "the release lists a cell below the threshold":
                least is None or all(count >= int(least) for count in drawn.cells.q)})


def name_reasons(plan: Plan, columns: Sequence[str], selected: Sequence[str]) -> Iterator[str]:
    """Yield the faults of the selected names: their number, order and membership."""
    place = {name: j for j, name in enumerate(columns)}
    places = [place.get(name, -1) for name in selected]
    yield from failed({
        "the release selects a name twice, or a name that is not among its columns":
            -1 not in places and len(set(places)) == len(places),
        "the selected columns are not in the order of the table":
            bool(plan.settings.get("ordered")) or places == sorted(places),
        "the selected columns do not match the settings of the plan":
            agrees(plan.settings, columns, selected),
    })


def agrees(settings: Mapping[str, Any], columns: Sequence[str], selected: Sequence[str]) -> bool:
    """Return whether the settings allow the selected columns; a group counts as one.

    >>> settings = {"k": 2, "always": ["age"], "groups": {"home": ["street", "zip"]}}
    >>> columns = ["age", "street", "zip", "mri"]
    >>> [agrees(settings, columns, chosen) for chosen in (columns[:3], columns[:2])]
    [True, False]
    """
    group_of = {name: group for group, members in (settings.get("groups") or {}).items()
                for name in members}
    chosen = {group_of.get(name, name) for name in selected}
    whole = {name for name in columns if group_of.get(name, name) in chosen}
    k = settings.get("k", len(columns))
    return (set(selected) == whole and len(chosen) == k
            and set(settings.get("always") or ()) <= chosen
            and not chosen & {*(settings.get("never") or ())})


def selection_reasons(plan: Plan, selection: Selection) -> Iterator[str]:
    """Yield the contradictions between a selection and its plan."""
    settings: Mapping[str, Any] = plan.settings
    counts = selection.class_counts
    branches = settings.get("branches", []) if plan.certain is None else []
    planned = plan.shows.get("class_counts")
    yield from failed({
        "the branch of the release is missing, or is not in the plan":
            selection.branch in branches if branches else selection.branch is None,
        "only one of release and plan has class counts":
            (counts is not None) == (planned is not None),
    })
    target = plan.domain.target
    if counts is not None and isinstance(target, Label):
        total = sum(map(int, counts.q))
        yield from failed({
            "the noise of the class counts differs from the plan":
                planned == {"per": counts.per, "law": counts.law, "scale": counts.scale},
            "the release does not have one count for each class":
                len(counts.q) == len(target.values),
            "the class counts do not add up to the number of units":
                len(counts.q) != 2 or not plan.domain.replaces
                or total == plan.units * counts.per,
            "the branch of the release does not follow from its class counts":
                plan.branch_of is None
                or selection.branch == plan.branch_of(tuple(map(int, counts.q))),
        })


def _output(drawn: ColumnWeights | Regression | Histogram, plan: Plan) -> Any:
    """Return the output of the mechanism, as the release stores it."""
    if isinstance(drawn, Histogram):
        from privsieve.methods.histogram.noisy_histogram import NoisyTable

        place = drawn.cells.place
        return NoisyTable(drawn.selected, None if place == "all" else list(place),
                          list(drawn.cells.q))
    settings: Mapping[str, Any] = plan.settings
    many = (len(plan.domain.columns) if isinstance(drawn, ColumnWeights)
            else settings["kept"] if "answers" in settings else settings["features"])
    if len(drawn.values) != many:
        raise Unreadable("values does not hold one number for each column, feature or answer")
    return drawn.values.q


def is_made_again(rows: bytes, release: Mapping[str, Any]) -> bool:
    """Return whether the synthetic rows in a file follow from a released table."""
    from privsieve.methods.histogram.released import synthetic_csv

    try:
        lines = csv.reader(io.StringIO(rows.decode("utf-8"), newline=""), strict=True)
        return rows == synthetic_csv(release, sum(1 for _row in lines) - 1)
    except (csv.Error, PrivsieveError, *WRONG):
        return False
