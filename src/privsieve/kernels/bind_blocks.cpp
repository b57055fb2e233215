#include "bind.h"
#include "blocks.h"
#include "loops.h"

using i32 = std::int32_t;
using Table = std::tuple<In<u16, 2>, In<i32, 1>, In<i64, 1>>;

static Rows rows_of(const Table& table) {
    const auto& [codes, label, starts] = table;
    return {matrix(codes), label.data(), starts.data(), starts.shape(0) - 1};
}

static Ballot ballot(const Maybe<In<u16, 2>>& kinds, i64 tau, i32* each = nullptr) {
    return {kinds ? kinds->data() : nullptr, tau, each};
}

static Out<i64> py_block_votes(Table table, std::tuple<In<i64, 1>, In<i64, 1>> blocks,
                               Maybe<In<u16, 2>> kinds, i64 tau) {
    const Rows rows = rows_of(table);
    const auto& [order, starts] = blocks;
    Buffer<i64> votes(rows.codes.columns);
    unlocked([&] {
        block_votes(rows, {order.data(), starts.data(), starts.shape(0) - 1}, ballot(kinds, tau),
                    votes.at(0));
    });
    return give(std::move(votes), {rows.codes.columns});
}

static Out<i64> py_reference_votes(Table table, Table reference, Maybe<In<u16, 2>> kinds,
                                   i64 tau) {
    const Rows rows = rows_of(table), against = rows_of(reference);
    Buffer<i64> votes(rows.codes.columns);
    unlocked([&] { reference_votes(rows, against, ballot(kinds, tau), votes.at(0)); });
    return give(std::move(votes), {rows.codes.columns});
}

// What each voter would vote by: a row of integers each.
static Out<i32> py_block_moves(Table table, std::tuple<In<i64, 1>, In<i64, 1>> blocks,
                               Maybe<In<u16, 2>> kinds) {
    const Rows rows = rows_of(table);
    const auto& [order, starts] = blocks;
    const size_t many = starts.shape(0) - 1;
    Buffer<i64> votes(rows.codes.columns);
    Buffer<i32> each(many * rows.codes.columns);
    unlocked([&] {
        block_votes(rows, {order.data(), starts.data(), many}, ballot(kinds, 0, each.at(0)),
                    votes.at(0));
    });
    return give(std::move(each), {many, rows.codes.columns});
}

static Out<i32> py_reference_moves(Table table, Table reference, Maybe<In<u16, 2>> kinds) {
    const Rows rows = rows_of(table), against = rows_of(reference);
    Buffer<i64> votes(rows.codes.columns);
    Buffer<i32> each(rows.units * rows.codes.columns);
    unlocked([&] { reference_votes(rows, against, ballot(kinds, 0, each.at(0)), votes.at(0)); });
    return give(std::move(each), {rows.units, rows.codes.columns});
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

void bind_blocks(nb::module_& m) {
    m.def("block_votes", py_block_votes, strict("rows"), strict("blocks"), strict("kinds").none(),
          nb::arg("tau"));
    m.def("reference_votes", py_reference_votes, strict("rows"), strict("reference"),
          strict("kinds").none(), nb::arg("tau"));
    m.def("block_moves", py_block_moves, strict("rows"), strict("blocks"), strict("kinds").none());
    m.def("reference_moves", py_reference_moves, strict("rows"), strict("reference"),
          strict("kinds").none());
    m.def("block_loops", py_block_loops, strict("codes"), strict("kinds").none());
    m.def("deal", py_deal, strict("codes"), strict("place"), strict("out"));
}
