"""`privsieve predict`: predictions from a release alone.  It never spends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from privsieve.cli.private import result
from privsieve.cli.releasing import verified
from privsieve.cli.verb import Verb, existing
from privsieve.methods.ridge.ridge import Released
from privsieve.methods.ridge.session import SavedFunction
from privsieve.public.domain import Domain, demand_cells
from privsieve.release import ANSWERS, Regression, Release
from privsieve.rows import open_source


@click.command("predict", cls=Verb,
               epilog="Example: privsieve predict model new.csv --out predictions.csv")
@click.argument("release", callback=existing)
@click.argument("data")
@click.option("--domain", "domain_file", metavar="FILE",
              help="The domain file, where it says how a CSV file is written.")
@click.option("--out", metavar="FILE",
              help="Write here, readable by you alone; the file must not exist.")
def command(release: str, data: str, domain_file: str | None, **options: Any) -> None:
    """Predict the target of each row of DATA from the release folder RELEASE; never spends.

    The release is verified first.  One number a line goes to stdout below the target's name, in the
    order of the rows.  Predictions speak of the rows of DATA: they are for who holds them.
    """
    model = _model(verified(release, "no prediction is made"))
    demand_cells([model.target])
    csv = Domain.from_toml(domain_file).csv if domain_file else None
    values = [f"{value:.8g}" for value in model.predict(open_source(data, csv=csv))]
    result(_text(model.target.name, values),
           {"target": model.target.name, "predictions": [*values]}, options)


def _model(release: Release) -> Released | SavedFunction:
    """What predicts: a formula, or the function of a session."""
    answers = Regression.read(release.body).map == ANSWERS
    return SavedFunction.of(release) if answers else Released.of(release)


def _text(name: str, values: Sequence[str]) -> str:
    """A CSV file of one column."""
    import csv
    from io import StringIO

    made = StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow([name])
    writer.writerows([value] for value in values)
    return made.getvalue()
