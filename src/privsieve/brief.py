"""Brief: what was released, and a ledger's account, in a few lines for a screen or a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privsieve.errors import PrivsieveError
from privsieve.public.canonical import DELTA_UNITS, decimal
from privsieve.public.plan import sentence
from privsieve.public.shown import Shown, names
from privsieve.release import (
    ANSWERS,
    WRONG,
    ColumnWeights,
    Histogram,
    Regression,
    Selection,
    figure,
    number,
    what,
)

if TYPE_CHECKING:
    from privsieve.ledger.ledger import Ledger
    from privsieve.release import Release


def of_ledger(one: Ledger) -> Shown:
    """What was granted and spent, and what for; whatever keeps it from being read is said."""
    try:
        kept, charges, published = one.account(), one.charges(), one.publications()
    except PrivsieveError as error:
        return Shown(f"Ledger: {one.population}", [("account", str(error))])
    facts = [("granted", decimal(kept.limit)), ("spent", decimal(kept.together)),
             ("left", decimal(kept.left))]
    if kept.delta_limit:
        left, whole = (decimal(one, DELTA_UNITS) for one in (kept.delta_left, kept.delta_limit))
        facts.append(("delta", f"{left} of {whole} left"))
    facts.append(("protects", "what the first release will protect" if kept.protects is None
                  else kept.protects.words))
    if one.once:
        facts.append(("pays for", "one fit, of the estimator that it was given to"))
    elif one.request is not None:
        facts.append(("pays for", f"the request {one.request}, once"))
    done = sum(made.state == "committed" for made in charges)
    if charges:
        lost = f"; {len(charges) - done} charged without one" * (len(charges) > done)
        facts.append(("releases", f"{done}{lost}"))
    facts += [("published", f"{names(made.columns)} of {made.snapshot}, k = {made.k}")
              for made in published[-3:]]
    return Shown(f"Ledger: {one.population}", facts)


def of_release(one: Release) -> Shown:
    """What a release says, and at what price; of one that says nothing readable its kind."""
    body: Mapping[str, Any] = one.body
    try:
        plan, certificate = body["plan"], one.certificate
        found = "target NOT FOUND; " * bool(one.missing)
        title = f"Release: {found}{what(body)} by {plan['method']}"
        delta = f" and delta {plan['delta']}" if plan["delta"] != "0" else ""
        facts = [*_said(body), ("cost", f"epsilon {plan['epsilon']}{delta}")]
        if certificate is None:
            facts.append(("not private", "its noise can be repeated: it has no certificate"))
        else:
            facts.append(("promise", sentence(certificate)))
            if certificate["ledger"] is None:
                facts.append(("ledger", "none adds it up with other releases"))
        if body["warning"]:
            facts.append(("warning", str(body["warning"])))
        return Shown(title, facts, *_table(body))
    except WRONG:
        return Shown(f"Release: {body.get('kind')}",
                     [("selected", names(list(map(str, body.get("selected", ())))))])


def _said(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The names, and what else was released in few words."""
    facts = [("selected", names(body["selected"]) or "none")]
    if body["kind"] == "selection" and (counts := Selection.counts_of(body)) is not None:
        gone = counts.missing(body["domain"]["unit"])
        facts = [("target", f"not found: {gone}: check the domain file")] * bool(gone) + facts
        facts.append(("classes", counts.text))
    if body["kind"] == "histogram":
        table = Histogram.read(body)
        axes = " by ".join(f"{name} ({many})"
                           for name, many in zip(table.cells.names, table.cells.shape, strict=True))
        facts = [("cells", f"{axes}: {table.cells.many}"),
                 ("noise", f"standard deviation {_figure(table.noise.each)} on each")]
    elif body["kind"] == "regression":
        model = Regression.read(body)
        only = "answers only, to " if model.map == ANSWERS else ""
        count = len(model.queries or model.values)
        facts = [("model", f"{model.map}, {only}{count} {'questions' if only else 'numbers'}"),
                 ("noise", f"standard deviation {_figure(model.noise.each)} on each")]
    return facts


def _table(body: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A line for each weight."""
    if body["kind"] == "weights":
        made = ColumnWeights.read(body)
        each = f"± {_figure(made.noise.each)}"
        rows = sorted(zip(body["columns"], made.values.exact, strict=True), key=lambda one: -one[1])
        return ("column", "weight", "noise", ""), [
            (name, figure(value), each, "selected" if name in made.selected else "")
            for name, value in rows]
    return (), ()


def _figure(text: str) -> str:
    return figure(number(text), 3)
