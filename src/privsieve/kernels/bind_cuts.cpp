#include "bind.h"
#include "cuts.h"
#include "kernels.h"

// `loops` (0 the best) is for tests: the answers are the same for all.
static Out<i64> py_cut_best(In<u16, 2> codes, In<i64, 1> starts, Maybe<In<i64, 1>> weight,
                            In<i64, 2> labellings, In<u8, 1> kind, In<u8, 1> wanted, int loops) {
    const CutLoops* sets[3];
    if (loops < 0 || loops >= runnable_cuts(sets)) throw nb::value_error("no such set of loops here");
    const size_t d = codes.shape(0), many = d ? d * (d - 1) / 2 : 0, ways = labellings.shape(0);
    Buffer<i64> out(ways * many);
    const CodeTable in{matrix(codes), starts.data(), weight ? weight->data() : nullptr,
                       matrix(labellings), kind.data()};
    unlocked([&] { cut_best(in, wanted.data(), size_t(loops), out.at(0)); });
    return give(std::move(out), {ways, many});
}

static nb::list py_loops() {
    const CutLoops* sets[3];
    const int many = runnable_cuts(sets);
    nb::list names;
    for (int i = 0; i < many; i++) names.append(sets[i]->name);
    return names;
}

void bind_cuts(nb::module_& m) {
    const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("cut_best", py_cut_best, strict("codes"), strict("starts"), strict("weight").none(),
          strict("labellings"), strict("kind"), strict("wanted"), nb::arg("loops") = 0);
    m.def("cut_loops", py_loops);
}
