"""`privsieve predict`: predictions from a release alone.  It never spends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import words
from privsieve.cli.private import new_file
from privsieve.cli.releasing import verified

if TYPE_CHECKING:
    from privsieve.methods.ridge.ridge import Released
    from privsieve.methods.ridge.session import SavedFunction
    from privsieve.release import Release


@click.command("predict", epilog="Example: privsieve predict model new.csv --out predictions.csv")
@click.argument("release")
@click.argument("data")
@click.option("--domain", "domain_file", metavar="FILE",
              help="The domain file, where it says how a CSV file is written.")
@click.option("--out", metavar="FILE",
              help="Write here, readable by you alone; the file must not exist.")
def command(release: str, data: str, domain_file: str | None, out: str | None) -> None:
    """Predict the target of each row of DATA from the release folder RELEASE; never spends.

    The release is verified first.  One number a line goes to stdout below the target's name, in the
    order of the rows.  Predictions speak of the rows of DATA: they are for who holds them.
    """
    from privsieve.public.domain import Domain
    from privsieve.rows import open_source, resolve

    model = _model(verified(release, "no prediction is made"))
    csv = Domain.from_toml(domain_file).csv if domain_file else None
    source = open_source(data, csv=csv)
    resolve(model.domain, source.shape(count_rows=False), strict=False)
    text = _text(model.target.name, model.predict(source))
    if out is None:
        click.echo(text, nl=False)
        return
    with new_file(out, "of --out") as file:
        file.write(text.encode())
    words.say("written", out)


def _model(release: Release) -> Released | SavedFunction:
    """What predicts: a formula, or the function of a session."""
    from privsieve.methods.ridge.ridge import Released
    from privsieve.methods.ridge.session import SavedFunction
    from privsieve.release import ANSWERS, Regression

    answers = Regression.read(release.body).map == ANSWERS
    return SavedFunction.of(release) if answers else Released.of(release)


def _text(name: str, values: Any) -> str:
    """A CSV file of one column."""
    import csv
    from io import StringIO

    made = StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow([name])
    writer.writerows([f"{value:.8g}"] for value in values)
    return made.getvalue()
