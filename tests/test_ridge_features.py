"""Law: features.  Whole numbers of a row alone, never longer than was said, near their kernel."""

from __future__ import annotations

import itertools
import math
from hashlib import sha256

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import rbf_kernel

from privsieve.errors import ParameterError
from privsieve.methods.ridge.features import (
    LARGEST,
    ONE,
    WHOLE,
    Map,
    cosines,
    features,
    frequencies,
    map_of,
    normals,
    target,
)
from privsieve.public.columns import Category, Date, Flag, Number
from tables import random_codes

COLUMNS = (Number("a", 0, 1), Number("b", 0, 1, missing="level"), Flag("c"),
           Category("d", ["x", "y", "z"]))
KINDS = "nmfc"
MAPS = [map_of(COLUMNS, "linear"), map_of(COLUMNS, "cosine"),
        map_of(COLUMNS, "cosine", degree=1), map_of(COLUMNS, "rbf"),
        map_of(COLUMNS, "rbf", features=14, gamma="20", seed=3)]
NAMES = [f"{kernel_map.kind}-{kernel_map.width}" for kernel_map in MAPS]
#: Codes at the ends of the grid, in its middle, and missing.
CORNERS = np.array(list(itertools.product([0, 1, 32767, 32768, 65534, 65535],
                                          [0, 32767, 65534, 65535], [0, 1], [0, 1, 2, 3])),
                   np.uint16)


def rows(n=4000, seed=0):
    """Corners, and random codes with ties and missing values."""
    return np.concatenate([CORNERS, random_codes(np.random.default_rng(seed), KINDS, n)])


def naive(kernel_map, row):
    """The features of one row by loops and Python's integers, but for Fourier's frequencies."""
    if kernel_map.kind == "fourier":
        moved = frequencies(kernel_map)
        phases = []
        for k in range(kernel_map.pairs):
            a, b, c, d = (int(x) for x in row)
            turn = a * int(moved[0][0][k])
            turn += (32767 if b == 65535 else b) * int(moved[1][0][k])
            turn += int(moved[1][1][k]) if b == 65535 else 0
            turn += int(moved[2][0][k]) if c else 0
            turn += int(moved[3][d][k])
            phases.append((turn + 2**15) // 2**16 % 2**16)
        table = cosines().tolist()
        return [table[i] for p in phases for i in (p, (p - 16384) % 65536)]
    values = []
    for term in kernel_map.terms:
        values += [ONE] if term is None else naive_part(kernel_map, *term, int(row[term[0]]))
    return values


def naive_part(kernel_map, j, wave, code):
    """What a wave of one column is."""
    column = kernel_map.columns[j]
    if isinstance(column, Flag):
        return [ONE if code else -ONE]
    if isinstance(column, Category):
        return [ONE * (code == level) for level in range(column.levels)]
    missing = column.missing_level and code == 65535
    value = 2 * code - (65534 if column.missing_level else 65535)
    value = 0 if missing else value
    values = value
    if kernel_map.kind == "cosine":
        values = int(cosines()[wave * (value + ONE) // 4 % 65536])
    values = 0 if missing else values
    return [values, ONE * missing] if column.missing_level and wave == 1 else [values]


@pytest.mark.parametrize("kernel_map", MAPS, ids=NAMES)
def test_features_are_the_naive_ones(kernel_map):
    """Arrays and loops give the same whole numbers, row by row."""
    codes = rows(60)

    actual_rows = features(kernel_map, codes)
    assert [naive(kernel_map, row) for row in codes] == actual_rows.tolist()
    assert kernel_map.width == actual_rows.shape[1]


@pytest.mark.parametrize("kernel_map", MAPS, ids=NAMES)
def test_no_row_is_longer_than_was_said(kernel_map):
    """The squared length of any row, at the corners too, is at most that of the slots."""
    actual_rows = features(kernel_map, rows())
    longest = (actual_rows**2).sum(axis=1).max()

    assert longest <= ONE**2 * kernel_map.slots
    assert longest > 0.9 * ONE**2 * kernel_map.slots
    assert np.abs(actual_rows).max() <= ONE


@pytest.mark.parametrize("kernel_map", MAPS, ids=NAMES)
def test_a_row_is_alone(kernel_map):
    """The features of a row are the same in any company and any order."""
    codes = rows(200)
    order = np.random.default_rng(5).permutation(len(codes))

    assert np.array_equal(features(kernel_map, codes)[order], features(kernel_map, codes[order]))
    assert np.array_equal(features(kernel_map, codes)[7:8], features(kernel_map, codes[7:8]))


def test_every_cosine_and_sine_are_short_enough():
    """Of all 65536 angles the squares add up to at most 65535^2, and hardly less."""
    table, at = cosines(), np.arange(WHOLE)
    squares = table**2 + table[(at - WHOLE // 4) % WHOLE] ** 2

    assert squares.max() <= ONE**2
    assert squares.min() >= (ONE - 2) ** 2
    assert np.abs(table).max() <= ONE
    exact = ONE * np.cos(2 * np.pi * at / WHOLE)
    assert (np.abs(table) <= np.abs(exact) + 1e-9).all()
    assert np.abs(table - exact).max() <= 1


def test_the_public_numbers_never_change():
    """The same seed gives these frequencies and this table, on all machines and versions."""
    kernel_map = map_of(COLUMNS, "rbf", features=20, gamma="0.5", seed=7)
    drawn = b"".join(np.ascontiguousarray(frequency, "<i8").tobytes()
                     for frequency in frequencies(kernel_map))

    assert DRAWN == sha256(drawn).hexdigest()[:16]
    assert TABLE == sha256(cosines().astype("<i8").tobytes()).hexdigest()[:16]


DRAWN, TABLE = "4121962291c700d4", "809bfcd23f3709df"


def test_public_draws_are_normal():
    """Their law is a normal one as far as 20,000 draws can tell."""
    drawn = np.array(normals("test", 20_000)) / (2**32 * math.sqrt(256 + 1 / 12))

    assert stats.kstest(drawn, "norm").pvalue > 1e-3
    assert abs(stats.kurtosis(drawn)) < 0.2


def test_fourier_features_are_near_their_kernel():
    """Products of features are the Gaussian kernel, but for what so few frequencies err."""
    kernel_map = map_of([Number("a", 0, 1), Number("b", 0, 1)], "rbf", features=1000, gamma="2")
    codes = np.random.default_rng(1).integers(0, 65536, (300, 2)).astype(np.uint16)
    phi = features(kernel_map, codes) / WHOLE

    err = phi @ phi.T / kernel_map.slots - rbf_kernel(codes / WHOLE, gamma=2)
    assert np.sqrt((err**2).mean()) < 1.5 / math.sqrt(2 * kernel_map.pairs)


def test_targets_are_in_the_middle():
    """The ends are +-65535, what is missing as a level is the middle."""
    assert [-65535, -1, 1, 65535] == target(
        Number("y", 0, 1), np.array([0, 32767, 32768, 65535], np.int32)).tolist()
    assert [-65534, 65534, 0] == target(
        Number("y", 0, 1, missing="level"), np.array([0, 65534, 65535], np.int32)).tolist()


@pytest.mark.parametrize(("options", "message"), [
    ({"kernel": "cubic"}, "kernel is 'cubic'; write one of linear, cosine, rbf"),
    ({"kernel": "rbf", "features": 7}, "features is 7; write an even number"),
    ({"kernel": "rbf", "features": 0}, "features is 0; write a whole number from 2 to 1024"),
    ({"kernel": "rbf", "features": 2000}, "from 2 to 1024"),
    ({"kernel": "rbf", "features": True}, "features is True"),
    ({"kernel": "rbf", "seed": -1}, "feature_seed is -1"),
    ({"kernel": "rbf", "gamma": 0}, "gamma is 0; write a number above 0"),
    ({"kernel": "rbf", "degree": 2}, 'degree is 2, but kernel="rbf" has none'),
    ({"kernel": "linear", "gamma": 1}, 'gamma is 1, but kernel="linear" has none'),
    ({"kernel": "linear", "degree": 2}, 'kernel="linear" has degree 1'),
    ({"kernel": "cosine", "degree": 17}, "degree is 17; write a whole number from 1 to 16"),
])
def test_wrong_maps_are_refused(options, message):
    """Each public parameter that makes no sense is named, with its limit and a way out."""
    with pytest.raises(ParameterError, match=message):
        map_of(COLUMNS, **options)


def test_too_many_features_are_refused_at_once():
    """The waves of many columns are refused, and their values are not."""
    many = [Number(f"x{j}", 0, 1) for j in range(500)]

    with pytest.raises(ParameterError, match=f"more than {LARGEST} features for 500 columns"):
        map_of(many, "cosine", degree=16)
    assert 501 == map_of(many, "linear").width


@pytest.mark.parametrize("kernel_map", MAPS, ids=NAMES)
def test_a_map_is_what_its_release_says(kernel_map):
    """What a release says of a map gives the map again."""
    assert kernel_map == Map.of_json(kernel_map.json(), COLUMNS)


def test_dates_are_numbers():
    """A date has the features of a number."""
    dates = map_of([Date("day", "2020-01-01", "2021-01-01")], "cosine")
    codes = np.array([[0], [40_000]], np.uint16)

    assert features(map_of([Number("a", 0, 1)], "cosine"), codes).tolist() == features(
        dates, codes).tolist()
