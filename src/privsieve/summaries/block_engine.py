"""Blocks on one machine: codes are held once, by part, until all rows have come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privsieve.kernels.blocks import Rows
from privsieve.public.domain import Domain
from privsieve.summaries.blocks import BlockVotes, Dealt, Scheme
from privsieve.summaries.moves import Moves, Sample

if TYPE_CHECKING:
    from privsieve.rows.batch import Batch


def block_votes(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                ) -> BlockVotes:
    """The summary of BlockFWELL over some batches: each part votes when all have come."""
    columns = len(domain.columns)
    dealt = Dealt.all(batches, key, scheme.parts)
    votes = BlockVotes.zero(columns)
    for part in range(scheme.parts):
        votes += BlockVotes.of(Dealt.part(dealt, part, columns), key, scheme, domain)
    return votes


def block_moves(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                sample: Sample) -> Moves:
    """The vectors of the blocks of some batches, for each repeat of the scheme."""
    columns = len(domain.columns)
    dealt = Dealt.all(batches, key, scheme.parts)
    return Moves.total([Moves.zero(columns), *(
        Moves.of(Dealt.part(dealt, part, columns), (key, part), scheme, domain, sample)
        for part in range(scheme.parts))])


def reference_votes(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                    reference: Rows) -> BlockVotes:
    """The same where each unit votes on its own, against public rows; only persons are held."""
    votes = BlockVotes.zero(len(domain.columns))
    for rows, _ in _units(batches, key, domain, scheme.parts):
        votes += BlockVotes.against(reference, rows, scheme.tau, domain)
    return votes


def reference_moves(batches: Iterable[Batch], key: int, *, domain: Domain, scheme: Scheme,
                    reference: Rows) -> Moves:
    """The vector of each unit, against public rows."""
    return Moves.total([Moves.zero(len(domain.columns)), *(
        Moves.against(reference, rows, unit, key, domain)
        for rows, unit in _units(batches, key, domain, scheme.parts))])


def _units(batches: Iterable[Batch], key: int, domain: Domain, parts: int,
           ) -> Iterator[tuple[Rows, npt.NDArray[np.uint64]]]:
    """Whole units: each row as it comes; persons when all of their rows have come."""
    if domain.person is None:
        for batch in batches:
            own = np.arange(len(batch) + 1)
            yield Rows(np.ascontiguousarray(batch.codes), batch.label, own), batch.unit
        return
    dealt = Dealt.all(batches, key, parts)
    for part in range(parts):
        group = Dealt.part(dealt, part, len(domain.columns))
        yield group.rows, group.unit
