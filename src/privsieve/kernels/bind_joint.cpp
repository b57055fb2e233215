#include "bind.h"
#include "kernels.h"

static Out<i64> py_joint_best(In<u8, 2> bins, In<i64, 1> starts, Maybe<In<i64, 1>> weight,
                              In<i64, 2> labellings, size_t size, In<u8, 1> nominal) {
    size_t many = 1;
    for (size_t k = 0; k < size; k++)
        many = bins.shape(0) > k ? many * (bins.shape(0) - k) / (k + 1) : 0;
    Buffer<i64> out(many);
    const Bins in{matrix(bins), starts.data(), weight ? weight->data() : nullptr,
                  matrix(labellings), size == 3 ? size_t(8) : 4, nominal.data()};
    unlocked([&] { joint_best(in, size, out.at(0)); });
    return give(std::move(out), {many});
}

void bind_joint(nb::module_& m) {
    const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("joint_best", py_joint_best, strict("bins"), strict("starts"), strict("weight").none(),
          strict("labellings"), nb::arg("size"), strict("nominal"));
}
