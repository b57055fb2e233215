// The doors to the kernel that codes columns of Arrow.  `rows/arrow.py` has checked what comes in.
#include "arrow.h"
#include "bind.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

using arrow::Columns;

namespace {

using Codes = nb::ndarray<u16, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> std::vector<T> held(const In<T, 1>& a) {
    return {a.data(), a.data() + a.shape(0)};
}

// `grid` is the highest code, and that of what is missing; `reach` where values are cut off; `gone`
// numbers that stand for none.
void make_grade(Grade* at, const std::string& way, std::tuple<double, double> line,
                In<double, 1> edges, std::tuple<u16, u16> grid, std::tuple<double, double> reach,
                In<double, 1> gone) {
    auto [low, step] = line;
    const auto [top, missing] = grid;
    const auto [least, most] = reach;
    auto kept = std::make_shared<std::vector<double>>(held(edges));
    if (way == "log" && !kept->empty()) {
        low = std::log2(kept->front());
        step = double(kept->size() - 1) / (std::log2(kept->back()) - low);
    }
    new (at) Grade{way == "linear" ? LINEAR : way == "log" ? LOG : AROUND, missing, top, low, step,
                   kept, least, most, held(gone)};
}

size_t add_number(Columns& self, char type, const Grade& grade) {
    return self.add_number(type, Grade(grade));
}

size_t add_text(Columns& self, char type, std::shared_ptr<const csv::CellRule> rule,
                std::tuple<u8, u8, u8> signs) {
    return self.add_text(type, std::move(rule),
                         {char(std::get<0>(signs)), char(std::get<1>(signs)), std::get<2>(signs)});
}

size_t add_whole(Columns& self, char type, In<i64, 1> keys, In<u16, 1> codes, u16 other) {
    return self.add_whole(type, {other, held(keys), held(codes)});
}

// Codes of so many rows of a batch, from `from` on; the first of them stands at `at`.
// Returns the columns of which Python looks at some rows, and these.
nb::list write_codes(const Columns& self, nb::handle batch, In<std::int32_t, 1> which, Codes out,
                 std::tuple<size_t, size_t, size_t> where) {
    const auto* array = static_cast<const arrow::ArrowArray*>(
        PyCapsule_GetPointer(batch.ptr(), "arrow_array"));
    if (!array) throw nb::python_error();
    const auto [from, rows, at] = where;
    const size_t columns = which.shape(0), stride = out.shape(1);
    if (out.shape(0) < columns || at > stride || rows > stride - at || from > ~rows ||
        !Columns::fits(*array, columns, from + rows))
        throw nb::value_error("the batch has other columns or rows than its codes");
    const arrow::Asked asked = unlocked(
        [&] { return self.read(*array, which.data(), {from, rows, stride}, out.data() + at); });
    nb::list found;
    for (size_t j = 0; j < asked.size(); j++)
        if (!asked[j].empty()) found.append(nb::make_tuple(j, give(asked[j])));
    return found;
}

}  // namespace

void bind_arrow(nb::module_& m) {
    nb::class_<Grade>(m, "NumberRule")
        .def("__init__", make_grade, nb::arg("way"), nb::arg("line"), strict("edges"),
             nb::arg("grid"), nb::arg("reach"), strict("gone"));
    nb::class_<Columns>(m, "ArrowColumns")
        .def(nb::init<>())
        .def("__len__", &Columns::size)
        .def("add_number", add_number, nb::arg("type"), nb::arg("rule"))
        .def("add_text", add_text, nb::arg("type"), nb::arg("rule"), nb::arg("signs"))
        .def("add_whole", add_whole, nb::arg("type"), strict("keys"), strict("codes"),
             nb::arg("other"))
        .def("add_bits", &Columns::add_bits, nb::arg("no"), nb::arg("yes"), nb::arg("missing"))
        .def("read", write_codes, nb::arg("batch"), strict("which"), strict("out"),
             nb::arg("where"));
}
