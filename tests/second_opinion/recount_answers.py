"""Recount the answers of a session: their grid and noise, and each answer from what was released.

Answers are made of the released numbers by the kernel of the queries, all of it public.  For many
queries that would take long: these answers are not recounted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from operator import mul
from typing import Any

from privsieve.check.reasons import failed
from privsieve.public.columns import Category, Flag, Number
from privsieve.release import figure
from second_opinion.real import Between, agrees, exponents, used
from second_opinion.recount import Facts, warned
from second_opinion.recount_model import PURE_NOISE, longest, moved

#: Half a range, a level and an absence in coordinates.
HALF, LEVEL, ABSENT, MISSING = 65536, 92_681, 131_072, 65535
#: What each kept point has of its own, as a variance.
NUGGET = 2.0**-28
MOST_RECORDS = 2**14
#: Products of a factor that are recounted, in half a second; and how near answers then are.
MOST_PRODUCTS, NEAR = 2**21, 1e-6
LAWS = {"one": "laplace", "batch": "gamma-norm"}
_ANSWER = "an answer is not the one of the released numbers"
#: Digits of lam that a session says.
_DIGITS = 6


def reasons(facts: Facts) -> Iterator[str]:
    """What of a session's answers does not follow from domain, plan and released numbers."""
    settings, release, domain = facts.settings, facts.release, facts.domain
    how, own = settings["answers"], ("answers", "queries", "kept", "points")
    features = {name: value for name, value in settings.items() if name not in own}
    queries, answers = release.get("queries"), release.get("answers")
    if queries is None or answers is None or how is None:
        yield "a session's release does not hold queries and answers"
        return
    wanted_queries, kept = len(queries), settings["kept"]
    yield from failed({
        "answers are planned for a target that is no number": isinstance(domain.target, Number),
        "a session protects one row that is replaced":
            domain.person is None and domain.replaces and 1 <= facts.units <= MOST_RECORDS,
        "the kernel of the release is not the planned one":
            release["features"] == {"map": "answers", **features},
        "the release does not name all columns":
            list(release["selected"]) == list(domain.names),
        "the release does not hold the planned queries, with one answer each":
            wanted_queries == len(answers) == settings["queries"],
        "a query is no record of the domain": all(_is_record(query, facts) for query in queries),
        "the numbers of the release are not as many as planned":
            len(release["values"]["q"]) == kept and 1 <= kept <= wanted_queries
            and (how != "one" or wanted_queries == 1),
        "an answer is no number as it is written":
            all(repr(float(text)) == text for text in answers)
            and repr(float(settings.get("gamma", "1.0"))) == settings.get("gamma", "1.0"),
        "the release does not say which queries its numbers stand for":
            ("points" in settings) == (how == "batch"),
        "no session is paid for with a delta": not facts.delta,
    })
    if not isinstance(domain.target,
                      Number) or not all(_is_record(query, facts) for query in queries):
        return
    yield from _noise(facts)
    yield from _answers(facts)


def _is_record(query: Sequence[int], facts: Facts) -> bool:
    columns = facts.columns
    most = [1 if isinstance(column, Flag) else column.levels - 1 if isinstance(column, Category)
            else MISSING for column in columns]
    return len(query) == len(columns) and all(
        code <= top for code, top in zip(query, most, strict=True))


def _noise(facts: Facts) -> Iterator[str]:
    settings, release, forecast = facts.settings, facts.release, facts.forecast
    how, epsilon, lam = settings["answers"], float(facts.epsilon), float(settings["lam"])
    # lam is told in six digits, and was used in all of them
    wide, near = sensitivity(lam, facts.units, settings), 1e-9
    if sum(digit.isdigit() for digit in settings["lam"].partition("e")[0].lstrip("0.")) >= _DIGITS:
        near = 2e-5
        wide = Between(wide.low * (1 - near), wide.high * (1 + near))
    d, norm = (1, 1) if how == "one" else (settings["kept"], 2)
    on_grid, exponent = exponents(d, wide, norm=norm), release["values"]["exponent"]
    S = used(d, wide, exponent if exponent in on_grid else min(on_grid), norm=norm)
    each = S.times({"one": math.sqrt(2) / epsilon, "batch": math.sqrt(d + 1) / epsilon}[how])
    if how == "batch":
        most = max(_kernel(settings, facts)(query, query)
                   for query in map(_point_of(facts), release["queries"]))
        each = each.times(math.sqrt(most + NUGGET))
    error = each.through(lambda x: math.sqrt(x * x + lam))
    known = {"noise_each": each.times(_half(facts.domain.target)), "noise_prediction": each,
             "expected_error": error, "longest": Between.about(longest(lam), near)}
    yield from warned(facts, each.low, PURE_NOISE)
    yield from failed({
        "the law of the noise is not the one of the answers":
            release["noise"]["law"] == LAWS[how],
        "the amount of noise is not the one of the claimed epsilon":
            agrees(release["noise"]["each"], known["noise_each"], write_figure),
        "the grid of the numbers does not follow from their sensitivity": exponent in on_grid,
        "the forecast does not follow from the plan":
            forecast.keys() == known.keys()
            and all(agrees(forecast[name], span, write_figure) for name, span in known.items())
            and forecast["noise_each"] == release["noise"]["each"],
    })


def sensitivity(lam: float, m: int, settings: Mapping[str, Any]) -> Between:
    """How far one record moves the numbers, with what rounding of the solver adds."""
    moved_by = moved(lam, m)
    lost = m * 2.0**-48 + 9 * m * m * 2.0**-53 * (1 + m * lam)
    solver = lost / (m * lam) * math.sqrt(1 / lam)
    value = 3 * (2.0**-48 + m * 2.0**-53) / lam
    if settings["answers"] == "one":
        return Between.about(min(2.0, moved_by + 2 * (solver + value)))
    n = settings["kept"]
    inverse = math.sqrt(2 / NUGGET)
    pointwise = inverse * math.sqrt(n) * value
    triangle = inverse * 2 * n * 2.0**-53 * math.sqrt(1.1 * n)
    solver_error = solver + pointwise + 2 * triangle * (longest(lam) + solver + pointwise)
    return Between.about(moved_by + 2 * solver_error)


def _answers(facts: Facts) -> Iterator[str]:
    """Each answer, from the released numbers."""
    settings, release = facts.settings, facts.release
    step = 2.0**release["values"]["exponent"]
    target: Any = facts.domain.target
    numbers = [q * step for q in release["values"]["q"]]
    queries = list(map(_point_of(facts), release["queries"]))
    if settings["answers"] == "one":
        near = 0.0 if target.scale == "linear" else 1e-12
        yield from failed({_ANSWER: _is_answer(release["answers"][0], original(numbers[0], target),
                                               near)})
        return
    points = settings.get("points")
    if points is None:
        return
    if (len(points) != settings["kept"] or len(set(points)) != len(points)
            or max(points) >= len(queries)):
        yield "the points of the released numbers are not among the queries"
        return
    if not recounted(facts.release, facts.plan):
        return
    rows = factor(queries, points, _kernel(settings, facts))
    yield from failed({_ANSWER: _make(rows, numbers, facts)})


def _make(rows: Sequence[Sequence[float]], numbers: Sequence[float], facts: Facts) -> bool:
    """Whether the answers are those that rows of a factor make of the released numbers.

    Rounding in a factor is as much of an answer as the numbers are large.
    """
    near, target = NEAR * (1 + math.hypot(*numbers)), facts.domain.target

    def new_numbers(text: str, row: Sequence[float]) -> bool:
        middle = math.fsum(map(mul, row, numbers))
        low, high = (original(middle + off, target) for off in (-near, near))
        return _is_answer(text, min(max(float(text), low), high), NEAR)

    return all(map(new_numbers, facts.release["answers"], rows))


def _is_answer(text: str, value: float, near: float) -> bool:
    return repr(float(text)) == text and math.isclose(float(text), value, rel_tol=near,
                                                      abs_tol=near)


def recounted(release: Mapping[str, Any], plan: Mapping[str, Any]) -> bool:
    """Whether the answers of a session's release are recounted; or there are none."""
    settings, queries = plan["settings"], len(release["queries"])
    if settings["answers"] == "one":
        return True
    return bool(queries * settings["kept"]**2 <= MOST_PRODUCTS)


def notes(release: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    """What of a session's answers could not be shown."""
    return failed({"the answers were not made again from the released numbers: they are too many":
                   recounted(release, plan)})


def factor(queries: Sequence[Any], points: Sequence[int], kernel: Any) -> list[list[float]]:
    """For each query its row of the factor: what it takes of each released number."""
    rows: list[list[float]] = [[] for _ in queries]
    for i, j in enumerate(points):
        column = [kernel(queries[at], queries[j])
                  - math.fsum(a * b for a, b in zip(row, rows[j], strict=False))
                  for at, row in enumerate(rows)]
        pivot = math.sqrt(max(column[j], 0.0) + NUGGET)
        for at, row in enumerate(rows):
            row.append(pivot if at == j else 0.0 if at in points[:i] else column[at] / pivot)
    return rows


def _point_of(facts: Facts) -> Any:
    """A record as a point of whole numbers."""
    def at(column: Any, code: int) -> list[int]:
        if isinstance(column, Flag):
            return [(2 * code - 1) * HALF]
        if isinstance(column, Category):
            return [LEVEL * (code == level) for level in range(column.levels)]
        gone = column.missing_level and code == MISSING
        return [0 if gone else 2 * code + 1 - HALF, ABSENT * gone]

    return lambda query: list(chain.from_iterable(map(at, facts.columns, query)))


def _kernel(settings: Mapping[str, Any], facts: Facts) -> Any:
    """How alike two points are."""
    if settings["kernel"] == "rbf":
        gamma = float(settings["gamma"]) / (2 * HALF)**2
        return lambda value, other: math.exp(
            -gamma * sum((a - b)**2 for a, b in zip(value, other, strict=True)))
    length = sum(1 if isinstance(column, Flag) else 2 if isinstance(column, Category)
                 else 4 if column.missing_level else 1 for column in facts.columns)
    degree, whole = settings.get("degree", 1), HALF**2 * (1 + length)
    return lambda value, other: float(Fraction(
        HALF**2 + sum(a * b for a, b in zip(value, other, strict=True)), whole))**degree


def _half(target: Any) -> float:
    """Half of the target's range; on a log scale of its logarithm."""
    low, high = target.ends
    return math.log(high / low) / 2 if target.scale == "log" else (high - low) / 2


def original(middle: float, target: Any) -> float:
    """An answer in the target's units, from half ranges around its middle.

    >>> [original(one, Number("days", 0, 100)) for one in (-3.0, 0.0, 0.5)]
    [0.0, 50.0, 75.0]
    """
    share, (low, high) = (min(max(middle, -1.0), 1.0) + 1) / 2, target.ends
    value = low * (high / low)**share if target.scale == "log" else low + share * (high - low)
    return float(min(max(value, low), high))


def write_figure(value: float) -> str:
    """A figure as a session says it."""
    return figure(value, _DIGITS, "g")
