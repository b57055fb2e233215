#include "bind.h"
#include "search.h"

#include <chrono>

using namespace privsieve::exact;
using Clock = std::chrono::steady_clock;

// Whether to end: the time is up, or the user has had enough.  Other signals keep their error.
struct Late {
    Clock::time_point end, next = Clock::now();
    bool limited;
    bool failed = false;

    bool operator()() {
        const auto now = Clock::now();
        if (limited && now >= end) return true;
        if (now < next) return false;
        next = now + std::chrono::milliseconds(20);
        nb::gil_scoped_acquire held;
        if (!PyErr_CheckSignals()) return false;
        if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_Clear();
        else failed = true;
        return true;
    }
};

static nb::tuple py_search(std::tuple<In<i64, 1>, In<i32, 1>> cells, In<i32, 1> y,
                           Maybe<In<i64, 1>> weights, In<i64, 1> facts, In<u8, 1> absent,
                           In<i64, 1> start) {
    const auto& [indptr, indices] = cells;
    const Items items{indptr.data(), indices.data(), indptr.shape(0) - 1, y.data(), y.shape(0)};
    const i64* f = facts.data();
    const Rule rule{f[0], f[1], f[2], size_t(f[3]), size_t(f[4]), true, f[6] != 0, absent.data()};
    const std::vector<i64> given(start.data(), start.data() + start.shape(0));
    Late late{Clock::now() + std::chrono::milliseconds(f[8]), Clock::now(), f[8] > 0};
    const Found found = unlocked([&] {
        return search(items, weights ? weights->data() : nullptr, rule, given, f[7],
                      std::ref(late));
    });
    if (late.failed) throw nb::python_error();
    Buffer<i64> out(found.selected.size());
    for (size_t i = 0; i < found.selected.size(); i++) out[i] = found.selected[i];
    return nb::make_tuple(give(std::move(out), {found.selected.size()}), found.value, found.bound,
                          found.proved, found.nodes);
}

void bind_search(nb::module_& m) {
    const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("search", py_search, strict("items"), strict("y"), strict("weights").none(),
          strict("facts"), strict("absent"), strict("start"));
}
