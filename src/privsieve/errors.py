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

Errors are public: a message may name a parameter, a column of the domain or an amount, and never
contains values from rows.  It names the faulty value, the limit, and what to do.
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
    """The base class of all errors of privsieve."""

    exit_code = 1


class ParameterError(PrivsieveError, ValueError):
    """A public parameter is wrong.  Rows were not read, and nothing was charged."""

    exit_code = 2


class DomainError(PrivsieveError, ValueError):
    """The domain lacks a public fact (bounds, values, a count), or contradicts itself."""

    exit_code = 2


class SchemaError(PrivsieveError, ValueError):
    """The header or container of a table does not fit the domain.  Rows were not read."""

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
    """The machine failed after the charge.  The text is constant for each state of the files.

    state : "lost" (charged, without a release: every failure while rows are in memory), "staged"
        (charged, and the release is on the disk, unfinished), "finished" (charged, and the release
        is in its folder), "unknown" (it is not known whether it was charged).

    >>> ReleaseFailed("staged").state, str(ReleaseFailed())
    ('staged', 'release failed; the budget is charged')
    """

    exit_code = 6

    def __init__(self, state: str = "lost") -> None:
        super().__init__(_FAILED[state])

    @property
    def state(self) -> str:
        """Return the state of the release."""
        return next(state for state, text in _FAILED.items() if text == str(self))


_FAILED = {
    "lost": "release failed; the budget is charged",
    "staged": "release failed; the budget is charged, and the release is kept in its folder: "
              "`privsieve recover DIR` finishes it without another charge",
    "finished": "release failed after it was finished; the budget is charged, and the release "
                "is in its folder: use it, and do not pay again",
    "unknown": "release failed while the budget was charged, and the ledger did not answer: "
               "`privsieve recover DIR` asks it again",
}


class CheckFailed(PrivsieveError):
    """A certificate, a ledger or an audited claim does not hold."""

    exit_code = 7
