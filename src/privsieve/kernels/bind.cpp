// The doors between Python's arrays and the kernels.  `contract.py` has checked what comes in.
#include "bind.h"
#include "kernels.h"
#include "loops.h"

using Counts = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Triple = std::tuple<In<i64, 1>, In<u16, 1>, Counts>;
using Quadruple = std::tuple<In<u16, 1>, In<u64, 1>, In<u64, 1>, In<i64, 1>>;

template <class Count> static RunsView<Count> view(const Triple& t) {
    const auto& [indptr, code, count] = t;
    return {indptr.data(), code.data(), static_cast<const Count*>(count.data()),
            indptr.shape(0) - 1, count.shape(1)};
}

static bool narrow(const Triple& t) { return std::get<2>(t).dtype() == nb::dtype<std::int32_t>(); }

template <class Count> static nb::tuple give_runs(Runs<Count>&& r) {
    return nb::make_tuple(give(std::move(r.indptr), {r.columns + 1}),
                          give(std::move(r.code), {r.size}),
                          give(std::move(r.count), {r.size, r.classes}));
}

using Words = nb::ndarray<const u64, nb::c_contig, nb::device::cpu>;

static Out<u64> py_mix(const Words& in) {
    Buffer<u64> out(in.size());
    unlocked([&] {
        for (size_t i = 0; i < in.size(); i++) out[i] = mix64(in.data()[i]);
    });
    u64* data = out.data.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return Out<u64>(data, in.ndim(), reinterpret_cast<const size_t*>(in.shape_ptr()), owner);
}

static nb::tuple py_runs(nb::list parts, bool wide) {
    std::vector<std::tuple<In<u16, 2>, In<i64, 1>, Maybe<In<i64, 1>>>> held;
    std::vector<ClassRows> rows;
    for (nb::handle part : parts) {
        const auto& [codes, starts, weight] =
            held.emplace_back(nb::cast<decltype(held)::value_type>(part, false));
        rows.push_back({matrix(codes), starts.data(), weight ? weight->data() : nullptr});
    }
    const size_t classes = std::get<1>(held.front()).shape(0) - 1;
    if (wide) return give_runs(unlocked([&] { return runs<i64>(rows, classes); }));
    return give_runs(unlocked([&] { return runs<std::int32_t>(rows, classes); }));
}

template <class Count> static nb::tuple do_merge(const Triple& a, const Triple& b) {
    return give_runs(unlocked([&] { return merge_runs(view<Count>(a), view<Count>(b)); }));
}

static nb::tuple py_merge(Triple a, Triple b) {
    return narrow(a) ? do_merge<std::int32_t>(a, b) : do_merge<i64>(a, b);
}

static Out<i64> py_interval(Triple t, In<i64, 2> labellings, In<u8, 1> kind) {
    const size_t d = kind.shape(0), many = labellings.shape(0);
    Buffer<i64> out(many * d);
    unlocked([&] {
        if (narrow(t)) interval(view<std::int32_t>(t), matrix(labellings), kind.data(), out.at(0));
        else interval(view<i64>(t), matrix(labellings), kind.data(), out.at(0));
    });
    return give(std::move(out), {many, d});
}

static nb::tuple py_planes(In<u16, 2> codes, In<i64, 2> layout, In<u64, 2> ids, u64 key,
                           Quadruple cuts, In<u8, 1> kind, bool masked) {
    const size_t d = codes.shape(0), n = codes.shape(1);
    const size_t width = size_t(layout.data()[layout.size() - 1]);
    const auto& [code, keys, rows, count] = cuts;
    Buffer<u64> planes(d * width), masks(masked ? d * width : 0);
    Buffer<i64> zeros(d);
    unlocked([&] {
        for (size_t j = 0; j < d; j++) {
            const Cut cut{code.data()[j], keys.data()[j], rows.data()[j], count.data()[j]};
            zeros[j] = sign_plane(matrix(codes), j, matrix(layout), {ids.data(), ids.data() + n},
                                  key, cut, kind.data()[j], planes.at(j * width),
                                  masked ? masks.at(j * width) : nullptr);
        }
    });
    nb::object mask = masked ? nb::cast(give(std::move(masks), {d, width})) : nb::none();
    return nb::make_tuple(give(std::move(planes), {d, width}), mask, give(std::move(zeros), {d}));
}

static Out<i64> py_rank_intervals(Triple t, In<u8, 1> kind) {
    const size_t d = kind.shape(0), classes = std::get<2>(t).shape(1), cuts = classes - (classes > 0);
    Buffer<i64> out(cuts * d);
    unlocked([&] {
        if (narrow(t)) rank_intervals(view<std::int32_t>(t), kind.data(), out.at(0));
        else rank_intervals(view<i64>(t), kind.data(), out.at(0));
    });
    return give(std::move(out), {cuts, d});
}

template <bool TRIPLES>
static Out<i64> py_products(In<u64, 2> planes, Maybe<In<u64, 2>> masks, In<i64, 1> zeros,
                            In<i64, 1> words, In<i64, 1> rows, In<i64, 2> labellings,
                            size_t threads) {
    Buffer<i64> best(planes.shape(0));
    const Signs signs{matrix(planes), masks ? masks->data() : nullptr, zeros.data(),
                      words.data(),   rows.data(),                     matrix(labellings)};
    unlocked([&] { sign_products(signs, TRIPLES, threads, best.at(0)); });
    return give(std::move(best), {planes.shape(0)});
}

template <bool GAIN>
static Out<i64> py_bins(In<u8, 2> bins, In<i64, 1> starts, Maybe<In<i64, 1>> weight,
                        In<i64, 2> labellings, size_t grid, In<u8, 1> nominal, size_t threads) {
    const size_t d = bins.shape(0), size = GAIN ? d : d ? d * (d - 1) / 2 : 0;
    Buffer<i64> out(size);
    const Bins in{matrix(bins), starts.data(), weight ? weight->data() : nullptr,
                  matrix(labellings), grid, nominal.data()};
    unlocked([&] { GAIN ? pair_gain(in, threads, out.at(0)) : pair_best(in, threads, out.at(0)); });
    return give(std::move(out), {size});
}

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
    return nb::make_tuple(give(std::move(ends), {many + 1}), give(keys), give(rows));
}

// What every set of loops that this machine can run answers: they must all be the same.
static nb::list py_loops(In<u64, 2> words, In<u16, 1> codes, u16 low, u16 high) {
    const Loops* found[3];
    const int many = runnable(found);
    nb::list all;
    const size_t w = words.shape(1), n = codes.shape(0);
    const Matrix<u64> x = matrix(words);
    for (int i = 0; i < many; i++) {
        Buffer<u64> bits((n + 63) / 64), packed(w), keys(w);
        Buffer<u8> flags(w * 64);
        Buffer<i64> sums(3);
        for (size_t k = 0; k < w * 64; k++) flags[k] = u8(x[0][k >> 6] >> (k & 63) & 1);
        for (size_t k = 0; k < 3; k++) sums[k] = 0;
        found[i]->between(codes.data(), n, low, high, bits.at(0));
        found[i]->pack(flags.at(0), w, packed.at(0));
        found[i]->hash(x[0], w, 5, 7, keys.at(0));
        found[i]->count_and_many(x[0], x[1], w, 3, w, sums.at(0));
        all.append(nb::make_tuple(found[i]->name, found[i]->count_xor(x[0], x[1], w),
                                  found[i]->count_and(x[0], x[1], w),
                                  found[i]->count_masked(x[0], x[1], x[2], x[3], w),
                                  give(std::move(bits), {(n + 63) / 64}),
                                  give(std::move(packed), {w}), give(std::move(keys), {w}),
                                  give(std::move(sums), {3})));
    }
    return all;
}

void bind_patterns(nb::module_& m);
void bind_mining(nb::module_& m);
void bind_blocks(nb::module_& m);
void bind_arrow(nb::module_& m);
#ifdef PRIVSIEVE_CSV
void bind_csv(nb::module_& m);
#endif

NB_MODULE(_native, m) {
    bind_patterns(m);
    bind_mining(m);
    bind_blocks(m);
    bind_arrow(m);
#ifdef PRIVSIEVE_CSV
    bind_csv(m);
#endif
    m.def("mix64", py_mix, strict("z"));
    m.def("tie_keys", [](In<u64, 1> unit, u64 feature, u64 key) {
        Buffer<u64> out(unit.size());
        unlocked([&] {
            best_loops().hash(unit.data(), unit.size(), feature << 40, key, out.at(0));
        });
        return give(std::move(out), {unit.size()});
    }, strict("unit"), nb::arg("feature"), nb::arg("key"));
    m.def("runs_together", py_runs, strict("parts"), nb::arg("wide"));
    m.def("merge_runs", py_merge, strict("a"), strict("b"));
    m.def("interval", py_interval, strict("runs"), strict("labellings"), strict("kind"));
    m.def("rank_intervals", py_rank_intervals, strict("runs"), strict("kind"));
    m.def("sign_planes", py_planes, strict("codes"), strict("layout"), strict("ids"),
          nb::arg("key"), strict("cuts"), strict("kind"), nb::arg("masked"));
    m.def("sign_pairs", py_products<false>, strict("planes"), strict("masks").none(),
          strict("zeros"), strict("words"), strict("rows"), strict("labellings"),
          nb::arg("threads"));
    m.def("sign_triples", py_products<true>, strict("planes"), strict("masks").none(),
          strict("zeros"), strict("words"), strict("rows"), strict("labellings"),
          nb::arg("threads"));
    m.def("pair_gain", py_bins<true>, strict("bins"), strict("starts"), strict("weight").none(),
          strict("labellings"), nb::arg("grid"), strict("nominal"), nb::arg("threads"));
    m.def("pair_best", py_bins<false>, strict("bins"), strict("starts"), strict("weight").none(),
          strict("labellings"), nb::arg("grid"), strict("nominal"), nb::arg("threads"));
    m.def("loops", py_loops, strict("words"), strict("codes"), nb::arg("low"), nb::arg("high"));
    m.def("code_sums", py_code_sums, strict("codes"), strict("label"), nb::arg("classes"));
    m.def("cell_sums", py_cell_sums, strict("bins"), strict("starts"), strict("weight").none(),
          nb::arg("grid"));
    m.def("product_sums", py_product_sums, strict("planes"), strict("masks").none(),
          strict("zeros"), strict("words"), strict("rows"), nb::arg("size"));
    m.def("tie_counts", py_tie_counts, strict("codes"), strict("ids"), nb::arg("key"),
          strict("places"));
    m.def("tied", py_tied, strict("codes"), strict("ids"), nb::arg("key"), strict("places"));
}
