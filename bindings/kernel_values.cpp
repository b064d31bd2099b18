// Kernel values: blocks of products or distances, and functions of them.
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "arrays.hpp"
#include "polymargin/kernel/functions.hpp"
#include "polymargin/kernel/products.hpp"

namespace polymargin::python {

namespace {

template <class T>
using WritableMatrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

KernelKind kind_of(const std::string& name) {
    using enum KernelKind;
    const std::pair<const char*, KernelKind> known[] = {{"linear", linear},
                                                        {"rbf", rbf},
                                                        {"poly", poly},
                                                        {"normalized-poly", normalized_poly},
                                                        {"sigmoid", sigmoid},
                                                        {"exponential", exponential}};
    for (const auto& [word, kind] : known) {
        if (name == word) return kind;
    }
    throw nb::value_error(("no kernel is called '" + name + "'").c_str());
}

template <class T>
void apply_kernel(const WritableMatrix<T>& products, const Vector<T>& row_norms,
                  const Vector<T>& column_norms, const std::string& name, double gamma,
                  double coef0, int degree, bool bias, int threads) {
    check_rows_contiguous(products);
    if (row_norms.size() != products.shape(0) || column_norms.size() != products.shape(1)) {
        throw nb::value_error("one norm is needed per row and per column");
    }
    const KernelFunction function{kind_of(name), gamma, coef0, degree, bias};
    const nb::gil_scoped_release release;
    kernel::transform(function, products.data(), products.shape(0), products.shape(1),
                      static_cast<std::size_t>(products.stride(0)), row_norms.data(),
                      column_norms.data(), threads);
}

template <template <class> class Measure, class T>
void measure(const Rows& left, const Rows& right, const WritableMatrix<T>& out, int threads) {
    check_rows_contiguous(out);
    if (out.shape(0) != left.size() || out.shape(1) != right.size() ||
        left.features() != right.features()) {
        throw nb::value_error("the shapes of the rows and of the result differ");
    }
    std::visit(
        [&](const auto& a, const auto& b) {
            using A = typename std::decay_t<decltype(a)>::value_type;
            using B = typename std::decay_t<decltype(b)>::value_type;
            if constexpr (std::is_same_v<A, T> && std::is_same_v<B, T>) {
                const nb::gil_scoped_release release;
                kernel::fill<Measure>(kernel::Packs<T>(a), b, out.data(),
                                      static_cast<std::size_t>(out.stride(0)), threads);
            } else {
                throw nb::type_error("rows and result differ in precision");
            }
        },
        left.view, right.view);
}

// out[r, c] = matrix[rows[r], columns[c]].
template <class T>
void gather(const Matrix<T>& matrix, const Indices& rows, const Indices& columns,
            const WritableMatrix<T>& out) {
    check_indices(rows, matrix.shape(0));
    check_indices(columns, matrix.shape(1));
    if (out.shape(0) != rows.size() || out.shape(1) != columns.size()) {
        throw nb::value_error("the result needs one entry per row and column");
    }
    const nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const T* from = matrix.data() + rows.data()[r] * matrix.stride(0);
        T* to = out.data() + static_cast<std::int64_t>(r) * out.stride(0);
        for (std::size_t c = 0; c < columns.size(); ++c) {
            to[static_cast<std::int64_t>(c) * out.stride(1)] =
                from[columns.data()[c] * matrix.stride(1)];
        }
    }
}

template <class T>
void bind_values(nb::module_& module) {
    module.def("apply_kernel", &apply_kernel<T>, nb::arg("products").noconvert(),
               nb::arg("row_norms").noconvert(), nb::arg("column_norms").noconvert(),
               nb::arg("kernel"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"),
               nb::arg("bias"), nb::arg("n_threads") = 1);
    module.def("gather", &gather<T>, nb::arg("matrix").noconvert(), nb::arg("rows"),
               nb::arg("columns"), nb::arg("out").noconvert());
    module.def("inner_products", &measure<kernel::InnerProduct, T>, nb::arg("left"),
               nb::arg("right"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1);
    module.def("manhattan_distances", &measure<kernel::ManhattanDistance, T>, nb::arg("left"),
               nb::arg("right"), nb::arg("out").noconvert(), nb::arg("n_threads") = 1);
}

}  // namespace

void bind_kernel_values(nb::module_& module) {
    bind_values<float>(module);
    bind_values<double>(module);
}

}  // namespace polymargin::python
