#include "rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <optional>

namespace polymargin::python {

namespace {

template <class T>
Rows dense(nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> X) {
    return {DenseRows<T>(X.data(), X.shape(0), X.shape(1), X.stride(0), X.stride(1)), nb::cast(X)};
}

// Everything the loops rely on is checked here: they index without looking.
template <class T, class Index>
Rows sparse(Vector<T> data, Vector<Index> indices, Vector<Index> indptr, std::int64_t features) {
    if (indptr.size() == 0)
        throw nb::value_error("Sparse X: indptr is empty: it needs one entry per row and one more");
    const std::size_t n = indptr.size() - 1;
    const Index* offsets = indptr.data();
    if (offsets[0] != 0) throw nb::value_error("Sparse X: indptr does not start at 0");
    for (std::size_t i = 0; i < n; ++i) {
        if (offsets[i + 1] < offsets[i]) {
            throw nb::value_error(
                ("Sparse X: indptr decreases at row " + std::to_string(i)).c_str());
        }
    }
    const auto stored = static_cast<std::size_t>(offsets[n]);
    if (stored > data.size() || stored > indices.size()) {
        throw nb::value_error("Sparse X: indptr points beyond the end of data or indices");
    }
    for (std::size_t p = 0; p < stored; ++p) {
        const std::int64_t j = indices.data()[p];
        if (j < 0 || j >= features) {
            throw nb::value_error(("Sparse X: column index " + std::to_string(j) +
                                   " is outside [0, " + std::to_string(features) + ")")
                                      .c_str());
        }
    }
    return {SparseRows<T, Index>(data.data(), indices.data(), offsets, n, features),
            nb::make_tuple(data, indices, indptr)};
}

std::optional<std::pair<std::size_t, std::size_t>> find_non_finite(const Rows& rows) {
    return std::visit(
        [](const auto& view) -> std::optional<std::pair<std::size_t, std::size_t>> {
            using T = typename std::decay_t<decltype(view)>::value_type;
            std::vector<T> scratch(view.scratch_size());
            for (std::size_t i = 0; i < view.size(); ++i) {
                const auto row = view.row(i, scratch.data());
                for (std::size_t p = 0; p < row.size(); ++p) {
                    if (!std::isfinite(row.value(p))) return std::pair{i, row.index(p)};
                }
            }
            return std::nullopt;
        },
        rows.view);
}

}  // namespace

void bind_rows(nb::module_& module) {
    nb::class_<Rows>(module, "Rows")
        .def_prop_ro("n_rows", &Rows::size)
        .def_prop_ro("n_features", &Rows::features)
        .def_prop_ro("dtype",
                     [](const Rows& rows) {
                         return nb::module_::import_("numpy").attr("dtype")(
                             rows.is_float() ? "float32" : "float64");
                     })
        .def("find_non_finite", &find_non_finite)
        .def("squared_norms", [](nb::handle_t<Rows> self) {
            const std::span<const double> norms = nb::cast<const Rows&>(self).norms();
            return nb::ndarray<nb::numpy, const double>(norms.data(), {norms.size()}, self).cast();
        });
    module.def("dense_rows", &dense<float>, nb::arg("X").noconvert());
    module.def("dense_rows", &dense<double>, nb::arg("X").noconvert());
    const auto define = [&]<class T, class Index>(T, Index) {
        module.def("sparse_rows", &sparse<T, Index>, nb::arg("data").noconvert(),
                   nb::arg("indices").noconvert(), nb::arg("indptr").noconvert(),
                   nb::arg("n_features"));
    };
    define(float{}, std::int32_t{});
    define(float{}, std::int64_t{});
    define(double{}, std::int32_t{});
    define(double{}, std::int64_t{});
}

}  // namespace polymargin::python
