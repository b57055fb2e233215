"""Regression: what a page says of a formula that predicts the target, released with noise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from markupsafe import Markup

from privsieve.report import frame
from privsieve.report.claim import Column, Common, common_of, settings
from privsieve.report.markup import (
    clean,
    count,
    facts,
    name,
    pair,
    paragraph,
    points,
    section,
    table,
)
from privsieve.report.values import Noise, amount, bars, noise_of, numbers_of, read, up

#: More weights than this are a file for a machine: the page shows no bars.
_MOST = 300
#: The map of which only answers leave.
ANSWERS = "answers"
#: The features of each map, in words and as a term.
_MAPS = {
    "linear": (
        ("The prediction is a weighted sum of the columns, each brought to one scale by its "
         "declared bounds."), "linear map"),
    "fourier": (
        ("The prediction is a weighted sum of waves across the columns. The waves were drawn from "
         "a public seed, and not from the table."), "random Fourier features of a Gaussian kernel"),
    "cosine": ("The prediction is a weighted sum of cosine waves, slow ones and faster ones.",
               "cosine features, exact and finite"),
    "polynomial": ("The prediction is a weighted sum of products of columns.",
                   "polynomial features, exact and finite"),
    ANSWERS: (
        ("Only answers were released: what the formula says of some rows that were public before. "
         "The formula itself was not."), "predictions at queries, with noise"),
}


class RegressionPage(NamedTuple):
    """All that the public edition may say; made of release.json and certificate.json.

    weights : a label for each number, where each belongs to a column alone
    answers : to queries, where no formula was released
    """

    common: Common
    used: tuple[Column, ...]
    map: str
    parameters: tuple[tuple[str, str], ...]
    numbers: tuple[Fraction, ...]
    weights: tuple[tuple[str, Fraction], ...]
    answers: tuple[str, ...] | None
    noise: Noise
    length: Fraction | None
    longest: Fraction | None
    prediction: Fraction | None
    error: Fraction | None
    bound: Fraction | None


def page_of(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> RegressionPage:
    """The page of a released model; what is not in the two files becomes None."""
    common, forecast = common_of(release, certificate), release.get("forecast") or {}
    features = {key: value for key, value in release["features"].items() if key != "map"}
    kind, numbers = release["features"]["map"], numbers_of(release)
    labels = labels_of(release.get("domain")) if kind == "linear" else []
    noise, answers = noise_of(release), None
    if kind == ANSWERS:
        # what leaves is on another scale; the forecast speaks of an answer
        noise = Noise(noise.law, read(forecast.get("noise_each", release["noise"]["each"])))
        answers = tuple(noise.shown(read(text)) for text in release["answers"])
    return RegressionPage(
        common, common.declared(release["selected"]), kind, tuple(settings(features)), numbers,
        tuple(zip(labels, numbers, strict=True)) if len(labels) == len(numbers) else (),
        answers, noise, *(amount(forecast, key) for key in (
            "noise_length", "longest", "noise_prediction", "expected_error", "error_bound")))


def labels_of(domain: Mapping[str, Any] | None) -> list[str]:
    """What the numbers of a linear map belong to: the constant, then columns and their levels.

    >>> labels_of({"columns": [{"kind": "number", "name": "age", "missing": "level"},
    ...                        {"kind": "category", "name": "ward", "values": ["A"]}]})
    ['(constant)', 'age', 'age: missing', 'ward: A', 'ward: other']
    """
    found = ["(constant)"] if domain else []
    for column in domain["columns"] if domain else ():
        if column["kind"] == "category":
            found += [f"{column['name']}: {value}" for value in (*column["values"], "other")]
            continue
        found.append(column["name"])
        if column.get("missing") == "level":
            found.append(f"{column['name']}: missing")
    return found


def page(told: RegressionPage) -> bytes:
    """The whole page."""
    d, many = len(told.used), len(told.numbers)
    about = frame.outcome(told.common)
    columns = "1 column" if d == 1 else f"{count(d)} columns"
    formula = told.answers is None
    return frame.page(told.common, frame.Words(
        title=f"How is the outcome predicted from {columns}?",
        question=Markup("How is {} predicted from {}?").format(about, columns),
        asked=(Markup("{} {} from {}.").format("A formula that predicts" if formula else
                                               "Predictions of", about, columns),
               "least squares with a ridge"),
        answered=(_answered(told),
                  f"released with noise; its standard deviation is {up(told.noise.each)} on each"),
        unprotected=(Markup(
            "<b>The values in these columns.</b> Only the numbers of the formula may leave; how "
            "well it fits this very table was not measured."),
            "the claim is about the numbers of the model, and what is worked out from them"),
        result="model" if formula else "list of answers",
        covered=f"{'model' if formula else 'answers'}, made of {count(many)} numbers",
        sections=(("model", "The model", _model(told)), ("free", "What it is good for",
                                                         _free(told))),
        good=("How good the predictions are", _good(told)),
        limits=(Markup("<b>The cells of the table.</b> That a formula predicts {} says almost "
                       "nothing about anybody. The true value would.").format(about),),
        learnt="What the formula predicts for somebody is learnt about everybody who has such "
               "values, in the table or not.",
        silent="number without noise, error on the table, count, warning or running time",
        parameters=(("columns", f"{d} used of {len(told.common.columns)}"),
                    ("numbers", count(many)), ("law of the noise", told.noise.words))))


def _answered(told: RegressionPage) -> str:
    many, one = (len(told.numbers), "number") if told.answers is None else (
        len(told.answers), "answer")
    said = f"{count(many)} {one}{'' if many == 1 else 's'}"
    if told.answers is not None:
        return f"{said}, with noise."
    return f"{said}, from which anybody can work out predictions."


def _model(told: RegressionPage) -> Markup:
    plain, term = _MAPS.get(told.map, ("The prediction is a weighted sum of features.",
                                         clean(told.map)))
    parameters = [facts("Its parameters", [(clean(key), name(value))
                                         for key, value in told.parameters])
                  ] if told.parameters else []
    shown = _weights(told) if told.answers is None else _answers(told.answers)
    return section("model", "The model", pair(plain, term), *parameters, *shown,
                   frame.declared("What was public about its columns before", told.used[:_MOST]))


def _weights(told: RegressionPage) -> list[Markup]:
    """The weight of each column, where a number belongs to one."""
    if not 0 < len(told.weights) <= _MOST:
        return [paragraph("The numbers stand in release.json." + (
            "" if told.map == "linear" else " None of them belongs to one column alone."))]
    ranked = sorted(told.weights, key=lambda one: (-abs(one[1]), one[0]))
    return [bars("The weight of each column, the farthest from zero first",
                 "Column (line: zero; band: noise)",
                 [(label, value, True) for label, value in ranked], told.noise),
            paragraph("Band: one standard deviation of the noise on each side of zero. A weight "
                      "above zero: larger values of the column go with larger predictions. Every "
                      "column runs from −1 to 1 between its declared bounds. Columns that go "
                      "together share their weight, and none is a cause by that.")]


def _answers(answers: tuple[str, ...]) -> list[Markup]:
    if not answers:
        return [paragraph("No answer stands in this release: its cost pays for a function that is "
                          "asked later.")]
    more = [paragraph(f"The other {count(len(answers) - _MOST)} stand in release.json.")] if (
        len(answers) > _MOST) else []
    return [table("The answers, in the order of the queries", ["Query", "Answer"],
                  [[count(at), text] for at, text in enumerate(answers[:_MOST], 1)]), *more]


def _free(told: RegressionPage) -> Markup:
    title, about = "What can be worked out from it, at no further cost", frame.outcome(told.common)
    if told.answers is not None:
        return section("free", title, paragraph(
            "Whatever follows from these answers alone, such as their order, their mean, or what "
            "lies between them. Another query costs more of the budget."))
    return section(
        "free", title,
        points([
            Markup("<b>Predictions</b> of {} for any rows, as many and as often as wanted: "
                   "<code>privsieve predict</code> needs this release, and neither the table nor "
                   "a ledger.").format(about),
            Markup("<b>What a change would do:</b> the formula can be asked for rows that nobody "
                   "has."),
            Markup("<b>Which columns matter:</b> by how far the predictions move when one of them "
                   "does."),
        ]),
        paragraph("Whoever tries the formula on the rows that it was made of learns more than was "
                  "paid for: such a figure stays with the holder of the table."))


def _good(told: RegressionPage) -> Markup:
    known = [(label, text.format(up(value))) for label, text, value in (
        ("Noise on each number", "standard deviation {}", told.noise.each),
        ("Noise on all together", "about {} long", told.length),
        ("The numbers without noise", "at most {} long, together", told.longest),
        ("Noise on a prediction", "standard deviation {} of half the target’s range",
         told.prediction),
        ("Expected error of a prediction", "{} of half the target’s range", told.error),
        ("Bound of that error", "{} of half the target’s range", told.bound)) if value is not None]
    missing = [] if told.error is not None or told.bound is not None else [paragraph(
        "This release holds no forecast of the error of a prediction.")]
    return section(
        "good", "How good the predictions are likely to be", *frame.warned(told.common),
        pair("Nobody looked: these numbers are public, and were known before the first row was "
             "read. Nothing was measured on the table.",
             "lengths are Euclidean; errors are roots of mean squares; rounded up"),
        facts("Known before", known), *missing,
        paragraph("How well the formula fits this very table is not known here: to measure it "
                  "would cost more of the budget."))
