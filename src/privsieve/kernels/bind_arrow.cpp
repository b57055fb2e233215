// The doors to the kernel that codes columns of Arrow.  `rows/arrow.py` has checked what comes in.
#include "arrow.h"
#include "bind.h"

using arrow::Columns;

namespace {

using Codes = nb::ndarray<u16, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> std::vector<T> held(const In<T, 1>& a) {
    return {a.data(), a.data() + a.shape(0)};
}

size_t add_number(Columns& self, char type, const Part& rule, In<double, 1> gone) {
    return self.add_number(type, Part(rule), held(gone));
}

size_t add_whole(Columns& self, char type, In<i64, 1> keys, In<u16, 1> codes, u16 other) {
    return self.add_whole(type, {other, held(keys), held(codes)});
}

// Codes of so many rows of a batch, from `from` on; the first of them stands at `at`.
void write_codes(const Columns& self, nb::handle batch, In<std::int32_t, 1> which, Codes out,
                 std::tuple<size_t, size_t, size_t> where) {
    const auto* array = static_cast<const arrow::ArrowArray*>(
        PyCapsule_GetPointer(batch.ptr(), "arrow_array"));
    if (!array) throw nb::python_error();
    const auto [from, rows, at] = where;
    const size_t columns = which.shape(0), stride = out.shape(1);
    if (out.shape(0) < columns || at > stride || rows > stride - at || from > ~rows ||
        !Columns::fits(*array, columns, from + rows))
        throw nb::value_error("the batch has other columns or rows than its codes");
    unlocked([&] { self.read(*array, which.data(), {from, rows, stride}, out.data() + at); });
}

}  // namespace

void bind_arrow(nb::module_& m) {
    nb::class_<Columns>(m, "ArrowColumns")
        .def(nb::init<>())
        .def("__len__", &Columns::size)
        .def("add_number", add_number, nb::arg("type"), nb::arg("rule"), strict("gone"))
        .def("add_whole", add_whole, nb::arg("type"), strict("keys"), strict("codes"),
             nb::arg("other"))
        .def("add_bits", &Columns::add_bits, nb::arg("no"), nb::arg("yes"), nb::arg("missing"))
        .def("read", write_codes, nb::arg("batch"), strict("which"), strict("out"),
             nb::arg("where"));
}
