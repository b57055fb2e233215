"""How much long tests do: little in `make test`, more in `make audit` and `make soak`.

`PRIVSIEVE_RUNS` is how often an attacked release runs on each of its two tables; `PRIVSIEVE_TIMES`
multiplies cases of searches for a counterexample, kills, and made-up tables.
"""

from __future__ import annotations

import os

#: The profile of an attack: enough to catch half of the noise, and to come near a true claim.
RUNS = int(os.environ.get("PRIVSIEVE_RUNS", "3000"))
#: By how much more than a change has to pass.
TIMES = int(os.environ.get("PRIVSIEVE_TIMES", "1"))
