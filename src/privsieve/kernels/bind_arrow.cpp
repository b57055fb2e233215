// The doors to the kernel that codes columns of Arrow.  `rows/arrow.py` has checked what comes in.
#include "arrow.h"
#include "bind.h"

using arrow::Columns;

namespace {

using Two = std::tuple<double, double>;
using Codes = nb::ndarray<u16, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> std::vector<T> held(const In<T, 1>& a) {
    return {a.data(), a.data() + a.shape(0)};
}

std::vector<double> several(nb::handle numbers) {
    return held(nb::cast<In<double, 1>>(numbers));
}

// `grid` is the highest code, and that of what is missing; `reach` where values are cut off.
size_t add_linear(Columns& self, char type, Two line, std::tuple<u16, u16> grid, Two reach,
                  nb::handle gone) {
    const auto [low, step] = line;
    const auto [top, missing] = grid;
    const auto [least, most] = reach;
    return self.add_number(type, {LINEAR, missing, top, low, step, {}, least, most},
                           several(gone));
}

size_t add_around(Columns& self, char type, double near, std::tuple<u16, u16> grid, Two reach,
                  nb::handle gone) {
    const auto [top, missing] = grid;
    const auto [least, most] = reach;
    return self.add_number(type, {AROUND, missing, top, near, 0, {}, least, most}, several(gone));
}

size_t add_log(Columns& self, char type, nb::handle edges, std::tuple<u16, u16> grid,
               nb::handle gone) {
    const auto [top, missing] = grid;
    return self.add_number(type, {LOG, missing, top, 0, 0, several(edges)}, several(gone));
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
    const auto strict = [](const char* name) { return nb::arg(name).noconvert(); };
    nb::class_<Columns>(m, "ArrowColumns")
        .def(nb::init<>())
        .def("__len__", &Columns::size)
        .def("add_linear", add_linear, nb::arg("type"), nb::arg("line"), nb::arg("grid"),
             nb::arg("reach"), nb::arg("gone"))
        .def("add_around", add_around, nb::arg("type"), nb::arg("near"), nb::arg("grid"),
             nb::arg("reach"), nb::arg("gone"))
        .def("add_log", add_log, nb::arg("type"), nb::arg("edges"), nb::arg("grid"),
             nb::arg("gone"))
        .def("add_whole", add_whole, nb::arg("type"), strict("keys"), strict("codes"),
             nb::arg("other"))
        .def("add_bits", &Columns::add_bits, nb::arg("no"), nb::arg("yes"), nb::arg("missing"))
        .def("read", write_codes, nb::arg("batch"), strict("which"), strict("out"),
             nb::arg("where"));
}
