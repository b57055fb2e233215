"""Shown: a public thing in a few lines of text, and as a small table of HTML for a notebook.

What is shown is public: a domain, a plan, what was released, an account.  Nothing here meets a row.
HTML has no script and no colour of its own: it takes those of the page, be they light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from html import escape
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any

from privsieve.public.canonical import exact, visible
from privsieve.public.domain import fields_of
from privsieve.public.printed import fitted

if TYPE_CHECKING:
    from privsieve.public.domain import Domain
    from privsieve.public.plan import Plan

#: Lines of a table of text, and of HTML; of more only the number is said.
FEW, MANY = 6, 20
#: A space at which no line is broken.
_TIED = "\u00a0"
#: A line of text.
WIDTH = 79
_LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
_TABLE = ('<table style="border-collapse:collapse;font-size:inherit;color:inherit;'
          'background:none;text-align:left">{}</table>')
_CELL = '<{0} style="padding:.15em .8em .15em 0;text-align:left;vertical-align:top;{1}">{2}</{0}>'


@dataclass(frozen=True)
class Shown:
    """A title, facts with their names, and a table of which the first lines are shown.

    >>> print(Shown("Thing: one part", (("cost", "1"),), ("part", "is"), (("a", "1"), ("bc", "2"))))
    Thing: one part
      cost  1
      part  is
      a     1
      bc    2
    """

    title: str
    facts: Sequence[tuple[str, str]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    def __str__(self) -> str:
        table = [[*map(visible, row)] for row in (self.head, *self.rows[:FEW])] * bool(self.rows)
        width = fitted([max(map(len, column)) for column in zip(*table, strict=True)], WIDTH - 2)
        label = max(map(len, chain([""], (name for name, _ in self.facts))), default=0)
        lines = [_short(visible(self.title), WIDTH)]
        lines += [fill(visible(said), WIDTH, initial_indent=f"  {name:<{label}}  ",
                       subsequent_indent=" " * (label + 4), break_on_hyphens=False)
                  for name, said in self.facts]
        for row in table:
            cells = "  ".join(_short(cell, w).ljust(w) for cell, w in zip(row, width, strict=True))
            lines.append(f"  {cells}".rstrip())
        if len(self.rows) > FEW:
            lines.append(f"  … and {len(self.rows) - FEW} more")
        return "\n".join(lines)

    @property
    def html(self) -> str:
        """The same as HTML.

        >>> "<script>" in Shown("a <script>").html
        False
        """
        facts = [_row("td", (f"<b>{_safe(name)}</b>", _safe(said))) for name, said in self.facts]
        rows = [_row("th", map(_safe, self.head), _LINE), *(
            _row("td", map(_safe, row)) for row in self.rows[:MANY])] if self.rows else []
        more = (f"<div>… and {len(self.rows) - MANY} more</div>" if len(self.rows) > MANY else "")
        tables = "".join(_TABLE.format("".join(part)) for part in (facts, rows) if part)
        return f"<div><div><b>{_safe(self.title)}</b></div>{tables}{more}</div>"


def _row(kind: str, cells: Iterable[str], style: str = "") -> str:
    return f"<tr>{''.join(_CELL.format(kind, style, cell) for cell in cells)}</tr>"


def _safe(text: str) -> str:
    return escape(visible(text))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most - 1]}…"


def names(words: Sequence[str], most: int = 12) -> str:
    """Names in a list, of which the first ones are said.

    >>> names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def of(one: object) -> Shown:
    """What is shown of a domain or a plan; other rooms have functions of their own.

    >>> from privsieve.public.columns import Flag, Label, Number
    >>> from privsieve.public.domain import Domain
    >>> print(of(Domain([Number("age", 0, 110), Flag("smoker")], target=Label("ill", [0, 1]))))
    Domain: 2 columns
      protects  one row, replace-one
      target    ill: one of 2: 0, 1
      column  declared
      age     number, 0 to 110
      smoker  yes or no
    """
    from privsieve.public.domain import Domain
    from privsieve.public.plan import Plan

    if isinstance(one, Domain):
        return domain(one)
    assert isinstance(one, Plan)
    return plan(one)


def domain(one: Domain) -> Shown:
    """The columns of a domain, its target, and what it protects."""
    count = "any number of" if type(one).__name__ == "Box" else str(len(one.columns))
    public = [f"{getattr(one, name)} {name}" for name in ("rows", "persons") if getattr(one, name)]
    unit = "one row" if one.person is None else (
        f"one person ({one.person}), up to {one.rows_per_person} rows")
    facts = [("protects", ", ".join([f"{unit}, {one.neighbours}", *public]))]
    if one.target is not None:
        facts.append(("target", f"{one.target.name}: {declaration(fields_of(one.target))}"))
    return Shown(f"Domain: {count} column{'s' * (count != '1')}", facts,
                 ("column", "declared"),
                 [(column.name, declaration(fields_of(column))) for column in one.columns])


def declaration(column: Mapping[str, Any]) -> str:
    """What the domain says of a column, in words."""
    kind = column["kind"]
    if kind == "flag":
        return "yes or no"
    if kind in ("category", "label"):
        values = [str(value) for value in column["values"]]
        more = ", …" if len(values) > 12 else ""
        return f"one of {len(values)}: {', '.join(values[:12])}{more}"
    said = str(kind)
    if "low" in column:
        low, high = (_plain(column[end]) for end in ("low", "high"))
        said += f", {low} to {high}{', on a log scale' if column.get('scale') == 'log' else ''}"
    if "missing_values" in column:
        said += f" ({', '.join(map(_plain, column['missing_values']))}: missing)"
    if "near" in column or "low" not in column:
        said += f", in steps that grow with the distance from {_plain(column.get('near', 0))}"
    return said


def _plain(value: object) -> str:
    """A number or a time of a domain, without what goes without saying."""
    return str(value).removesuffix(".0").removesuffix("T00:00:00")


def plan(one: Plan) -> Shown:
    """What a plan costs, what it protects, and what it is worth."""
    from privsieve.public.planned import heading, noise

    forecast: Any = one.forecast
    said = [(label, _short(text, 3 * WIDTH)) for label, text in heading(one) if label != "method"]
    facts = [*said, ("cost", one.cost.words), ("noise", noise(one))]
    if "found_percent" in forecast:
        usual = forecast["usual_gap"]
        words = (f"{forecast['found_percent'][usual]} % of the best columns are found if they beat "
                 f"the others by {usual} (guessing: {forecast['guessing_percent']} %)")
        facts.append(("forecast", words))
    if one.warning:
        facts.append(("warning", one.warning))
    costs = forecast.get("by_cost", {})
    rows = [(f"{cost}{' (this plan)' * (exact(cost, 'cost') == one.cost.epsilon)}", f"{found} %")
            for cost, found in costs.items()]
    return Shown(f"Plan: {one.method}", facts,
                 ("epsilon", "of the best columns found"), rows)


class ShownEstimator:
    """An estimator that prints what was given to it and, once fitted, what was released.

    A mixin for those of scikit-learn, whose diagram it keeps.
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = []
        for one in fields(self):  # type: ignore[arg-type]  # each is a dataclass
            value = getattr(self, one.name)
            if one.default is MISSING or (value is not one.default and value != one.default):
                given.append(f"{one.name}={_brief(value)}".replace(" ", _TIED))
        text = _short(f"{type(self).__name__}({', '.join(given)})", N_CHAR_MAX)
        release = getattr(self, "release_", None)
        said = "" if release is None else f"\n  released: {names(list(release.selected))}"
        lines = fill(text, WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False)
        return visible(lines.replace(_TIED, " ") + said)

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        release = getattr(self, "release_", None)
        return str(estimator_html_repr(self)) + ("" if release is None else release._repr_html_())

    def _repr_mimebundle_(self, **_more: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _brief(value: Any) -> str:
    """A parameter in a few words; of a domain or a ledger a line, and not what they hold."""
    if hasattr(value, "columns") and hasattr(value, "neighbours"):
        return f"<{str(value).partition(chr(10))[0]}>"
    if hasattr(value, "population"):
        return f"<Ledger: {value.population}>"
    return repr(value)
