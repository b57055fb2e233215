// The doors to the kernels that mine maximal sets.  `mining.py` has checked what comes in.
#include "bind.h"
#include "mining.h"

namespace {

bool interrupted() {
    nb::gil_scoped_acquire held;
    return PyErr_CheckSignals() != 0;
}

// How a search ended.  What a signal handler raised is raised, unless it is an interrupt and the
// answer so far may be kept.
Ended how(const Watch& watch, bool keep) {
    if (watch.ended == Ended::ALL) return watch.ended;
    if (watch.ended == Ended::LIMIT && PyErr_CheckSignals() == 0) return watch.ended;
    if (!keep || !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nb::python_error();
    PyErr_Clear();
    return Ended::INTERRUPTED;
}

nb::object py_all(In<i64, 1> indptr, In<i32, 1> indices, size_t rows, i64 k, size_t cap,
                  double seconds) {
    const Columns columns{indptr.data(), indices.data(), indptr.shape(0) - 1, rows};
    Watch watch(seconds, interrupted);
    const Sets sets = unlocked([&] { return all_maximal(columns, k, cap, watch); });
    if (how(watch, false) == Ended::LIMIT) return nb::none();
    return nb::make_tuple(give(sets.indptr), give(sets.items), give(sets.support));
}

using Rule = std::tuple<i64, i64, size_t, i64, i64>;

TopRule rule_of(Rule rule) {
    const auto [k, l, r, nodes, least] = rule;
    return {k, l, r, nodes, least};
}


nb::tuple give_top(const Top& top, const Watch& watch) {
    const Ended ended = how(watch, true);
    return nb::make_tuple(give(top.sets.indptr), give(top.sets.items), give(top.sets.support),
                          give(top.value), top.bound, top.nodes, int(ended));
}

nb::tuple py_rows(In<i64, 1> indptr, In<i32, 1> indices, In<i32, 1> y, In<i64, 1> weight,
                  Rule rule, double seconds) {
    const Columns columns{indptr.data(), indices.data(), indptr.shape(0) - 1, y.shape(0)};
    Watch watch(seconds, interrupted);
    return give_top(unlocked([&] {
        return top_by_rows(columns, y.data(), weight.data(), rule_of(rule), watch);
    }), watch);
}

nb::tuple py_items(In<i64, 1> indptr, In<i32, 1> indices, size_t rows, In<i64, 1> weight,
                   Rule rule, double seconds) {
    const Columns columns{indptr.data(), indices.data(), indptr.shape(0) - 1, rows};
    Watch watch(seconds, interrupted);
    return give_top(unlocked([&] {
        return top_by_items(columns, weight.data(), rule_of(rule), watch);
    }), watch);
}

// What every way to close up a line of bits answers here: they must all be the same.
nb::list py_close_ups(In<u64, 1> from, In<u64, 1> by) {
    nb::list all;
    for (CloseUp close_up : close_ups()) {
        std::vector<u64> out(from.shape(0) + 1);
        close_up(from.data(), by.data(), from.shape(0), out.data());
        all.append(give(out));
    }
    return all;
}

}  // namespace

void bind_mining(nb::module_& m) {
    m.def("all_maximal", py_all, strict("indptr"), strict("indices"), nb::arg("rows"),
          nb::arg("k"), nb::arg("cap"), nb::arg("seconds"));
    m.def("top_by_rows", py_rows, strict("indptr"), strict("indices"), strict("y"),
          strict("weight"), nb::arg("rule"), nb::arg("seconds"));
    m.def("top_by_items", py_items, strict("indptr"), strict("indices"), nb::arg("rows"),
          strict("weight"), nb::arg("rule"), nb::arg("seconds"));
    m.def("close_ups", py_close_ups, strict("bits"), strict("by"));
}
