// The module _hasher: texts into rows of hashed terms. One build serves all processors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polymargin/text/hash_texts.hpp"
#include "to_numpy.hpp"

namespace nb = nanobind;

namespace {

using namespace polymargin::text;
using polymargin::python::to_numpy;
using Table = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Analyzer find_analyzer(const std::string& name) {
    if (name == "word") return Analyzer::words;
    if (name == "char") return Analyzer::characters;
    if (name == "char_wb") return Analyzer::word_by_word;
    throw nb::value_error("analyzer must be word, char or char_wb");
}

Norm find_norm(const std::optional<std::string>& name) {
    if (!name) return Norm::none;
    if (*name == "l1") return Norm::l1;
    if (*name == "l2") return Norm::l2;
    throw nb::value_error("norm must be l1, l2 or None");
}

// The characters of each text, which live as long as the tuple; none of what is no str itself.
std::vector<Text> find_texts(const nb::tuple& objects) {
    std::vector<Text> texts;
    texts.reserve(objects.size());
    for (const nb::handle object : objects) {
        PyObject* const text = object.ptr();
        if (!PyUnicode_CheckExact(text)) {
            texts.push_back({nullptr, 0, 0});
            continue;
        }
#if PY_VERSION_HEX < 0x030c0000
        if (PyUnicode_READY(text) < 0) throw nb::python_error();
#endif
        texts.push_back({PyUnicode_DATA(text), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)),
                         static_cast<int>(PyUnicode_KIND(text))});
    }
    return texts;
}

// A list of values, indices, indptr, rows that are skipped, and the number of terms.
template <class Value>
nb::tuple hash_into(const nb::tuple& objects, const HashingOptions& options, int n_threads) {
    const std::vector<Text> texts = find_texts(objects);
    HashedRows<Value> rows;
    {
        nb::gil_scoped_release release;
        rows = hash_texts<Value>(texts, options, n_threads);
        // The ends of rows become their borders.
        const std::size_t n = rows.ends.size();
        rows.ends.resize(n + 1);
        for (std::size_t i = n; i > 0; --i) rows.ends[i] = rows.ends[i - 1];
        rows.ends[0] = 0;
    }
    return nb::make_tuple(to_numpy(std::move(rows.values)), to_numpy(std::move(rows.indices)),
                          to_numpy(std::move(rows.ends)), to_numpy(std::move(rows.skipped)),
                          rows.n_terms);
}

nb::tuple hash_terms(const nb::tuple& texts, const Table& table, const std::string& analyzer,
                     std::size_t least, std::size_t most, std::int64_t n_features,
                     bool alternate_sign, bool binary, const std::optional<std::string>& norm,
                     bool single, int n_threads) {
    if (table.size() != Character::count) throw nb::value_error("table lacks code points");
    if (least < 1 || most < least) throw nb::value_error("1 <= least <= most does not hold");
    if (n_features < 1 || n_features > std::numeric_limits<std::int32_t>::max()) {
        throw nb::value_error("n_features must be from 1 to 2147483647");
    }
    if (n_threads < 1) throw nb::value_error("n_threads must be positive");
    HashingOptions options;
    options.table = table.data();
    options.analyzer = find_analyzer(analyzer);
    options.least = least;
    options.most = most;
    options.n_features = static_cast<std::uint32_t>(n_features);
    options.alternate_sign = alternate_sign;
    options.binary = binary;
    options.norm = find_norm(norm);
    return single ? hash_into<float>(texts, options, n_threads)
                  : hash_into<double>(texts, options, n_threads);
}

}  // namespace

NB_MODULE(_hasher, module) {
    nb::set_leak_warnings(false);
    module.def("hash_terms", &hash_terms, nb::arg("texts"), nb::arg("table"), nb::kw_only(),
               nb::arg("analyzer"), nb::arg("least"), nb::arg("most"), nb::arg("n_features"),
               nb::arg("alternate_sign"), nb::arg("binary"), nb::arg("norm").none(),
               nb::arg("single"), nb::arg("n_threads"));
}
