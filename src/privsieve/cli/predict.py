"""`privsieve predict`: predictions from a release alone, at no cost."""

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
    """PRIVATE: predict the target of each row of DATA from the release folder RELEASE.

    Verifies the release first, and costs nothing.  Prints the target's name, then a number a line
    in the order of the rows.  Predictions are about the rows of DATA: keep them to their holder.

    domain : the domain file, if it describes the format of a CSV file
    out : write here, readable by you alone; the file must not exist
    """
    model = Released.of(verified(release, "no prediction is made"))
    demand_cells([model.target])
    source = open_source(data, csv=Domain.from_toml(domain).csv if domain else None)
    values = [f"{value:.8g}" for value in model.predict(source)]
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([[model.target.name], *zip(values)])
    return kept(text.getvalue(), {"target": model.target.name, "predictions": [*values]}, out)
