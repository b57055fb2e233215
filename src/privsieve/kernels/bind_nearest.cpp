#include "bind.h"
#include "loops.h"
#include "nearest.h"

#include <cstring>

// `filter` (0 by the data, 1 bytes or bits, 2 floats or lists) and `loops` (0 the best) are for
// tests: the answers are the same for all.
static nb::object py_nearest(In<double, 2> X, In<std::int32_t, 1> label, const char* metric,
                             Maybe<In<u64, 1>> drawn, size_t samples, int filter, int loops) {
    const Loops* sets[3];
    const int many = runnable(sets);
    if (loops < 0 || loops >= many) throw nb::value_error("no such set of loops here");
    const Metric by = !std::strcmp(metric, "hamming")     ? Metric::hamming
                      : !std::strcmp(metric, "euclidean") ? Metric::euclidean
                                                          : Metric::manhattan;
    const size_t n = X.shape(0);
    Buffer<i64> hit(n * samples), miss(n * samples);
    i64* const found[2] = {hit.at(0), miss.at(0)};
    const Search search{matrix(X),   label.data(), by, Filter(filter), &sets[loops]->near,
                        drawn ? drawn->data() : nullptr, samples};
    if (!unlocked([&] { return nearest(search, found); })) return nb::none();
    return nb::make_tuple(give(std::move(hit), {n, samples}), give(std::move(miss), {n, samples}));
}

static nb::list py_loops() {
    const Loops* sets[3];
    const int many = runnable(sets);
    nb::list names;
    for (int i = 0; i < many; i++) names.append(sets[i]->name);
    return names;
}

void bind_nearest(nb::module_& m) {
    m.def("nearest", py_nearest, strict("X"), strict("label"), nb::arg("metric"),
          strict("drawn").none() = nb::none(), nb::arg("samples") = 1, nb::arg("filter") = 0,
          nb::arg("loops") = 0);
    m.def("nearest_loops", py_loops);
}
