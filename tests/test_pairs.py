"""Law: pairs.  Rows of items come out in order, whatever order and width they went in."""

import numpy as np
import pytest
from scipy import sparse

from privsieve.errors import SchemaError
from privsieve.rows import matrix as matrices
from privsieve.rows.items import items_of
from privsieve.rows.matrix import by_item


@pytest.mark.parametrize(("rows", "items"), [(1, 1), (9, 4), (300, 70), (2**27, 2**20), (0, 3)])
def test_pairs_are_put_in_order(rows, items):
    """Each item's rows are its distinct rows, increasing, also where a pair needs 64 bits."""
    rng = np.random.default_rng(rows)
    for size in (0, 1, 500) if rows else (0,):
        row, item = rng.integers(0, max(rows, 1), size), rng.integers(0, items, size)
        row[:size // 3], item[:size // 3] = row[size // 3:2 * (size // 3)], item[:size // 3]
        indptr, indices = by_item(row.astype(np.int32), item, rows, items)
        wanted = sorted(set(zip(item.tolist(), row.tolist(), strict=True)))

        assert [pair for _, pair in wanted] == indices.tolist()
        assert [sum(j < at for j, _ in wanted) for at in np.unique(item)] == indptr[
            np.unique(item)].tolist()
        assert (items + 1, 0, len(wanted)) == (len(indptr), indptr[0], indptr[-1])
        assert (np.int64, np.int32) == (indptr.dtype, indices.dtype)


@pytest.mark.parametrize("form", ["csc", "csr", "coo"])
@pytest.mark.parametrize("spoilt", ["", "unsorted", "twice", "zeros", "wide", "swapped"])
def test_archives_hold_what_their_matrix_holds(tmp_path, form, spoilt):
    """Canonical or not, with wide or foreign indices, a saved matrix is the matrix."""
    rng = np.random.default_rng(3)
    X = rng.random((40, 17)) < 0.2
    matrix = sparse.coo_matrix(X.astype(np.int8)).asformat(form)
    arrays = {"format": np.array(form.encode()), "shape": np.array(X.shape), "data": matrix.data}
    parts = ("row", "col") if form == "coo" else ("indptr", "indices")
    arrays |= {name: getattr(matrix, name).copy() for name in parts}
    if spoilt == "unsorted":
        first = slice(0, int(arrays["indptr"][1])) if form != "coo" else slice(None)
        for name in parts[form != "coo":]:
            arrays[name][first] = arrays[name][first][::-1]
    if spoilt == "twice":
        last = arrays[parts[1]][-1:]
        arrays[parts[1]] = np.concatenate([arrays[parts[1]], last])
        arrays["data"] = np.ones(len(matrix.data) + 1)
        if form == "coo":
            arrays["row"] = np.concatenate([arrays["row"], arrays["row"][-1:]])
        else:
            arrays["indptr"][arrays["indptr"] == len(matrix.data)] += 1
    if spoilt == "zeros":
        arrays["data"][::3] = 0
        X = matrix.toarray() * 0
        X[matrix.tocoo().row, matrix.tocoo().col] = arrays["data"] if form == "coo" else \
            type(matrix)((arrays["data"], matrix.indices, matrix.indptr), X.shape).tocoo().data
    for name in parts:
        kind = {"wide": np.uint64, "swapped": ">i4"}.get(spoilt, arrays[name].dtype)
        arrays[name] = arrays[name].astype(kind)
    np.savez(tmp_path / "t.npz", **arrays)
    items, _, _ = items_of(tmp_path / "t.npz")

    assert [np.flatnonzero(column).tolist() for column in X.T] == [
        own_items.tolist() for own_items in np.split(items.indices, items.indptr[1:-1])]
    assert (np.int64, np.dtype(np.int32)) == (items.indptr.dtype, items.indices.dtype)


@pytest.mark.parametrize("form", ["csc", "csr", "coo"])
def test_a_pair_that_comes_twice_counts_once_everywhere(tmp_path, form):
    """In memory as in an archive; and 256 times in eight bits is not 0."""
    at = np.zeros(256, np.int32)
    matrix = sparse.coo_matrix((np.ones(256, np.uint8), (at, at)), (2, 1))
    if form != "coo":
        ends = np.array([0, 256, 256] if form == "csr" else [0, 256])
        kind = sparse.csr_matrix if form == "csr" else sparse.csc_matrix
        matrix = kind((np.ones(256, np.uint8), at, ends), (2, 1))
    sparse.save_npz(tmp_path / "t.npz", matrix)

    assert [[0], [0]] == [items_of(X)[0].indices.tolist() for X in (matrix, tmp_path / "t.npz")]


def test_what_is_in_order_is_not_sorted(tmp_path, monkeypatch):
    """Columns that SciPy left in order are taken as they are."""
    monkeypatch.setattr(matrices, "from_pairs", None)
    matrix = sparse.random_array((30, 9), density=0.3, rng=np.random.default_rng(1)).tocsc() != 0
    sparse.save_npz(tmp_path / "t.npz", matrix)

    assert matrix.indices.tolist() == items_of(tmp_path / "t.npz")[0].indices.tolist()


@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("wrong", [
    {"indptr": [0, 2, 1, 3]}, {"indptr": [1, 2, 3, 3]}, {"indptr": [0, 1, 2]}, {"indptr": []},
    {"indices": [0, 1, 3]}, {"indices": [0, -1, 2]}, {"indices": [0, 1]}, {"indices": [0.0, 1, 2]},
    {"indices": [[0, 1, 2]]}, {"data": [[1], [1], [1]]}, {"data": [1, 1]}, {"indptr": [0, 9, 9, 3]},
    {"indptr": [0, 1, 2, 2, 3]}, {"indptr": [0, 2**62, 2**62, 3]}])
def test_damaged_archives_are_refused(tmp_path, form, wrong):
    """Whatever does not fit together in an archive is refused in one sentence."""
    whole = {"indptr": [0, 1, 2, 3], "indices": [0, 1, 2], "data": [1, 1, 1], "shape": [3, 3]}
    arrays = {name: np.array(array) for name, array in (whole | wrong).items()}
    np.savez(tmp_path / "t.npz", format=np.array(form.encode()), **arrays)

    with pytest.raises(SchemaError, match=r"the \.npz file cannot be read: it is damaged"):
        items_of(tmp_path / "t.npz")
