"""What a first choice of a set brings: joint="auto" beside one race, on the same splits and noise.

    python experiments/joint_choice.py [--short] [--only real|needs|causes]
    python experiments/joint_choice.py --case wdbc 5 10 --splits 400

writes a dated table into `results/`: ten minutes of one core; `--short` takes one.  `--case` takes
one real table, k and epsilon, and splits of its own, as many as are asked for.

real : balanced accuracy of two classifiers on fresh splits of real tables.
needs : units times epsilon for four fifths of what there is to gain, on generated tables.
causes : three causes with four copies each among thirty columns; how many causes are named.
"""

from __future__ import annotations

import argparse
from functools import cache, partial

import numpy as np

import protocol
from privsieve.methods import plan
from privsieve.noise.streams import replay
from privsieve.public.domain import Domain
from privsieve.rows import open_source
from privsieve.rows.batch import batches
from rule_sieve_needs import Drawn, box, need
from unseen import error

#: Splits begin at this seed: nobody designed by those of other experiments.
FRESH = 7100
#: Those of a single case.
CASE = 50_000
#: Splits of one table overlap: errors are larger than those of independent ones by about this.
OVERLAP = 1.5
WAYS = {
    "auto": ("rule-sieve", {}),
    "one race": ("rule-sieve", {"joint": "none"}),
    "mean-difference": ("noisy-top-k", {"score": "mean-difference"}),
}
REAL = (("wdbc", 3, ("1", "3", "10")), ("soybean", 3, ("1", "3", "10")),
        ("sonar", 3, ("1", "3", "10")), ("wdbc", 5, ("3", "10")), ("soybean", 5, ("3", "10")),
        ("waveform", 2, ("1", "10")))


def choices(drawn, rows, way, k, epsilon, *, key, draws):
    """What some draws of noise choose; rows are read again only where a plan needs other sums."""
    method, options = way
    planned = plan(method, drawn.domain, k=k, epsilon=epsilon, rows=len(rows), allow_weak=True,
                   **options)
    known = repr([planned.settings.get(name) for name in ("branches", "class_prior", "order",
                                                          "grid")])
    held = drawn.held.setdefault((method, key, known), [])
    if not held:
        source = open_source(drawn.X[rows], drawn.y[rows])
        held.append(planned.summarise(batches(source, planned.coding, rows=len(rows),
                                              entropy=bytes),
                                      key))
    noise = replay(1000 * key + round(100 * float(epsilon)))
    return [tuple(planned.mechanism(held[0], noise)) for _ in range(draws)]


class Table(Drawn):
    """A table, and the sums that were made of it."""

    @property
    def held(self):
        """Sums by method, key and what the plan needs."""
        return self.__dict__.setdefault("_held", {})


def table(drawn):
    """The same with room for sums."""
    return Table(drawn.X, drawn.y, drawn.domain, drawn.quality)


# real tables


def split(y, seed, test=.3):
    """70 % of each class to learn, 30 % to test; shuffled: equal distances go to the first row."""
    order = np.random.default_rng([seed, 23]).permutation(len(y))
    tested = np.zeros(len(y), bool)
    for label in np.unique(y):
        mine = order[y[order] == label]
        tested[mine[:round(test * len(mine))]] = True
    return order[~tested[order]], order[tested[order]]


def quality(X, y, train, test, chosen):
    """The mean of two balanced accuracies: three neighbours, and a linear SVM."""
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    scaler = StandardScaler().fit(X[train][:, chosen])
    learn, ask = (scaler.transform(X[rows][:, chosen]) for rows in (train, test))
    machines = KNeighborsClassifier(3), LinearSVC(dual=False, class_weight="balanced")
    return float(np.mean([balanced_accuracy_score(y[test],
                                                  machine.fit(learn, y[train]).predict(ask))
                          for machine in machines]))


def real(name, k, epsilons, splits, draws, first=FRESH):
    """Mean qualities by way and epsilon: a row for each split."""
    X, y = protocol.scaled(name)
    drawn = table(Drawn(X, y, Domain.box(0, 1, columns=X.shape[1], classes=[0, 1]), None))
    qualities = {(way, epsilon): [] for way in WAYS for epsilon in epsilons}
    guessed = []
    for seed in range(first, first + splits):
        train, test = split(y, seed)
        judge = cache(lambda chosen, train=train, test=test: quality(X, y, train, test,
                                                                     list(chosen)))
        drawn.held.clear()
        for (way, epsilon), held in qualities.items():
            held.append(np.mean([judge(chosen) for chosen in choices(
                drawn, train, WAYS[way], k, epsilon, key=seed, draws=draws)]))
        rng = np.random.default_rng(seed)
        guessed.append(np.mean([judge(tuple(sorted(rng.choice(X.shape[1], k, replace=False))))
                                for _ in range(10)]))
    return {way: np.array(held) for way, held in qualities.items()}, np.array(guessed)


def real_lines(splits, draws, cases):
    """One table for each set."""
    for name, k, epsilons in cases:
        qualities, guessed = real(name, k, epsilons, splits, draws)

        def cell(values):
            return f"{values.mean():.3f} ({OVERLAP * values.std(ddof=1) / len(values)**.5:.3f})"

        yield f"\n### {name}, k = {k}; random columns {cell(guessed)}\n"
        yield "| | " + " | ".join(epsilons) + " |\n" + "|---" * (len(epsilons) + 1) + "|"
        for way in WAYS:
            yield f"| {way} | " + " | ".join(cell(qualities[way, e]) for e in epsilons) + " |"
            if way != "auto":
                yield f"| auto less {way} | " + " | ".join(
                    cell(qualities["auto", e] - qualities[way, e]) for e in epsilons) + " |"


CASE_HEAD = """\
{name}, k = {k}, epsilon {epsilon}: the mean of two balanced accuracies over {splits} splits with
{draws} draws of noise each. The first error is of splits and draws alone: how far the mean over all
splits of this table may be. The second counts that splits share rows (Nadeau and Bengio, 30 % are
tested): how far it may be for another table of this kind. More splits make the first smaller, and
the second never smaller than .65 of the deviation from split to split.

| way | accuracy | error of splits | error of the table |
|---|---|---|---|
"""


def case(name, k, epsilon, splits, draws):
    """One bar by itself: each way, and how far "auto" is ahead of it, with two errors."""
    qualities, guessed = real(name, k, (epsilon,), splits, draws, CASE)
    ways = {way: qualities[way, epsilon] for way in WAYS}
    lines = {**ways, "random columns": guessed,
             **{f"auto less {way}": ways["auto"] - ways[way] for way in ways if way != "auto"}}
    return CASE_HEAD.format(name=name, k=k, epsilon=epsilon, splits=splits, draws=draws) + "".join(
        f"| {way} | {held.mean():.4f} | {held.std(ddof=1) / len(held)**.5:.4f} "
        f"| {error(held):.4f} |\n" for way, held in lines.items())


# generated tables


def xor(rng):
    """Two of twenty columns decide by exclusive or; a tenth of the labels are flipped."""
    X = rng.random((1000, 20))
    y = (X[:, 3] > .5) ^ (X[:, 11] > .5) ^ (rng.random(1000) < .1)
    return box(X, y.astype(int), {3, 11})


def parity(rng):
    """Three of twelve columns decide by their parity; a tenth of the labels are flipped."""
    X = rng.random((1500, 12))
    y = (X[:, :3] > .5).sum(axis=1) + (rng.random(1500) < .1)
    return box(X, y % 2, {0, 1, 2})


def gauss(rng):
    """Five of fifty normal columns are shifted by 1.0 down to .3 between even classes."""
    y = (rng.random(1000) < .5).astype(int)
    X, planted = rng.standard_normal((1000, 50)), rng.choice(50, 5, replace=False)
    X[:, planted] += np.linspace(1, .3, 5) * (-1) ** np.arange(5) * (y[:, None] - .5)
    return box(np.clip(X / 8 + .5, 0, 1), y, set(planted.tolist()))


def rare(rng):
    """Five of fifty normal columns are shifted by 1 in the rare tenth."""
    y = (rng.random(1500) < .1).astype(int)
    X, planted = rng.standard_normal((1500, 50)), rng.choice(50, 5, replace=False)
    X[:, planted] += y[:, None]
    return box(np.clip(X / 8 + .5, 0, 1), y, set(planted.tolist()))


#: Tables, columns sought, their public class share, and units times epsilon of the grid.
NEEDS = {
    "exclusive or, 2 of 20": (xor, 2, .5, (15, 20, 27, 36, 48, 65, 90, 130)),
    "parity of three, 3 of 12": (parity, 3, .5, (60, 90, 130, 180, 240, 320, 450)),
    "gauss, 5 of 50": (gauss, 5, .5, (250, 400, 600, 850, 1200, 1700)),
    "10 % positives, 5 of 50": (rare, 5, .1, (600, 1000, 1400, 2000, 2800, 4000)),
}


def curve(make, sizes, options, tables, draws):
    """The mean recall by epsilon, and units times epsilon for four fifths of what can be gained."""
    k, strengths = sizes
    points = []
    for seed in range(FRESH, FRESH + tables):
        drawn = table(make(np.random.default_rng([seed, 41])))
        n, d = drawn.X.shape
        points.append([np.mean([drawn.quality(chosen) for chosen in choices(
            drawn, np.arange(n), ("rule-sieve", options), k, f"{strength / n:.6f}", key=seed,
            draws=draws)]) for strength in strengths])
    return need(list(map(float, strengths)), np.mean(points, axis=0), k / d + .8 * (1 - k / d)), (
        np.array(points))


def needs_lines(tables, draws):
    """One line for each kind of table and way."""
    yield ("\n| tables | way | units times epsilon for 80 % | recall by units times epsilon |\n"
           "|---|---|---|---|")
    for name, (make, k, share, strengths) in NEEDS.items():
        for way in ("auto", "none"):
            needed, points = curve(make, (k, strengths), {"class_prior": share, "joint": way},
                                   tables, draws)
            error = points.std(0, ddof=1) / len(points)**.5
            yield f"| {name} | {way} | {needed:.0f} | " + ", ".join(
                f"{s}: {mean:.2f} ({se:.2f})" for s, mean, se in zip(
                    strengths, points.mean(0), error, strict=True)) + " |"


def causes(rng, classes):
    """Three causes, each in four near copies among thirty columns; quality is the causes named."""
    n = 3000
    cause = rng.standard_normal((n, 3))
    if classes == "four, by two questions":
        flip = .4 * rng.standard_normal((n, 2))
        y = 2 * (cause[:, 0] + flip[:, 0] > 0) + (cause[:, 1] + cause[:, 2] + flip[:, 1] > 0)
    elif classes == "four, nearest":
        y = np.argmax(cause @ rng.standard_normal((3, 4)) + .5 * rng.gumbel(size=(n, 4)), axis=1)
    else:
        many = {"two": 2, "four, in order": 4}[classes]
        total = cause.sum(axis=1) + .5 * rng.standard_normal(n)
        y = np.searchsorted(np.quantile(total, np.arange(1, many) / many), total)
    X = rng.standard_normal((n, 30))
    X[:, :12] = np.repeat(cause, 4, axis=1) + .3 * rng.standard_normal((n, 12))
    domain = box(np.clip(X / 8 + .5, 0, 1), y.astype(int), set())
    return Drawn(domain.X, domain.y, domain.domain,
                 lambda chosen: len({j // 4 for j in chosen if j < 12}) / 3)


def causes_lines(tables, draws):
    """One line for each kind of classes."""
    epsilons = ("0.1", "0.3", "1", "3")
    yield "\n| classes | way | " + " | ".join(epsilons) + " |\n" + "|---" * 6 + "|"
    for classes in ("two", "four, in order", "four, by two questions", "four, nearest"):
        for way in ("auto", "none"):
            _, points = curve(partial(causes, classes=classes),
                              (3, [3000 * float(e) for e in epsilons]), {"joint": way}, tables,
                              draws)
            yield f"| {classes} | {way} | " + " | ".join(
                f"{mean:.3f} ({se:.3f})" for mean, se in zip(
                    points.mean(0), points.std(0, ddof=1) / len(points)**.5, strict=True)) + " |"


HEAD = """\
Joint="auto" beside one race. Real tables: mean (standard error, {OVERLAP} times that of independent
splits) of balanced accuracy over {splits} splits with {draws} draws of noise each, splits that no
design used; bounds are the columns' own and are treated as public here. Generated tables: {tables}
with {table_draws} draws each; `needs` with the public class share.
"""


def main():
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", choices=("real", "needs", "causes"))
    parser.add_argument("--case", nargs=3, metavar=("TABLE", "K", "EPSILON"))
    parser.add_argument("--splits", type=int, default=400)
    arguments = parser.parse_args()
    if arguments.case:
        name, k, epsilon = arguments.case
        protocol.write(f"joint_choice_{name}_{k}", case(name, int(k), epsilon, arguments.splits, 2),
                       short=False)
        return
    splits, draws, tables, table_draws = (3, 1, 3, 1) if arguments.short else (16, 2, 24, 2)
    parts = {"real": lambda: real_lines(splits, draws, REAL),
             "needs": lambda: needs_lines(tables, table_draws),
             "causes": lambda: causes_lines(tables, table_draws)}
    text = HEAD.format(OVERLAP=OVERLAP, splits=splits, draws=draws, tables=tables,
                       table_draws=table_draws)
    for name, lines in parts.items():
        if arguments.only in (None, name):
            text += f"\n## {name}\n"
            for line in lines():
                print(line, flush=True)
                text += line + "\n"
    if arguments.only is None:
        protocol.write("joint_choice", text, short=arguments.short)


if __name__ == "__main__":
    main()
