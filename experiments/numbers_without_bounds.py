"""What RuleSieve finds in numbers without bounds, beside tight bounds and careless ones.

    python experiments/numbers_without_bounds.py [--short] [--only alone|pairs|time]

writes a dated table into `results/`: about eight minutes; `--short` takes one.

alone : four of forty columns matter alone; recall by how numbers were declared.
pairs : exclusive or of two of twelve columns, cut at their 62 % quantiles; share found.
time : all cuts of 4,950 pairs of 100,000 rows, in CPU seconds.
"""

from __future__ import annotations

import argparse

import numpy as np

import protocol
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.columns import Label, Number
from privsieve.public.domain import Domain, after_coding
from privsieve.rows import open_source
from privsieve.rows.batch import batches

#: Tables begin at this seed.
FRESH = 9400
MILLION = 1e6
WAYS = ("tight bounds", "bounds of a million", "no bounds", "near")
#: Values of a standard normal column; what they are near; how many columns are told apart where
#: each value has a code of its own.
KINDS = {
    "140 +- 5": (lambda g: 140 + 5 * g, 140),
    "years, 1988 +- 12": (lambda g: np.round(1988 + 12 * g), 2000),
    "ten thousandths": (lambda g: 1e-4 * g, 0),
    "lognormal, deviation 2": (lambda g: np.exp(2 * g), 0),
}


def declared(way, X, near):
    """The columns by one way to declare them; tight bounds are the table's own, for comparison."""
    columns = []
    for j, column in enumerate(X.T):
        low, high = np.quantile(column, (.001, .999))
        bounds = {"tight bounds": {"low": low, "high": high},
                  "bounds of a million": {"low": -MILLION, "high": MILLION},
                  "no bounds": {}, "near": {"near": near}}[way]
        columns.append(Number(f"x{j}", **bounds))
    return Domain(columns, Label("y", [0, 1]))


def choices(domain, X, y, request, seed, draws):
    """What some draws of noise choose; rows are read once for all epsilons."""
    k, epsilons, options = request
    choices_by_way, summaries = {}, {}
    for epsilon in epsilons:
        planned = plan("rule-sieve", domain, k=k, epsilon=f"{epsilon:.9f}", rows=len(X),
                       allow_weak=True, **options)
        key = repr(planned.settings["branches"])
        if key not in summaries:
            rows = batches(open_source(X, y), planned.coding, rows=len(X), entropy=bytes)
            summaries[key] = planned.summarise(rows, seed)
        summary = summaries[key]
        choices_by_way[epsilon] = [tuple(planned.mechanism(summary, replay(1000 * seed + draw)))
                                   for draw in range(draws)]
    return choices_by_way


def shown_text(values):
    """A mean over tables, and its standard error."""
    values = np.array(values)
    return f"{values.mean():.3f} ({values.std(ddof=1) / len(values)**.5:.3f})"


def alone_lines(tables, draws):
    """Recall of four of forty columns at 300 units times epsilon, by the kind of values."""
    n, d, k = 2000, 40, 4
    for joint in ("none", "auto"):
        yield f'\njoint="{joint}"\n\n| values | ' + " | ".join(WAYS) + " | no bounds less tight |"
        yield "|---" * (len(WAYS) + 2) + "|"
        for kind, (values, near) in KINDS.items():
            recalls = {way: [] for way in WAYS}
            for seed in range(FRESH, FRESH + tables):
                rng = np.random.default_rng([seed, 31])
                g = rng.standard_normal((n, d))
                y = (g[:, :k].sum(axis=1) + 2 * rng.standard_normal(n) > 0).astype(int)
                X = values(g)
                for way in WAYS:
                    drawn = choices(declared(way, X, near), X, y, (k, (.15,), {"joint": joint}),
                                    seed, draws)[.15]
                    recalls[way].append(np.mean([len({*chosen} & {*range(k)}) / k
                                                 for chosen in drawn]))
            less = np.array(recalls["no bounds"]) - recalls["tight bounds"]
            yield f"| {kind} | " + " | ".join(shown_text(recalls[way]) for way in WAYS) + (
                f" | {shown_text(less)} |")
    domain = declared("bounds of a million", 140 + np.random.default_rng(1).random((9, d)), 0)
    yield f"\nWith bounds of a million the plan says: {after_coding(domain)}."


def pair_lines(tables, draws):
    """How often both columns are named, by units times epsilon."""
    n, d, strengths = 600, 12, (15, 30, 60, 120, 240)
    yield "\n| declared | " + " | ".join(map(str, strengths)) + " |\n" + "|---" * 6 + "|"
    for way in WAYS[:3]:
        recalls = {strength: [] for strength in strengths}
        for seed in range(FRESH, FRESH + tables):
            rng = np.random.default_rng([seed, 32])
            g = rng.standard_normal((n, d))
            y = ((g[:, 0] > .3) ^ (g[:, 1] > .3) ^ (rng.random(n) < .1)).astype(int)
            # Bounds of 120 and 160 are what a code book would say.
            domain = declared(way, 140 + 5 * g, 140) if way != "tight bounds" else Domain(
                [Number(f"x{j}", 120, 160) for j in range(d)], Label("y", [0, 1]))
            drawn = choices(domain, 140 + 5 * g, y, (
                2, [strength / n for strength in strengths],
                {"joint": "none" if way == "no bounds" else "pair", "class_prior": .5}),
                seed, draws)
            for strength, chosen in zip(strengths, drawn.values(), strict=True):
                recalls[strength].append(np.mean([set(names) == {0, 1} for names in chosen]))
        yield f"| {way} | " + " | ".join(shown_text(recalls[strength])
                                         for strength in strengths) + " |"


HEAD = """\
Numbers without bounds. Mean over {tables} tables of {draws} draws of noise each (standard error
over tables); class_prior="auto" alone, 1/2 for pairs. Tight bounds are the tables' own .1 % and
99.9 % quantiles, which nobody could declare; for pairs 120 and 160. Seeds that no design used.
"""


def main():
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", choices=("alone", "pairs"))
    arguments = parser.parse_args()
    tables, draws = (3, 4) if arguments.short else (16, 10)
    parts = {"alone": lambda: alone_lines(tables, draws),
             "pairs": lambda: pair_lines(tables, draws)}
    text = HEAD.format(tables=tables, draws=draws)
    for name, lines in parts.items():
        if arguments.only in (None, name):
            text += f"\n## {name}\n"
            for line in lines():
                print(line, flush=True)
                text += line + "\n"
    if arguments.only is None:
        protocol.write("numbers_without_bounds", text, short=arguments.short)


if __name__ == "__main__":
    main()
