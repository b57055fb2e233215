// The doors of blocks.py and nearest.py.
#include "bind.h"
#include "blocks.h"
#include "loops.h"
#include "nearest.h"


using i32 = std::int32_t;
using Table = std::tuple<In<u16, 2>, In<i32, 1>, In<i64, 1>>;

static Rows rows_of(const Table& table) {
    const auto& [codes, label, starts] = table;
    return {matrix(codes), label.data(), starts.data(), starts.shape(0) - 1};
}

using Cast = std::tuple<In<i64, 1>, In<i64, 1>>;

// The votes of all voters; with EACH what each would vote by, a row of integers for each.
template <bool EACH, class Vote>
static auto give_votes(const Rows& rows, size_t voters, const Maybe<In<u16, 2>>& kinds, i64 tau,
                       Vote vote) {
    const size_t columns = rows.codes.columns;
    Buffer<i64> votes(columns);
    Buffer<i32> each(EACH ? voters * columns : 0);
    const Ballot ballot{kinds ? kinds->data() : nullptr, tau, EACH ? each.at(0) : nullptr};
    unlocked([&] { vote(ballot, votes.at(0)); });
    if constexpr (EACH) return give(std::move(each), {voters, columns});
    else return give(std::move(votes), {columns});
}

template <bool EACH>
static auto py_blocks(Table table, Cast blocks, Maybe<In<u16, 2>> kinds, i64 tau) {
    const Rows rows = rows_of(table);
    const auto& [order, starts] = blocks;
    const Blocks held{order.data(), starts.data(), starts.shape(0) - 1};
    return give_votes<EACH>(rows, held.many, kinds, tau, [&](const Ballot& ballot, i64* votes) {
        block_votes(rows, held, ballot, votes);
    });
}

template <bool EACH>
static auto py_reference(Table table, Table reference, Maybe<In<u16, 2>> kinds, i64 tau) {
    const Rows rows = rows_of(table), against = rows_of(reference);
    return give_votes<EACH>(rows, rows.units, kinds, tau, [&](const Ballot& ballot, i64* votes) {
        reference_votes(rows, against, ballot, votes);
    });
}

using Into = nb::ndarray<u16, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static void py_deal(In<u16, 2> codes, In<i64, 1> place, Into out) {
    unlocked([&] { deal(matrix(codes), place.data(), out.data()); });
}

// What every set of loops that this machine can run answers: they must all be the same.
static nb::list py_block_loops(In<u16, 2> codes, Maybe<In<u16, 2>> kinds) {
    const Loops* found[3];
    const int many = runnable(found);
    nb::list all;
    const Matrix<u16> x = matrix(codes);
    const u16 *masks = kinds ? kinds->data() : nullptr, *const both[2] = {x[1], x[2]};
    for (int i = 0; i < many; i++) {
        Buffer<i32> sums(x.columns);
        for (size_t j = 0; j < x.columns; j++) sums[j] = i32(j);
        found[i]->lean(x[0], both, masks, x.columns, sums.at(0));
        all.append(nb::make_tuple(found[i]->apart(x[0], x[1], masks, x.columns),
                                  give(std::move(sums), {x.columns})));
    }
    return all;
}

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

static nb::list py_nearest_loops() {
    const Loops* sets[3];
    const int many = runnable(sets);
    nb::list names;
    for (int i = 0; i < many; i++) names.append(sets[i]->name);
    return names;
}

void bind_blocks(nb::module_& m) {
    m.def("block_votes", py_blocks<false>, strict("rows"), strict("blocks"),
          strict("kinds").none(), nb::arg("tau"));
    m.def("reference_votes", py_reference<false>, strict("rows"), strict("reference"),
          strict("kinds").none(), nb::arg("tau"));
    m.def("block_moves", py_blocks<true>, strict("rows"), strict("blocks"),
          strict("kinds").none(), nb::arg("tau") = 0);
    m.def("reference_moves", py_reference<true>, strict("rows"), strict("reference"),
          strict("kinds").none(), nb::arg("tau") = 0);
    m.def("block_loops", py_block_loops, strict("codes"), strict("kinds").none());
    m.def("deal", py_deal, strict("codes"), strict("place"), strict("out"));
    m.def("nearest", py_nearest, strict("X"), strict("label"), nb::arg("metric"),
          strict("drawn").none() = nb::none(), nb::arg("samples") = 1, nb::arg("filter") = 0,
          nb::arg("loops") = 0);
    m.def("nearest_loops", py_nearest_loops);
}
