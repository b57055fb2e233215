"""`privsieve predict`: predictions from a release alone.  It never spends."""

from __future__ import annotations

import csv
from io import StringIO

from privsieve.cli.private import kept
from privsieve.cli.releasing import verified
from privsieve.cli.verb import Existing, Outcome, verb
from privsieve.methods.ridge.ridge import Released
from privsieve.public.domain import Domain, demand_cells
from privsieve.public.option import File
from privsieve.rows import open_source


@verb("model new.csv --out predictions.csv")
def command(release: Existing, data: str, *, domain: File | None = None,
            out: File | None = None) -> Outcome:
    """PRIVATE: predict the target of each row of DATA from the release folder RELEASE; free.

    The release is verified first.  One number a line goes to stdout below the target's name, in the
    order of the rows.  Predictions speak of the rows of DATA: they are for who holds them.

    domain : the domain file, where it says how a CSV file is written
    out : write here, readable by you alone; the file must not exist
    """
    made = verified(release, "no prediction is made")
    model = Released.of(made)
    demand_cells([model.target])
    source = open_source(data, csv=Domain.from_toml(domain).csv if domain else None)
    values = [f"{value:.8g}" for value in model.predict(source)]
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([[model.target.name], *zip(values)])
    return kept(text.getvalue(), {"target": model.target.name, "predictions": [*values]}, out)
