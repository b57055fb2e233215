"""The limits of `publish`: what no group may tell of the target and of sensitive columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from privsieve.containment.choice import Choice
    from privsieve.containment.labelled import Labelled
    from privsieve.containment.limits import Limits
    from privsieve.kernels.patterns import Rule


Command = Callable[..., Any]

_OPTIONS = (
    click.option("--max-share", metavar="P",
                 help="In no group a larger share of one value, such as 0.9."),
    click.option("--entropy-l", metavar="L",
                 help="In each group an entropy l of at least so much, such as 1.5."),
    click.option("--closeness", metavar="T",
                 help="No group at a larger distance to the whole table, such as 0.3."),
)
#: How often a search that takes long is made again for limits.
_FEW = 5


def options(command: Command) -> Command:
    """Give a command the options of limits."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked(table: Labelled, rule: Rule, given: Mapping[str, Any]) -> Limits:
    """The limits that are asked for; `--l-diversity` is one of sensitive columns, too."""
    from privsieve.containment.limits import Limits

    return Limits.of(distinct=rule.l_diversity if table.sensitive else None,
                     share=given["max_share"], entropy=given["entropy_l"],
                     closeness=given["closeness"])


def kept(table: Labelled, rule: Rule, limits: Limits, given: Mapping[str, Any],
         choose: Callable[[Labelled, Rule], Choice]) -> Choice:
    """What `choose` gives under limits."""
    import numpy as np

    from privsieve.containment.limits import RUNS, Method, limited

    weights: Any = given["weights"] or "mutual-information"
    even = np.ones(len(table.items), np.int64) if weights == "even" else weights
    slow = given["method"] in ("maximal", "exact") or given["profile"] == "most"
    return limited(table, rule, limits, Method(
        choose, even if given["method"] else None, runs=_FEW if slow else RUNS))
