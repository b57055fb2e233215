"""Regression: what the page of a formula or of answers fills into `words/regression.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privsieve.release import number
from privsieve.report.frame import Known, paths
from privsieve.report.numbers import MOST, Weighed, numbers, weight_table
from privsieve.report.plans import settings
from privsieve.report.private import declarations
from privsieve.telling.document import DataTable, Fact, literal, name
from privsieve.telling.prose import blocks


def regression(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what the page of a formula, or of its answers alone, fills in."""
    known = numbers(release, certificate)
    content, noise = known["content"], known["noise"]
    formula, size = content.answers is None, len(content.values)
    answers = [noise.text_of(number(text)) for text in content.answers or ()]
    labels = labels_of(release["domain"]) if content.map == "linear" else []
    weights = [Weighed(label, value, chosen=True) for label, value in zip(
        labels, content.values.exact, strict=False)]
    weights.sort(key=lambda weight: (-abs(weight.value), weight.name))
    drawn = [weight_table("The weight of each column, the largest first", weights, noise)
             ] if formula and len(labels) == size and 0 < size <= MOST else []
    return {
        **known, "formula": formula, "answers": answers, "k": len(content.selected), "size": size,
        "map": f"map_{content.map}" if f"map_{content.map}" in blocks(
            *paths("private", "regression")) else "map_other",
        "features": [Fact(literal(key), name(value)) for key, value in settings(
            {key: value for key, value in content.features.items() if key != "map"})],
        "drawn_weights": drawn, "more": len(answers) - MOST,
        "drawn": drawn if formula else [DataTable(
            "The answers, in the order of the queries", ("Query", "Answer"),
            [[f"{at:,}", text] for at, text in enumerate(answers[:MOST], 1)])],
        "declared": declarations(release, "Public declarations of these columns",
                                 content.selected[:MOST]),
    }


def labels_of(domain: Mapping[str, Any]) -> list[str]:
    """Return the names of the numbers of a linear map: the constant, then columns and levels.

    >>> labels_of({"columns": [{"kind": "number", "name": "age", "missing": "level"},
    ...                        {"kind": "category", "name": "ward", "values": ["A"]}]})
    ['(constant)', 'age', 'age: missing', 'ward: A', 'ward: other']
    """
    labels = ["(constant)"]
    for column in domain["columns"]:
        if column["kind"] == "category":
            labels += [f"{column['name']}: {value}" for value in (*column["values"], "other")]
            continue
        labels.append(column["name"])
        if column.get("missing") == "level":
            labels.append(f"{column['name']}: missing")
    return labels
