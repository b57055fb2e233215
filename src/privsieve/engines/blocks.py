"""Block votes on one machine: codes are held once, by part, until all rows have come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privsieve.kernels.blocks import Rows
from privsieve.summaries.blocks import BlockVotes, Dealt, Scheme

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privsieve.core.batch import Batch
    from privsieve.core.domain import Domain


def block_votes(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                ) -> BlockVotes:
    """The summary of BlockFWELL over some batches: each part votes when all have come."""
    columns = len(domain.columns)
    dealt = Dealt.all(batches, key, scheme.parts)
    votes = BlockVotes.zero(columns)
    for part in range(scheme.parts):
        votes += BlockVotes.of(Dealt.part(dealt, part, columns), key, scheme, domain)
    return votes


def reference_votes(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                    reference: Rows) -> BlockVotes:
    """The same where each unit votes on its own, against public rows; only persons are held."""
    columns = len(domain.columns)
    votes = BlockVotes.zero(columns)
    if domain.person is not None:
        dealt = Dealt.all(batches, key, scheme.parts)
        for part in range(scheme.parts):
            rows = Dealt.part(dealt, part, columns).rows
            votes += BlockVotes.against(reference, rows, scheme.tau, domain)
        return votes
    for batch in batches:
        own = np.arange(len(batch) + 1)
        rows = Rows(np.ascontiguousarray(batch.codes), batch.label, own)
        votes += BlockVotes.against(reference, rows, scheme.tau, domain)
    return votes
