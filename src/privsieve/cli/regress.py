"""`privsieve regress`: one least-squares model, from which predictions are free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from privsieve.cli import options as asked
from privsieve.cli import words
from privsieve.cli.releasing import release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from privsieve.core.plan import Plan
    from privsieve.core.release import Release

_EXAMPLE = ("Example: privsieve regress patients.csv --domain domain.toml --epsilon 1 "
            "--kernel linear --unit row --ledger budget.db --population clinic-2026 --out model")

_OPTIONS = (
    click.option("--kernel", type=click.Choice(["rbf", "linear", "cosine", "polynomial"]),
                 default="rbf", show_default=True, help="What a prediction may look like."),
    click.option("--lam", metavar="L", default="auto", show_default=True,
                 help="How strongly the model is held small; the noise falls where it grows."),
    click.option("--gamma", metavar="G", help="rbf: how fast near rows become far; one over the "
                                              "number of columns where left out."),
    click.option("--features", metavar="N", type=int, default=200, show_default=True,
                 help="rbf: how many cosines and sines."),
    click.option("--feature-seed", metavar="N", type=int, default=0, show_default=True,
                 help="rbf: the public seed of their frequencies."),
    click.option("--degree", metavar="N", type=int,
                 help="polynomial: the largest power (2); cosine: the number of waves (3)."),
    click.option("--delta", metavar="D", default="0",
                 help="Allow this much beyond epsilon, for example 1e-9: less noise where there "
                      "are many features."),
)
_PASSED = ("kernel", "lam", "gamma", "features", "feature_seed", "degree", "delta", "epsilon",
           "allow_weak")


@click.command("regress", epilog=_EXAMPLE)
@click.argument("data")
@asked.costing(*_OPTIONS)
@asked.releasing(required=False)
@click.option("--plan", "plan_only", is_flag=True,
              help="Say cost and forecast, and stop: no row is read, nothing is charged.")
def command(data: str, **options: Any) -> None:
    """Fit a least-squares model to DATA under differential privacy, once.

    The target of the domain file is a number with bounds.  The budget is charged before a row is
    read, and is never given back; predictions from DIR are free for ever (`privsieve predict`).
    Columns go to stdout by the length of their weights, the longest first; rbf has none.  --plan
    needs neither --ledger nor --population nor --out.
    """
    from privsieve.selectors import plan

    domain, source, rows = asked.opened(asked.public(options), data)
    made = plan("kernel-ridge", domain, rows=rows, **{name: options[name] for name in _PASSED})
    if options["plan_only"]:
        _show(made, options["as_json"])
        return
    for name in ("ledger", "population", "out"):
        if options[name] is None:
            raise click.UsageError(f"Missing option '--{name}'.", click.get_current_context())
    words.say("noise", _noise(made))
    release(made, source, options, _lines)


def _show(plan: Plan, as_json: bool) -> None:  # noqa: FBT001  # click gives it by name
    """What is known before a row is read."""
    if as_json:
        words.json({**plan.json(), "cost": plan.cost.text, "delta_cost": plan.cost.delta_text,
                    "forecast": plan.forecast, "warning": plan.warning, "theorem": plan.theorem})
        return
    words.show("cost", f"{plan.cost.words}, charged before a row is read")
    words.show("rows" if plan.domain.unit == "row" else "persons", str(plan.units))
    words.show("settings", ", ".join(f"{name} {value}" for name, value in plan.settings.items()))
    words.show("noise", _noise(plan))
    error = float(str(plan.forecast["expected_error"]))
    words.show("expect", f"an error of about {error:.2g} times half the target's range beyond what "
                         "no model could know, if the true function is as long as half a range")
    if plan.warning:
        words.show("warning", plan.warning, fg="yellow")


def _noise(plan: Plan) -> str:
    """What a prediction will err by, before the charge."""
    from privsieve.core.columns import Number

    target = plan.domain.target
    assert isinstance(target, Number)
    share = float(str(plan.forecast["noise_prediction"]))
    if target.scale == "log":
        return f"a prediction errs by {share:.2g} of half the target's range, on its log scale"
    return (f"a prediction of {target.name} errs by {share * (target.high - target.low) / 2:.3g} "
            "from noise (one standard deviation)")


def _lines(made: Release) -> Iterator[str]:
    from privsieve.regression.released import Released

    lengths = Released.of(made).lengths()
    if lengths is not None:
        places = sorted(range(len(lengths)), key=lambda j: -lengths[j])
        yield from (f"{made.columns[j]}\t{lengths[j]:.4g}" for j in places)
