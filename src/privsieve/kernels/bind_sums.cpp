#include "bind.h"
#include "kernels.h"

#include <algorithm>

static size_t sets_of(size_t d, size_t size) {
    size_t many = 1;
    for (size_t k = 0; k < size; k++) many = d > k ? many * (d - k) / (k + 1) : 0;
    return many;
}

static Out<i64> py_code_sums(In<u16, 2> codes, In<std::int32_t, 1> label, size_t classes) {
    const size_t columns = codes.shape(0);
    Buffer<i64> out(classes * columns);
    unlocked([&] { code_sums(matrix(codes), label.data(), classes, out.at(0)); });
    return give(std::move(out), {classes, columns});
}

static Out<i64> py_cell_sums(In<u8, 2> bins, In<i64, 1> starts, Maybe<In<i64, 1>> weight,
                             size_t grid) {
    const size_t sets = sets_of(bins.shape(0), 2), classes = starts.shape(0) - 1;
    const size_t cells = classes * grid * grid;
    Buffer<i64> out(sets * cells);
    const Bins in{matrix(bins), starts.data(), weight ? weight->data() : nullptr,
                  {nullptr, 0, classes}, grid, nullptr};
    unlocked([&] { cell_sums(in, out.at(0)); });
    return give(std::move(out), {sets, cells});
}

static Out<i64> py_product_sums(In<u64, 2> planes, Maybe<In<u64, 2>> masks, In<i64, 1> zeros,
                                In<i64, 1> words, In<i64, 1> rows, size_t size) {
    const size_t sets = sets_of(planes.shape(0), size), classes = rows.shape(0);
    Buffer<i64> out(sets * classes);
    const Signs signs{matrix(planes), masks ? masks->data() : nullptr, zeros.data(), words.data(),
                      rows.data(), {nullptr, 0, classes}};
    unlocked([&] { product_sums(signs, size == 3, out.at(0)); });
    return give(std::move(out), {sets, classes});
}

static Tie tie_of(const i64* place) {
    return {size_t(place[0]), u16(place[1])};
}

static Out<i64> py_tie_counts(In<u16, 2> codes, In<u64, 2> ids, u64 key, In<i64, 2> places) {
    const size_t many = places.shape(0), wide = size_t(1) << TOP_BITS;
    Buffer<i64> out(many * wide);
    unlocked([&] {
        for (size_t k = 0; k < many; k++)
            tie_counts(matrix(codes), ids.data(), key, tie_of(matrix(places)[k]),
                       out.at(k * wide));
    });
    return give(std::move(out), {many, wide});
}

static Out<u64> given(const std::vector<u64>& found) {
    Buffer<u64> out(found.size());
    std::copy(found.begin(), found.end(), out.at(0));
    return give(std::move(out), {found.size()});
}

static nb::tuple py_tied(In<u16, 2> codes, In<u64, 2> ids, u64 key, In<i64, 2> places) {
    const size_t many = places.shape(0), n = codes.shape(1);
    Buffer<i64> ends(many + 1);
    std::vector<u64> keys, rows;
    unlocked([&] {
        ends[0] = 0;
        for (size_t k = 0; k < many; k++) {
            const i64* place = matrix(places)[k];
            tied(matrix(codes), {ids.data(), ids.data() + n}, key, tie_of(place), place[2],
                 keys, rows);
            ends[k + 1] = i64(keys.size());
        }
    });
    return nb::make_tuple(give(std::move(ends), {many + 1}), given(keys), given(rows));
}

void bind_sums(nb::module_& m) {
    m.def("code_sums", py_code_sums, strict("codes"), strict("label"), nb::arg("classes"));
    m.def("cell_sums", py_cell_sums, strict("bins"), strict("starts"), strict("weight").none(),
          nb::arg("grid"));
    m.def("product_sums", py_product_sums, strict("planes"), strict("masks").none(),
          strict("zeros"), strict("words"), strict("rows"), nb::arg("size"));
    m.def("tie_counts", py_tie_counts, strict("codes"), strict("ids"), nb::arg("key"),
          strict("places"));
    m.def("tied", py_tied, strict("codes"), strict("ids"), nb::arg("key"), strict("places"));
}
