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
from privsieve.report.plans import declaration, heading, noise
from privsieve.telling.document import DataTable, Document, Fact, Text, literal

#: Names that are listed; of more only the number is said, and letters of a fact.
_NAMES, _LETTERS = 12, 240


def describe(noun: object) -> Document:
    """What is public of a noun, in a few lines.

    >>> from privsieve.public.columns import Flag, Label, Number
    >>> print(Domain([Number("age", 0, 110), Flag("smoker")], target=Label("ill", [0, 1])))
    Domain: 2 columns
      protects  one row, replace-one
      target    ill: one of 2: 0, 1
      column  declared
      age     number, 0 to 110
      smoker  yes or no
    """
    match noun:
        case Domain():
            return _domain(noun)
        case Plan():
            return _plan(noun)
        case Release():
            return _release(noun)
    assert isinstance(noun, Ledger)
    return _account(noun)


def listed(words: Sequence[object], most: int = _NAMES) -> Text:
    """Names in a list, of which the first ones are said.

    >>> from privsieve.telling.document import plain
    >>> plain(listed(["a", "b", "c"], 2))
    'a, b and 1 more'
    """
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return Text(", ".join(map(literal, words[:most])) + more)


def summary(title: str, facts: Sequence[tuple[str, str]], *tables: DataTable) -> Document:
    """A document of facts and tables; what is no `Text` came from outside."""
    return Document(literal(title), [Fact(label, text if isinstance(text, Text) else literal(text))
                                     for label, text in facts], tables)


def _domain(domain: Domain) -> Document:
    """The columns of a domain, its target, and what it protects."""
    count = "any number of" if type(domain).__name__ == "Box" else str(len(domain.columns))
    public = [f"{many} {name}" for name in ("rows", "persons") if (many := getattr(domain, name))]
    unit = "one row" if domain.person is None else (
        f"one person ({domain.person}), up to {domain.rows_per_person} rows")
    facts = [("protects", ", ".join([f"{unit}, {domain.neighbours}", *public]))]
    if domain.target is not None:
        facts.append(("target", f"{domain.target.name}: {declaration(fields_of(domain.target))}"))
    return summary(f"Domain: {count} column{'s' * (count != '1')}", facts, DataTable(
        "", ("column", "declared"),
        [(literal(column.name), literal(declaration(fields_of(column))))
         for column in domain.columns], words=2))


def _plan(plan: Plan) -> Document:
    """What a plan costs, what it protects, and what it is worth."""
    forecast: Any = plan.forecast
    facts = [(label, text if len(text) <= _LETTERS else f"{text[:_LETTERS - 1]}…")
             for label, text in heading(plan) if label != "method"]
    facts += [("cost", plan.cost.words), ("noise", noise(plan))]
    if "found_percent" in forecast:
        usual = forecast["usual_gap"]
        words = (f"{forecast['found_percent'][usual]} % of the best columns are found if they beat "
                 f"the others by {usual} (guessing: {forecast['guessing_percent']} %)")
        facts.append(("forecast", words))
    if plan.warning:
        facts.append(("warning", plan.warning))
    rows = [(f"{cost}{' (this plan)' * (exact(cost, 'cost') == plan.cost.epsilon)}", f"{found} %")
            for cost, found in forecast.get("by_cost", {}).items()]
    table = DataTable("", ("epsilon", "of the best columns found"), rows, words=2)
    return summary(f"Plan: {plan.method}", facts, *[table] * bool(rows))


def _account(ledger: Ledger) -> Document:
    """What was granted and spent, and what for; whatever keeps it from being read is said."""
    title = f"Ledger: {ledger.population}"
    try:
        kept, charges, published = ledger.account(), ledger.charges(), ledger.publications()
    except PrivsieveError as error:
        return summary(title, [("account", str(error))])
    facts = [("granted", decimal(kept.limit)), ("spent", decimal(kept.together)),
             ("left", decimal(kept.left))]
    if kept.delta_limit:
        left, whole = (decimal(one, DELTA_UNITS) for one in (kept.delta_left, kept.delta_limit))
        facts.append(("delta", f"{left} of {whole} left"))
    facts.append(("protects", "what the first release will protect" if kept.protects is None
                  else kept.protects.words))
    if ledger.request is not None:
        facts.append(("pays for", f"the request {ledger.request}, once"))
    if charges:
        done = sum(made.state == "committed" for made in charges)
        lost = f"; {len(charges) - done} charged without one" * (len(charges) > done)
        facts.append(("releases", f"{done}{lost}"))
    facts += [("published", Text(f"{listed(made.columns)} of {literal(made.snapshot)}, k = "
                                 f"{made.k}")) for made in published[-3:]]
    return summary(title, facts)


def _release(release: Release) -> Document:
    """What a release says, and at what price; of one that says nothing readable its kind."""
    body: Mapping[str, Any] = release.body
    try:
        plan, certificate = body["plan"], release.certificate
        found = "target NOT FOUND; " * bool(release.missing)
        delta = f" and delta {plan['delta']}" if plan["delta"] != "0" else ""
        facts = [*_content(body), ("cost", f"epsilon {plan['epsilon']}{delta}")]
        if certificate is None:
            facts.append(("not private", "its noise can be repeated: it has no certificate"))
        else:
            facts.append(("promise", sentence(certificate)))
            if certificate["ledger"] is None:
                facts.append(("ledger", "none adds it up with other releases"))
        if body["warning"]:
            facts.append(("warning", str(body["warning"])))
        return summary(f"Release: {found}{what(body)} by {plan['method']}", facts, *_weights(body))
    except WRONG:
        return summary(f"Release: {body.get('kind')}",
                       [("selected", listed(list(body.get("selected", ()))))])


def _content(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The names, and what else was released in few words."""
    if body["kind"] == "histogram":
        table = Histogram.read(body)
        axes = " by ".join(f"{name} ({many})"
                           for name, many in zip(table.cells.names, table.cells.shape, strict=True))
        return [("cells", f"{axes}: {table.cells.many}"),
                ("noise", f"standard deviation {_figure(table.noise.each)} on each")]
    if body["kind"] == "regression":
        model = Regression.read(body)
        only = "answers only, to " if model.map == ANSWERS else ""
        count = len(model.queries or model.values)
        return [("model", f"{model.map}, {only}{count} {'questions' if only else 'numbers'}"),
                ("noise", f"standard deviation {_figure(model.noise.each)} on each")]
    facts: list[tuple[str, str]] = [("selected", listed(body["selected"]) or "none")]
    if body["kind"] == "selection" and (counts := Selection.counts_of(body)) is not None:
        gone = counts.missing(body["domain"]["unit"])
        facts = [("target", f"not found: {gone}: check the domain file")] * bool(gone) + facts
        facts.append(("classes", counts.text))
    return facts


def _weights(body: Mapping[str, Any]) -> list[DataTable]:
    """A line for each weight."""
    if body["kind"] != "weights":
        return []
    made = ColumnWeights.read(body)
    each = f"± {_figure(made.noise.each)}"
    rows = sorted(zip(body["columns"], made.values.exact, strict=True), key=lambda one: -one[1])
    return [DataTable("", ("column", "weight", "noise", ""), [
        (literal(name), figure(value), each, "selected" if name in made.selected else "")
        for name, value in rows], words=4)]


def _figure(text: str) -> str:
    return figure(number(text), 3)
