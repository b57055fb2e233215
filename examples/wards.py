"""Choose columns of a made-up ward where two of them matter only together.

Run it in an empty folder: `python wards.py`.  It writes a table, a ledger and a release
folder there.
"""

from __future__ import annotations

import numpy as np

import privsieve as ps

rng = np.random.default_rng()
rows = 4000

# Whether a patient comes back depends on "drug" and "diet" together, and on neither alone.
names = ["age", "drug", "diet", "weight", "pulse", "visits"]
X = rng.random((rows, len(names)))
together = (X[:, 1] > 0.5) ^ (X[:, 2] > 0.5)
y = np.where(rng.random(rows) < 0.1, ~together, together).astype(int)

np.savetxt("wards.csv", np.column_stack([X, y]), delimiter=",", fmt="%g", comments="",
           header=",".join([*names, "y"]))

domain = ps.Domain.box(0.0, 1.0, classes=(0, 1), columns=names)
ledger = ps.Ledger("budget.db", population="made-up ward")
ledger.grant(epsilon=1)

sieve = ps.RuleSieve(2, epsilon="0.5", domain=domain, ledger=ledger)
print("found for a usual table, in per cent:", sieve.plan(rows=rows).forecast["found_percent"])

sieve.fit("wards.csv")
sieve.release_.save("release")
print("chosen:", ", ".join(sieve.release_.selected))
print("left:", ledger.left())
print("valid:", ps.verify("release/certificate.json", "release/release.json").valid)
