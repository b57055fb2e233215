"""Printed: objects that print themselves in a few lines; the printer is imported when needed."""

from __future__ import annotations

from dataclasses import MISSING, fields
from textwrap import fill
from typing import Any

from privsieve.entries import load
from privsieve.public.canonical import visible

#: The width of a line, and the number of selected names that an estimator prints.
_WIDTH, _NAMES = 79, 12
#: A space at which no line is broken.
_TIED = "\u00a0"


class Printed:
    """Print the public facts of an object as a few lines, and in a notebook as a small table."""

    def _document(self) -> Any:
        return load("core", "describe")(self)

    def __repr__(self) -> str:
        return str(load("core", "terminal")(self._document(), brief=True))

    def _repr_html_(self) -> str:
        return str(load("core", "notebook")(self._document()))


class PrintedEstimator:
    """Print an estimator with its arguments and, after `fit`, with its release.

    A mixin for estimators of scikit-learn, whose diagram it keeps.
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        arguments = []
        for each in fields(self):  # type: ignore[arg-type]  # each is a dataclass
            value = getattr(self, each.name)
            if each.default is MISSING or (value is not each.default and value != each.default):
                arguments.append(f"{each.name}={_brief(value)}".replace(" ", _TIED))
        text = f"{type(self).__name__}({', '.join(arguments)})"
        text = text if len(text) <= N_CHAR_MAX else f"{text[:N_CHAR_MAX - 1]}…"
        lines = fill(text, _WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False)
        release = getattr(self, "release_", None)
        if release is not None:
            rest = len(release.selected) - _NAMES
            lines += (f"\n  released: {', '.join(release.selected[:_NAMES])}"
                      f"{f' and {rest} rest' if rest > 0 else ''}")
        return visible(lines.replace(_TIED, " "))

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        release = getattr(self, "release_", None)
        return str(estimator_html_repr(self)) + ("" if release is None else release._repr_html_())

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _brief(value: Any) -> str:
    """Return a parameter in a few words; a domain or a ledger as one line."""
    if hasattr(value, "columns") and hasattr(value, "neighbours"):
        return f"<{str(value).partition(chr(10))[0]}>"
    if hasattr(value, "population"):
        return f"<Ledger: {value.population}>"
    return repr(value)
