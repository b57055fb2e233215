"""Random tables with categories, numbers, dates, flags and rare levels; and who finds whom there.

The oracle reads what `publish` wrote: the file, and what the claim says may be known.  It shares no
code with the product: it holds rows as tuples and compares them one by one.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections import Counter, defaultdict
from pathlib import Path

PROFILES = (["--profile", "few"], ["--profile", "strict"], ["--profile", "most"],
            ["--method", "greedy"], ["--method", "greedy", "--weights", "hamming"],
            ["--method", "greedy", "--weights", "distinct"], ["--method", "maximal"],
            ["--method", "exact", "--time-limit", "5"],
            ["--method", "greedy", "--model", "k-anonymity"])


def write_table(path, rng):
    """A CSV file of 20 to 70 rows: its columns, each with its kind, and the target's name last."""
    rows = rng.randint(20, 70)
    columns = {"y": "target"}
    lean = [rng.random() for _ in range(rows)]
    new_columns = {"y": [str(int(number + rng.random() * rng.choice([0.3, 1.0]) > 0.9))
                         for number in lean]}
    if rng.random() < 0.2:
        new_columns["y"] = [rng.choice("abc") if label == "1" else "a"
                            for label in new_columns["y"]]
    for j in range(rng.randint(1, 5)):
        kind = rng.choice(["category", "number", "date", "flag", "rare"])
        name = f"{kind}{j}"
        columns[name] = kind
        new_columns[name] = [_cell(kind, number, rng) for number in lean]
    names = [name for name in columns if name != "y"] + ["y"]
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*(new_columns[name] for name in names), strict=True))
    return columns


def _cell(kind, lean, rng):
    if rng.random() < 0.05:
        return ""
    if kind == "category":
        return "PQR"[min(2, int(3 * (lean * 0.6 + rng.random() * 0.4)))]
    if kind == "rare":
        return rng.choice(["usual"] * 6 + ["seldom", f"odd{rng.randint(0, 3)}"])
    if kind == "number":
        return str(0 if rng.random() < 0.3 else round(lean * 50 + rng.random() * 30, 1))
    if kind == "date":
        return str(dt.date(2020, 1, 1) + dt.timedelta(days=int(900 * lean + 200 * rng.random())))
    return str(int(rng.random() < 0.2 + 0.6 * lean))


def options(columns, rng):
    """The words of a publication, and k: any profile or method, any roles."""
    k = rng.choice([2, 3, 5])
    words = ["--target", "y", "-k", str(k), *rng.choice(PROFILES)]
    strict = "strict" in words or "k-anonymity" in words
    names = [name for name in columns if name != "y"]
    if rng.random() < 0.7:
        words.append("--publish-target")
        if rng.random() < 0.2:
            words.append("--target-unknown")
    chance = rng.random()
    if chance < 0.15 and not strict:
        words += ["--presences-only", "all" if rng.random() < 0.5 else rng.choice(names)]
    elif chance < 0.3:
        words += ["--absences", "all" if rng.random() < 0.5 else rng.choice(names)]
    if rng.random() < 0.15:
        words += ["--l-diversity", "1"]
    if rng.random() < 0.1 and "greedy" in words:
        words += ["--suppress", str(rng.randint(1, 3))]
    return words, k


class Found:
    """What the oracle finds in a folder: the claim, and the smallest group of an attacker."""

    def __init__(self, folder):
        self.claim = json.loads((Path(folder) / "certificate.json").read_text())["claim"]
        with (Path(folder) / "table.csv").open(newline="") as file:
            head, *self.rows = list(csv.reader(file))
        self.place = {name: at for at, name in enumerate(head)}
        self.roles = self.claim["roles"]
        both = set(self.roles["both"])
        pairs = list(zip(self.claim["columns"], self.claim["origins"], strict=True))
        self.exact = [self.place[name] for name, origin in pairs if origin in both]
        self.has = [self.place[name] for name, origin in pairs if origin not in both]
        if self.roles["target_known"]:
            self.exact.append(self.place[self.claim["target"]])

    def level(self):
        """Rows in the smallest group of an attacker who knows what the roles say."""
        apart = defaultdict(Counter)
        for row in self.rows:
            held = int("0" + "".join(row[j] for j in self.has), 2)
            apart[tuple(row[j] for j in self.exact)][held] += 1
        return min(sum(count for other, count in seen.items() if mine & ~other == 0)
                   for seen in apart.values() for mine in seen)

    def classes(self):
        """The fewest classes in a group of an attacker who knows columns alone, or None."""
        target = self.claim["target"]
        if target is None:
            return None
        exact = [j for j in self.exact if j != self.place[target]]
        label = self.place[target]
        seen = {(tuple(row[j] for j in exact), tuple(row[j] for j in self.has), row[label])
                for row in self.rows}
        return min(len({other for row, held, other in seen
                        if row == mine and all(b >= a for a, b in zip(my, held, strict=True))})
                   for mine, my, _ in seen)
