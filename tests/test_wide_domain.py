"""A domain of many columns is written for its digest, and laid out, once for each release."""

from __future__ import annotations

import numpy as np

import privsieve as ps
from privsieve import fit as fitting
from privsieve.noise.streams import system
from privsieve.public import domain as domains
from privsieve.rows import open_source
from privsieve.summaries.layout import Layout

#: Of 88,000 columns each writing takes a second; how often it is done is the same for fewer.
COLUMNS, ROWS = 3000, 12


def test_a_wide_domain_is_digested_once(monkeypatch):
    """Plan, charge, check and certificate of a release share one digest of its domain."""
    columns = COLUMNS
    domain = ps.Domain([ps.Flag(f"x{j}") for j in range(columns)], target=ps.Label("y", [0, 1]))
    plan = ps.plan("noisy-top-k", domain, rows=ROWS, epsilon=1, k=2)
    written, real = [], domains.digest
    monkeypatch.setattr(domains, "digest", lambda data: written.append(len(data)) or real(data))
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (ROWS, columns)), rng.integers(0, 2, ROWS)
    release = fitting.fit(plan, open_source(rows[0].tolist(), y=rows[1].tolist()), noise=system())

    assert len(written) == 1
    assert release.certificate["domain_sha256"] == real(domains.canonical(domain.json()))


def test_columns_are_laid_out_once(monkeypatch):
    """Each pass of RuleSieve asks for the layout: it is made once, and once for scores."""
    laid, real = [], Layout.of.__func__
    monkeypatch.setattr(Layout, "of", classmethod(
        lambda cls, domain: laid.append(domain) or real(cls, domain)))
    domain = ps.Domain([ps.Number(f"x{j}", 0, 1) for j in range(3)], target=ps.Label("y", [0, 1]))
    plan = ps.plan("rule-sieve", domain, rows=900, epsilon=1, k=1, joint="none", max_ops=10**9)
    rows = np.random.default_rng(2).random((900, 3))
    fitting.fit(plan, open_source(rows, y=(rows[:, 0] > .5).astype(int)), noise=system())

    assert len(laid) == 2
