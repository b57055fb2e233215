// The doors of patterns.py and search.py.
#include "bind.h"
#include "covers.h"

#include <cstring>
#include <vector>

using namespace privsieve::pattern;

using Cells = std::tuple<In<i64, 1>, In<i32, 1>>;

static Items view(const Cells& cells, const In<i32, 1>& y) {
    const auto& [indptr, indices] = cells;
    return {indptr.data(), indices.data(), indptr.shape(0) - 1, y.data(), y.shape(0)};
}

// (k, l, suppress, classes, codes, skip, equal, labelled), absent.
static Rule view(const In<i64, 1>& facts, const In<u8, 1>& absent) {
    const i64* f = facts.data();
    return {f[0], f[1], f[2], size_t(f[3]), size_t(f[4]),
            f[5] != 0, f[6] != 0, f[7] != 0, absent.data()};
}

// What was accepted; a last -1 says that the user ended it.
template <class Work> static Out<i64> grown(Work work) {
    Enough late;
    std::vector<i64> found = unlocked([&] { return work(std::ref(late)); });
    if (late.failed) throw nb::python_error();
    if (late.interrupted) found.push_back(-1);
    return give(found);
}

static Out<i64> py_greedy(Cells cells, In<i32, 1> y, In<i64, 1> order, In<i64, 1> facts,
                          In<u8, 1> absent) {
    return grown([&](const Stop& stop) {
        return greedy(view(cells, y), order.data(), order.shape(0), view(facts, absent), stop);
    });
}

template <bool ERRORS>
static Out<i64> py_choose(Cells cells, In<i32, 1> y, In<i64, 1> candidates, In<i64, 1> prefix,
                          In<i64, 1> facts, In<u8, 1> absent) {
    return grown([&](const Stop& stop) {
        const std::vector<i64> first(prefix.data(), prefix.data() + prefix.shape(0));
        return (ERRORS ? class_errors : lazy_distinct)(view(cells, y), candidates.data(),
                                                       candidates.shape(0), first,
                                                       view(facts, absent), stop);
    });
}

static Out<i64> py_class_counts(In<i64, 1> indptr, In<i32, 1> indices, In<i32, 1> y,
                                size_t classes) {
    const Items items{indptr.data(), indices.data(), indptr.shape(0) - 1, y.data(), y.shape(0)};
    Buffer<i64> out(items.many * classes);
    unlocked([&] { class_counts(items, classes, out.at(0)); });
    return give(std::move(out), {items.many, classes});
}

static nb::tuple py_table(Cells cells, In<i32, 1> y, size_t classes, In<u8, 1> absent) {
    const Items items = view(cells, y);
    Buffer<i32> pattern(items.rows);
    Buffer<u64> masks(0);
    Buffer<i64> counts(0);
    size_t words = 1, many = 0;
    unlocked([&] {
        const Rule rule{0, 1, 0, classes, classes, true, false, false, absent.data()};
        Patterns state(items, rule);
        for (size_t j = 0; j < items.many; j++) {
            state.count(j);
            state.accept(j);
        }
        many = state.many;
        words = std::max<size_t>((state.bits + 63) / 64, 1);
        masks.resize(many * words);
        counts.resize(many * classes);
        std::vector<i32> number(many, -1);  // by the first row
        i32 next = 0;
        for (size_t i = 0; i < items.rows; i++) {
            const size_t p = state.code[i] >> state.shift;
            if (number[p] < 0) {
                number[p] = next++;
                u64* mine = masks.at(size_t(number[p]) * words);
                std::memcpy(mine, state.mask(p), words * sizeof(u64));
                for (size_t c = 0; c < classes; c++)
                    counts[size_t(number[p]) * classes + c] = state.whole[p << state.shift | c];
            }
            pattern[i] = number[p];
        }
    });
    return nb::make_tuple(give(std::move(masks), {many, words}),
                          give(std::move(counts), {many, classes}),
                          give(std::move(pattern), {items.rows}));
}

static Bits view(const In<u64, 2>& masks, const In<i64, 2>& counts) {
    return {masks.data(), masks.shape(0), masks.shape(1), counts.data(), counts.shape(1)};
}

static nb::tuple py_around(In<u64, 2> masks, In<i64, 2> counts, In<u64, 2> asked, In<i64, 1> rows) {
    Buffer<i64> over(asked.shape(0) * counts.shape(1)), under(masks.shape(0));
    Enough late;
    unlocked([&] {
        around({asked.data(), asked.shape(0), rows.data()}, view(masks, counts), over.at(0),
               under.at(0), std::ref(late));
    });
    if (late.interrupted) PyErr_SetNone(PyExc_KeyboardInterrupt);
    if (late.interrupted || late.failed) throw nb::python_error();
    return nb::make_tuple(give(std::move(over), {asked.shape(0), counts.shape(1)}),
                          give(std::move(under), {masks.shape(0)}));
}

static Out<i64> py_supersets(In<u64, 2> masks, In<i64, 2> counts) {
    Buffer<i64> out(counts.shape(0) * counts.shape(1));
    unlocked([&] { superset_counts(view(masks, counts), out.at(0)); });
    return give(std::move(out), {counts.shape(0), counts.shape(1)});
}

static Out<u8> py_peel(In<u64, 2> masks, In<i64, 2> counts, i64 k, i64 diversity, bool labelled) {
    const size_t classes = counts.shape(1);
    Buffer<u8> stays(masks.shape(0) * classes);
    unlocked([&] {
        const Rule rule{k, diversity, -1, classes, classes, true, false, labelled, nullptr};
        peel(view(masks, counts), rule, stays.at(0));
    });
    return give(std::move(stays), {masks.shape(0), classes});
}

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

static nb::tuple py_search(Cells cells, In<i32, 1> y,
                           Maybe<In<i64, 1>> weights, In<i64, 1> facts, In<u8, 1> absent,
                           std::tuple<In<i64, 1>, nb::object> begin) {
    const auto& [start, told] = begin;
    const i64* f = facts.data();
    const Rule rule{f[0], f[1], f[2], size_t(f[3]), size_t(f[4]), true,
                    f[6] != 0, f[7] != 0, absent.data()};
    const std::vector<i64> given(start.data(), start.data() + start.shape(0));
    Told late{told, Enough(f[9])};
    const exact::Found found = unlocked([&] {
        return exact::search(view(cells, y), weights ? weights->data() : nullptr, rule, given, f[8],
                             std::ref(late));
    });
    if (late.end.failed) throw nb::python_error();
    return nb::make_tuple(give(found.selected), found.value, found.bound, found.proved, found.nodes);
}

void bind_patterns(nb::module_& m) {
    m.def("class_counts", py_class_counts, strict("indptr"), strict("indices"), strict("y"),
          nb::arg("classes"));
    m.def("greedy", py_greedy, strict("items"), strict("y"), strict("order"), strict("facts"),
          strict("absent"));
    m.def("lazy_distinct", py_choose<false>, strict("items"), strict("y"), strict("candidates"),
          strict("prefix"), strict("facts"), strict("absent"));
    m.def("class_errors", py_choose<true>, strict("items"), strict("y"), strict("candidates"),
          strict("prefix"), strict("facts"), strict("absent"));
    m.def("pattern_table", py_table, strict("items"), strict("y"), nb::arg("classes"),
          strict("absent"));
    m.def("around", py_around, strict("masks"), strict("counts"), strict("asked"), strict("rows"));
    m.def("superset_counts", py_supersets, strict("masks"), strict("counts"));
    m.def("peel", py_peel, strict("masks"), strict("counts"), nb::arg("k"), nb::arg("diversity"),
          nb::arg("labelled"));
    m.def("search", py_search, strict("items"), strict("y"), strict("weights").none(),
          strict("facts"), strict("absent"), strict("begin"));
}
