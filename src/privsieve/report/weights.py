"""Weights: what the page of a weight for each column fills into `words/weights.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privsieve.release import number
from privsieve.report.figures import up
from privsieve.report.frame import Known
from privsieve.report.numbers import MOST, Weighed, numbers, weight_table
from privsieve.report.private import declarations


def weights(release: Mapping[str, Any], certificate: Mapping[str, Any]) -> Known:
    """Return what a page of released weights fills in; chosen and larger weights come first."""
    known = numbers(release, certificate)
    content, noise, selected = known["content"], known["noise"], set(known["content"].selected)
    held = sorted((Weighed(column, value, column in selected) for column, value in
                   zip(release["columns"], content.values.exact, strict=True)),
                  key=lambda weight: (not weight.chosen, -weight.value, weight.name))
    chosen = [weight.name for weight in held if weight.chosen]
    length, longest = (number(release["forecast"][key]) for key in ("noise_length", "longest"))
    return {
        **known, "chosen": chosen, "k": len(chosen), "more": len(held) - MOST,
        "clear": sum(abs(weight.value) > 2 * noise.each for weight in held),
        "drawn": weight_table("Released weights", held[:MOST], noise, chosen=True),
        "declared": declarations(release, "Public declarations of the chosen columns",
                                 chosen[:MOST]),
        "drowned": length >= longest, "share": lambda: up(100 * length / longest),
    }
