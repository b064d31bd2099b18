// The module _text: files of text into arrays. One build serves all processors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "polymargin/text/svmlight.hpp"
#include "polymargin/text/table_lines.hpp"
#include "polymargin/text/text_lines.hpp"
#include "to_numpy.hpp"

namespace nb = nanobind;

namespace {

using namespace polymargin::text;
using polymargin::python::to_numpy;

using Problem = std::optional<std::tuple<std::int64_t, std::int64_t, std::string>>;

Problem to_problem(std::optional<SvmlightError>&& error) {
    if (!error) return std::nullopt;
    return std::tuple{error->place.line, error->place.column, std::move(error->message)};
}

SvmlightParser make_parser(std::optional<bool> zero_based, std::optional<std::int64_t> n_features,
                           bool ignore_extra, bool labels_optional, int n_threads,
                           std::size_t longest_line) {
    SvmlightOptions options;
    if (zero_based) options.base = *zero_based ? IndexBase::zero : IndexBase::one;
    if (n_features) {
        if (*n_features < 0 || *n_features > std::numeric_limits<std::int32_t>::max()) {
            throw nb::value_error("n_features must be from 0 to 2147483647");
        }
        options.n_features = static_cast<std::int32_t>(*n_features);
    }
    options.ignore_extra = ignore_extra;
    options.labels_optional = labels_optional;
    if (n_threads < 1) throw nb::value_error("n_threads must be positive");
    return {options, n_threads, longest_line};
}

// The first rows: labels, values, indices, indptr, lines. The parser forgets them.
nb::tuple take(SvmlightParser& parser, std::size_t count) {
    SvmlightRows taken;
    {
        nb::gil_scoped_release release;
        taken = parser.take(count);
        // The ends of rows become their borders.
        const std::size_t n = taken.ends.size();
        taken.ends.resize(n + 1);
        for (std::size_t i = n; i > 0; --i) taken.ends[i] = taken.ends[i - 1];
        taken.ends[0] = 0;
    }
    return nb::make_tuple(to_numpy(std::move(taken.labels)), to_numpy(std::move(taken.values)),
                          to_numpy(std::move(taken.indices)), to_numpy(std::move(taken.ends)),
                          to_numpy(std::move(taken.lines)));
}

// The text and what it is cut into.
struct Cut {
    nb::bytes text;
    TableLines lines;
};

Cut cut_lines(nb::bytes text, char delimiter, std::size_t width, std::size_t longest_cell) {
    if (width < 2) throw nb::value_error("width must be 2 at least");
    const std::string_view view(text.c_str(), text.size());
    nb::gil_scoped_release release;
    return {std::move(text), TableLines(view, delimiter, width, longest_cell)};
}

// A row of the array for each column.
template <class T>
nb::object by_column(nb::handle self, const TableLines& lines, const T* items) {
    return nb::ndarray<nb::numpy, const T, nb::ndim<2>>(items, {lines.width(), lines.n_rows()},
                                                        self,
                                                        {static_cast<std::int64_t>(lines.stride()),
                                                         std::int64_t{1}})
        .cast();
}

nb::list texts(const Cut& cut, std::size_t column, std::size_t start, std::size_t stop) {
    if (column >= cut.lines.width() || stop > cut.lines.n_rows()) {
        throw nb::index_error("there is no such cell");
    }
    nb::list found;
    for (std::size_t row = start; row < stop; ++row) {
        const std::string_view cell = cut.lines.cell(row, column);
        found.append(nb::str(cell.data(), cell.size()));
    }
    return found;
}

// Nothing where the text is not UTF-8.
nb::object to_str(std::string_view text) {
    nb::object found =
        nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
    if (!found.is_valid()) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
        PyErr_Clear();
    }
    return found;
}

// As it is meant; nothing where it is in doubt.
nb::object text_of(const TextLines::Row& row, bool has_labels) {
    if (row.text.find('\\') != row.text.npos) return to_str(unescaped(row.text));
    nb::object text = to_str(row.text);
    // A line without a label may be blank all over.
    if (has_labels || !text.is_valid()) return text;
    return nb::cast<bool>(text.attr("isspace")()) ? nb::object() : text;
}

// Texts, their labels, their lines, and how many lines and bytes are cut.
nb::tuple cut_texts(const nb::bytes& block, bool has_labels) {
    std::optional<TextLines> lines;
    {
        const std::string_view view(block.c_str(), block.size());
        nb::gil_scoped_release release;
        lines.emplace(view, has_labels);
    }
    std::vector<nb::object> names;
    for (const std::string_view label : lines->labels()) {
        const nb::object name = to_str(label);
        const bool is_name = name.is_valid() && nb::len(name.attr("strip")()) > 0;
        names.push_back(is_name ? name.attr("strip")() : nb::object());
    }
    nb::list texts, labels;
    GrowingBuffer<std::int64_t> numbers;
    numbers.make_room(lines->rows().size());
    for (const TextLines::Row& row : lines->rows()) {
        const nb::object text = text_of(row, has_labels);
        if (!text.is_valid() || (has_labels && !names[row.label].is_valid())) {
            return nb::make_tuple(texts, labels, to_numpy(std::move(numbers)), row.line, row.byte);
        }
        texts.append(text);
        if (has_labels) labels.append(names[row.label]);
        numbers.push(static_cast<std::int64_t>(row.line));
    }
    return nb::make_tuple(texts, labels, to_numpy(std::move(numbers)), lines->n_lines(),
                          lines->n_bytes());
}

}  // namespace

NB_MODULE(_parser, module) {
    nb::set_leak_warnings(false);
    nb::class_<SvmlightParser>(module, "SvmlightParser")
        .def(nb::new_(&make_parser), nb::kw_only(), nb::arg("zero_based").none(),
             nb::arg("n_features").none(), nb::arg("ignore_extra"), nb::arg("labels_optional"),
             nb::arg("n_threads"), nb::arg("longest_line"))
        .def("feed",
             [](SvmlightParser& parser, nb::bytes text) {
                 std::optional<SvmlightError> error;
                 {
                     nb::gil_scoped_release release;
                     error = parser.feed(text.c_str(), text.size());
                 }
                 return to_problem(std::move(error));
             })
        .def("end",
             [](SvmlightParser& parser) {
                 std::optional<SvmlightError> error;
                 {
                     nb::gil_scoped_release release;
                     error = parser.end();
                 }
                 return to_problem(std::move(error));
             })
        .def("settle", [](SvmlightParser& parser) { return to_problem(parser.settle()); })
        .def("take", &take)
        .def("drop", [](SvmlightParser& parser) { return to_numpy(parser.drop()); })
        .def_prop_ro("zero_based",
                     [](const SvmlightParser& parser) -> std::optional<bool> {
                         if (parser.options().base == IndexBase::unknown) return std::nullopt;
                         return parser.options().base == IndexBase::zero;
                     })
        .def_prop_ro("has_index_zero",
                     [](const SvmlightParser& parser) { return parser.rows().has_index_zero; })
        .def_prop_ro("largest_index",
                     [](const SvmlightParser& parser) { return parser.rows().largest_index; })
        .def_prop_ro("ignored_entries",
                     [](const SvmlightParser& parser) { return parser.rows().ignored_entries; })
        .def_prop_ro("missing_labels",
                     [](const SvmlightParser& parser) { return parser.rows().missing_labels; })
        .def_prop_ro("n_rows", [](const SvmlightParser& parser) { return parser.available(); })
        .def_prop_ro("line_count",
                     [](const SvmlightParser& parser) { return parser.rows().line_count; });

    nb::class_<Cut>(module, "TableLines")
        .def_prop_ro("n_rows", [](const Cut& cut) { return cut.lines.n_rows(); })
        .def_prop_ro("n_bytes", [](const Cut& cut) { return cut.lines.n_bytes(); })
        .def_prop_ro("values",
                     [](nb::handle self) {
                         const TableLines& lines = nb::cast<Cut&>(self).lines;
                         return by_column(self, lines, lines.values());
                     })
        .def_prop_ro("classes",
                     [](nb::handle self) {
                         const TableLines& lines = nb::cast<Cut&>(self).lines;
                         return by_column(self, lines,
                                          reinterpret_cast<const std::uint8_t*>(lines.classes()));
                     })
        .def("texts", &texts);
    module.def("cut_texts", &cut_texts, nb::arg("block"), nb::arg("has_labels"));
    module.def("cut_lines", &cut_lines, nb::arg("text"), nb::arg("delimiter"), nb::arg("width"),
               nb::arg("longest_cell"));
}
