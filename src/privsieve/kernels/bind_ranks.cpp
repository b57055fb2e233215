// The doors to the kernels of a numeric target.  `rules.py` has checked what comes in.
#include "bind.h"
#include "ranks.h"

using Counts = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Triple = std::tuple<In<i64, 1>, In<u16, 1>, Counts>;

template <class Count> static void of_runs(const Triple& t, const u8* kind, i64* out) {
    const auto& [indptr, code, count] = t;
    const RunsView<Count> runs{indptr.data(), code.data(), static_cast<const Count*>(count.data()),
                               indptr.shape(0) - 1, count.shape(1)};
    rank_intervals(runs, kind, out);
}

static Out<i64> py_rank_intervals(Triple runs, In<u8, 1> kind) {
    const Counts& count = std::get<2>(runs);
    const size_t d = kind.shape(0), cuts = count.shape(1) ? count.shape(1) - 1 : 0;
    const bool narrow = count.dtype() == nb::dtype<std::int32_t>();
    Buffer<i64> out(cuts * d);
    unlocked([&] {
        if (narrow) of_runs<std::int32_t>(runs, kind.data(), out.at(0));
        else of_runs<i64>(runs, kind.data(), out.at(0));
    });
    return give(std::move(out), {cuts, d});
}

void bind_ranks(nb::module_& m) {
    const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("rank_intervals", py_rank_intervals, strict("runs"), strict("kind"));
}
