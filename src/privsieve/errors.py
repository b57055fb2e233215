"""Every error that privsieve raises, as one tree.

::

    PrivsieveError                 exit code
    ├── ParameterError       2     a public parameter is wrong: epsilon, k, an option
    ├── DomainError          2     the domain lacks a public fact, or contradicts itself
    ├── SchemaError          3     the table's header or container does not fit the domain
    ├── BudgetExceeded       4     the ledger refuses; nothing was charged
    ├── LedgerError          4     the ledger lacks the population, or is damaged
    ├── NothingFits          5     no column can be published under this rule
    ├── ReleaseFailed        6     a fault of the machine after the charge; constant texts
    └── CheckFailed          7     `verify` or `audit` found that a claim does not hold

What is raised is public: it may name a parameter, a column of the domain, an amount, and
nothing that was read from a row.  A message names the thing, the value, the limit and the way
out.
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "CheckFailed",
    "DomainError",
    "LedgerError",
    "NothingFits",
    "ParameterError",
    "PrivsieveError",
    "ReleaseFailed",
    "SchemaError",
]


class PrivsieveError(Exception):
    """The root of the tree; `except PrivsieveError` catches all of it."""

    exit_code = 1


class ParameterError(PrivsieveError, ValueError):
    """A public parameter is wrong.  Nothing was read and nothing was charged."""

    exit_code = 2


class DomainError(PrivsieveError, ValueError):
    """The domain lacks a public fact (bounds, values, a count), or contradicts itself."""

    exit_code = 2


class SchemaError(PrivsieveError, ValueError):
    """The header or container of a table does not fit the domain.  No row was read."""

    exit_code = 3


class BudgetExceeded(PrivsieveError):
    """The population's budget does not cover the cost.  Nothing was charged."""

    exit_code = 4


class LedgerError(PrivsieveError):
    """The ledger has no such population, or does not add up."""

    exit_code = 4


class NothingFits(PrivsieveError):
    """No column can be published under this rule.  Nothing was written."""

    exit_code = 5


class ReleaseFailed(PrivsieveError):
    """The machine failed after the charge.  One constant text for each state of its files.

    state : "lost" (charged, and nothing to be had: whatever fails while rows are there), "staged"
        (charged, and the release is on the disk, unfinished), "finished" (charged, and the release
        lies in its folder), "unknown" (the ledger does not say whether it was charged).

    >>> ReleaseFailed("staged").state, str(ReleaseFailed())
    ('staged', 'release failed; the budget is charged')
    """

    exit_code = 6

    def __init__(self, state: str = "lost") -> None:
        super().__init__(_FAILED[state])

    @property
    def state(self) -> str:
        """What is to be had."""
        return next(state for state, text in _FAILED.items() if text == str(self))


_FAILED = {
    "lost": "release failed; the budget is charged",
    "staged": "release failed; the budget is charged, and the release is kept in its folder: "
              "`privsieve recover DIR` finishes it without another charge",
    "finished": "release failed after it was finished; the budget is charged, and the release "
                "lies in its folder: use it, and do not pay again",
    "unknown": "release failed while the budget was being charged, and the ledger does not say "
               "whether it was: `privsieve recover DIR` asks it again",
}


class CheckFailed(PrivsieveError):
    """A certificate, a ledger or an audited claim does not hold."""

    exit_code = 7
