"""Make up the tables of the guides and notebooks: `python made_up.py hospital survey`.

Nobody in them exists.  Each table hides an answer that its guide can find: which columns matter is
written in the function that makes it.  The numbers are the same at every run.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path


def hospital(draw):
    """A row a patient: `readmitted` by age and stay, `died` (1 in 50) by sodium, `cost` by stay."""
    yield ["patient", "age", "stay", "smoker", "ward", "weekday", "bmi", "sodium", "pulse",
           "readmitted", "died", "cost"]
    for patient in range(4000):
        age, stay = draw.randint(18, 95), round(draw.lognormvariate(1.2, 0.8), 1)
        sodium, ward = round(draw.gauss(140, 4), 1), draw.choice("ABC")
        ill = draw.random() < 0.1 + 0.4 * (age > 65) + 0.4 * (stay > 5)
        died = draw.random() < (0.3 if sodium < 133 else 0.008)
        cost = 400 + 700 * stay + 900 * (ward == "C") + draw.gauss(0, 300)
        yield [f"P{patient:05}", age, stay, draw.choice(["yes", "no"]), ward, draw.randint(1, 7),
               round(draw.gauss(26, 4), 1), sodium, draw.randint(50, 110),
               "yes" if ill else "no", int(died), max(0, round(cost))]


def visits(draw):
    """One row a visit, one to six of a person: `infection` by catheter days and temperature."""
    yield ["person", "visit", "age", "catheter_days", "temperature", "crp", "ward", "season",
           "infection"]
    for person in range(2500):
        age, frail = draw.randint(20, 95), draw.random() < 0.3
        for visit in range(1, draw.choice([1, 1, 1, 2, 2, 3, 4, 6]) + 1):
            days, hot = draw.randint(0, 14), round(draw.gauss(37 + 0.6 * frail, 0.6), 1)
            ill = draw.random() < 0.05 + 0.4 * (days > 7) + 0.35 * (hot > 38)
            yield [f"N{person:05}", visit, age, days, hot, round(draw.expovariate(0.05), 1),
                   draw.choice(["surgery", "medicine", "geriatrics"]),
                   draw.choice(["spring", "summer", "autumn", "winter"]), int(ill)]


def survey(draw):
    """100 items from 1 to 5 and two facts: `leaves` by three items, of which q64 repeats q17."""
    items = [f"q{number:03}" for number in range(1, 101)]
    yield ["respondent", "age_group", "region", *items, "leaves"]
    for respondent in range(2500):
        mood = draw.gauss(0, 0.5)
        said = {item: min(5, max(1, round(draw.gauss(3 + mood, 1.1)))) for item in items}
        said["q064"] = min(5, max(1, said["q017"] + draw.choice([-1, 0, 0, 0, 1])))
        unhappy = (said["q017"] <= 2) + (said["q042"] <= 2) + (said["q088"] <= 2)
        yield [respondent, draw.choice(["under 30", "30 to 49", "50 and over"]),
               draw.choice(["north", "south", "east", "west"]), *said.values(),
               "yes" if draw.random() < 0.06 + 0.28 * unhappy else "no"]


def shop(draw):
    """One line a purchase: who buys nappies or a crib comes back; made with `customers`."""
    yield ["customer", "item"]
    for customer, bought, _ in _shopping(draw):
        for item in bought:
            yield [customer, item]


def customers(draw):
    """One row a customer of `shop`: whether they came back."""
    yield ["customer", "returned"]
    for customer, _, returned in _shopping(draw):
        yield [customer, returned]


def _shopping(draw):
    items = [f"item{number:02}" for number in range(40)]
    for customer in range(3000):
        bought = [item for at, item in enumerate(items) if draw.random() < 0.5 / (1 + at % 20)]
        bought += [item for item in ("nappies", "crib") if draw.random() < 0.15]
        young = "nappies" in bought or "crib" in bought
        bought = bought or ["item00"]
        yield f"C{customer:05}", bought, "yes" if draw.random() < 0.15 + 0.5 * young else "no"


def genes(draw):
    """1,000 samples of 300 expressions: `relapse` by g042 and g211 alone."""
    names = [f"g{number:03}" for number in range(300)]
    yield ["sample", *names, "relapse"]
    for sample in range(1000):
        level = [round(draw.gauss(8, 2), 2) for _ in names]
        ill = draw.random() < 0.05 + 0.45 * (level[42] > 8.5) + 0.45 * (level[211] < 7.5)
        yield [f"S{sample:04}", *level, int(ill)]


TABLES = (hospital, visits, survey, shop, customers, genes)


def main(names):
    """Write each table that is named, or all of them, into the folder that we are in."""
    for make in TABLES:
        if not names or make.__name__ in names:
            seed = "shop" if make is customers else make.__name__  # both tell of the same people
            with Path(f"{make.__name__}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(make(random.Random(seed)))
            print(f"{make.__name__}.csv")


if __name__ == "__main__":
    main(sys.argv[1:])
