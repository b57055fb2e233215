"""Printed: a noun that prints itself in a few lines; what does it is imported when one looks."""

from __future__ import annotations

from dataclasses import MISSING, fields
from textwrap import fill
from typing import Any

from privsieve.entries import load
from privsieve.public.canonical import visible

#: A line of text, and names of a release that an estimator prints.
_WIDTH, _NAMES = 79, 12
#: A space at which no line is broken.
_TIED = "\u00a0"


class Printed:
    """Prints as a few lines, and in a notebook as a small table: what is public of it."""

    def _document(self) -> Any:
        return load("core", "describe")(self)

    def __repr__(self) -> str:
        return str(load("core", "terminal")(self._document(), brief=True))

    def _repr_html_(self) -> str:
        return str(load("core", "notebook")(self._document()))


class PrintedEstimator:
    """An estimator that prints what was given to it and, once fitted, what was released.

    A mixin for those of scikit-learn, whose diagram it keeps.
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = []
        for one in fields(self):  # type: ignore[arg-type]  # each is a dataclass
            value = getattr(self, one.name)
            if one.default is MISSING or (value is not one.default and value != one.default):
                given.append(f"{one.name}={_brief(value)}".replace(" ", _TIED))
        text = f"{type(self).__name__}({', '.join(given)})"
        text = text if len(text) <= N_CHAR_MAX else f"{text[:N_CHAR_MAX - 1]}…"
        lines = fill(text, _WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False)
        release = getattr(self, "release_", None)
        if release is not None:
            more = len(release.selected) - _NAMES
            lines += (f"\n  released: {', '.join(release.selected[:_NAMES])}"
                      f"{f' and {more} more' if more > 0 else ''}")
        return visible(lines.replace(_TIED, " "))

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
