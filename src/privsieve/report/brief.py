"""Brief: a domain, a plan, a release and an account in a few lines, for a screen or a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from privsieve.errors import PrivsieveError
from privsieve.ledger.ledger import Ledger
from privsieve.public.canonical import DELTA_UNITS, decimal, exact
from privsieve.public.domain import Domain, fields_of
from privsieve.public.plan import Plan, sentence
from privsieve.release import (
    ANSWERS,
    WRONG,
    ColumnWeights,
    Histogram,
    Regression,
    Release,
    Selection,
    figure,
    number,
    what,
)
from privsieve.report.figures import plural
from privsieve.report.plans import declaration, heading, noise
from privsieve.telling.document import DataTable, Document, Fact, Text, literal

#: How many names a list shows, and how many letters a fact has.
_NAMES, _LETTERS = 12, 240


def describe(value: object) -> Document:
    """Describe a domain, plan, release or ledger in a few lines, from public facts alone.

    >>> from privsieve.public.columns import Flag, Label, Number
    >>> print(Domain([Number("age", 0, 110), Flag("smoker")], target=Label("ill", [0, 1])))
    Domain: 2 columns
      protects  one row (replace-one)
      target    ill: one of 2: 0, 1
      column  declared
      age     number, 0 to 110
      smoker  yes or no
    """
    match value:
        case Domain():
            return _domain(value)
        case Plan():
            return _plan(value)
        case Release():
            return _release(value)
    assert isinstance(value, Ledger)
    return _account(value)


def listed(words: Sequence[object], most: int = _NAMES) -> Text:
    """Return the first names of a list, and the number of the others.

    >>> from privsieve.telling.document import plain
    >>> plain(listed(["a", "b", "c"], 2))
    'a, b and 1 more'
    """
    rest = f" and {len(words) - most:,} more" if len(words) > most else ""
    return Text(", ".join(map(literal, words[:most])) + rest)


def summary(title: str, facts: Sequence[tuple[str, str]], *tables: DataTable) -> Document:
    """Return a document of facts and tables; a fact that is not a `Text` comes from outside."""
    return Document(literal(title), [Fact(label, text if isinstance(text, Text) else literal(text))
                                     for label, text in facts], tables)


def _domain(domain: Domain) -> Document:
    """Describe the columns of a domain, its target, and what it protects."""
    count = "any number of" if type(domain).__name__ == "Box" else f"{len(domain.columns):,}"
    public = [f"{number:,} {noun}" for noun, number in (
        ("rows", domain.rows), ("people", domain.persons)) if number]
    unit = "one row" if domain.person is None else (
        f"one person (column {domain.person}) with up to {domain.rows_per_person} rows")
    facts = [("protects", ", ".join([f"{unit} ({domain.neighbours})", *public]))]
    if domain.weight is not None:
        facts.append(("row weights", f"column {domain.weight}, from 0 to {domain.weight_max}"))
    if domain.target is not None:
        facts.append(("target", f"{domain.target.name}: {declaration(fields_of(domain.target))}"))
    return summary(f"Domain: {count} column{'s' * (count != '1')}", facts, DataTable(
        "", ("column", "declared"),
        [(literal(column.name), literal(declaration(fields_of(column))))
         for column in domain.columns], words=2))


def _plan(plan: Plan) -> Document:
    """Describe what a plan costs, what it protects, and what it would find."""
    forecast: Any = plan.forecast
    facts = [(label, text if len(text) <= _LETTERS else f"{text[:_LETTERS - 1]}…")
             for label, text in heading(plan) if label != "method"]
    facts += [("cost", plan.cost.words), ("noise", noise(plan))]
    if "found_percent" in forecast:
        usual = forecast["usual_gap"]
        words = (f"{forecast['found_percent'][usual]} % of the best columns are found if they beat "
                 f"the others by {float(usual):.0%} (guessing: {forecast['guessing_percent']} %)")
        facts.append(("forecast", words))
    if plan.warning:
        facts.append(("warning", plan.warning))
    rows = [(f"{cost}{' (this plan)' * (exact(cost, 'cost') == plan.cost.epsilon)}", f"{share} %")
            for cost, share in forecast.get("by_cost", {}).items()]
    table = DataTable("", ("epsilon", "best columns found"), rows, words=2)
    return summary(f"Plan: {plan.method}", facts, *[table] * bool(rows))


def _account(ledger: Ledger) -> Document:
    """Describe what was granted and spent, and for which releases; or why it cannot be read."""
    title = f"Ledger: {ledger.population}"
    try:
        kept, charges, published = ledger.account(), ledger.charges(), ledger.publications()
    except PrivsieveError as error:
        return summary(title, [("account", str(error))])
    facts = [("granted", decimal(kept.limit)), ("spent", decimal(kept.together)),
             ("left", decimal(kept.left))]
    if kept.delta_limit:
        left, limit = (decimal(amount, DELTA_UNITS)
                       for amount in (kept.delta_left, kept.delta_limit))
        facts.append(("delta", f"{left} of {limit} left"))
    facts.append(("privacy unit", "not set yet (the first release sets it)"
                  if kept.protects is None else kept.protects.words))
    if ledger.request is not None:
        facts.append(("pays for", f"the request {ledger.request}, once"))
    if charges:
        done = sum(charge.state == "committed" for charge in charges)
        lost = f"; {plural(len(charges) - done, 'charge')} without a release" * (
            len(charges) > done)
        facts.append(("releases", f"{done:,}{lost}"))
    facts += [("published", Text(f"{listed(publication.columns)} of "
                                 f"{literal(publication.snapshot)}, k = {publication.k}"))
              for publication in published[-3:]]
    return summary(title, facts)


def _release(release: Release) -> Document:
    """Describe a release and its cost; if its files cannot be read, its kind alone."""
    body: Mapping[str, Any] = release.body
    try:
        plan, certificate = body["plan"], release.certificate
        missing = "target NOT FOUND; " * bool(release.missing)
        delta = f" and delta {plan['delta']}" if plan["delta"] != "0" else ""
        facts = [*_content(body), ("cost", f"epsilon {plan['epsilon']}{delta}")]
        if certificate is None:
            facts.append(("not private", "its noise can be repeated, so it has no certificate"))
        else:
            facts.append(("guarantee", sentence(certificate)))
            if certificate["ledger"] is None:
                facts.append(("ledger", "none: nothing adds up the costs of all releases"))
        if body["warning"]:
            facts.append(("warning", str(body["warning"])))
        return summary(f"Release: {missing}{what(body)} by {plan['method']}", facts,
                       *_weights(body))
    except WRONG:
        return summary(f"Release: {body.get('kind')}",
                       [("selected", listed(list(body.get("selected", ()))))])


def _content(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the released names, or the released numbers in a few words."""
    if body["kind"] == "histogram":
        table = Histogram.read(body)
        axes = " by ".join(f"{name} ({cells:,})"
                           for name, cells in zip(table.cells.names, table.cells.shape,
                                                  strict=True))
        return [("cells", f"{axes}: {int(table.cells.many):,}"),
                ("noise", f"standard deviation {_figure(table.noise.each)} on each")]
    if body["kind"] == "regression":
        model = Regression.read(body)
        count = f"{len(model.queries or model.values):,}"
        return [("model", f"{model.map}, " + (f"answers only, to {count} questions"
                                              if model.map == ANSWERS else f"{count} numbers")),
                ("noise", f"standard deviation {_figure(model.noise.each)} on each")]
    facts: list[tuple[str, str]] = [("selected", listed(body["selected"]) or "none")]
    if body["kind"] == "selection" and (counts := Selection.counts_of(body)) is not None:
        missing = counts.missing(body["domain"]["unit"])
        facts = [("target", f"not found: {missing}: check the domain file")] * bool(missing) + facts
        facts.append(("classes", counts.text))
    return facts


def _weights(body: Mapping[str, Any]) -> list[DataTable]:
    """Return a table of the released weights, if there are any."""
    if body["kind"] != "weights":
        return []
    weights = ColumnWeights.read(body)
    each = f"± {_figure(weights.noise.each)}"
    rows = sorted(zip(body["columns"], weights.values.exact, strict=True),
                  key=lambda pair: -pair[1])
    return [DataTable("", ("column", "weight", "noise", ""), [
        (literal(name), figure(value), each, "selected" if name in weights.selected else "")
        for name, value in rows], words=4)]


def _figure(text: str) -> str:
    return figure(number(text), 3)
