"""Entries: the table of modules that are imported by name: methods, extras, optional libraries.

The core calls extras through this table alone.  The kind "core" lists modules in higher layers than
their callers: the domain file, the printers of plans and releases, the report of a release, the
store of a ledger.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from privsieve.errors import ParameterError

#: The file and the estimator of each method; its class of options has the estimator's name.
METHODS = {
    "rule-sieve": ("rule_sieve", "RuleSieve"),
    "block-fwell": ("block_fwell", "BlockFWELL"),
    "noisy-top-k": ("noisy_top_k", "NoisyTopK"),
    "output-fwell": ("output_fwell", "OutputFWELL"),
    "objective-fwell": ("objective_fwell", "ObjectiveFWELL"),
    "felp": ("felp", "FELP"),
    "kernel-ridge": ("ridge.ridge", "PrivateKernelRidge"),
    "noisy-histogram": ("histogram.noisy_histogram", "NoisyHistogram"),
}
#: The function, class, command or module behind each name, by its kind.
ENTRIES = {
    "source": {
        "pyspark": "extras.spark.frame:open_spark",
        "sql": "extras.queries.query:open_sql",
        "code-book": "extras.codebooks.code_book:entries_for",
        "levels": "extras.bridges.back:generalised",
    },
    "store": {"postgresql": "extras.postgres.server"},
    "export": {
        "inspection": "extras.steward.inspected:inspected_page",
        "plan": "extras.plot.displays:PlanDisplay",
        "release": "extras.plot.displays:ReleaseDisplay",
    },
    "verb": {
        "bridge": "extras.bridges.bridge:command",
        "desk": "extras.desk.desk:command",
        "explore": "extras.steward.explore:command",
        "export": "extras.forms.export:command",
        "tools": "extras.agents.tools:command",
        "union": "extras.steward.together:command",
    },
    "core": {
        "read-domain": "public.domain_file:read",
        "write-domain": "public.domain_file:to_toml",
        "draft-domain": "rows.drafting:draft_table",
        "describe": "report.brief:describe",
        "terminal": "telling.terminal:lines",
        "notebook": "telling.notebook:fragment",
        "report": "report:write_report",
        "file": "ledger.file",
    },
}


def load(kind: str, name: str) -> Any:
    """Import an entry: a function, a class or a module.

    >>> load("export", "plan").__name__
    'PlanDisplay'
    """
    path, _, attribute = ENTRIES[kind][name].partition(":")
    module = import_module(f"privsieve.{path}")
    return getattr(module, attribute) if attribute else module


class LibraryMissing(ParameterError, ImportError):
    """A library that only an extra installs is missing."""


def import_library(name: str, extra: str, purpose: str) -> Any:
    """Import a library that an extra installs, or say how to install it.

    >>> import_library("no_such_library", "spark", "a Spark frame")
    Traceback (most recent call last):
    privsieve.entries.LibraryMissing: a Spark frame needs no_such_library, which is not installed: \
pip install "privsieve[spark]"
    """
    try:
        return import_module(name)
    except ImportError:
        raise LibraryMissing(f"{purpose} needs {name.partition('.')[0]}, which is not installed: "
                             f'pip install "privsieve[{extra}]"') from None
