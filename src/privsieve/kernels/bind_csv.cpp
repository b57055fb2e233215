// The doors to the kernel that reads CSV lines.  What comes in is the domain's, which is checked.
#include "bind.h"
#include "csv.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using csv::Records;

namespace {

void make(Records* at, std::tuple<u8, u8> signs, In<u16, 1> points, size_t width, size_t need,
          size_t longest) {
    const auto [delimiter, decimal] = signs;
    std::vector<u16> table(points.data(), points.data() + points.shape(0));
    new (at) Records({char(delimiter), char(decimal), std::move(table), width, need, longest});
}

// `grid` is the highest code, and that of what is missing; `reach` where values are cut off.
void make_rule(Part* at, const std::string& way, std::tuple<double, double> line,
               In<double, 1> edges, std::tuple<u16, u16> grid, std::tuple<double, double> reach) {
    const Kind kind = way == "linear" ? LINEAR : way == "log" ? LOG : AROUND;
    const auto [low, step] = line;
    const auto [top, missing] = grid;
    const auto [least, most] = reach;
    new (at) Part{kind, missing, top, low, step,
                  {edges.data(), edges.data() + edges.shape(0)}, least, most};
}

void add_levels(Records& self, size_t position, nb::list texts, In<u16, 1> codes, u16 other) {
    std::vector<std::string> keys;
    for (nb::handle text : texts) {
        const auto held = nb::cast<nb::bytes>(text);
        keys.emplace_back(held.c_str(), held.size());
    }
    self.add_levels(position, keys, codes.data(), other);
}

nb::tuple give_records(const Records& self, nb::bytes block, size_t start, size_t most) {
    const csv::Text text(block.c_str(), block.size());
    csv::Found found = unlocked([&] { return self.read(text, start, most); });
    nb::list texts;
    for (const csv::Distinct& column : found.texts) {
        nb::list held;
        for (const std::string& one : column.held) held.append(nb::bytes(one.data(), one.size()));
        texts.append(held);
    }
    const size_t rows = found.rows, end = found.end;
    return nb::make_tuple(give(std::move(found.codes), {self.width(), rows}),
                          give(std::move(found.ids), {self.texts(), rows}), texts, end);
}

}  // namespace

void bind_csv(nb::module_& m) {
    nb::class_<Part>(m, "NumberRule")
        .def("__init__", make_rule, nb::arg("way"), nb::arg("line"), strict("edges"),
             nb::arg("grid"), nb::arg("reach"));
    nb::class_<Records>(m, "CsvRecords")
        .def("__init__", make, nb::arg("signs"), strict("points"), nb::arg("width"),
             nb::arg("need"), nb::arg("longest"))
        .def("add_number", &Records::add_number, nb::arg("position"), nb::arg("rule"))
        .def("add_levels", add_levels, nb::arg("position"), nb::arg("texts"), strict("codes"),
             nb::arg("other"))
        .def("add_text", &Records::add_text, nb::arg("position"))
        .def("read", give_records, nb::arg("block"), nb::arg("start"), nb::arg("most"));
}
