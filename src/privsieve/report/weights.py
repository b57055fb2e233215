"""Weights: what the page of a weight for each column knows; see `words/weights.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privsieve.release import number
from privsieve.report.figures import up
from privsieve.report.frame import Known
from privsieve.report.numbers import MOST, Weighed, numbers, weight_table
from privsieve.report.private import declarations


def weights(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """What a page of released weights knows: the chosen first, then the larger."""
    known = numbers(release, certificate)
    content, noise, selected = known["content"], known["noise"], set(known["content"].selected)
    held = sorted((Weighed(column, value, column in selected) for column, value in
                   zip(release["columns"], content.values.exact, strict=True)),
                  key=lambda one: (not one.chosen, -one.value, one.name))
    chosen = [one.name for one in held if one.chosen]
    length, longest = (number(release["forecast"][key]) for key in ("noise_length", "longest"))
    return {
        **known, "chosen": chosen, "k": len(chosen), "more": len(held) - MOST,
        "clear": sum(abs(one.value) > 2 * noise.each for one in held),
        "drawn": weight_table("Released weights", held[:MOST], noise, chosen=True),
        "declared": declarations(release, "What was public about the chosen ones before",
                                 chosen[:MOST]),
        "drowned": length >= longest, "share": lambda: up(100 * length / longest),
    }
