#include "bind.h"
#include "search.h"

using namespace privsieve::exact;

// Asked by the search: whether to end.  Now and then it tells how far the search is.
struct Told {
    nb::object listener;
    Enough end;
    Enough::Clock::time_point next = Enough::Clock::now() + PAUSE;
    static constexpr std::chrono::milliseconds PAUSE{200};

    bool operator()(i64 nodes, i64 best) {
        if (end()) return true;
        if (listener.is_none() || Enough::Clock::now() < next) return false;
        next = Enough::Clock::now() + PAUSE;
        nb::gil_scoped_acquire held;
        try {
            listener(nodes, best);
        } catch (nb::python_error& error) {
            end.interrupted = error.matches(PyExc_KeyboardInterrupt);
            end.failed = !end.interrupted;
            if (end.failed) error.restore();
        }
        return end.interrupted || end.failed;
    }
};

static nb::tuple py_search(std::tuple<In<i64, 1>, In<i32, 1>> cells, In<i32, 1> y,
                           Maybe<In<i64, 1>> weights, In<i64, 1> facts, In<u8, 1> absent,
                           std::tuple<In<i64, 1>, nb::object> begin) {
    const auto& [start, told] = begin;
    const auto& [indptr, indices] = cells;
    const Items items{indptr.data(), indices.data(), indptr.shape(0) - 1, y.data(), y.shape(0)};
    const i64* f = facts.data();
    const Rule rule{f[0],      f[1],      f[2],      size_t(f[3]), size_t(f[4]), true,
                    f[6] != 0, f[7] != 0, absent.data()};
    const std::vector<i64> given(start.data(), start.data() + start.shape(0));
    Told late{told, Enough(f[9])};
    const Found found = unlocked([&] {
        return search(items, weights ? weights->data() : nullptr, rule, given, f[8],
                      std::ref(late));
    });
    if (late.end.failed) throw nb::python_error();
    Buffer<i64> out(found.selected.size());
    for (size_t i = 0; i < found.selected.size(); i++) out[i] = found.selected[i];
    return nb::make_tuple(give(std::move(out), {found.selected.size()}), found.value, found.bound,
                          found.proved, found.nodes);
}

void bind_search(nb::module_& m) {
    m.def("search", py_search, strict("items"), strict("y"), strict("weights").none(),
          strict("facts"), strict("absent"), strict("begin"));
}
