// The doors to the kernel that reads CSV lines.  What comes in is the domain's, which is checked.
#include "bind.h"
#include "csv.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using csv::CellRule;
using csv::Records;

namespace {

void make(Records* at, std::tuple<u8, u8, u8, u8> signs, In<u16, 1> points, size_t width, size_t need,
          size_t longest) {
    const auto [delimiter, decimal, thousands, limits] = signs;
    std::vector<u16> table(points.data(), points.data() + points.shape(0));
    new (at) Records({char(delimiter), {char(decimal), char(thousands), limits}, std::move(table), width,
                      need, longest});
}

// `other` is the code of a text that is none of the words, where neither numbers nor dates are read.
void make_rule(CellRule* at, nb::list texts, In<u16, 1> codes, u16 other,
               std::optional<Grade> grade, nb::list forms, std::tuple<bool, bool> how) {
    const auto strings = [](nb::list found) {
        std::vector<std::string> held;
        for (nb::handle one : found) {
            const auto bytes = nb::cast<nb::bytes>(one);
            held.emplace_back(bytes.c_str(), bytes.size());
        }
        return held;
    };
    const auto [dates, asks] = how;
    std::vector<csv::DateForm> ways;
    for (std::string& one : strings(forms)) ways.emplace_back(std::move(one));
    Grade listed;
    listed.missing = other;
    new (at) CellRule{!grade ? csv::LISTED : dates ? csv::DATES : csv::NUMBERS,
                      csv::Words(strings(texts), codes.data()), grade ? *grade : listed,
                      std::move(ways), asks};
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
    nb::class_<CellRule>(m, "CellRule")
        .def("__init__", make_rule, nb::arg("texts"), strict("codes"), nb::arg("other"),
             nb::arg("grade").none(), nb::arg("forms"), nb::arg("how"));
    nb::class_<Records>(m, "CsvRecords")
        .def("__init__", make, nb::arg("signs"), strict("points"), nb::arg("width"),
             nb::arg("need"), nb::arg("longest"))
        .def("add", &Records::add, nb::arg("position"), nb::arg("rule").none())
        .def("read", give_records, nb::arg("block"), nb::arg("start"), nb::arg("most"));
}
